/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/find.h"
#include "explain/limits.h"
#include "features/tasks/findings_kind.h"

#define ITSELF_ADVICE "Its own process answers there: see what those tasks wait for meanwhile, or call what answers directly."

static bool asks_somebody(const struct task_wait *w)
{
	const enum awaited k = awaited_of(w);

	return k == NETWORK || k == LIBRARY || k == CONNECT;
}

/* It waits for a place that tasks have which ask somebody, maybe with a time limit around that. */
static bool is_behind_asking(const struct task_wait *w)
{
	return w->meanwhile && !asks_somebody(w) &&
	       (asks_somebody(w->meanwhile) || (awaited_of(w->meanwhile) == LIMITED && awaited_of(w) != LIMITED));
}

/* The service asks itself: in these tasks, or in those that have what these wait for. */
void task_itself_find(const struct profile *p, const struct task_findings *f, struct task_wait *w)
{
	const bool asks = asks_somebody(w);
	const char *itself = asks || is_behind_asking(w) ? self_is_mostly_asked(p, w->pid) : NULL;

	if (!itself)
		return;
	w->itself = itself;
	w->says = asks ? "wait for this service itself" : w->says;
	w->advice = ITSELF_ADVICE;
	if (ANY_ROW(const struct task_wait, o, f->rows, o->pid == w->pid && o->rank_ns && is_behind_asking(o)))
		w->advice = SELF_ADVICE;
}
