/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_DIFF_CONDITION_H
#define ANALYSE_DIFF_CONDITION_H

#include "analyse/diff/diff.h"

/*
 * What a program must not get worse by, for CI:
 *
 *   SUBJECT [METRIC] > +10%	or < -5%, > +2ms, > +100
 *
 * SUBJECT: total; GROUP=NAME; GROUP~REGEX.  METRIC: total (the default), count, mean, p50, p90, p99, max.
 */

enum condition_metric {
	CONDITION_TOTAL = 0,	/* time, normalised as the diff is */
	CONDITION_COUNT,	/* of waits, likewise */
	CONDITION_MEAN,		/* of a wait; these and the following of waits that began and ended in the window */
	CONDITION_P50,
	CONDITION_P90,
	CONDITION_P99,
	CONDITION_MAX,		/* of which no error is known: every change counts */
	CONDITION_METRICS
};

enum condition_unit { CONDITION_PERCENT, CONDITION_NS, CONDITION_WAITS };

struct condition {
	char *text;		/* as it was given */
	enum diff_by by;
	char *name;		/* NULL: all waits */
	GRegex *regex;		/* of name; NULL: the name itself */
	enum condition_metric metric;
	bool is_below;		/* true when the change is below the threshold */
	double threshold;	/* percent of before, ns, or waits; signed */
	enum condition_unit unit;
};

/* NULL with a sentence that says what is wrong and at which character. */
struct condition *condition_parse(const char *text, GError **error);
void condition_free(struct condition *c);	/* NULL is fine */
const char *condition_metric_name(enum condition_metric metric);

struct condition_result {
	bool is_true;		/* beyond the threshold, and no noise */
	bool has_waits;		/* on either side */
	bool is_beyond;		/* the threshold, noise or not */
	double value[DIFF_SIDES];	/* ns, or waits */
	struct diff_change change;
	double percent;		/* of before; INFINITY of nothing */
};

#define CONDITION_FALSE_SHARE                                                                                          \
	0.01 /* how likely all conditions together hold by chance where nothing changed, at most */

/* One of cnt conditions.  False with one sentence when its expression takes too many steps to match. */
bool condition_check(struct diff *d, const struct condition *c, unsigned cnt, struct condition_result *ret,
		     GError **error);

#endif
