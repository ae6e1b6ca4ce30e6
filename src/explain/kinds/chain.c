/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/findings_part.h"

#include "analyse/actors.h"

/*
 * Readers of pipes wait for a writer, which may itself wait for another one, a child or its own thread.  What the last
 * of these waits for is what all of them wait for.
 */
#define HOPS_MAX 8

/* By wait: the thread that ended most of it, and for how long; by thread: its longest wait, index + 1. */
struct links {
	uint32_t *by, *longest;
	uint64_t *by_ns;
	uint32_t *threads_of_wakers;
};

static void links_free(struct links *l)
{
	g_free(l->by);
	g_free(l->longest);
	g_free(l->by_ns);
	g_free(l->threads_of_wakers);
}

static struct links links_of(const struct profile *p)
{
	struct links l = {
		.by = g_new(uint32_t, (gsize)p->waits->len + 1),
		.longest = g_new0(uint32_t, (gsize)p->threads->len + 1),
		.by_ns = g_new0(uint64_t, (gsize)p->waits->len + 1),
		.threads_of_wakers = actors_threads_of_wakers(p),
	};

	EACH_ROW(i, const struct wait, w, p->waits) {
		const uint32_t longest = l.longest[w->thread];

		l.by[i] = CAUSE_NONE;
		if (w->blocked_ns && (!longest || w->blocked_ns > profile_wait(p, longest - 1)->blocked_ns))
			l.longest[w->thread] = i + 1;
	}
	EACH_ROW(i, const struct wake, wake, p->wakes) {
		if (l.threads_of_wakers[wake->waker] == CAUSE_NONE || wake->blocked_ns < l.by_ns[wake->wait])
			continue;
		l.by[wake->wait] = l.threads_of_wakers[wake->waker];
		l.by_ns[wake->wait] = wake->blocked_ns;
	}
	return l;
}

/* A wait that the work of another thread or process ends, as one for its output by poll(). */
static bool passes_on(const struct findings *f, uint32_t wait)
{
	const enum reason reason = reasons_of(f->reasons, wait);
	const struct object *o = profile_wait_object(f->profile, profile_wait(f->profile, wait));

	return reason == REASON_PIPE || reason == REASON_CHILD_EXIT || reasons_idle(f->reasons, wait) == IDLE_JOIN ||
	       (o && o->kind == OBJECT_PIPE);
}

/* What a thread waits for in the end, for most of `ns`; NULL: unknown, or it works. */
static struct finding *end_of(const struct findings *f, const struct links *l, uint32_t thread, uint64_t ns)
{
	for (unsigned i = 0; i < HOPS_MAX && thread != CAUSE_NONE; i++) {
		const uint32_t wait = l->longest[thread];

		if (!wait || profile_wait(f->profile, wait - 1)->blocked_ns <= ns / 2)
			return NULL;
		if (!passes_on(f, wait - 1))
			return finding_of_id(f, f->blocked_in[wait - 1]);
		thread = l->by[wait - 1];
	}
	return NULL;
}

static struct finding *cause_of(const struct findings *f, const struct links *l, const struct finding *row)
{
	g_autofree uint64_t *ns = g_new0(uint64_t, (gsize)f->rows->len + 1);
	struct finding *most = NULL;

	EACH_ROW(i, const struct wake, wake, f->profile->wakes) {
		const uint32_t by = l->threads_of_wakers[wake->waker];
		struct finding *cause = f->blocked_in[wake->wait] == row->id && by != CAUSE_NONE && wake->blocked_ns ?
						end_of(f, l, by, wake->blocked_ns) : NULL;

		if (!cause || cause == row)
			continue;
		ns[cause->id] += wake->blocked_ns;
		most = !most || ns[cause->id] > ns[most->id] ? cause : most;
	}
	if (most)
		return ns[most->id] > row->time_ns / 2 ? most : NULL;
	/* nobody wrote in the window */
	const struct object *o = finding_object(f, row);
	const uint32_t writer = o && o->pid && !row->woken_cnt ? cause_thread(f->profile, o->pid, o->pid) : CAUSE_NONE;

	most = end_of(f, l, writer, row->time_ns);
	return most != row ? most : NULL;
}

/* A reader, also one that is left to read till the end. */
static bool is_reader(const struct findings *f, const struct finding *row)
{
	return finding_is_by(f, row, "pipe-read") || finding_is_by(f, row, "command-output");
}

void chain_find(struct findings *f)
{
	struct links l = { 0 };

	EACH_FIRST(i, row, f, FINDINGS_TOLD_MAX) {
		struct finding *cause;

		if (row->reason != REASON_PIPE || row->deadlock || row->is_behind || !is_reader(f, row))
			continue;
		if (!l.by)
			l = links_of(f->profile);
		cause = cause_of(f, &l, row);
		if (!cause || cause->may_be_meant || cause->is_told_elsewhere)
			continue;
		row->is_told_with = row->is_behind = true;
		cause->leads_ns += row->time_ns;
	}
	links_free(&l);
}
