/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* When the longest wait of each row began, and who ended it, in a recording: written and read. */
#include "profile/profile_insert.h"
#include "profile/profile_reader.h"
#include "profile/profile_rows.h"

#define WORTH_TELLING_NS 1000000u

static bool is_told(const struct profile *p, const struct wait *w)
{
	return w->max_ns >= WORTH_TELLING_NS && w->max_start_unix_ns > p->info.start_unix_ns;
}

int longest_write(sqlite3 *db, const struct profile *p)
{
	struct insert in = insert_into(db, "INSERT INTO longest VALUES(?, ?, ?, ?)");
	uint64_t id = 0;

	for (guint i = 0; p->info.start_unix_ns && i < p->waits->len; i++) {
		const struct wait *w = profile_wait(p, i);

		if (!is_told(p, w))
			continue;
		insert_id(&in, id++);
		insert_number(&in, i);
		insert_number(&in, w->max_start_unix_ns - p->info.start_unix_ns);
		if (w->max_waker)
			insert_number(&in, w->max_waker - 1);
		else
			insert_null(&in);
		if (!insert_row_done(&in))
			break;
	}
	return insert_end(&in);
}

void row_of_longest(struct reader *r)
{
	uint32_t wait = row_id(r, 1, r->waits, false);
	uint64_t start_ns = row_ns(r, 2);
	uint32_t waker = row_is_null(r, 3) ? 0 : row_id(r, 3, r->wakers, false) + 1;

	if (start_ns > PROFILE_NS_MAX - MIN(r->p->info.start_unix_ns, PROFILE_NS_MAX))
		row_wrong(r, 2);
	if (!r->wrong)
		profile_set_longest(r->p, wait, r->p->info.start_unix_ns + start_ns, waker);
}
