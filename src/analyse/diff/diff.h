/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_DIFF_DIFF_H
#define ANALYSE_DIFF_DIFF_H

#include "analyse/query.h"
#include "analyse/tree.h"
#include "features/tasks/rows.h"
#include "profile/profile.h"

/*
 * What two recordings, or two parts of one, differ in: waits summed by what they have in common on both sides, each
 * difference with its standard error, and which of them are no noise.  docs/diff.md says how.
 */

enum diff_side { DIFF_BEFORE = 0, DIFF_AFTER, DIFF_SIDES };

/* What waits are put together by. */
enum diff_by {
	DIFF_BY_TOTAL = 0,	/* a row of what is not idle, and one of what is: enum diff_total_key */
	DIFF_BY_REASON,		/* analyse/reason: what the thread waited for, in one word */
	DIFF_BY_STACK,		/* thread's name and both stacks */
	DIFF_BY_FUNCTION,	/* a frame anywhere in the stack; rows overlap */
	DIFF_BY_LEAF,		/* plumbing.h: the headline */
	DIFF_BY_STATE,		/* what kind of time: asleep, waiting for a CPU, ... */
	DIFF_BY_COMM,
	DIFF_BY_PROCESS,
	DIFF_BY_SYSCALL,
	DIFF_BY_LOCK,		/* waits without one are in no row */
	DIFF_BY_COUNT
};

const char *diff_by_name(enum diff_by by);	/* "stack" */
const char *diff_by_names(void);		/* "reason, stack, ..." for messages */
bool diff_by_parse(const char *name, enum diff_by *ret_by);

/* What times are divided by before they are compared. */
enum diff_norm {
	DIFF_PER_THREAD_TIME = 0,	/* the time the selected threads were observed: rows are per thread-minute */
	DIFF_PER_REQUEST,
	DIFF_NOT_NORMALISED,
	DIFF_WHOLE_RUNS,	/* neither, since both sides are runs from start to end */
};

struct diff_input {
	const struct profile *profile;
	const struct selection *selection;	/* NULL: all */
	uint64_t requests;	/* above 0 with DIFF_PER_REQUEST */
	const char *name;	/* of the recording, for people */
	const char *filters;	/* what of it is compared, for people; NULL or "": all */
};

struct diff_options {
	enum diff_norm norm;
	double noise;		/* by which two runs differ anyway, a share of the time: 0.01 */
};

#define DIFF_NOISE_DEFAULT 0.01
#define DIFF_FALSE_SHARE 0.001	/* at most this share of what is called a change is none, in expectation */
#define DIFF_TESTED_SHARE 0.001	/* rows with less than this of either side's time are not tested */
#define DIFF_TESTED_COUNT 5	/* nor with fewer waits on both */

/* One side of a row.  Times are as they were, but for what is said to be scaled. */
struct diff_amount {
	uint64_t off_cpu_ns;
	uint64_t idle_ns;		/* of it */
	uint64_t count;
	uint64_t whole_ns, whole_cnt;	/* of waits that began and ended in the window: only these have a duration */
	uint64_t max_ns;		/* of these, and so is hist */
	uint64_t hist[PROFILE_HIST_SLOTS];
	uint32_t threads_cnt;
	double scaled_ns;		/* per thread-minute, per request, or as it is */
	double scaled_se_ns;
	double dof;			/* degrees of freedom of the standard errors */
	double lives;		/* of scaled_ns: variance by threads that began or ended in the window, ns^2 */
	double mean_ns;			/* of the whole waits; 0 of none */
	/* how long one is: the mean of the longest, which hold most of the time */
	double each_ns, each_se_ns, each_dof;
	double each_apart_ns;		/* its standard error by how much the threads differ; 0 of one */
	double scaled_cnt, scaled_cnt_se;
};

/* How a number differs. */
struct diff_change {
	double by;		/* after - before */
	double se;		/* standard error of that */
	double t;		/* what of `by` is sure, / se; 0 when both are 0 */
	double dof;
	double p;		/* that it is as large by chance; 1: not tested */
	bool is_real;		/* with all the other rows of the table in mind */
};

enum diff_fate {
	DIFF_ON_BOTH = 0,
	DIFF_NEW,		/* only after */
	DIFF_VANISHED,		/* only before */
	DIFF_MOVED,		/* by another path, which is mostly the same */
};

/* Of rows by total. */
enum diff_total_key { DIFF_TOTAL_KEY, DIFF_IDLE_KEY };

