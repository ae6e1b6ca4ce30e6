/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_WEIGHT_H
#define ANALYSE_WEIGHT_H

#include "profile/profile.h"

/* What a stack weighs (docs/semantics.md, "Weight"). */
enum weight {
	WEIGHT_OFF_CPU = 0,
	WEIGHT_BLOCKED,
	WEIGHT_RUNNABLE,
	WEIGHT_PREEMPTED,
	WEIGHT_COUNT,	/* events, not time */
	WEIGHT_ON_CPU,	/* by samples: profile/profile.h */
	WEIGHT_TIME,	/* on_cpu and off_cpu */
	WEIGHT_KINDS
};

/* "off_cpu", ... */
const char *weight_name(enum weight weight);
/* "off_cpu, blocked, ..." for messages. */
const char *weight_names(void);
/* False if no weight has that name; *ret_weight is then unchanged. */
bool weight_parse(const char *name, enum weight *ret_weight);

/* Nanoseconds, or events for WEIGHT_COUNT. */
uint64_t weight_of_wait(const struct wait *w, enum weight weight);

/* Time of a row of waits, or the time that a row of on-CPU samples stands for (profile/profile.h). */
static inline uint64_t wait_or_on_cpu_ns(const struct wait *w)
{
	return wait_off_cpu_ns(w) + w->on_cpu_ns;
}

/* "sleeping" for 'S', ... ; "unknown state" for other letters. */
const char *state_text(uint8_t state);

#endif
