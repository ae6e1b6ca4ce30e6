/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_HIST_H
#define RENDER_HIST_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Histograms as bcc's cpudist and runqlat print them, for `offcpu hist`. */

enum hist_unit { HIST_US = 0, HIST_NS, HIST_MS };

/* One histogram: PROFILE_HIST_SLOTS powers of two of nanoseconds. */
struct hist_row {
	const char *label;	/* "pid = 123 mysqld": a line above; NULL: none.  Not escaped */
	uint32_t pid, tid;	/* for JSON; 0: of no one in particular */
	const char *comm;	/* for JSON; NULL: null */
	const uint64_t *slots;
	uint64_t sum_ns, max_ns;	/* of all durations */
};

/*
 * Appends
 *
 *      usecs               : count     distribution
 *          0 -> 1          : 0        |                                        |
 *          2 -> 4          : 12       |****************************************|
 *
 *     count 12, total 33.1 us, mean 2.76 us, median 2.76 us, p99 3.41 us, max 3.42 us
 *
 * The buckets are the recorded ones, powers of two of nanoseconds, so that no count is
 * guessed: in usecs and msecs their bounds are printed cut to whole units (65 -> 131), and
 * those below one unit are one bucket.  Rows run from the first bucket to the last filled one.
 */
void hist_text(GString *s, const struct hist_row *row, enum hist_unit unit);

/*
 * Appends {"schema":1,"what":...,"interval":{"start_unix_ns":...,"duration_ns":...},"histograms":
 * [{"pid":...,"tid":...,"comm":...,"count":...,"sum_ns":...,"max_ns":...,
 * "log2_ns":[[exponent,count],...]}]}
 * and a newline; pid and tid are null where 0.
 */
void hist_json(GString *s, const char *what, uint64_t start_unix_ns, uint64_t duration_ns,
	       const struct hist_row *rows, unsigned rows_cnt);

#endif
