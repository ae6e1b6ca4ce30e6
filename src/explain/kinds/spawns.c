/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#include <string.h>

#include "analyse/actors.h"
#include "explain/findings_part.h"

#define SHORT_NS 100000000	/* a process that lives shorter mostly just starts */
#define SPAWNS_PER_S 20	/* fewer are how many programs work */
#define NONE UINT32_MAX

/* A process that began in the window and ended soon after. */
static bool is_short(const struct thread *t)
{
	return t->pid == t->tid && !(t->flags & (THREAD_KERNEL | THREAD_OPEN_AT_START)) && (t->flags & THREAD_EXITED) &&
	       thread_observed_ns(t) < SHORT_NS;
}

/* Programs of short-lived processes that end waits of the row; NULL: they do not end most of it. */
static GHashTable *programs_of(const struct findings *f, const struct finding *row, const uint32_t *threads)
{
	const struct profile *p = f->profile;
	g_autoptr(GHashTable) programs = g_hash_table_new(NULL, NULL);
	uint64_t all_ns = 0, short_ns = 0;

	EACH_ROW(i, const struct wake, wake, p->wakes) {
		const uint32_t t = threads[wake->waker];

		if (f->blocked_in[wake->wait] != row->id)
			continue;
		all_ns += wake->blocked_ns;
		if (t == NONE || !is_short(profile_thread(p, t)))
			continue;
		short_ns += wake->blocked_ns;
		g_hash_table_add(programs, (gpointer)f->programs[t]);
	}
	return all_ns && short_ns > all_ns / 2 ? g_steal_pointer(&programs) : NULL;
}

static uint64_t spawned_of(const struct findings *f, GHashTable *programs)
{
	g_autoptr(GHashTable) pids = g_hash_table_new(NULL, NULL);

	EACH_ROW(i, const struct thread, t, f->profile->threads) {
		/* a process that became another program counts once for each */
		if (is_short(t) && g_hash_table_contains(programs, f->programs[i]))
			g_hash_table_add(pids, GUINT_TO_POINTER(t->pid));
	}
	return g_hash_table_size(pids);
}

/* Everything recorded descends from it, and waits as well. */
static bool is_told_by_children(const struct findings *f, const struct finding *row)
{
	uint64_t theirs_ns = 0;

	if (row->reason != REASON_CHILD_EXIT || row->spawned_cnt || row->has_sleep ||
	    !profile_is_of_command(f->profile))
		return false;
	EACH_ROW(i, const struct finding, other, f->rows)
		theirs_ns += other->process != row->process ? other->time_ns : 0;
	return theirs_ns > row->time_ns / 2;
}

void spawns_find(struct findings *f)
{
	g_autofree uint32_t *threads = actors_threads_of_wakers(f->profile);
	const uint64_t seconds = MAX(f->profile->info.duration_ns / 1000000000, 1);

	EACH_FIRST(i, row, f, FINDINGS_WITH_CAUSES) {
		if (row->reason != REASON_CHILD_EXIT && row->reason != REASON_PIPE)
			continue;
		g_autoptr(GHashTable) programs = programs_of(f, row, threads);
		uint64_t cnt = programs ? spawned_of(f, programs) : 0;
		row->spawned_cnt = cnt >= seconds * SPAWNS_PER_S ? cnt : 0;
		row->is_told_elsewhere = row->is_told_elsewhere || is_told_by_children(f, row);
	}
}

void spawns_append_evidence(GString *s, const struct findings *f, const struct finding *row)
{
	double seconds = (double)f->profile->info.duration_ns / 1e9;

	if (row->spawned_cnt && seconds > 0)
		g_string_append_printf(s, "; such processes begin and soon end %.0f times a second", (double)row->spawned_cnt / seconds);
}

/* Whether children of its threads were recorded, as for a recorded command or a whole machine. */
static bool has_children(const struct findings *f, const struct finding *row)
{
	if (profile_is_of_machine(f->profile) || profile_is_of_command(f->profile))
		return true;
	for (uint32_t i = 0; row->by.pid && row->by.pid != row->pid && i < f->profile->threads->len; i++)
		if (profile_thread(f->profile, i)->pid == row->by.pid)
			return true;
	return false;
}

const char *spawns_advice(const struct findings *f, const struct finding *row)
{
	if (row->spawned_cnt)
		return "It starts many short processes and waits for each: do that work in one process (what the language has built in, or "
		       "one call for all of it).";
	const char *advice = reasons_advice(f->reasons, row->wait);
	if (row->reason == REASON_CHILD_EXIT && advice && strstr(advice, "--follow") && has_children(f, row))
		return "What it starts is in this recording, too: look at what that waits for.";
	return NULL;
}
