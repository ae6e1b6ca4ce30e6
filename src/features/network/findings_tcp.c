/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/limits.h"

#include "base/proc/net_table.h"
#include "explain/text.h"
#include "profile/profile.h"

#define SHORT_WAY_US 1000	/* a peer on this machine: the kernel passes segments on at once */
#define NETWORK_TOLD 5	/* minimum percentage to be listed as a separate share */
#define QUEUED_US 10000	/* a round trip this long, and this many times the minimum, includes queueing */
#define QUEUED_TIMES 10
#define RTT_PART 10	/* a round trip below this part of a wait is the network's, whoever acknowledged */

const char *tcp_share_name(enum tcp_share share)
{
	static const char *const names[TCP_SHARE_COUNT] = {
		[TCP_SHARE_PEER] = "peer", [TCP_SHARE_NETWORK] = "network", [TCP_SHARE_SILENT] = "silent",
		[TCP_SHARE_UNCLEAR] = "peer_or_network", [TCP_SHARE_UNKNOWN] = "unknown",
	};

	return names[share];
}

/* The path takes no time, so unclear time is the peer's. */
static bool has_short_way(const struct object *o, const struct tcp_wait *t)
{
	return net_text_is_loopback(object_upstream(o) ?: o->name) ||
	       (o->pid && t->min_rtt_us && t->min_rtt_us < SHORT_WAY_US);
}

struct tcp_shares tcp_shares_of(const struct profile *p, const struct tcp_wait *t)
{
	const uint64_t mean_ns = t->blocked_ns / MAX(t->count, 1);
	uint64_t left_ns = t->blocked_ns;
	struct tcp_shares s = {
		.direction = t->direction, .all_ns = t->blocked_ns, .resent = t->resent, .srtt_us = t->srtt_us,
		.min_rtt_us = t->min_rtt_us,
		.most = TCP_SHARE_UNKNOWN,
		.ns = { [TCP_SHARE_PEER] = t->peer_ns, [TCP_SHARE_NETWORK] = t->network_ns,
			[TCP_SHARE_SILENT] = t->silent_ns, [TCP_SHARE_UNCLEAR] = t->unclear_ns },
	};

	if (has_short_way(profile_get_object(p, t->object), t)) {
		s.ns[TCP_SHARE_PEER] += s.ns[TCP_SHARE_UNCLEAR];
		s.ns[TCP_SHARE_UNCLEAR] = 0;
	}
	for (unsigned i = 0; i < TCP_SHARE_UNKNOWN; i++) {
		s.ns[i] = MIN(s.ns[i], left_ns);	/* a file may contain anything */
		left_ns -= s.ns[i];
	}
	s.ns[TCP_SHARE_UNKNOWN] = left_ns;
	for (unsigned i = 0; i < TCP_SHARE_UNKNOWN; i++)
		if (s.ns[i] && s.ns[i] >= s.all_ns / 2)
			s.most = (enum tcp_share)i;
	/* without retransmissions, network_ns is round trips, known to be the network's */
	if (t->min_rtt_us * 1000ULL < mean_ns / RTT_PART || s.most == TCP_SHARE_NETWORK ||
	    (t->network_ns && !t->resent))
		s.rtt_us = t->min_rtt_us;
	return s;
}

static int direction_of(const struct finding *row)
{
	switch (row->reason) {
	case REASON_NETWORK_RECEIVE: return TCP_WAIT_RECEIVE;
	case REASON_NETWORK_SEND: return TCP_WAIT_SEND;
	case REASON_NETWORK_CONNECT: return TCP_WAIT_CONNECT;
	default: return -1;
	}
}

bool tcp_shares_find(const struct findings *f, const struct finding *row, struct tcp_shares *ret)
{
	const struct object *o = finding_object(f, row);
	const int direction = direction_of(row);

	if (!o || row->busy || direction < 0 || (object_is_accepted(o) && direction != TCP_WAIT_SEND))
		return false;
	EACH_ROW(i, const struct tcp_wait, t, f->profile->tcp_waits) {
		if (t->object != row->object - 1 || t->direction != direction)
			continue;
		*ret = tcp_shares_of(f->profile, t);
		/* they must be these waits, and few others */
		return ret->all_ns >= row->time_ns / 2 && row->time_ns >= ret->all_ns / 2;
	}
	return false;
}

