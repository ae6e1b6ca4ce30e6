/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_WHATIF_FINDINGS_H
#define FEATURES_WHATIF_FINDINGS_H

#include <glib.h>
#include <stdbool.h>

#include "analyse/reason/reasons.h"
#include "analyse/roles.h"
#include "profile/profile.h"

/*
 * What a change would gain (docs/whatif.md).  Threads that repeat a cycle are a closed population.  Their cycle is
 * fitted to the recording and replayed with the change.
 */

#define WHATIF_CHANGES_MAX 8

enum whatif_kind { WHATIF_LOCK, WHATIF_PEER, WHATIF_REASON, WHATIF_CPUS };

struct whatif_change {
	enum whatif_kind kind;
	char name[256];		/* name of the lock, the peer or the reason */
	double factor;		/* for holds or time */
	int cpus;		/* number added */
	uint8_t reason;		/* enum reason */
};

/* Parses "lock=NAME hold*0.5", "peer=NAME time*0.5", "reason=disk.sync time*0", "cpus+2"; false on error. */
bool whatif_parse(const char *text, struct whatif_change *ret, GError **error);

struct whatif {
	char *work;			/* "8 threads of cart in reserve" */
	double rate, rate_low, rate_high;	/* throughput relative to now */
	double on_cpu, queue, locks, changed, handed, rest;	/* shares of a cycle now */
	bool is_pipeline;		/* handed: share of waits for other stages */
};

/*
 * of: "comm", "comm/function" or "request:NAME"; NULL: the threads that wait longest for what is changed.  has_pauses:
 * sleeps have a fixed length, which a recording cannot tell from sleep until the next tick.  False on error: why it
 * cannot answer.
 */
bool whatif_answer(const struct profile *p, const struct whatif_change *changes, guint cnt, const char *of,
		   bool has_pauses, struct whatif *ret, GError **error);
void whatif_clear(struct whatif *w);

/* How threads spend a cycle.  All values are shares of it, except those named _ns. */

#define WORK_LOCKS_MAX 6

struct work_lock {
	uint32_t id;		/* from lock_ids_new() */
	const char *function;	/* the program's function with the longest waits for it */
	int change;		/* index of the change of its hold time; -1: none */
	double wait, sleeps_a_ns;
	double wake_ns;		/* from waking to running, per sleep */
	double inside[WHATIF_CHANGES_MAX + 1];	/* delays below the same function, as in struct work */
	double longest_ns;	/* private: wait by which `function` was chosen */
	double held_by_others;	/* share of its waits with a holder outside of these threads */
};

/* The server behind waits that a change concerns. */
struct work_service {
	uint32_t servers;	/* threads of the peer; 0: not recorded */
	double busy;		/* the servers' time per thread of this work */
	double others;		/* share of waits for it by other threads */
};

struct work {
	uint32_t threads_cnt, first_thread;
	double total_ns;
	double on_cpu, queue;		/* queue: without run-queue time after locks */
	double delay[WHATIF_CHANGES_MAX + 1];	/* by the change that they belong to; the last: others */
	/* for `delay`, from the variance of its waits: see struct closed_step */
	uint32_t phases[WHATIF_CHANGES_MAX + 1];
	bool is_even[WHATIF_CHANGES_MAX + 1];		/* all may have the same length */
	double sleep;			/* included in `delay` */
	double handed;			/* waits for other threads of the program to hand over work */
	double outside;			/* waits for work from elsewhere */
	double lost, away;		/* lost: unknown; away: share of the window without its threads */
	uint32_t locks_cnt;
	struct work_lock locks[WORK_LOCKS_MAX];
	struct work_service service[WHATIF_CHANGES_MAX];
	double cpus;			/* number that it may use */
	double queue_behind[WHATIF_CHANGES_MAX];	/* part of `queue` after waits that a change concerns */
	/* part of `on_cpu` in the calls that wait for it; 0: not sampled */
	double cpu_in_calls[WHATIF_CHANGES_MAX];
};

struct work_source {
	const struct profile *p;
	struct reasons *reasons;
	struct roles *roles;
	uint32_t *lock_ids;
	const struct whatif_change *changes;
	guint changes_cnt;
	bool has_pauses;	/* the user says that sleeps are pauses */
};

/* Index of the change that concerns the wait; -1: none. */
int work_change_of(const struct work_source *s, uint32_t wait);
/* Whether it waits for another thread of the program to hand over work. */
bool part_is_handed(const struct work_source *s, uint32_t wait);
/* chosen: by thread. */
void work_of(const struct work_source *s, const bool *chosen, struct work *ret);

/*
 * Finds cycles that would wait as recorded, and their throughput with the changes.  A recording has no hold times of
 * locks, only waits for them: the hold time follows from these and the number of threads.  What is unknown, like the
 * variance of holds, is assumed in several ways.  The range of answers is the interval.
 */
struct fit_result {
	/* throughput with the changes, relative to now, for each way that agrees with the recording */
	double rate[8];
	unsigned cnt;
	double off;		/* relative error of the best way */
};
void fit_work(const struct work *w, const struct whatif_change *changes, guint cnt, struct fit_result *ret);

#endif
