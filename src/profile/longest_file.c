/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Reads and writes the begin and the waker of each row's longest wait. */
#include "profile/profile_reader.h"
#include "profile/profile_rows.h"

#define WORTH_TELLING_NS 1000000u

static bool is_told(const struct profile *p, const struct wait *w)
{
	return p->info.start_unix_ns && w->max_ns >= WORTH_TELLING_NS && w->max_start_unix_ns > p->info.start_unix_ns;
}

bool next_longest(const struct profile *p, struct table_at *at, void *ret_row)
{
	while (at->i < p->waits->len) {
		const struct wait *w = profile_wait(p, at->i++);

		if (!is_told(p, w))
			continue;
		*(struct longest_row *)ret_row =
			(struct longest_row){ at->i - 1, w->max_waker, w->max_start_unix_ns - p->info.start_unix_ns };
		return true;
	}
	return false;
}

uint32_t add_longest(struct reader *r, const void *row)
{
	const struct longest_row *l = row;

	if (l->start_ns > PROFILE_NS_MAX - MIN(r->p->info.start_unix_ns, PROFILE_NS_MAX))
		reader_wrong(r, "start_ns");
	else
		profile_set_longest(r->p, l->wait, r->p->info.start_unix_ns + l->start_ns, l->waker);
	return 0;
}