/*
 * The peer's kernel acknowledges data however slowly its program reads. So while its window is open, delays are on
 * the way.
 */
bool tcp_shares_is_way_full(const struct findings *f, const struct finding *row)
{
	struct tcp_shares t;

	return row->reason == REASON_NETWORK_SEND && !row->limit.limit && tcp_shares_find(f, row, &t) &&
	       t.most == TCP_SHARE_UNCLEAR && !t.ns[TCP_SHARE_PEER] && t.min_rtt_us && t.srtt_us >= QUEUED_US &&
	       t.srtt_us / QUEUED_TIMES >= t.min_rtt_us;
}

/* "; RTT 0.3 ms, nothing was sent twice: ": facts first, then what follows from them. */
static void append_facts(GString *s, const struct tcp_shares *t, bool is_range)
{
	g_string_append(s, "; ");
	if (t->rtt_us)
		g_string_append_printf(s, "RTT %s, ", TEXT_NS(t->rtt_us * 1000));
	if (!t->resent)
		g_string_append(s, "nothing was sent twice");
	else if (t->resent == 1)
		g_string_append(s, "1 segment was sent again");
	else {
		g_string_append_printf(s, "%s segments were sent again", TEXT_COUNT(t->resent));
	}
	if (t->resent && is_range)	/* it is not known when */
		g_string_append(s, " in the whole recording");
	/* otherwise it is mentioned below */
	if (t->resent && t->most == TCP_SHARE_PEER && t->ns[TCP_SHARE_NETWORK] < t->all_ns / NETWORK_TOLD)
		g_string_append_printf(s, " (%.0f%% of the time)", text_percent(t->ns[TCP_SHARE_NETWORK], t->all_ns));
	g_string_append(s, ": ");
}

void tcp_shares_append(GString *s, const struct findings *f, const struct finding *row)
{
	static const char *const says[TCP_WAIT_DIRECTION_COUNT][TCP_SHARE_COUNT] = {
		[TCP_WAIT_RECEIVE] = {
			[TCP_SHARE_PEER] = "the peer takes the time",
			[TCP_SHARE_NETWORK] = "the network takes the time",
			[TCP_SHARE_UNCLEAR] = "the peer takes the time, or the way to it",
		},
		[TCP_WAIT_SEND] = {
			[TCP_SHARE_PEER] = "the peer reads slowly",
			[TCP_SHARE_NETWORK] = "the network takes the time",
		},
		[TCP_WAIT_CONNECT] = { [TCP_SHARE_NETWORK] = "the way there takes the time" },
	};
	struct tcp_shares t;

	if (row->limit.limit || !tcp_shares_find(f, row, &t))
		return;
	if (tcp_shares_is_way_full(f, row))
		g_string_append_printf(s, "; RTT %s, at least %s: what it sends queues on the way, as the peer's window is open",
				       TEXT_NS(t.srtt_us * 1000ULL), TEXT_NS(t.min_rtt_us * 1000ULL));
	if (t.most == TCP_SHARE_SILENT)
		g_string_append(s, "; nothing was sent there since the last data came");
	if (!says[t.direction][t.most] || (t.most == TCP_SHARE_UNCLEAR && !t.rtt_us))
		return;
	append_facts(s, &t, f->profile->info.range.is_cut);
	g_string_append(s, says[t.direction][t.most]);
	if (t.direction == TCP_WAIT_RECEIVE && t.most == TCP_SHARE_PEER &&
	    t.ns[TCP_SHARE_NETWORK] >= t.all_ns / NETWORK_TOLD)
		g_string_append_printf(s, ", the network %.0f%% of it", text_percent(t.ns[TCP_SHARE_NETWORK], t.all_ns));
	if (t.most == TCP_SHARE_NETWORK && t.ns[TCP_SHARE_PEER] >= t.all_ns / 5)
		g_string_append_printf(s, ", the peer %.0f%% of it", text_percent(t.ns[TCP_SHARE_PEER], t.all_ns));
}
