/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Rows of what threads waited for, who ended it, and who stood in their way. */
#include "profile/on_cpu.h"
#include "profile/profile_reader.h"

void row_of_object(struct reader *r)
{
	struct object o = {
		.is_private = row_number(r, 2, 1) != 0,
		.operation = row_own_text(r, 3),
		.name = row_own_text(r, 4),
		.place = row_own_text(r, 5),
		.pid = row_u32(r, 6),
		.addr = (uint64_t)sqlite3_column_int64(r->stmt, 7),
		.holder_tid = row_is_null(r, 8) ? 0 : row_u32(r, 8),
	};

	if (!object_kind_parse(row_text(r, 1), &o.kind))
		row_wrong(r, 1);
	if (sqlite3_column_type(r->stmt, 7) != SQLITE_INTEGER)
		row_wrong(r, 7);
	uint32_t id = profile_object(r->p, &o);
	g_array_append_val(r->objects, id);
}

void row_of_waker(struct reader *r)
{
	const struct waker w = {
		.pid = row_u32(r, 1),
		.tid = row_u32(r, 2),
		.start_ns = row_ns(r, 3),
		.comm = row_own_text(r, 4),
		.irq = row_is_null(r, 5) ? NULL : row_own_text(r, 5),
		.user = row_id(r, 6, r->nodes, true),
		.kernel = row_id(r, 7, r->nodes, true),
	};
	uint32_t id = profile_waker(r->p, &w);

	g_array_append_val(r->wakers, id);
}

void row_of_wake(struct reader *r)
{
	struct wake w = {
		.wait = row_id(r, 1, r->waits, false),
		.waker = row_id(r, 2, r->wakers, false),
		.count = row_number(r, 3, INT64_MAX),
		.blocked_ns = row_ns(r, 4),
		.runnable_ns = row_ns(r, 5),
	};

	row_hist(r, 6, w.hist);
	if (!r->wrong) {
		uint32_t id = profile_add_wake(r->p, &w);
		g_array_append_val(r->wakes, id);
	}
}

void row_of_chain(struct reader *r)
{
	struct chain_node c = {
		.waker = row_id(r, 1, r->wakers, false),
		.end = (uint8_t)row_number(r, 3, CHAIN_END_COUNT - 1),
		.loop_steps = (uint8_t)row_number(r, 4, PROFILE_CHAIN_MAX),
	};

	/* Only rows before this one are in r->chains yet, so there is no cycle. */
	if (!row_is_null(r, 2))
		c.next = row_id(r, 2, r->chains, false) + 1;
	if ((c.end == CHAIN_GOES_ON) != (c.next > 0))
		row_wrong(r, 3);
	if (r->wrong)
		return;
	if (c.next && profile_chain_len(r->p, c.next - 1) >= PROFILE_CHAIN_MAX) {
		row_wrong(r, 2);
		return;
	}
	uint32_t id = profile_chain(r->p, &c);
	g_array_append_val(r->chains, id);
}

void row_of_story(struct reader *r)
{
	const struct story s = {
		.wake = row_id(r, 1, r->wakes, false),
		.chain = row_id(r, 2, r->chains, false),
		.count = row_number(r, 3, INT64_MAX),
		.blocked_ns = row_ns(r, 4),
		.runnable_ns = row_ns(r, 5),
		.rest_ns = row_ns(r, 6),
	};

	if (!r->wrong)
		profile_add_story(r->p, &s);
}

void row_of_hop(struct reader *r)
{
	const uint32_t story = row_u32(r, 1);
	const uint64_t step = row_number(r, 2, PROFILE_CHAIN_MAX);
	const struct hop hop = { .ran_ns = row_ns(r, 3), .runnable_ns = row_ns(r, 4), .earlier_ns = row_ns(r, 5) };

	if (story >= r->p->stories->len)
		row_wrong(r, 1);
	else if (!step || step > profile_chain_len(r->p, profile_story(r->p, story)->chain))
		row_wrong(r, 2);
	if (!r->wrong)
		g_array_index(r->p->stories, struct story, story).hop[step - 1] = hop;
}

void row_of_blame(struct reader *r)
{
	const struct blame b = {
		.thread = row_u32(r, 1),
		.kind = (uint8_t)row_number(r, 2, BLAME_THROTTLED),
		.pid = row_u32(r, 3),
		.tid = row_u32(r, 4),
		.comm = row_text(r, 5),
		.count = row_number(r, 6, INT64_MAX),
		.runnable_ns = row_ns(r, 7),
		.preempted_ns = row_ns(r, 8),
	};

	if (b.thread >= r->p->threads->len)
		row_wrong(r, 1);
	if (b.kind < BLAME_THREAD)
		row_wrong(r, 2);
	if (!r->wrong)
		profile_add_blame(r->p, &b);
}

void row_of_storm(struct reader *r)
{
	const struct storm s = {
		.waker = row_id(r, 1, r->wakers, false),
		.event_cnt = row_number(r, 2, INT64_MAX),
		.call_cnt = row_number(r, 3, INT64_MAX),
		.woken_cnt = row_number(r, 4, INT64_MAX),
		.most_cnt = row_number(r, 5, INT64_MAX),
		.ended_cnt = row_number(r, 6, INT64_MAX),
		.again_cnt = row_number(r, 7, INT64_MAX),
		.cpu_ns = row_ns(r, 8),
		.again_ns = row_ns(r, 9),
		.delay_ns = row_ns(r, 10),
	};

	if (!r->wrong)
		profile_add_storm(r->p, &s);
}

void row_of_on_cpu(struct reader *r)
{
	const struct on_cpu_sample s = {
		.thread = row_u32(r, 1),
		.user = row_id(r, 2, r->nodes, true),
		.kernel = row_id(r, 3, r->nodes, true),
		.slice = row_u32(r, 4),
		.samples = row_number(r, 5, INT64_MAX),
		.weight_ns = row_ns(r, 6),
	};

	if (s.thread >= r->p->threads->len)
		row_wrong(r, 1);
	if (!r->wrong)
		profile_add_on_cpu(r->p, &s);
}
