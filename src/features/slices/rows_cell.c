/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/slices/rows_build.h"

#include <string.h>

#include "profile/profile.h"

enum head {
	HEAD_BLOCKED = 1 << 0,	/* this time is not 0 and follows; likewise the next two */
	HEAD_RUNNABLE = 1 << 1,
	HEAD_PREEMPTED = 1 << 2,
	HEAD_CROSSING = 1 << 3,
	HEAD_COUNTED = 1 << 4,	/* count and durations follow; else it is one wait, fully described by its times */
	HEAD_DELAYS = 1 << 5,
	HEAD_WHOLE = 1 << 6,
	HEAD_EVEN = 1 << 7,	/* with HEAD_WHOLE */
};

#define MANTISSA_BITS 8

void slice_hist_add(struct slice_hist *h, unsigned slot, uint64_t count_q8)
{
	unsigned at = h->cnt;

	while (at > 0 && h->bar[at - 1].slot >= slot)
		at--;
	if (at < h->cnt && h->bar[at].slot == slot) {
		h->bar[at].count_q8 = profile_sum(h->bar[at].count_q8, count_q8);
		return;
	}
	memmove(&h->bar[at + 1], &h->bar[at], (h->cnt - at) * sizeof(h->bar[0]));
	h->bar[at] = (struct slice_bar){ .slot = (uint8_t)slot, .count_q8 = count_q8 };
	h->cnt++;
}

static void one_bar(struct slice_hist *h, uint64_t ns, uint64_t count_q8)
{
	h->cnt = 1;
	h->bar[0] = (struct slice_bar){ .slot = (uint8_t)profile_hist_slot(ns), .count_q8 = count_q8 };
}

static void put_u8(GByteArray *into, unsigned value)
{
	const uint8_t byte = (uint8_t)value;

	g_byte_array_append(into, &byte, 1);
}

/* Whole waits are most common and get the short form: even numbers are whole waits, odd ones fractions. */
static void put_count(GByteArray *into, uint64_t count_q8)
{
	if (count_q8 % SLICE_COUNT_Q8 || count_q8 > UINT64_MAX / 2)
		uleb_put(into, MIN(count_q8, UINT64_MAX / 2) << 1 | 1);
	else
		uleb_put(into, count_q8 / SLICE_COUNT_Q8 << 1);
}

static uint64_t get_count(struct cursor *from)
{
	uint64_t value = cursor_uleb(from);

	if (value & 1)
		return value >> 1;
	if (value / 2 > UINT64_MAX / SLICE_COUNT_Q8)
		from->bad = true;
	return value / 2 * SLICE_COUNT_Q8;
}

/* The bars from the first used one to the last, including empty ones between. */
static void put_hist(GByteArray *into, const struct slice_hist *h)
{
	unsigned first = h->cnt ? h->bar[0].slot : 0, last = h->cnt ? h->bar[h->cnt - 1].slot : 0;

	put_u8(into, first);
	put_u8(into, last - first);
	for (unsigned slot = first, i = 0; slot <= last; slot++)
		put_count(into, i < h->cnt && h->bar[i].slot == slot ? h->bar[i++].count_q8 : 0);
}

static void get_hist(struct cursor *from, struct slice_hist *ret_hist)
{
	unsigned first = cursor_u8(from), last = first + cursor_u8(from);

	ret_hist->cnt = 0;
	if (last >= PROFILE_HIST_SLOTS)
		from->bad = true;
	for (unsigned slot = first; slot <= last && !from->bad; slot++) {
		uint64_t count_q8 = get_count(from);

		if (count_q8)
			ret_hist->bar[ret_hist->cnt++] =
				(struct slice_bar){ .slot = (uint8_t)slot, .count_q8 = count_q8 };
	}
}

/* The bits of max_ns below its highest one, which the histogram shows. */
static unsigned mantissa_of(uint64_t ns)
{
	unsigned slot = ns ? 63 - (unsigned)__builtin_clzll(ns) : 0;

	uint64_t bits = slot >= MANTISSA_BITS ? ns >> (slot - MANTISSA_BITS) : ns << (MANTISSA_BITS - slot);

	return (unsigned)bits & ((1 << MANTISSA_BITS) - 1);
}

static uint64_t max_from(const struct slice_hist *h, unsigned mantissa)
{
	unsigned slot = h->cnt ? h->bar[h->cnt - 1].slot : 0;
	uint64_t scaled = 1u << MANTISSA_BITS | mantissa;

	if (!h->cnt)
		return 0;
	/* the highest value with these bits */
	return slot >= MANTISSA_BITS ? ((scaled + 1) << (slot - MANTISSA_BITS)) - 1 : scaled >> (MANTISSA_BITS - slot);
}

static bool has_one_bar_of(const struct slice_hist *h, uint64_t ns)
{
	return h->cnt == 1 && h->bar[0].slot == profile_hist_slot(ns) && h->bar[0].count_q8 == SLICE_COUNT_Q8;
}

