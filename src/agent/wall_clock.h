/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef AGENT_WALL_CLOCK_H
#define AGENT_WALL_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Places windows in clock time. They are measured by CLOCK_MONOTONIC, which stops during suspend and ignores changes
 * of the clock. So windows follow one another in clock time by their own length until the clock is set or the machine
 * sleeps: then there is a jump, which is reported. Pure functions of the clocks' readings.
 */

/* A larger difference counts as a change of the clock: readings are closer together, and NTP's steps are larger. */
#define WALL_CLOCK_JUMP_NS INT64_C(50000000)

struct clock_readings {
	uint64_t monotonic_ns, real_ns, boot_ns;	/* all at one instant */
};

struct wall_clock {
	int64_t real_offset_ns;		/* CLOCK_REALTIME - CLOCK_MONOTONIC for windows so far */
	uint64_t boot_offset_ns;	/* CLOCK_BOOTTIME - CLOCK_MONOTONIC */
};

struct clock_change {
	uint64_t suspended_ns;	/* since the previous readings */
	int64_t set_ns;		/* positive: the clock was set forward by this much, apart from that */
};

/* Reads all clocks as close together as possible. */
struct clock_readings wall_clock_read(void);
void wall_clock_begin(struct wall_clock *c, const struct clock_readings *r);
/* For windows after these readings; false: no change. */
bool wall_clock_take(struct wall_clock *c, const struct clock_readings *r, struct clock_change *ret);
static inline uint64_t wall_clock_unix_ns(const struct wall_clock *c, uint64_t monotonic_ns)
{
	return monotonic_ns + (uint64_t)c->real_offset_ns;
}
/*
 * When, in CLOCK_MONOTONIC, a window that begins now should end: at a multiple of its length in clock time, but at
 * least half its length from now.
 */
uint64_t wall_clock_next_ns(const struct wall_clock *c, uint64_t monotonic_ns, uint64_t window_ns);

#endif
