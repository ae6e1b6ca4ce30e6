/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_DIFF_CONDITION_H
#define ANALYSE_DIFF_CONDITION_H

#include "analyse/diff/diff.h"

/*
 * Conditions for CI that a program must not violate:
 *
 *   SUBJECT [METRIC] > +10%	or < -5%, > +2ms, > +100
 *
 * SUBJECT: total; GROUP=NAME; GROUP~REGEX.  METRIC: total (the default), count, mean, p50, p90, p99, max.
 */

enum condition_metric {
	CONDITION_TOTAL = 0,	/* time, normalised like the diff */
	CONDITION_COUNT,	/* number of waits, likewise */
	/* mean duration; this and the following use waits that began and ended in the window */
	CONDITION_MEAN,
	CONDITION_P50,
	CONDITION_P90,
	CONDITION_P99,
	CONDITION_MAX,		/* its error is unknown, so every change counts */
	CONDITION_METRICS
};

enum condition_unit { CONDITION_PERCENT, CONDITION_NS, CONDITION_WAITS };

struct condition {
	char *text;		/* as given */
	enum diff_by by;
	char *name;		/* NULL: all waits */
	GRegex *regex;		/* matches names; NULL: compare with `name` */
	enum condition_metric metric;
	bool is_below;		/* true if the change is below the threshold */
	double threshold;	/* percent of before, ns, or waits; signed */
	enum condition_unit unit;
};

/* NULL on error; the message says what is wrong at which character. */
struct condition *condition_parse(const char *text, GError **error);
void condition_free(struct condition *c);	/* NULL is fine */
const char *condition_metric_name(enum condition_metric metric);

struct condition_result {
	bool is_true;		/* beyond the threshold and not noise */
	bool has_waits;		/* on either side */
	bool is_beyond;		/* beyond the threshold, noise or not */
	double value[DIFF_SIDES];	/* ns, or number of waits */
	struct diff_change change;
	double percent;		/* of before; INFINITY if before is 0 */
};

#define CONDITION_FALSE_SHARE                                                                                          \
	0.01 /* maximum probability that any of the conditions holds by chance if nothing changed */

/* Evaluates one of cnt conditions.  False on error: its expression takes too many steps. */
bool condition_check(struct diff *d, const struct condition *c, unsigned cnt, struct condition_result *ret,
		     GError **error);

#endif
