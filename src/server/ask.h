/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SERVER_ASK_H
#define SERVER_ASK_H

#include "analyse/query.h"
#include "server/route.h"
#include "store/store.h"

/*
 * Parses and bounds what a request asks of the history.  As in route.h a request is data: unit tests can ask whatever
 * an attacker could.
 */

#define ASK_RANGE_MAX_NS (UINT64_C(31) * 86400 * 1000000000)	/* of one profile */
#define ASK_LINE_MAX_NS (UINT64_C(400) * 86400 * 1000000000)
#define ASK_STEPS_MAX 2000
#define ASK_STEP_MIN_NS UINT64_C(1000000000)
#define ASK_SERIES_MAX 48
#define ASK_ROWS_MAX 1000
#define ASK_TEXT_MAX_BYTES 512	/* of a filter */

/* Advice if a file exceeds the maximum size of an answer. */
#define ASK_FILE_TOO_LARGE                                                                                           \
	"the file is larger than 128 MiB: ask for a shorter range, use a filter, or take a smaller format, as pprof; " \
	"`offcpu export --history` with --from and --to writes one of any size"

/* Unix time in nanoseconds.  from <= to, both clamped to the store's extent, so they may be equal. */
struct ask_range {
	uint64_t from_ns, to_ns;
};

/*
 * The query's `from_name` and `to_name`, in Unix nanoseconds.  A missing one defaults to the history's edge.  False on
 * error: not a number, the wrong order, or longer than max_ns.
 */
bool ask_range(const struct request *r, const char *from_name, const char *to_name, const struct store_extent *extent,
	       uint64_t max_ns, struct ask_range *ret, GError **error);

/* The last `seconds` of the history, by default 60. */
bool ask_last(const struct request *r, const struct store_extent *extent, struct ask_range *ret, GError **error);

/* Selects threads and waits.  Texts are owned by the request; NULL: all. */
struct ask_filter {
	const char *const *processes;	/* as in struct query; never from the address */
	const char *process;	/* glob on the process's name */
	const char *service;	/* glob on the service, which may be "(no service)" or "(kernel)", as in time lines */
	const char *reason;	/* a reason or its family */
	const char *comm, *grep;	/* as in struct query */
	const char *only[2];	/* services that the reader may see: as in struct request */
};
bool ask_filter(const struct request *r, struct ask_filter *ret, GError **error);
struct ask_part {
	struct store_part part;
	bool reasons[REASON_COUNT];
};
bool ask_filter_is_empty(const struct ask_filter *f);
/* NULL on error: an expression takes too many steps. */
struct selection *ask_select(const struct ask_filter *f, const struct profile *p, GError **error);
/* The same for a time line.  Borrows the filter. */
void ask_part(const struct ask_filter *f, struct ask_part *ret);
/* "process mariadbd, reason lock", for people; "" if there is no filter.  Free with g_free(). */
char *ask_filter_text(const struct ask_filter *f);

/* A time line.  Its step is at least a second, and long enough for at most ASK_STEPS_MAX steps. */
struct ask_line {
	struct ask_range range;
	uint64_t step_ns;
	enum store_by by;
	unsigned series_max;
};
bool ask_line(const struct request *r, const struct store_extent *extent, struct ask_line *ret, GError **error);

/* Index of the query's value in `words`, which NULL ends.  *ret is unchanged if the query has none. */
bool ask_word(const struct request *r, const char *name, const char *const *words, unsigned *ret, GError **error);

#endif
