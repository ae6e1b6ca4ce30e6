/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/text/folded.h"

#include <stdlib.h>
#include <string.h>

#include "features/wakers/analysis.h"
#include "features/wakers/analysis_chains.h"
#include "render/json/write.h"

struct writer {
	const struct profile *p;
	const struct folded_options *options;
	struct folded_names *names;
	struct stories_by_wake *stories;
	GHashTable *sums;	/* char * -> uint64_t * */
	GString *line;
};

static void add_to_line(struct writer *w, uint64_t weight)
{
	uint64_t *sum;

	if (!weight)
		return;
	sum = g_hash_table_lookup(w->sums, w->line->str);
	if (!sum) {
		sum = g_new0(uint64_t, 1);
		g_hash_table_insert(w->sums, g_strdup(w->line->str), sum);
	}
	*sum += weight;
}

static uint64_t weight_of_wake(const struct wake *k, enum weight weight)
{
	switch (weight) {
	case WEIGHT_OFF_CPU: return k->blocked_ns + k->runnable_ns;
	case WEIGHT_BLOCKED: return k->blocked_ns;
	case WEIGHT_RUNNABLE: return k->runnable_ns;
	case WEIGHT_COUNT: return k->count;
	default: return 0;
	}
}

static void append_who(struct writer *w, const char *comm, uint32_t pid, uint32_t tid)
{
	folded_append_name(w->line, comm);
	if (w->options->by_thread && tid)
		g_string_append_printf(w->line, "-%u/%u", pid, tid);
}

/* ";user;-;kernel", root first. */
static void append_stacks(struct writer *w, uint32_t user, uint32_t kernel)
{
	folded_append_stack(w->line, w->names, user);
	if (kernel)
		g_string_append(w->line, ";-");
	folded_append_stack(w->line, w->names, kernel);
}

/* Innermost frame first. */
static void append_reversed(struct writer *w, uint32_t node)
{
	for (; node; node = profile_get_node(w->p, node)->parent) {
		g_string_append_c(w->line, ';');
		g_string_append(w->line, folded_frame_name(w->names, profile_get_node(w->p, node)->frame));
	}
}

static void append_sleeper(struct writer *w, const struct wait *wait)
{
	const struct thread *t = profile_thread(w->p, wait->thread);

	g_string_truncate(w->line, 0);
	append_who(w, t->comm, t->pid, t->tid);
	append_stacks(w, wait->user, wait->kernel);
}

/* ";--;kernel;-;user;comm", innermost first. */
static void append_waker(struct writer *w, const struct waker *waker)
{
	g_string_append(w->line, ";--");
	append_reversed(w, waker->kernel);
	if (waker->user)
		g_string_append(w->line, ";-");
	append_reversed(w, waker->user);
	g_string_append_c(w->line, ';');
	append_who(w, waker_name(waker), waker->pid, waker->tid);
}

/* One waker after the other. */
static void add_story(struct writer *w, const struct wait *wait, const struct story *s)
{
	const struct wake part = { .count = s->count, .blocked_ns = s->blocked_ns, .runnable_ns = s->runnable_ns };
	const struct waker *wakers[PROFILE_CHAIN_MAX];
	const struct chain_node *last;
	unsigned cnt = chain_wakers(w->p, s->chain, wakers, &last);

	append_sleeper(w, wait);
	for (unsigned i = 0; i < cnt; i++)
		append_waker(w, wakers[i]);
	if (last->end != CHAIN_AWAKE && last->end != CHAIN_INTERRUPT)
		g_string_append_printf(w->line, ";--;[%s]", chain_end_text(last->end));
	add_to_line(w, weight_of_wake(&part, w->options->weight));
}

