/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PROFILE_ROWS_KIND_H
#define PROFILE_ROWS_KIND_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What stands in a profile's rows in place of waits of threads: info.rows_are is its plural, one of these.  No rule,
 * reason or finding is about such rows, and nobody calls their time off CPU.
 */
#define ROWS_REQUESTS "requests"	/* at block devices, of `offcpu io` */
#define ROWS_OPERATIONS "operations"	/* on files, of `offcpu io` */
#define ROWS_TASKS "tasks"
/* of other tools' profiles */
#define ROWS_CPU "CPU samples"
#define ROWS_WALL "wall-clock samples"
#define ROWS_CONTENTIONS "contentions"
#define ROWS_GOROUTINES "waits of goroutines"
#define ROWS_SAMPLES "samples"
#define ROWS_LOOKS "looks at threads"

struct rows_kind {
	const char *many, *one;
	const char *what;	/* "a CPU profile"; NULL: a recording of ours */
	const char *title;	/* "CPU time by stack" */
	/* as formats call a type of sample that is such time, and the type that counts them */
	const char *time_type, *count_type;	/* time_type NULL: see profile_rows_are_counted() */
};

/* NULL: rows are waits, or it is no plural that is known. */
const struct rows_kind *profile_rows_kind(const char *rows_are);

/* For how long is not known: all times are 0, and the number of rows is the only weight. */
bool profile_rows_are_counted(const char *rows_are);
/* The same plural as a constant of ours; NULL: not one that is known. */
const char *profile_rows_known(const char *text);
/* What so many rows are: "wait", "waits", "operations". */
const char *profile_rows_word(const char *rows_are, uint64_t cnt);

#endif
