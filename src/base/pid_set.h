/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_PID_SET_H
#define BASE_PID_SET_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* The kernel's PID_MAX_LIMIT. */
#define PID_SET_MAX (1u << 22)

/* Process ids that were met: a bit each, half a megabyte of which only the pages in use are memory. */
struct pid_set {
	uint8_t bits[PID_SET_MAX / 8];
};

static inline void pid_set_add(struct pid_set *s, uint32_t pid)
{
	if (pid < PID_SET_MAX)
		s->bits[pid / 8] |= (uint8_t)(1u << pid % 8);
}

static inline bool pid_set_has(const struct pid_set *s, uint32_t pid)
{
	return pid < PID_SET_MAX && s->bits[pid / 8] >> pid % 8 & 1;
}

#endif
