/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/limits.h"

#include "base/proc/net_table.h"
#include "explain/sentence.h"
#include "explain/text.h"

#define LOST_MIN 5
#define SYN_TIMER_SLOT 29	/* log2 ns: 0.54 to 1.07 s, for TCP_TIMEOUT_INIT, 1 s; retransmitted after 1, 3, 7 s */
#define TIMER_SLOT 27	/* log2 ns: 134 to 268 ms, for TCP_RTO_MIN, 200 ms; its multiples are above */

/* "10.0.0.5:5432" matches "10.0.0.5:5432 (postgres)" but not "10.0.0.5:54321". */
static bool is_socket_of(const struct object *o, const char *there)
{
	return o->kind == OBJECT_SOCKET && net_text_is_same(o->name, there);
}

/* Waits for a connection last as long as the first segment's timer, others as long as that of all other segments. */
static unsigned timer_slot(const struct finding *row)
{
	return row->reason == REASON_NETWORK_CONNECT ? SYN_TIMER_SLOT : TIMER_SLOT;
}

static const struct profile_limit *loss_of(const struct findings *f, const struct object *o, uint64_t least_cnt)
{
	EACH_ROW(i, const struct profile_limit, l, f->profile->limits) {
		const char *there;
		uint64_t cnt = limit_loss_read(l, &there);

		if (cnt >= least_cnt && is_socket_of(o, there))
			return l;
	}
	return NULL;
}

static const struct profile_limit *full_of(const struct findings *f, const struct object *o)
{
	EACH_ROW(i, const struct profile_limit, l, f->profile->limits) {
		const char *there;
		uint32_t room;

		if (!limit_full_read(l, &room, &there))
			continue;
		if (is_socket_of(o, there))
			return l;
	}
	return NULL;
}

bool loss_find(const struct findings *f, const struct finding *row, struct finding_limit *ret)
{
	const struct object *o = finding_object(f, row);
	bool connects = row->reason == REASON_NETWORK_CONNECT;
	uint64_t slow_cnt = 0, slow_ns = 0;

	if (!o || (row->reason != REASON_NETWORK_RECEIVE && !connects))
		return false;
	for (unsigned i = timer_slot(row); i < PROFILE_HIST_SLOTS; i++) {
		slow_cnt += row->hist[i];
		slow_ns += row->hist[i] * (3ULL << i) / 2;
	}
	if (!slow_cnt || slow_ns < row->time_ns / 2)
		return false;
	const struct profile_limit *loss = loss_of(f, o, MAX(LOST_MIN, slow_cnt / 2)), *full = full_of(f, o);

	/* a late answer beside a full queue may only be slow, unless segments were dropped */
	if (full && (connects || loss_of(f, o, LOST_MIN)))
		ret->limit = full;
	else
		ret->limit = connects ? NULL : loss;
	return ret->limit;
}

bool loss_is_of_this_machine(const struct finding *row)
{
	const char *there = "";

	return limit_loss_read(row->limit.limit, &there) && net_text_is_loopback(there);
}

void loss_append_full_evidence(GString *s, const struct finding *row)
{
	const char *there;
	uint32_t room, cnt = limit_full_read(row->limit.limit, &room, &there);

	if (!cnt)
		return;
	g_string_append(s, "; as the recording ended ");
	text_thousands(s, cnt);
	g_string_append(s, cnt == 1 ? " connection waited to be accepted at " : " connections waited to be accepted at ");
	text_safe_cut(s, there, FINDING_NAME_COLUMNS);
	g_string_append_printf(s, ", whose queue is for %s", TEXT_COUNT(room));
}

void loss_append_evidence(GString *s, const struct finding *row)
{
	const char *there;
	uint64_t cnt = limit_loss_read(row->limit.limit, &there);

	if (!cnt)
		return;
	g_string_append_printf(s, "; TCP sent %s segments again to ", TEXT_COUNT(cnt));
	text_safe_cut(s, there, FINDING_NAME_COLUMNS);
}