static void add_offwake(struct writer *w, const struct wait *wait, uint32_t wake)
{
	const struct wake rest = stories_rest(w->p, w->stories, wake);
	const struct waker *waker = profile_get_waker(w->p, rest.waker);

	for (uint32_t n = w->stories->first[wake]; n < w->stories->first[wake + 1]; n++)
		add_story(w, wait, profile_story(w->p, w->stories->order[n]));
	append_sleeper(w, wait);
	append_waker(w, waker);
	if (w->p->stories->len && !waker->irq)
		g_string_append(w->line, ";--;" CHAIN_NOT_RECORDED);
	add_to_line(w, weight_of_wake(&rest, w->options->weight));
}

static void add_wakeup(struct writer *w, const struct wait *wait, const struct wake *k)
{
	const struct waker *waker = profile_get_waker(w->p, k->waker);
	const struct thread *t = profile_thread(w->p, wait->thread);

	g_string_truncate(w->line, 0);
	append_who(w, waker_name(waker), waker->pid, waker->tid);
	append_stacks(w, waker->user, waker->kernel);
	g_string_append_c(w->line, ';');
	append_who(w, t->comm, t->pid, t->tid);
	add_to_line(w, weight_of_wake(k, w->options->weight));
}

/* Time without a known waker, with the reason in the waker's place. */
static void add_rest(struct writer *w, const struct wait *wait, const struct wake *rest, bool offwake)
{
	uint64_t all = weight_of_wait(wait, w->options->weight), weight = weight_of_wake(rest, w->options->weight);

	if (!wait_is_sleep(wait)) {
		append_sleeper(w, wait);
		if (offwake)
			add_to_line(w, all);
		return;
	}
	append_sleeper(w, wait);
	if (!offwake)
		g_string_assign(w->line, "");
	else
		g_string_append(w->line, ";--;");
	g_string_append(w->line, waker_missing(wait));
	if (!offwake) {
		g_string_append_c(w->line, ';');
		append_who(w, profile_thread(w->p, wait->thread)->comm, profile_thread(w->p, wait->thread)->pid,
			   profile_thread(w->p, wait->thread)->tid);
	}
	add_to_line(w, weight);
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void write_lines(GString *out, struct writer *w, struct folded_result *result)
{
	guint cnt;
	g_autofree const char **lines = (const char **)g_hash_table_get_keys_as_array(w->sums, &cnt);

	qsort(lines, cnt, sizeof(*lines), compare_lines);
	for (guint i = 0; i < cnt; i++) {
		const char *line = lines[i];
		uint64_t weight = *(uint64_t *)g_hash_table_lookup(w->sums, line);
		uint64_t value = folded_value(weight, w->options);

		if (!value) {
			result->dropped_lines_cnt++;
			result->dropped += weight;
			continue;
		}
		result->lines_cnt++;
		g_string_append(out, line);
		g_string_append_c(out, ' ');
		json_digits(out, value);
		g_string_append_c(out, '\n');
	}
}

void folded_wakers_render(GString *out, const struct profile *p, const struct selection *selection,
			  const struct folded_options *options, enum folded_wakers form,
			  struct folded_result *ret_result)
{
	struct wakes_by_wait *by = wakes_by_wait_new(p);
	struct folded_result result = { 0 };
	struct writer w = {
		.p = p, .options = options, .names = folded_names_new(p, options), .line = g_string_new(NULL),
		.sums = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
		.stories = stories_by_wake_new(p),
	};

	EACH_ROW(i, const struct wait, wait, p->waits) {
		struct wake rest;

		if (selection && !selection->waits[i])
			continue;
		for (uint32_t n = by->first[i]; n < by->first[i + 1]; n++) {
			if (form == FOLDED_OFFWAKE)
				add_offwake(&w, wait, by->order[n]);
			else
				add_wakeup(&w, wait, profile_wake(p, by->order[n]));
		}
		wakes_unknown(p, by, i, &rest);
		add_rest(&w, wait, &rest, form == FOLDED_OFFWAKE);
	}
	write_lines(out, &w, &result);
	wakes_by_wait_free(by);
	stories_by_wake_free(w.stories);
	folded_names_free(w.names);
	g_hash_table_unref(w.sums);
	g_string_free(w.line, TRUE);
	if (ret_result)
		*ret_result = result;
}
