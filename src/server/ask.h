/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SERVER_ASK_H
#define SERVER_ASK_H

#include "analyse/query.h"
#include "server/route.h"
#include "store/store.h"

/*
 * What a request for a part of the history asks for, with its bounds.  As in route.h a request is data: unit tests ask
 * whatever an attacker could.
 */

#define ASK_RANGE_MAX_NS (UINT64_C(31) * 86400 * 1000000000)	/* of one profile */
#define ASK_LINE_MAX_NS (UINT64_C(400) * 86400 * 1000000000)
#define ASK_STEPS_MAX 2000
#define ASK_STEP_MIN_NS UINT64_C(1000000000)
#define ASK_SERIES_MAX 48
#define ASK_ROWS_MAX 1000
#define ASK_TEXT_MAX_BYTES 512	/* of a filter */

/* What to ask for in place of a file that is larger than an answer may be. */
#define ASK_FILE_TOO_LARGE                                                                                           \
	"the file is larger than 128 MiB: ask for a shorter range, use a filter, or take a smaller format, as pprof; " \
	"`offcpu export --history` with --from and --to writes one of any size"

/* Unix time in nanoseconds; from <= to, and both within what the store holds, so they may be equal. */
struct ask_range {
	uint64_t from_ns, to_ns;
};

/*
 * The query's `from_name` and `to_name`, in Unix nanoseconds; what is not said is the history's edge.  False with a
 * sentence for what is no number, the wrong way round, or longer than max_ns.
 */
bool ask_range(const struct request *r, const char *from_name, const char *to_name, const struct store_extent *extent,
	       uint64_t max_ns, struct ask_range *ret, GError **error);

/* The last `seconds` of the history; of a query that says nothing 60. */
bool ask_last(const struct request *r, const struct store_extent *extent, struct ask_range *ret, GError **error);

/* Which threads and waits.  Texts belong to the request; NULL: all. */
struct ask_filter {
	const char *const *processes;	/* as in struct query; no address says it */
	const char *process;	/* glob on the process's name */
	const char *service;	/* glob on the service; "(no service)" and "(kernel)" are two, as in time lines */
	const char *reason;	/* a reason or its family */
	const char *comm, *grep;	/* as in struct query */
	const char *only[2];	/* of services, that the reader may see: as in struct request */
};
bool ask_filter(const struct request *r, struct ask_filter *ret, GError **error);
struct ask_part {
	struct store_part part;
	bool reasons[REASON_COUNT];
};
bool ask_filter_is_empty(const struct ask_filter *f);
/* NULL with a sentence about an expression that takes too many steps. */
struct selection *ask_select(const struct ask_filter *f, const struct profile *p, GError **error);
/* The same of a time line; it borrows the filter. */
void ask_part(const struct ask_filter *f, struct ask_part *ret);
/* "process mariadbd, reason lock", for people; "" for everything.  For g_free(). */
char *ask_filter_text(const struct ask_filter *f);

/* A time line: its step is at least a second and such that there are at most ASK_STEPS_MAX. */
struct ask_line {
	struct ask_range range;
	uint64_t step_ns;
	enum store_by by;
	unsigned series_max;
};
bool ask_line(const struct request *r, const struct store_extent *extent, struct ask_line *ret, GError **error);

/* One of a list of words, which NULL ends: its place; *ret stays where the query has none. */
bool ask_word(const struct request *r, const char *name, const char *const *words, unsigned *ret, GError **error);

#endif
