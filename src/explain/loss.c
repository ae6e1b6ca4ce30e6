/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/loss.h"

#include <string.h>

#include "explain/sentence.h"
#include "explain/text.h"

#define LOST_MIN 5
#define TIMER_SLOT 27	/* log2: 134 to 268 ms, of TCP_RTO_MIN, 200 ms; its doubles lie above */

/* "10.0.0.5:5432" is the beginning of "10.0.0.5:5432 (postgres)", and not of "10.0.0.5:54321". */
static bool is_socket_of(const struct object *o, const char *there)
{
	size_t len = strlen(there);

	return o->kind == OBJECT_SOCKET && strncmp(o->name, there, len) == 0 && (!o->name[len] || o->name[len] == ' ');
}

bool loss_find(const struct findings *f, const struct finding *row, struct finding_limit *ret)
{
	const struct object *o = row->object ? profile_get_object(f->profile, row->object - 1) : NULL;
	uint64_t slow_cnt = 0, slow_ns = 0;

	if (!o || row->reason != REASON_NETWORK_RECEIVE)
		return false;
	for (unsigned i = TIMER_SLOT; i < PROFILE_HIST_SLOTS; i++) {
		slow_cnt += row->hist[i];
		slow_ns += row->hist[i] * (3ULL << i) / 2;
	}
	if (!slow_cnt || slow_ns < row->time_ns / 2)
		return false;
	for (guint i = 0; i < f->profile->limits->len; i++) {
		const struct profile_limit *l = &g_array_index(f->profile->limits, struct profile_limit, i);
		const char *there;
		uint64_t cnt = limit_loss_read(l, &there);

		if (cnt < LOST_MIN || cnt < slow_cnt / 2 || !is_socket_of(o, there))
			continue;
		*ret = (struct finding_limit){ .limit = l };
		return true;
	}
	return false;
}

void loss_append_evidence(GString *s, const struct finding *row)
{
	const char *there;
	uint64_t cnt = limit_loss_read(row->limit.limit, &there);

	if (!cnt)
		return;
	g_string_append(s, "; TCP sent ");
	text_thousands(s, cnt);
	g_string_append(s, " segments again to ");
	text_safe_cut(s, there, FINDING_NAME_COLUMNS);
}
