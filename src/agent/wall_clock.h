/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef AGENT_WALL_CLOCK_H
#define AGENT_WALL_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Where windows lie in clock time.  They are measured by CLOCK_MONOTONIC, which stands still while the machine is
 * suspended and does not follow when somebody sets the clock.  So windows follow one another in clock time by their
 * own length until the clock was set or the machine slept: then there is a jump, which is told.  Pure: it is told what
 * the clocks read.
 */

/*
 * The clock is taken as set if it differs by so much from where it would be: readings lie apart by less, and steps of
 * NTP are more.
 */
#define WALL_CLOCK_JUMP_NS INT64_C(50000000)

struct clock_readings {
	uint64_t monotonic_ns, real_ns, boot_ns;	/* at one instant */
};

struct wall_clock {
	int64_t real_offset_ns;		/* CLOCK_REALTIME - CLOCK_MONOTONIC of windows up to now */
	uint64_t boot_offset_ns;	/* CLOCK_BOOTTIME - CLOCK_MONOTONIC */
};

struct clock_change {
	uint64_t suspended_ns;	/* since the readings before */
	int64_t set_ns;		/* above 0: the clock was set forward by so much, apart from that */
};

/* Reads them as close together as can be had. */
struct clock_readings wall_clock_read(void);
void wall_clock_begin(struct wall_clock *c, const struct clock_readings *r);
/* Of windows that begin after these readings; false: nothing has changed. */
bool wall_clock_take(struct wall_clock *c, const struct clock_readings *r, struct clock_change *ret);
static inline uint64_t wall_clock_unix_ns(const struct wall_clock *c, uint64_t monotonic_ns)
{
	return monotonic_ns + (uint64_t)c->real_offset_ns;
}
/*
 * When, in CLOCK_MONOTONIC, a window that begins now ends: at a multiple of its length in clock time, half of it later
 * at least.
 */
uint64_t wall_clock_next_ns(const struct wall_clock *c, uint64_t monotonic_ns, uint64_t window_ns);

#endif
