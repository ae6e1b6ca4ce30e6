/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/limits.h"

#include <string.h>

#include "base/proc/net_table.h"

static bool is_network(const struct waker *w)
{
	return w->irq && g_str_has_prefix(w->irq, "softirq:NET_");
}

static bool ended_by_network(const struct findings *f, const struct finding *row)
{
	const struct profile *p = f->profile;
	uint64_t all_ns = 0, network_ns = 0;

	EACH_ROW(i, const struct wake, wake, p->wakes) {
		if (f->blocked_in[wake->wait] != row->id)
			continue;
		all_ns += wake->blocked_ns;
		network_ns += is_network(profile_get_waker(p, wake->waker)) ? wake->blocked_ns : 0;
	}
	return network_ns > all_ns / 2;
}

/* Is the thread that ends the finding's waits itself waiting for the network, most of the time and for as long? */
static bool answers_by_network(const struct findings *f, const struct finding *row)
{
	const struct profile *p = f->profile;
	uint64_t network_ns = 0, cnt = 0;

	EACH_ROW(i, const struct wake, wake, p->wakes) {
		const struct wait *w = profile_wait(p, wake->wait);
		const struct thread *t = profile_thread(p, w->thread);

		if (t->pid != row->by.pid || t->comm != row->by.comm ||
		    reasons_of(f->reasons, wake->wait) != REASON_NETWORK_RECEIVE ||
		    !is_network(profile_get_waker(p, wake->waker)))
			continue;
		network_ns += wake->blocked_ns;
		cnt += wake->count;
	}
	return network_ns > row->time_ns / 2 && cnt && network_ns / cnt < 2 * DELAYED_ACK_NS;
}

/* Is most of the time in waits as long as a delayed acknowledgement? */
static bool are_as_long(const struct finding *row)
{
	uint64_t most_ns = 0, others_ns = 0;

	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++)
		*(i == DELAYED_ACK_SLOT ? &most_ns : &others_ns) += row->hist[i] * (3ULL << i) / 2;
	return row->hist[DELAYED_ACK_SLOT] >= DELAYED_ACKS_MIN && most_ns > others_ns &&
	       row->time_ns / MAX(row->count, 1) < 2 * DELAYED_ACK_NS;
}

static const struct object *connection_of(const struct findings *f, const struct finding *row)
{
	const struct object *o = finding_object(f, row);

	return row->reason == REASON_NETWORK_RECEIVE && o && strcmp(o->place, "tcp") == 0 && are_as_long(row) ? o : NULL;
}

bool nagle_find(const struct findings *f, const struct finding *row, struct finding_limit *ret)
{
	const struct object *o = connection_of(f, row);
	const struct profile_limit *l = profile_find_limit(
		f->profile, LIMIT_NAGLE, finding_pid(f, row), 0);

	if (!o || !l || !*l->text || !net_text_is_same(o->name, l->text))
		return false;
	*ret = (struct finding_limit){ .limit = l };
	return true;
}

bool nagle_has_delayed_acks(const struct findings *f, const struct finding *row)
{
	const struct object *o = connection_of(f, row);

	return o && (o->pid || net_text_is_loopback(o->name)) &&
	       (ended_by_network(f, row) || (row->by.tid && answers_by_network(f, row)));
}
