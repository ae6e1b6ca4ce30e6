/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SERVER_RANGES_H
#define SERVER_RANGES_H

#include "profile/profile.h"

/*
 * Profiles of ranges of the history, read once for the several requests that one look at a range makes.  Few are kept,
 * and few are read at a time: each may be large.
 */

struct ranges;

/* How a profile is prepared; its stacks differ, so each form is another profile. */
enum range_form {
	RANGE_PLAIN,		/* as `report` has it */
	RANGE_WITH_OBJECTS,	/* objects are frames, as pictures and other tools' formats have it */
};

/* How a range is read: store_read(), or a test's own. */
typedef struct profile *(*range_read_fn)(const char *dir, uint64_t from_ns, uint64_t to_ns, GError **error);

/* max_bytes: of all profiles that nobody uses just now, as estimated. */
struct ranges *ranges_new(const char *dir, range_read_fn read, gsize max_bytes);
void ranges_free(struct ranges *r);	/* nobody may use one any more; NULL is fine */

/*
 * Of Unix times.  To be read only, and given back by ranges_put().  Where another thread reads it, this one waits.
 * NULL with a sentence.
 */
const struct profile *ranges_get(struct ranges *r, uint64_t from_ns, uint64_t to_ns, enum range_form form,
				 GError **error);
void ranges_put(struct ranges *r, const struct profile *p);	/* NULL is fine */

struct ranges_stats {
	unsigned kept, read_cnt, hit_cnt;
	gsize bytes;
};
void ranges_stats(struct ranges *r, struct ranges_stats *ret);

#endif
