/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Finds the holder of a lock that is taken in another function than the waiters'. No look shows it. But only one task
 * holds the lock at a time. So a function whose task is present when others wait, hardly ever when they do not, and
 * never several times, holds it.
 */
#include "features/tasks/findings.h"

#include <string.h>

#include "features/tasks/analysis.h"

#define LOOKS_MIN 3	/* minimum number of looks with waiters, and without */
#define PRESENT 0.6	/* minimum share of the looks with waiters */
#define ALONE 1.5	/* maximum mean number of tasks */

struct looks {
	const struct tasks *t;
	const char **functions;	/* for each row: its function in the program, or "" */
	bool *waits;	/* for each row: is it a waiter */
	bool *has_waiters;	/* for each look */
	unsigned with, without;	/* number of looks with waiters, and without */
};

struct presence {
	unsigned with, without;	/* of these, the looks in which it was present */
	uint64_t seen;	/* tasks seen in the looks with waiters */
};

static const struct tasks *tasks_of(const struct profile *p, const struct task_wait *w)
{
	for (guint i = 0; i < p->tasks->len; i++)
		if (profile_tasks(p, i)->kind == w->kind && profile_tasks(p, i)->pid == w->pid)
			return profile_tasks(p, i);
	return NULL;
}

static void begin(struct looks *l, const struct task_wait *w)
{
	const struct tasks *t = l->t;

	l->functions = g_new0(const char *, t->rows->len + 1);
	l->waits = g_new0(bool, t->rows->len + 1);
	l->has_waiters = g_new0(bool, t->when->len + 1);
	for (guint i = 0; i < t->rows->len; i++) {
		const struct task_row *row = tasks_get(t, i);
		const struct task_frame *at = task_own_frame(t->kind, row);

		l->functions[i] = at && at->name ? at->name : "";
		l->waits[i] = g_strcmp0(row->reason, w->reason) == 0 && strcmp(row->state, w->state) == 0 &&
			      strcmp(l->functions[i], w->function) == 0;
	}
	for (guint k = 0; k < t->when->len; k++) {
		const struct task_look *look = task_looks_get(t, k);

		for (guint c = 0; c < look->cell_cnt; c++)
			l->has_waiters[k] = l->has_waiters[k] ||
					    l->waits[task_looks_cell(t, look->first_cell + c)->row];
		*(l->has_waiters[k] ? &l->with : &l->without) += 1;
	}
}

static void end(struct looks *l)
{
	g_free(l->functions);
	g_free(l->waits);
	g_free(l->has_waiters);
}

static struct presence presence_of(const struct looks *l, const char *function)
{
	struct presence sum = { 0 };

	for (guint k = 0; k < l->t->when->len; k++) {
		const struct task_look *look = task_looks_get(l->t, k);
		uint64_t seen = 0;

		for (guint c = 0; c < look->cell_cnt; c++) {
			const struct task_cell *cell = task_looks_cell(l->t, look->first_cell + c);

			seen += !l->waits[cell->row] && strcmp(l->functions[cell->row], function) == 0 ? cell->seen : 0;
		}
		sum.seen += l->has_waiters[k] ? seen : 0;
		*(l->has_waiters[k] ? &sum.with : &sum.without) += seen > 0;
	}
	return sum;
}

const struct task_wait *task_holder(const struct profile *p, const struct task_findings *f, const struct task_wait *w)
{
	struct looks l = { .t = tasks_of(p, w) };
	const struct task_wait *best = NULL;
	double most = 0;

	if (!l.t)
		return NULL;
	begin(&l, w);
	for (guint i = 0; l.with >= LOOKS_MIN && l.without >= LOOKS_MIN && i < f->rows->len; i++) {
		const struct task_wait *o = &g_array_index(f->rows, struct task_wait, i);

		if (o == w || o->kind != w->kind || o->pid != w->pid || *o->idle || !*o->function || !o->task_ns)
			continue;
		struct presence sum = presence_of(&l, o->function);
		double there = (double)sum.with / l.with, else_there = (double)sum.without / l.without;

		if (there < PRESENT || there < 2 * else_there || (double)sum.seen > ALONE * sum.with)
			continue;
		/* of one function, its longest activity */
		if (!best || there - else_there > most ||
		    (strcmp(best->function, o->function) == 0 && o->task_ns > best->task_ns))
			best = o;
		most = MAX(most, there - else_there);
	}
	end(&l);
	return best;
}
