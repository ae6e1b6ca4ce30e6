/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef TASKS_PERIODS_H
#define TASKS_PERIODS_H

#include <glib.h>
#include <stdint.h>

/*
 * A window is cut into periods, and each stands as it is at a random instant of it.  A look that comes late, on a busy
 * machine, stands for the periods that were missed, too.
 */
struct periods {
	uint64_t start_ns, length_ns;
};

/* In which one is that? */
static inline uint64_t periods_number(const struct periods *p, uint64_t ns)
{
	return (ns - p->start_ns) / p->length_ns;
}

static inline uint64_t periods_end(const struct periods *p, uint64_t number)
{
	return p->start_ns + (number + 1) * p->length_ns;
}

static inline uint64_t periods_instant(const struct periods *p, uint64_t number)
{
	return p->start_ns + number * p->length_ns + (uint64_t)(g_random_double() * (double)p->length_ns);
}

#endif
