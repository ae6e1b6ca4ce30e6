/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_DIFF_TASKS_H
#define ANALYSE_DIFF_TASKS_H

#include "analyse/diff/diff.h"
#include "profile/tasks.h"

/*
 * Tasks of both sides, where both recordings looked at them: how many there were on average, in which state, for what,
 * where.
 */

struct diff_task {
	const char *program;	/* not escaped, as all texts */
	enum tasks_kind kind;
	const char *state, *reason;	/* reason NULL: none */
	const char *at;		/* the innermost function that is the program's own; NULL: none */
	const char *call;	/* what of a library it calls; NULL: none */
	const char *creator;	/* NULL: not known */
	double tasks[DIFF_SIDES];
	double variance[DIFF_SIDES];
	bool is_real;		/* the difference is more than what looks miss */
};

/*
 * Most different first, real ones before others: struct diff_task; NULL: one side did not look.  Free with
 * g_array_unref().
 */
GArray *diff_tasks(const struct diff *d);

#endif