struct diff_row {
	const char *name;	/* not escaped; of a stack its headline */
	const char *comm;	/* of a stack; else NULL */
	const char *says;	/* of a stack or a headline what most of it does, "waits for a mutex"; NULL: not known */
	uint32_t key;		/* of a stack its node in diff->tree, of a function its label */
	uint32_t was;		/* of a moved stack the node that it had before; else 0 */
	enum diff_fate fate;
	/* part of its stack is not known: what is missing in it is in others, and it is not tested */
	bool is_lost;
	bool is_idle;		/* most of it: what changes of it does not matter, and it is not tested */
	bool is_tested;
	struct diff_amount side[DIFF_SIDES];
	struct diff_change time;	/* of scaled_ns */
	struct diff_change each;	/* of each_ns */
};

/* So many of the whole waits are not longer, a share; ns. */
double diff_quantile(const struct diff_amount *a, double share);

static inline bool diff_row_is_real(const struct diff_row *r)
{
	return r->time.is_real || r->each.is_real;
}

struct diff_table {
	enum diff_by by;
	GArray *rows;		/* struct diff_row: real ones first, then by how much time; always in the same order */
	unsigned real_cnt, tested_cnt;
};

struct diff_keys;

struct diff {
	struct diff_input in[DIFF_SIDES];
	struct diff_options options;
	uint64_t observed_ns[DIFF_SIDES];	/* of the selected threads */
	uint32_t threads_cnt[DIFF_SIDES];
	double scale[DIFF_SIDES];		/* scaled = scale * time */
	/* what is scaled of AFTER, times this, is by the window's length in place of its threads' time */
	double by_window;
	struct diff_row total, idle;		/* all waits */
	/*
	 * All stacks of both sides under one root: labels are the names of AFTER where it has them.  weights[] are of
	 * the tree's nodes, the waits that end there alone; what moved is where it is after.
	 */
	struct tree *tree;
	GArray *weights[DIFF_SIDES];	/* uint64_t, ns */
	uint64_t lost_ns[DIFF_SIDES];		/* of waits whose stack was lost */
	bool has_unmatched;		/* there were too many stacks to look for all that moved */
	struct diff_keys *keys;		/* private */
	struct diff_table *tables[DIFF_BY_COUNT];	/* private: diff_table() */
};

/* Borrows from the profiles and selections. */
struct diff *diff_new(const struct diff_input *before, const struct diff_input *after,
		      const struct diff_options *options);
void diff_free(struct diff *d);	/* NULL is fine */

/* Made when first asked for; belongs to the diff. */
const struct diff_table *diff_table(struct diff *d, enum diff_by by);

/*
 * Is it the whole run of a command, from its start to its end?  How long that waits is what it is for: a share of its
 * time is the same whether it takes a second or two.
 */
bool diff_is_whole_run(const struct profile *p);

/*
 * Do both sides tell how many waits there were?  What another tool wrote may not: then no change is known from noise.
 */
bool diff_has_counts(const struct diff *d);

/* "new", "vanished", "moved", "" */
const char *diff_fate_name(enum diff_fate fate);

/* The time of all waits of a side, idle ones, too. */
uint64_t diff_all_ns(const struct diff *d, enum diff_side side);

/* Change in percent of before; INFINITY of nothing. */
double diff_percent(const struct diff_row *r);
double diff_each_percent(const struct diff_row *r);

/* Requests of both sides, where both recordings have some. */

/* All that a recording knows of, of all functions; 0: it has none. */
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

/* Functions of that name on both sides, most requests before first: struct diff_request; free with g_array_unref(). */
GArray *diff_requests(const struct diff *d);

/*
 * Tasks of both sides, where both recordings looked at them: how many there were on average, in which state, for what,
 * where.
 */

struct diff_task {
	const char *program;	/* not escaped, as all texts */
	enum tasks_kind kind;
	const char *state, *reason;	/* reason NULL: none */
	const char *at;		/* the innermost function that is the program's own; NULL: none */
	const char *call;	/* what of a library it calls; NULL: none */
	const char *creator;	/* NULL: not known */
	double tasks[DIFF_SIDES];
	double variance[DIFF_SIDES];
	bool is_real;		/* the difference is more than what looks miss */
};

/*
 * Most different first, real ones before others: struct diff_task; NULL: one side did not look.  Free with
 * g_array_unref().
 */
GArray *diff_tasks(const struct diff *d);

#endif
