/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_WHATIF_FINDINGS_H
#define FEATURES_WHATIF_FINDINGS_H

#include <glib.h>
#include <stdbool.h>

#include "analyse/reason/reasons.h"
#include "analyse/roles.h"
#include "profile/profile.h"

/*
 * What a change would gain (docs/whatif.md): threads that go through the same cycle again and again are a closed
 * population, whose cycle is fitted to what the recording says and replayed with the change.
 */

#define WHATIF_CHANGES_MAX 8

enum whatif_kind { WHATIF_LOCK, WHATIF_PEER, WHATIF_REASON, WHATIF_CPUS };

struct whatif_change {
	enum whatif_kind kind;
	char name[256];		/* of the lock, the peer or the reason */
	double factor;		/* of its holds or its time */
	int cpus;		/* that are added */
	uint8_t reason;		/* enum reason */
};

/* False with a sentence: "lock=NAME hold*0.5", "peer=NAME time*0.5", "reason=disk.sync time*0", "cpus+2". */
bool whatif_parse(const char *text, struct whatif_change *ret, GError **error);

struct whatif {
	char *work;			/* "8 threads of cart in reserve" */
	double rate, rate_low, rate_high;	/* cycles a second, as a multiple of those now */
	double on_cpu, queue, locks, changed, handed, rest;	/* shares of a cycle now */
	bool is_pipeline;		/* handed: it waits for other stages */
};

/*
 * of: "comm", "comm/function" or "request:NAME"; NULL: who waits longest for what is changed.  has_pauses: its sleeps
 * are pauses of a fixed time, which no recording tells from sleep until a timer's next tick.  False: why it cannot tell.
 */
bool whatif_answer(const struct profile *p, const struct whatif_change *changes, guint cnt, const char *of,
		   bool has_pauses, struct whatif *ret, GError **error);
void whatif_clear(struct whatif *w);

/* What the threads of one cycle spend their time on: shares of it, but for what is called _ns. */

#define WORK_LOCKS_MAX 6

struct work_lock {
	uint32_t id;		/* of lock_ids_new() */
	const char *function;	/* the program's that waits for it longest */
	int change;		/* index of the change of its holds; -1: none */
	double wait, sleeps_a_ns;
	double wake_ns;		/* from the waking to the CPU, a sleep */
	double inside[WHATIF_CHANGES_MAX + 1];	/* delays below the same function, as those of struct work */
	double longest_ns;	/* private: what `function` is by */
	double held_by_others;	/* of its waits, the part with a holder that is not of this work */
};

/* What the waits that a change is of are served by. */
struct work_service {
	uint32_t servers;	/* threads of the peer; 0: not recorded */
	double busy;		/* of the servers' time, a thread of this work */
	double others;		/* of the waits for it, the part of other threads */
};

struct work {
	uint32_t threads_cnt, first_thread;
	double total_ns;
	double on_cpu, queue;		/* queue: but for that behind locks */
	double delay[WHATIF_CHANGES_MAX + 1];	/* by the change that they are of; the last: of none */
	uint32_t phases[WHATIF_CHANGES_MAX + 1];	/* of `delay`, by the spread of its waits: see closed_step */
	bool is_even[WHATIF_CHANGES_MAX + 1];		/* they may all be of one length */
	double sleep;			/* in `delay`, too */
	double handed;			/* waits for other threads of the program to hand something over */
	double outside;			/* waits for work from elsewhere */
	double lost, away;		/* not known; the part of the window in which its threads were not there */
	uint32_t locks_cnt;
	struct work_lock locks[WORK_LOCKS_MAX];
	struct work_service service[WHATIF_CHANGES_MAX];
	double cpus;			/* that it may use */
	double queue_behind[WHATIF_CHANGES_MAX];	/* of `queue`, behind the waits that a change is of */
	double cpu_in_calls[WHATIF_CHANGES_MAX];	/* of `on_cpu`, in the calls that wait so; 0: not sampled */
};

struct work_source {
	const struct profile *p;
	struct reasons *reasons;
	struct roles *roles;
	uint32_t *lock_ids;
	const struct whatif_change *changes;
	guint changes_cnt;
	bool has_pauses;	/* sleeps are pauses, as whoever asks says */
};

/* Which change is of that wait; -1: none. */
int work_change_of(const struct work_source *s, uint32_t wait);
/* Is it a wait for another thread of the program to hand something over? */
bool part_is_handed(const struct work_source *s, uint32_t wait);
/* chosen: by thread. */
void work_of(const struct work_source *s, const bool *chosen, struct work *ret);

/*
 * Finds cycles that wait as the recorded ones did, and what they would do with the changes.  A recording holds no
 * holds of locks, only waits for them: how long a hold is follows from how long so many threads wait for it.  What
 * it does not say, as how much holds vary, is assumed in several ways, and the answers' range is the interval.
 */
struct fit_result {
	double rate[8];		/* with the changes, as a multiple; of each way that agrees with the recording */
	unsigned cnt;
	double off;		/* how much the best of them differs from the recorded cycle, as a part */
};
void fit_work(const struct work *w, const struct whatif_change *changes, guint cnt, struct fit_result *ret);

#endif
