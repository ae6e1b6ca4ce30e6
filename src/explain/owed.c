/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/owed.h"

#include "base/net_table.h"
#include "explain/sentence.h"
#include "explain/text.h"

#define QUEUE_TIMES 2	/* as many clients as connections: fewer have come just now */

bool owed_find(const struct findings *f, const struct finding *row, struct finding_limit *ret)
{
	const struct object *o = finding_object(f, row);
	const struct profile_limit *l =
		profile_find_limit(f->profile, LIMIT_OWED, finding_pid(f, row), 0);
	const char *upstream = o ? profile_upstream(f->profile, profile_wait(f->profile, row->wait)) : NULL, *there;
	uint32_t made, clients = limit_owed_read(l, &made, &there);

	if (!clients || row->reason != REASON_NETWORK_RECEIVE || !upstream || !net_text_is_same(upstream, there))
		return false;
	*ret = (struct finding_limit){ .limit = l };
	return true;
}

const char *owed_upstream(const struct finding *row)
{
	const char *there;
	uint32_t made;

	return limit_owed_read(row->limit.limit, &made, &there) ? there : NULL;
}

const char *owed_advice(const struct finding *row)
{
	const char *there;
	uint32_t made, clients = limit_owed_read(row->limit.limit, &made, &there);

	return clients >= QUEUE_TIMES * made ?
		       "If a connection there carries one request at a time, the others queue: allow more connections (maxconn, "
		       "maxSockets, a pool's size) if the server there has room for more. Else look at that server." :
		       NULL;
}

void owed_append_evidence(GString *s, const struct finding *row)
{
	const char *there;
	uint32_t made, clients = limit_owed_read(row->limit.limit, &made, &there);

	if (!clients)
		return;
	g_string_append(s, "; as the recording ended ");
	text_thousands(s, clients);
	g_string_append(s, " clients waited for answers, with ");
	if (made == 1)
		g_string_append(s, "one");
	else
		text_thousands(s, made);
	g_string_append(s, made == 1 ? " connection to there" : " connections to there");
}
