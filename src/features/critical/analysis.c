/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/each.h"
#include "base/refuse.h"
#include "features/critical/analysis.h"

#include <fnmatch.h>
#include <string.h>

#define NONE UINT32_MAX

const char *critical_kind_name(enum critical_kind kind)
{
	static const char *const names[CRITICAL_KINDS] = {
		"on_cpu", "runnable", "preempted", "waiting", "for", "asleep", "unlisted", "place", "ran",
		"ready", "earlier", "rest", "untold", "residual",
	};

	return names[kind];
}

/* Marks the threads that `subject` means; returns their number. */
static uint32_t choose_threads(const struct profile *p, const char *subject, bool *threads)
{
	guint64 id = 0;
	bool is_number = g_ascii_string_to_unsigned(subject, 10, 0, G_MAXUINT32, &id, NULL);
	uint32_t cnt = 0;

	for (int pass = 0; pass < 2 && !cnt; pass++) {
		EACH_ROW(i, const struct thread, t, p->threads) {
			/* first tid and exact name, then pid and glob */
			if (is_number)
				threads[i] = (pass ? t->pid : t->tid) == id;
			else
				threads[i] = pass ? fnmatch(subject, t->comm, 0) == 0 : strcmp(subject, t->comm) == 0;
			cnt += threads[i];
		}
	}
	return cnt;
}

/* Marks the threads of the actor with that name; returns their number. */
static uint32_t choose_actor(const struct profile *p, const char *subject, enum actor_by by, bool *threads)
{
	struct actors *a = actors_new(p, NULL, by);
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < p->threads->len; i++) {
		threads[i] = strcmp(actors_get(a, a->of_thread[i])->name, subject) == 0;
		cnt += threads[i];
	}
	actors_free(a);
	return cnt;
}

/* The waits of the chosen threads. */
static struct selection *waits_of(const struct profile *p, const bool *threads)
{
	const struct query everything = { 0 };
	struct selection *s = selection_new(p, &everything, NULL);

	for (uint32_t i = 0; i < p->threads->len; i++)
		s->threads[i] = threads[i];
	for (uint32_t i = 0; i < p->waits->len; i++)
		s->waits[i] = threads[profile_wait(p, i)->thread];
	s->whole = false;
	return s;
}

static uint32_t append_part(struct critical *c, uint32_t parent, enum critical_kind kind, int64_t ns, uint64_t count)
{
	struct critical_part part = { .parent = parent, .kind = kind, .actor = NONE, .ns = ns, .count = count };

	g_array_append_val(c->parts, part);
	return c->parts->len - 1;
}

static void append_parts(struct critical *c, const struct thread *sum, int64_t residual_ns)
{
	uint64_t asleep_cnt = 0;

	append_part(c, NONE, CRITICAL_ON_CPU, (int64_t)sum->on_cpu_ns, 0);
	append_part(c, NONE, CRITICAL_RUNNABLE, (int64_t)sum->runnable_ns, 0);
	append_part(c, NONE, CRITICAL_PREEMPTED, (int64_t)sum->preempted_ns, 0);
	uint32_t waiting = append_part(c, NONE, CRITICAL_WAITING, (int64_t)sum->blocked_ns, 0);
	critical_append_waiting(c, waiting);
	for (guint i = 0; i < c->graph->actors->rows->len; i++)
		asleep_cnt += c->graph->asleep_cnt[i];
	append_part(c, waiting, CRITICAL_ASLEEP, (int64_t)c->graph->all_asleep_ns, asleep_cnt);
	append_part(c, waiting, CRITICAL_UNLISTED,
		    (int64_t)(sum->blocked_ns - c->graph->blocked_ns - c->graph->all_asleep_ns), 0);
	append_part(c, NONE, CRITICAL_RESIDUAL, residual_ns, 0);
}

struct critical *critical_new(const struct profile *p, const char *subject, enum actor_by by, GError **error)
{
	g_autofree bool *threads = g_new0(bool, (gsize)p->threads->len + 1);
	struct thread sum = { 0 };
	int64_t residual_ns = 0;
	struct critical *c;

	if (!choose_threads(p, subject, threads) && !choose_actor(p, subject, by, threads)) {
		return refuse_null(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
				   "\"%s\": no thread of the recording has that id or name", subject);
	}
	c = g_new0(struct critical, 1);
	c->name = g_strdup(subject);
	c->single = NONE;
	c->has_chains = p->stories->len > 0;
	c->parts = g_array_new(FALSE, FALSE, sizeof(struct critical_part));
	c->shares = g_array_new(FALSE, FALSE, sizeof(struct critical_share));
	EACH_ROW(i, const struct thread, t, p->threads) {
		if (!threads[i])
			continue;
		c->single = c->threads_cnt++ ? NONE : i;
		c->observed_ns += thread_observed_ns(t);
		c->filtered_ns += t->filtered_ns;
		c->lost_ns += t->lost_ns;
		ADD_MEMBERS(&sum, t, on_cpu_ns, blocked_ns, runnable_ns, preempted_ns);
		residual_ns = (int64_t)((uint64_t)residual_ns + (uint64_t)thread_residual_ns(t));
	}
	c->selection = waits_of(p, threads);
	c->graph = waitgraph_new(p, c->selection, by, false);
	append_parts(c, &sum, residual_ns);
	critical_sum_shares(c);
	return c;
}

FREES(critical_free, struct critical, c, waitgraph_free(c->graph); g_array_unref(c->parts); g_array_unref(c->shares);
      g_free(c->name); selection_free(c->selection))

uint32_t critical_next(const struct critical *c, bool *ret_is_own)
{
	const struct actors *a = c->graph->actors;
	uint32_t next = NONE;

	for (guint i = 0; i < c->parts->len && next == NONE; i++) {
		const struct critical_part *part = critical_get(c, i);

		if (part->kind == CRITICAL_FOR && actors_get(a, part->actor)->threads_cnt)
			next = part->actor;
	}
	*ret_is_own = false;
	for (uint32_t i = 0; i < c->graph->profile->threads->len; i++)
		*ret_is_own = *ret_is_own || (c->selection->threads[i] && a->of_thread[i] == next);
	return next;
}
