/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/limits.h"

#include <string.h>

#include "base/proc/net_table.h"

/* Is most of the time in waits as long as a delayed acknowledgement? */
static bool are_as_long(const struct finding *row)
{
	uint64_t most_ns = 0, others_ns = 0;

	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++)
		*(i == DELAYED_ACK_SLOT ? &most_ns : &others_ns) += row->hist[i] * (3ULL << i) / 2;
	return row->hist[DELAYED_ACK_SLOT] >= DELAYED_ACKS_MIN && most_ns > others_ns &&
	       row->time_ns / MAX(row->count, 1) < 2 * DELAYED_ACK_NS;
}

bool nagle_find(const struct findings *f, const struct finding *row, struct finding_limit *ret)
{
	const struct object *o = finding_object(f, row);
	const struct profile_limit *l = profile_find_limit(f->profile, LIMIT_NAGLE, finding_pid(f, row), 0);

	if (row->reason != REASON_NETWORK_RECEIVE || !o || strcmp(o->place, "tcp") != 0 || !are_as_long(row) || !l ||
	    !*l->text || !net_text_is_same(o->name, l->text))
		return false;
	*ret = (struct finding_limit){ .limit = l };
	return true;
}
