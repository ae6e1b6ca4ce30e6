/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "agent/wall_clock.h"

#include "base/clock.h"

#define TRIES 5

struct clock_readings wall_clock_read(void)
{
	struct clock_readings best = { 0 };
	uint64_t shortest_ns = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = clock_ns(CLOCK_MONOTONIC), real = clock_ns(CLOCK_REALTIME),
			 boot = clock_ns(CLOCK_BOOTTIME);
		uint64_t after = clock_ns(CLOCK_MONOTONIC);

		if (after - before >= shortest_ns)
			continue;
		shortest_ns = after - before;
		best = (struct clock_readings){ before + shortest_ns / 2, real, boot };
	}
	return best;
}

void wall_clock_begin(struct wall_clock *c, const struct clock_readings *r)
{
	c->real_offset_ns = (int64_t)(r->real_ns - r->monotonic_ns);
	c->boot_offset_ns = r->boot_ns - r->monotonic_ns;
}

bool wall_clock_take(struct wall_clock *c, const struct clock_readings *r, struct clock_change *ret)
{
	int64_t real = (int64_t)(r->real_ns - r->monotonic_ns),
		slept = (int64_t)(r->boot_ns - r->monotonic_ns - c->boot_offset_ns);

	*ret = (struct clock_change){ .suspended_ns = slept > WALL_CLOCK_JUMP_NS ? (uint64_t)slept : 0 };
	int64_t set = real - c->real_offset_ns - (int64_t)ret->suspended_ns;

	if (set > WALL_CLOCK_JUMP_NS || set < -WALL_CLOCK_JUMP_NS)
		ret->set_ns = set;
	c->real_offset_ns += (int64_t)ret->suspended_ns + ret->set_ns;
	c->boot_offset_ns += ret->suspended_ns;
	return ret->suspended_ns || ret->set_ns;
}

uint64_t wall_clock_next_ns(const struct wall_clock *c, uint64_t monotonic_ns, uint64_t window_ns)
{
	uint64_t left = window_ns - wall_clock_unix_ns(c, monotonic_ns) % window_ns;

	return monotonic_ns + (left < window_ns / 2 ? left + window_ns : left);
}
