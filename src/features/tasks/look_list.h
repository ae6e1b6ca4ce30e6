/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_TASKS_LOOK_LIST_H
#define FEATURES_TASKS_LOOK_LIST_H

#include <glib.h>
#include <stdint.h>

#include "features/tasks/rows.h"

/* Looks at a process's tasks from outside, without stopping it or attaching anything to it. */

#define CENSUS_ERROR (census_error_quark())
GQuark census_error_quark(void);
enum census_error {
	CENSUS_FAILED,
	CENSUS_NOT_PERMITTED,
	CENSUS_NO_RUNTIME,	/* no runtime whose tasks can be seen */
};

struct census_options {
	const GArray *pids;	/* uint32_t, at least one: exactly one should have visible tasks */
	uint64_t duration_ns;	/* 0: a single look at all tasks */
	double hz;		/* looks a second */
	/* of one CPU: if there are too many tasks for it, a look covers a random part */
	uint32_t budget_ppm;
	const volatile int *stop;	/* set to end it */
};

/* NULL with an error, also if several have tasks. Free with tasks_free(). */
struct tasks *census_take(const struct census_options *options, GError **error);

#endif