/* Is it a single unsampled wait? Then its times give its duration, and that its histogram. */
static bool is_plain(const struct slice_cell *c)
{
	return c->count_q8 == SLICE_COUNT_Q8 && c->max_ns == slice_cell_ns(c) &&
	       (c->is_crossing || has_one_bar_of(&c->bars, c->max_ns)) &&
	       (!c->has_delays || has_one_bar_of(&c->delays, c->runnable_ns));
}

void slice_cell_put(GByteArray *into, uint32_t last, const struct slice_cell *c)
{
	bool is_counted = !c->is_whole && !is_plain(c);

	uleb_put(into, c->row - last);
	if (c->is_whole) {
		put_u8(into, HEAD_WHOLE | (c->is_even ? HEAD_EVEN : 0));
		return;
	}
	put_u8(into, (c->blocked_ns ? HEAD_BLOCKED : 0) | (c->runnable_ns ? HEAD_RUNNABLE : 0) |
		     (c->preempted_ns ? HEAD_PREEMPTED : 0) | (c->is_crossing ? HEAD_CROSSING : 0) |
		     (is_counted ? HEAD_COUNTED : 0) | (c->has_delays ? HEAD_DELAYS : 0));
	if (c->blocked_ns)
		uleb_put(into, c->blocked_ns);
	if (c->runnable_ns)
		uleb_put(into, c->runnable_ns);
	if (c->preempted_ns)
		uleb_put(into, c->preempted_ns);
	if (c->is_crossing)
		uleb_put(into, c->before_ns);
	if (!is_counted)
		return;
	put_count(into, c->count_q8);
	if (c->is_crossing) {
		uleb_put(into, c->max_ns);
	} else {
		put_hist(into, &c->bars);
		put_u8(into, mantissa_of(c->max_ns));
	}
	if (c->has_delays)
		put_hist(into, &c->delays);
}

static void get_counted(struct cursor *from, struct slice_cell *c)
{
	c->count_q8 = get_count(from);
	if (c->is_crossing) {
		c->max_ns = cursor_uleb(from);
		one_bar(&c->bars, c->max_ns, c->count_q8);
	} else {
		get_hist(from, &c->bars);
		c->max_ns = max_from(&c->bars, cursor_u8(from));
	}
	if (c->has_delays)
		get_hist(from, &c->delays);
}

static void get_plain(struct slice_cell *c)
{
	c->count_q8 = SLICE_COUNT_Q8;
	c->max_ns = slice_cell_ns(c);
	one_bar(&c->bars, c->max_ns, c->count_q8);
	if (c->has_delays)
		one_bar(&c->delays, c->runnable_ns, c->count_q8);
}

static uint64_t get_time(struct cursor *from, bool is_there)
{
	uint64_t ns = is_there ? cursor_uleb(from) : 0;

	if (ns > PROFILE_NS_MAX)
		from->bad = true;
	return ns;
}

bool slice_cell_get(struct cursor *from, uint32_t last, struct slice_cell *ret_cell)
{
	struct slice_cell *c = ret_cell;
	uint64_t row = cursor_uleb(from);
	uint8_t head = cursor_u8(from);

	if (from->bad || row > UINT32_MAX - last ||
	    (head & (HEAD_WHOLE | HEAD_EVEN) && (head & ~HEAD_EVEN) != HEAD_WHOLE))
		return false;
	c->row = last + (uint32_t)row;
	c->is_whole = head & HEAD_WHOLE;
	c->is_even = head & HEAD_EVEN;
	c->is_crossing = head & HEAD_CROSSING;
	c->has_delays = head & HEAD_DELAYS;
	c->bars.cnt = c->delays.cnt = 0;
	c->blocked_ns = get_time(from, head & HEAD_BLOCKED);
	c->runnable_ns = get_time(from, head & HEAD_RUNNABLE);
	c->preempted_ns = get_time(from, head & HEAD_PREEMPTED);
	c->before_ns = get_time(from, c->is_crossing);
	if (from->bad || slice_cell_ns(c) > PROFILE_NS_MAX)
		return false;
	c->count_q8 = c->max_ns = 0;
	if (head & HEAD_COUNTED)
		get_counted(from, c);
	else if (!c->is_whole)
		get_plain(c);
	return !from->bad && c->max_ns <= PROFILE_NS_MAX;
}

void slice_cell_add(struct slice_cell *into, const struct slice_cell *c)
{
	into->count_q8 = profile_sum(into->count_q8, c->count_q8);
	into->blocked_ns += c->blocked_ns;
	into->runnable_ns += c->runnable_ns;
	into->preempted_ns += c->preempted_ns;
	into->max_ns = MAX(into->max_ns, c->max_ns);
	for (unsigned i = 0; i < c->bars.cnt; i++)
		slice_hist_add(&into->bars, c->bars.bar[i].slot, c->bars.bar[i].count_q8);
	for (unsigned i = 0; into->has_delays && i < c->delays.cnt; i++)
		slice_hist_add(&into->delays, c->delays.bar[i].slot, c->delays.bar[i].count_q8);
}
