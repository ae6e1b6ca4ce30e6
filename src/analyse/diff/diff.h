/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_DIFF_DIFF_H
#define ANALYSE_DIFF_DIFF_H

#include "analyse/query.h"
#include "analyse/tree.h"
#include "features/tasks/rows.h"
#include "profile/profile.h"

/*
 * Compares two recordings, or two parts of one: waits are summed by a common property on both sides.  Each difference
 * has a standard error, and those that are not noise are marked.  See docs/diff.md.
 */

enum diff_side { DIFF_BEFORE = 0, DIFF_AFTER, DIFF_SIDES };

/* Property by which waits are grouped. */
enum diff_by {
	DIFF_BY_TOTAL = 0,	/* a row for time that is not idle and one for idle time: enum diff_total_key */
	DIFF_BY_REASON,		/* analyse/reason: what the thread waited for */
	DIFF_BY_STACK,		/* thread's name and both stacks */
	DIFF_BY_FUNCTION,	/* a frame anywhere in the stack; rows overlap */
	DIFF_BY_LEAF,		/* plumbing.h: the headline */
	DIFF_BY_STATE,		/* kind of time: asleep, waiting for a CPU, ... */
	DIFF_BY_COMM,
	DIFF_BY_PROCESS,
	DIFF_BY_SYSCALL,
	DIFF_BY_LOCK,		/* only waits for locks */
	DIFF_BY_COUNT
};

const char *diff_by_name(enum diff_by by);	/* "stack" */
const char *diff_by_names(void);		/* "reason, stack, ..." for messages */
bool diff_by_parse(const char *name, enum diff_by *ret_by);

/* What times are divided by before comparing. */
enum diff_norm {
	DIFF_PER_THREAD_TIME = 0,	/* by observed time of the selected threads: per thread-minute */
	DIFF_PER_REQUEST,
	DIFF_NOT_NORMALISED,
	DIFF_WHOLE_RUNS,	/* not divided, since both sides are complete runs */
};

struct diff_input {
	const struct profile *profile;
	const struct selection *selection;	/* NULL: all */
	uint64_t requests;	/* positive with DIFF_PER_REQUEST */
	const char *name;	/* of the recording, for output */
	const char *filters;	/* description of what is compared; NULL or "": all */
};

struct diff_options {
	enum diff_norm norm;
	double noise;		/* usual difference between runs as a share of the time: 0.01 */
};

#define DIFF_NOISE_DEFAULT 0.01
#define DIFF_FALSE_SHARE 0.001	/* expected share of false positives among marked changes */
#define DIFF_TESTED_SHARE 0.001	/* rows with less of either side's time are not tested */
#define DIFF_TESTED_COUNT 5	/* rows with fewer waits on both sides together are not tested */

/* A row's values on one side.  Times are unscaled unless stated otherwise. */
struct diff_amount {
	uint64_t off_cpu_ns;
	uint64_t idle_ns;		/* part of it */
	uint64_t count;
	/* waits that began and ended in the window: only these have a known duration */
	uint64_t whole_ns, whole_cnt;
	uint64_t max_ns;		/* of whole waits, like hist */
	uint64_t hist[PROFILE_HIST_SLOTS];
	uint32_t threads_cnt;
	double scaled_ns;		/* per thread-minute, per request, or unscaled */
	double scaled_se_ns;
	double dof;			/* of the standard errors */
	/* part of scaled_ns's variance due to threads that began or ended in the window, ns^2 */
	double lives;
	double mean_ns;			/* of whole waits; 0 if none */
	/* typical duration: the mean of the longest waits, which have most of the time */
	double each_ns, each_se_ns, each_dof;
	double each_apart_ns;		/* standard error by variation between threads; 0 for a single thread */
	double scaled_cnt, scaled_cnt_se;
};

/* The difference of a value. */
struct diff_change {
	double by;		/* after - before */
	double se;		/* its standard error */
	double t;		/* the certain part of `by` divided by se; 0 if both are 0 */
	double dof;
	double p;		/* probability of such a difference by chance; 1: not tested */
	bool is_real;		/* significant, considering all rows of the table */
};

enum diff_fate {
	DIFF_ON_BOTH = 0,
	DIFF_NEW,		/* only in AFTER */
	DIFF_VANISHED,		/* only in BEFORE */
	DIFF_MOVED,		/* similar stack by another path */
};

/* Keys of rows by total. */
enum diff_total_key { DIFF_TOTAL_KEY, DIFF_IDLE_KEY };

