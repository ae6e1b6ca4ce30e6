/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_DOCTOR_SELFTEST_H
#define CMD_DOCTOR_SELFTEST_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Waits of known length, recorded by the whole pipeline.  The workload (selftest_work.c) is a child process whose
 * threads wait in distinct functions and measure each wait by clock_gettime(); selftest.c compares that with the
 * recording.
 */

enum selftest_case {
	SELFTEST_SLEEP,
	SELFTEST_FUTEX,
	SELFTEST_PIPE,
	SELFTEST_FSYNC,
	SELFTEST_PREEMPT,
	SELFTEST_BLOCKED,
	SELFTEST_CNT
};

/* What a thread of the workload measured, in memory shared with the parent. */
struct selftest_truth {
	uint32_t tid;
	uint32_t waits_cnt;
	uint64_t wall_ns;	/* around each wait */
	uint64_t cpu_ns;	/* the thread's CPU time, taken slightly outside of the above */
	uint32_t done;
};

struct selftest_shared {
	uint32_t ready, go;
	struct selftest_truth truth[SELFTEST_CNT];
};

/* Runs in the child; returns when all threads but the blocked one have finished. */
void selftest_workload(struct selftest_shared *memory);

struct selftest_result {
	const char *name;	/* "sleep" */
	bool passed, skipped;
	/* "5 waits in selftest_sleep, state S, 100.312 ms measured, 99.329 to 101.329 ms expected" */
	char *detail;
};

/* Prints nothing.  results has SELFTEST_CNT entries.  False on error: tracing failed. */
bool selftest_run(struct selftest_result *results, GError **error);

#endif
