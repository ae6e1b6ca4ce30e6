/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SERVER_RANGES_H
#define SERVER_RANGES_H

#include "profile/profile.h"

/*
 * A cache of profiles of ranges, since one view of a range makes several requests.  Few are cached and few are read at
 * a time: each may be large.
 */

struct ranges;

/* How a profile is prepared.  Stacks differ by form, so each form is cached separately. */
enum range_form {
	RANGE_PLAIN,		/* as for `report` */
	RANGE_WITH_OBJECTS,	/* objects are frames, as for flame graphs and other tools' formats */
};

/* How to read a range: store_read(), or a test's function. */
typedef struct profile *(*range_read_fn)(const char *dir, uint64_t from_ns, uint64_t to_ns, GError **error);

/* max_bytes: estimated size of all unused profiles. */
struct ranges *ranges_new(const char *dir, range_read_fn read, gsize max_bytes);
void ranges_free(struct ranges *r);	/* no profile may be in use; NULL is fine */

/*
 * The range is in Unix time.  The result is read-only; return it with ranges_put().  If another thread is reading it,
 * waits for that.  NULL on error.
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