struct diff_row {
	const char *name;	/* not escaped; for a stack its headline */
	const char *comm;	/* for a stack; else NULL */
	const char *says;	/* what most of it does, "waits for a mutex", for a stack or headline; NULL: unknown */
	uint32_t key;		/* for a stack its node in diff->tree, for a function its label */
	uint32_t was;		/* for a moved stack its node in BEFORE; else 0 */
	enum diff_fate fate;
	/* part of its stack was lost: its time may be in other rows, so it is not tested */
	bool is_lost;
	bool is_idle;		/* mostly idle: its changes do not matter, so it is not tested */
	bool is_tested;
	struct diff_amount side[DIFF_SIDES];
	struct diff_change time;	/* of scaled_ns */
	struct diff_change each;	/* of each_ns */
};

/* The duration in ns that a given share of the whole waits does not exceed. */
double diff_quantile(const struct diff_amount *a, double share);

static inline bool diff_row_is_real(const struct diff_row *r)
{
	return r->time.is_real || r->each.is_real;
}

struct diff_table {
	enum diff_by by;
	GArray *rows;		/* struct diff_row: real changes first, then by time; the order is deterministic */
	unsigned real_cnt, tested_cnt;
};

struct diff_keys;

struct diff {
	struct diff_input in[DIFF_SIDES];
	struct diff_options options;
	uint64_t observed_ns[DIFF_SIDES];	/* of the selected threads */
	uint32_t threads_cnt[DIFF_SIDES];
	double scale[DIFF_SIDES];		/* scaled = scale * time */
	/* factor that rescales AFTER relative to the window's length instead of its threads' time */
	double by_window;
	struct diff_row total, idle;		/* all waits, idle waits */
	/*
	 * All stacks of both sides below one root.  Names are those of AFTER if it has them.  weights[]: for each node
	 * the waits that end exactly there; moved stacks are where they are in AFTER.
	 */
	struct tree *tree;
	GArray *weights[DIFF_SIDES];	/* uint64_t, ns */
	uint64_t lost_ns[DIFF_SIDES];		/* of waits with lost stacks */
	bool has_unmatched;		/* there were too many stacks to match them all */
	struct diff_keys *keys;		/* private */
	struct diff_table *tables[DIFF_BY_COUNT];	/* private: diff_table() */
};

/* Borrows the profiles and selections. */
struct diff *diff_new(const struct diff_input *before, const struct diff_input *after,
		      const struct diff_options *options);
void diff_free(struct diff *d);	/* NULL is fine */

/* Computed on first use; owned by the diff. */
const struct diff_table *diff_table(struct diff *d, enum diff_by by);

/*
 * Whether it records a command from start to end.  Then its total waiting time is compared: a share of the time would
 * be the same whether it takes one second or two.
 */
bool diff_is_whole_run(const struct profile *p);

/*
 * Whether both sides have numbers of waits.  Other tools' profiles may lack them: then changes cannot be told from
 * noise.
 */
bool diff_has_counts(const struct diff *d);

/* "new", "vanished", "moved", "" */
const char *diff_fate_name(enum diff_fate fate);

/* The time of all waits of a side, including idle ones. */
uint64_t diff_all_ns(const struct diff *d, enum diff_side side);

/* Change in percent of before; INFINITY if that is 0. */
double diff_percent(const struct diff_row *r);
double diff_each_percent(const struct diff_row *r);

/* Requests of both sides, if both recordings have some. */

/* Total number of requests; 0: none recorded. */
uint64_t diff_request_cnt(const struct profile *p);

struct diff_latency {
	uint64_t count, p50_ns, p99_ns, max_ns;
	double mean_ns, mean_se_ns;
};

struct diff_request {
	const char *name;	/* not escaped */
	struct diff_latency side[DIFF_SIDES];
	double mean_by_ns, mean_by_se_ns;	/* after - before */
};

/*
 * Functions with requests on both sides, most requests in BEFORE first: struct diff_request; free with
 * g_array_unref().
 */
GArray *diff_requests(const struct diff *d);

/* Tasks of both sides, if both recordings sampled them: average number, by state, reason and place. */

struct diff_task {
	const char *program;	/* not escaped, like all texts */
	enum tasks_kind kind;
	const char *state, *reason;	/* reason NULL: none */
	const char *at;		/* innermost function of the program itself; NULL: none */
	const char *call;	/* library function that it calls; NULL: none */
	const char *creator;	/* NULL: unknown */
	double tasks[DIFF_SIDES];
	double variance[DIFF_SIDES];
	bool is_real;		/* the difference exceeds the sampling error */
};

/*
 * Real differences first, then largest first: struct diff_task; NULL: a side has no tasks.  Free with g_array_unref().
 */
GArray *diff_tasks(const struct diff *d);

#endif
