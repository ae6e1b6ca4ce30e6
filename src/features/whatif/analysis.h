/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_WHATIF_ANALYSIS_H
#define FEATURES_WHATIF_ANALYSIS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A closed population: so many threads go through the same cycle again and again, and there are always as many.  The
 * cycle is replayed event by event, because holding a lock while one computes or waits (simultaneous resource
 * possession) is outside what mean value analysis solves (Reiser and Lavenberg, JACM 27(2), 1980).  Where that does
 * solve a model, the replay gives the same: the unit test compares them.
 */

#define CLOSED_STEPS_MAX 160
#define CLOSED_STATIONS_MAX 16
#define CLOSED_THREADS_MAX 256

enum closed_kind {
	CLOSED_CPU,	/* computes */
	CLOSED_DELAY,	/* waits for what serves everybody at once */
	CLOSED_TAKE,	/* waits for one of a station's servers, as of a lock, which has one */
	CLOSED_GIVE,	/* gives it back */
};

struct closed_step {
	enum closed_kind kind;
	uint32_t station;	/* of TAKE and GIVE */
	uint32_t phases;	/* of CPU and DELAY: it is the sum of so many exponential times (Erlang); 0: always the same */
	double ns;		/* its mean */
};

struct closed_station {
	uint32_t servers;
	/*
	 * From the giving back to where a sleeper has woken and tries to take it.  Meanwhile whoever comes first takes it,
	 * as mutexes of glibc, Go and Java let them.
	 */
	double wake_ns;
};

struct closed_model {
	uint32_t threads;
	double cpus;		/* what is left of them for these threads */
	/*
	 * Who has a CPU keeps it until it waits, and others stand in line, as far as that is below the scheduler's slice.
	 * Else all who want a CPU have an equal part of it (processor sharing).
	 */
	bool is_in_turn;
	uint32_t steps_cnt, stations_cnt;
	struct closed_step steps[CLOSED_STEPS_MAX];
	struct closed_station stations[CLOSED_STATIONS_MAX];
};

/* Means of a cycle. */
struct closed_result {
	double cycle_ns;
	double queue_ns;			/* wanted a CPU and had none, or a part of one */
	double wait_ns[CLOSED_STATIONS_MAX];	/* from TAKE until it was there */
	double sleeps[CLOSED_STATIONS_MAX];	/* how often somebody had to sleep for it */
};

/* Replays about so many cycles of all threads together, always with the same random numbers. */
void closed_solve(const struct closed_model *m, uint32_t cycles, struct closed_result *ret);

/*
 * The utilisation of the slower of two stations between which so many jobs go round: a cyclic queue (Gordon and
 * Newell, Operations Research 15(2), 1967).  ratio: the service time of the faster to that of the slower, 1 at most.
 */
double closed_cyclic_utilisation(double ratio, double jobs);

#endif
