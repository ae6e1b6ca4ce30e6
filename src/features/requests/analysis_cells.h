/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_REQUESTS_ANALYSIS_CELLS_H
#define FEATURES_REQUESTS_ANALYSIS_CELLS_H

#include "analyse/reason/reasons.h"
#include "features/requests/rows.h"

/*
 * The requests of a window by name: how many, how long they took, and on what, by how long they took.  So cells add up:
 * those of an hour are the sum of its windows', and the slowest of all are known of the sum, too.  Counts, latencies and
 * the split are exact sums; time by cause is an estimate while waits are sampled.
 */

#define REQUEST_CELLS_MAX 64		/* names of a window */
#define REQUEST_CAUSES_MAX 32		/* of a name that are kept by where they are; others by their reason */
#define REQUEST_WHERE_MAX_BYTES 128

/* The CPU and its queue are causes, too. */
struct request_cause_cell {
	enum reason reason;
	char *where;	/* behind the reason's text: "stock in take_stock"; "": not told */
	uint64_t ns[OFFCPU_REQUEST_RANGES];	/* of requests of such latencies */
};

struct request_cell {
	char *name;
	struct offcpu_request_sum sum;	/* but for what was as slow as was asked for */
	uint64_t observed_ns;	/* of a time line: in so much time; rates are of that */
	uint64_t wall_ns[OFFCPU_REQUEST_RANGES];
	GPtrArray *causes;	/* struct request_cause_cell */
};

/* Of all names together: those that are in no number. */
struct request_uncounted {
	uint64_t handed;	/* another thread answered them */
	uint64_t no_route;	/* of a service whose routes are asked for, without one; they need not be of any name */
	uint64_t others;	/* left, or without room, or their return was not seen, or their route was new */
};

struct request_cells;

struct request_cells *request_cells_new(void);
void request_cells_free(struct request_cells *c);	/* NULL is fine */
/* NULL where the profile has none. */
struct request_cells *request_cells_of(const struct profile *p);
/* One of the threads that such requests ran on, of those with most of them; NULL: not known. */
const struct thread *request_thread(const struct profile *p, const char *name);
/* struct request_cell, as they came. */
const GPtrArray *request_cells_list(const struct request_cells *c);
/* Made where there is none of that name. */
struct request_cell *request_cells_get(struct request_cells *c, const char *name);
struct request_uncounted *request_cells_uncounted(struct request_cells *c);
void request_uncounted_add(struct request_uncounted *into, const struct request_uncounted *more);
void request_cell_add(struct request_cell *into, const struct request_cell *what);

struct request_cell *request_cell_new(const char *name);
void request_cell_free(struct request_cell *cell);
void request_sum_add(struct offcpu_request_sum *into, const struct offcpu_request_sum *sum);
/* Made where there is none like it. */
struct request_cause_cell *request_cause_get(GPtrArray *causes, enum reason reason, const char *where);
/* The largest ones first, as they are; of those beyond REQUEST_CAUSES_MAX what is alike by reason.  Unref it. */
GPtrArray *request_causes_bounded(const GPtrArray *causes);

/* The last ranges of latencies that together hold no more than that share of all, or the last one alone: the first. */
uint32_t request_cell_slowest(const struct request_cell *cell, double share);
/* Requests of such latencies and above, and what they took. */
uint64_t request_cell_count_from(const struct request_cell *cell, uint32_t range);
uint64_t request_cell_wall_from(const struct request_cell *cell, uint32_t range);
uint64_t request_cause_from(const struct request_cause_cell *cause, uint32_t range);

/*
 * Requests of a history in the steps of a time line.  Counts are whole: what a window holds is in the step in which its
 * middle lies, so steps are best as long as windows or longer.
 */
struct request_series {
	const char *name;		/* of all */
	struct request_cell **steps;	/* one a step; NULL: such requests were not looked for then */
	struct request_cell *all;
};

struct request_line {
	uint64_t from_unix_ns, step_ns;
	uint32_t steps;
	GArray *series;		/* struct request_series, by name */
	struct request_uncounted uncounted;
	uint64_t longest_row_ns;	/* of what it was made of */
};

struct request_line *request_line_new(uint64_t from_unix_ns, uint64_t step_ns, uint32_t steps);
void request_line_free(struct request_line *l);	/* NULL is fine */
/* NULL: nothing of that name is there. */
const struct request_series *request_line_find(const struct request_line *l, const char *name);

/* What a row of that time holds. */
void request_line_add(struct request_line *l, uint64_t start_unix_ns, uint64_t duration_ns,
		      const struct request_cells *cells);
void request_line_sort(struct request_line *l);

#endif
