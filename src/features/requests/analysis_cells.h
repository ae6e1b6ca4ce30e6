/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_REQUESTS_ANALYSIS_CELLS_H
#define FEATURES_REQUESTS_ANALYSIS_CELLS_H

#include "analyse/reason/reasons.h"
#include "features/requests/rows.h"

/*
 * The requests of a window by name: how many, how long they took, and what they spent time on, by latency. Cells add
 * up: those of an hour are the sums of its windows, and so its slowest requests are known, too. Counts, latencies and
 * the split into classes are exact; time by cause is an estimate while waits are sampled.
 */

#define REQUEST_CELLS_MAX 64		/* per window */
#define REQUEST_CAUSES_MAX 32		/* kept with their place, per name; others are summed by reason */
#define REQUEST_WHERE_MAX_BYTES 128

/* A cause may also be the CPU or its run queue. */
struct request_cause_cell {
	enum reason reason;
	char *where;	/* the place, after the reason's text: "stock in take_stock"; "": none */
	uint64_t ns[OFFCPU_REQUEST_RANGES];	/* by latency range of the requests */
};

struct request_cell {
	char *name;
	struct offcpu_request_sum sum;	/* without the part for requests above a requested latency */
	uint64_t observed_ns;	/* for rates: observed time in this step of the time line */
	uint64_t wall_ns[OFFCPU_REQUEST_RANGES];
	GPtrArray *causes;	/* struct request_cause_cell */
};

/* For all names together: requests that are in no count. */
struct request_uncounted {
	uint64_t handed;	/* answered by another thread */
	uint64_t no_route;	/* without a route, in a service with route rules; may be of no rule's name */
	uint64_t others;	/* left, no room, return not seen, or a new route */
};

struct request_cells;

struct request_cells *request_cells_new(void);
void request_cells_free(struct request_cells *c);	/* NULL is fine */
/* NULL: the profile has no requests. */
struct request_cells *request_cells_of(const struct profile *p);
/* A thread that ran most of the requests, or nearly so. NULL: unknown. */
const struct thread *request_thread(const struct profile *p, const char *name);
/* struct request_cell, in the order they were added. */
const GPtrArray *request_cells_list(const struct request_cells *c);
/* Created if there is none with this name. */
struct request_cell *request_cells_get(struct request_cells *c, const char *name);
struct request_uncounted *request_cells_uncounted(struct request_cells *c);
void request_uncounted_add(struct request_uncounted *into, const struct request_uncounted *more);
void request_cell_add(struct request_cell *into, const struct request_cell *what);

struct request_cell *request_cell_new(const char *name);
void request_cell_free(struct request_cell *cell);
void request_sum_add(struct offcpu_request_sum *into, const struct offcpu_request_sum *sum);
/* Created if there is none like it. */
struct request_cause_cell *request_cause_get(GPtrArray *causes, enum reason reason, const char *where);
/* The largest first; those beyond REQUEST_CAUSES_MAX are summed by reason. Unref it. */
GPtrArray *request_causes_bounded(const GPtrArray *causes);

/* The first of the last latency ranges that together hold at most `share` of the requests, or the last range. */
uint32_t request_cell_slowest(const struct request_cell *cell, double share);
/* Requests with latencies of at least this range, and their total time. */
uint64_t request_cell_count_from(const struct request_cell *cell, uint32_t range);
uint64_t request_cell_wall_from(const struct request_cell *cell, uint32_t range);
uint64_t request_cause_from(const struct request_cause_cell *cause, uint32_t range);

/*
 * Requests of a history in the steps of a time line. A window counts as a whole in the step that contains its middle,
 * so steps should be as long as windows or longer.
 */
struct request_series {
	const char *name;		/* "" for all names together */
	struct request_cell **steps;	/* one per step; NULL: such requests were not traced then */
	struct request_cell *all;
};

struct request_line {
	uint64_t from_unix_ns, step_ns;
	uint32_t steps;
	GArray *series;		/* struct request_series, by name */
	struct request_uncounted uncounted;
	uint64_t longest_row_ns;	/* of its source rows */
};

struct request_line *request_line_new(uint64_t from_unix_ns, uint64_t step_ns, uint32_t steps);
void request_line_free(struct request_line *l);	/* NULL is fine */
/* NULL: no requests of this name. */
const struct request_series *request_line_find(const struct request_line *l, const char *name);

/* Adds the contents of a row with these times. */
void request_line_add(struct request_line *l, uint64_t start_unix_ns, uint64_t duration_ns,
		      const struct request_cells *cells);
void request_line_sort(struct request_line *l);

#endif
