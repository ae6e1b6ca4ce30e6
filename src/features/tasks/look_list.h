/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_TASKS_LOOK_LIST_H
#define FEATURES_TASKS_LOOK_LIST_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "features/tasks/rows.h"

/* Looks at the tasks of a process from outside: it is never stopped, and nothing is attached to it. */

#define CENSUS_ERROR (census_error_quark())
GQuark census_error_quark(void);
enum census_error {
	CENSUS_FAILED,
	CENSUS_NOT_PERMITTED,
	CENSUS_NO_RUNTIME,	/* whose tasks can be seen */
};

struct census_options {
	const GArray *pids;	/* uint32_t, at least one: of several the one that has tasks which can be seen */
	uint64_t duration_ns;	/* 0: one look, at all tasks */
	double hz;		/* looks a second, at random instants */
	/* of one CPU: with more tasks than that suffices for a look sees some of them, chosen at random */
	uint32_t budget_ppm;
	const volatile int *stop;	/* becomes true: enough */
};

/* NULL with a sentence, also where several have tasks.  Free with tasks_free(). */
struct tasks *census_take(const struct census_options *options, GError **error);

#endif
