/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_WHATIF_ANALYSIS_H
#define FEATURES_WHATIF_ANALYSIS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A closed population: a fixed number of threads, each in the same endless cycle.  It is simulated event by event,
 * since holding a lock while computing or waiting (simultaneous resource possession) is beyond mean value analysis
 * (Reiser and Lavenberg, JACM 27(2), 1980).  A unit test compares both for models that it does solve.
 */

#define CLOSED_STEPS_MAX 160
#define CLOSED_STATIONS_MAX 16
#define CLOSED_THREADS_MAX 256

enum closed_kind {
	CLOSED_CPU,	/* computes */
	CLOSED_DELAY,	/* waits for something without a queue */
	CLOSED_TAKE,	/* waits for one of a station's servers; a lock is a station with one */
	CLOSED_GIVE,	/* releases it */
};

struct closed_step {
	enum closed_kind kind;
	uint32_t station;	/* for TAKE and GIVE */
	uint32_t phases;	/* for CPU and DELAY: sum of that many exponential times (Erlang); 0: constant */
	double ns;		/* its mean */
};

struct closed_station {
	uint32_t servers;
	/*
	 * From the release until a sleeper is awake and tries to take it.  Meanwhile others may take it, as mutexes of
	 * glibc, Go and Java allow.
	 */
	double wake_ns;
};

struct closed_model {
	uint32_t threads;
	double cpus;		/* available to these threads */
	/*
	 * A thread keeps its CPU until it waits, and others queue: realistic below the scheduler's slice.  If false,
	 * all threads that want a CPU share them equally (processor sharing).
	 */
	bool is_in_turn;
	uint32_t steps_cnt, stations_cnt;
	struct closed_step steps[CLOSED_STEPS_MAX];
	struct closed_station stations[CLOSED_STATIONS_MAX];
};

/* Averages per cycle. */
struct closed_result {
	double cycle_ns;
	double queue_ns;			/* time in which it wanted a CPU and had none, or only a share */
	double wait_ns[CLOSED_STATIONS_MAX];	/* from TAKE until it was taken */
	double sleeps[CLOSED_STATIONS_MAX];	/* number of sleeps */
};

/* Simulates about that many cycles, all threads together, always with the same random numbers. */
void closed_solve(const struct closed_model *m, uint32_t cycles, struct closed_result *ret);

/*
 * Utilisation of the slower of two stations that `jobs` jobs alternate between: a cyclic queue (Gordon and Newell,
 * Operations Research 15(2), 1967).  ratio: service time of the faster relative to the slower, at most 1.
 */
double closed_cyclic_utilisation(double ratio, double jobs);

#endif
