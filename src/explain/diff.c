/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/diff.h"

#include <math.h>

#include "explain/text.h"

#define LOST_SHARE 0.005	/* of a side's time: more lost time is reported */
#define MOST 0.5	/* of the whole change: worth naming */
#define SMALL 0.1	/* of it: not worth that */

#define TIMES 10	/* a larger change is a factor, not a percentage */

int64_t diff_text_rounded(double ns)
{
	return ns >= (double)PROFILE_NS_MAX ? (int64_t)PROFILE_NS_MAX :
	       ns <= -(double)PROFILE_NS_MAX ? -(int64_t)PROFILE_NS_MAX : llround(ns);
}

const char *diff_text_unit(const struct diff *d)
{
	switch (d->options.norm) {
	case DIFF_PER_THREAD_TIME: return " per thread-minute";
	case DIFF_PER_REQUEST: return " per request";
	case DIFF_WHOLE_RUNS: return " per run";
	case DIFF_NOT_NORMALISED: break;
	}
	return "";
}

static void diff_text_scaled(GString *s, const struct diff *d, double scaled_ns)
{
	g_string_append_printf(s, "%s%s", TEXT_NS((uint64_t)diff_text_rounded(fmax(scaled_ns, 0))), diff_text_unit(d));
}

void diff_text_percent(GString *s, double percent)
{
	if (isinf(percent))
		g_string_append(s, "new");
	else if (percent >= 100 * (TIMES - 1))
		g_string_append_printf(s, "x%.0f", 1 + percent / 100);
	else
		g_string_append_printf(s, fabs(percent) < 9.95 ? "%+.1f%%" : "%+.0f%%", percent);
}

void diff_text_signed(GString *s, double ns)
{
	g_string_append(s, ns >= 0 ? "+" : "");
	text_duration_signed(s, diff_text_rounded(ns));
}

void diff_text_plain_percent(GString *s, double percent)
{
	g_string_append_printf(s, fabs(percent) < 9.95 ? "%.1f%%" : "%.0f%%", fabs(percent));
}

/* "3.1 s -> 3.5 s" */
void diff_text_from_to(GString *s, double before, double after)
{
	g_string_append_printf(s, "%s -> %s", TEXT_NS((uint64_t)diff_text_rounded(before)),
			       TEXT_NS((uint64_t)diff_text_rounded(after)));
}

/* "(+0.40 s, +-0.10 s)": twice the standard error, a 95% confidence interval. */
static void append_change(GString *s, const struct diff_change *c)
{
	g_string_append(s, "(");
	diff_text_signed(s, c->by);
	g_string_append_printf(s, " ±%s)", TEXT_NS((uint64_t)diff_text_rounded(2 * c->se)));
}

static bool has_grown(const struct diff_row *r)
{
	return (r->time.is_real && r->time.by > 0) || (r->each.is_real && r->each.by > 0);
}

#define WORSE 4	/* what grew is named first if it is at least 1/WORSE of what shrank */

/*
 * Prefers what grew unless it is much smaller.  In threads that always wait, one kind of wait that becomes slower
 * leaves less time for all others.
 */
static bool is_real_change(const struct diff_row *r, const struct diff_table *t, unsigned at)
{
	if (!diff_row_is_real(r))
		return false;
	for (unsigned n = at + 1; n < t->real_cnt && !has_grown(r); n++) {
		const struct diff_row *o = &g_array_index(t->rows, struct diff_row, n);

		if (has_grown(o) && fabs(o->time.by) >= fabs(r->time.by) / WORSE)
			return false;
	}
	return true;
}

/* The row that explains most: what is waited for before where. */
static const struct diff_row *main_row(struct diff *d, bool by_time)
{
	/* prefer rows shown in tables over rows that sum up several of these */
	static const enum diff_by ways[] = { DIFF_BY_STACK, DIFF_BY_LEAF, DIFF_BY_STATE, DIFF_BY_COMM };

	for (unsigned i = 0; i < G_N_ELEMENTS(ways); i++) {
		const struct diff_table *t = diff_table(d, ways[i]);

		EACH_ROW(n, const struct diff_row, r, t->rows) {
			if (!by_time && is_real_change(r, t, n))
				return r;
			if (by_time && r->time.is_real && (r->time.by > 0) == (d->total.time.by > 0))
				return r;
		}
	}
	return NULL;
}

/* "waits"; both sides have the same kind of rows. */
static const char *rows_word(const struct diff *d)
{
	return profile_rows_word(d->in[DIFF_BEFORE].profile->info.rows_are, 2);
}

static const char *rows_verb(const struct diff *d)
{
	const struct rows_kind *kind = profile_rows_kind(d->in[DIFF_BEFORE].profile->info.rows_are);

	return kind && kind->what ? "takes" : "waits";
}

/* "futex_wait (commit), which waits for a mutex" */
static void append_row_name(GString *s, const struct diff_row *r)
{
	text_safe(s, r->name);
	if (!r->says)
		return;
	g_string_append(s, ", which ");
	text_safe(s, r->says);
}

/* "futex_wait (commit), which waits for a mutex: each wait takes 10% longer, 1.00 ms -> 1.10 ms" */
static void append_what_changed(GString *s, const struct diff *d, const struct diff_row *r)
{
	append_row_name(s, r);
	if (r->each.is_real) {
		g_string_append(s, ": each wait is ");
		if (diff_each_percent(r) >= 100 * (TIMES - 1)) {
			g_string_append_printf(s, "%.0f times as long, ", 1 + diff_each_percent(r) / 100);
		} else {
			diff_text_plain_percent(s, diff_each_percent(r));
			g_string_append(s, r->each.by > 0 ? " longer, " : " shorter, ");
		}
		diff_text_from_to(s, r->side[DIFF_BEFORE].each_ns, r->side[DIFF_AFTER].each_ns);
		return;
	}
	g_string_append(s, ": ");
	diff_text_from_to(s, r->side[DIFF_BEFORE].scaled_ns, r->side[DIFF_AFTER].scaled_ns);
	g_string_append(s, diff_text_unit(d));
}

static void append_totals(GString *s, const struct diff *d)
{
	g_string_append_printf(s, "BEFORE %s %s, AFTER ", rows_verb(d),
			       TEXT_NS((uint64_t)diff_text_rounded(d->total.side[DIFF_BEFORE].scaled_ns)));
	diff_text_scaled(s, d, d->total.side[DIFF_AFTER].scaled_ns);
}

/* "AFTER waits 3.0% more than BEFORE: 3.1 s -> 3.2 s per request", or "200 times as long as" */
static void append_more_or_less(GString *s, const struct diff *d)
{
	const struct diff_row *total = &d->total;
	double before = total->side[DIFF_BEFORE].scaled_ns;

	g_string_append_printf(s, "AFTER %s ", rows_verb(d));
	if (total->time.by == 0) {
		g_string_append(s, "as long as BEFORE: ");
	} else if (before > 0 && total->side[DIFF_AFTER].scaled_ns >= TIMES * before) {
		text_thousands(s, (uint64_t)diff_text_rounded(total->side[DIFF_AFTER].scaled_ns / before));
		g_string_append(s, " times as long as BEFORE: ");
	} else if (before > 0) {
		diff_text_plain_percent(s, diff_percent(total));
		g_string_append(s, total->time.by > 0 ? " more" : " less");
		g_string_append(s, " than BEFORE: ");
	} else {
		g_string_append(s, "and BEFORE does not: ");
	}
	diff_text_from_to(s, before, total->side[DIFF_AFTER].scaled_ns);
	g_string_append(s, diff_text_unit(d));
}

/*
 * A stack with most of the change, even if it has too few waits to be significant: it says more than a process's name.
 */
static const struct diff_row *likely_row(struct diff *d)
{
	const struct diff_table *t = diff_table(d, DIFF_BY_STACK);

	EACH_ROW(n, const struct diff_row, r, t->rows)
		if ((r->time.by > 0) == (d->total.time.by > 0) && fabs(r->time.by) >= MOST * fabs(d->total.time.by))
			return r;
	return NULL;
}

static bool is_of_table(struct diff *d, enum diff_by by, const struct diff_row *r)
{
	const struct diff_table *t = diff_table(d, by);

	return t->rows->len && r >= &g_array_index(t->rows, struct diff_row, 0) &&
	       r <= &g_array_index(t->rows, struct diff_row, t->rows->len - 1);
}

double diff_text_lost_ns(const struct diff *d, enum diff_side side)
{
	return d->scale[side] * (double)d->lost_ns[side];
}

bool diff_text_has_lost(const struct diff *d, enum diff_side side)
{
	return (double)d->lost_ns[side] >= LOST_SHARE * (double)MAX(diff_all_ns(d, side), 1);
}

/* Waits without a stack cannot be classified as idle or not. */
static void append_lost_change(GString *s, const struct diff *d)
{
	double by = diff_text_lost_ns(d, DIFF_AFTER) - diff_text_lost_ns(d, DIFF_BEFORE);

	if (by * d->total.time.by <= 0 || fabs(by) < MOST * fabs(d->total.time.by))
		return;
	g_string_append(s, " But ");
	diff_text_signed(s, by);
	g_string_append(s, " is of waits whose stacks were lost: that may be idle time.");
}

/* Of a few waits the error is not known well enough to be told. */
static void append_likely_change(GString *s, const struct diff_change *c)
{
	if (fabs(c->by) > 2 * c->se) {
		g_string_append(s, ": ");
		diff_text_signed(s, c->by);
		g_string_append(s, ", in too few waits to tell the noise.");
		return;
	}
	g_string_append_c(s, ' ');
	append_change(s, c);
	g_string_append(s, ", which alone is not beyond the noise.");
}

static void append_total_change(GString *s, struct diff *d)
{
	const struct diff_row *most = main_row(d, true), *total = &d->total, *likely;

	append_more_or_less(s, d);
	g_string_append_c(s, ' ');
	append_change(s, &total->time);
	/* a small change may be certain, and say nothing about the large one */
	const bool is_small = most && fabs(most->time.by) < SMALL * fabs(total->time.by);

	likely = !most || is_small || is_of_table(d, DIFF_BY_COMM, most) || is_of_table(d, DIFF_BY_STATE, most) ?
			 likely_row(d) : NULL;
	if (likely && total->time.is_real) {
		g_string_append(s, "; most of it is ");
		append_row_name(s, likely);
		append_likely_change(s, &likely->time);
		return;
	}
	if (!most) {
		g_string_append(s, "; no row of the tables alone changed beyond the noise.");
		return;
	}
	g_string_append(s, fabs(most->time.by) >= MOST * fabs(total->time.by) ? "; most of it is "
									      : "; the largest part of it is ");
	append_row_name(s, most);
	g_string_append(s, ": ");
	diff_text_signed(s, most->time.by);
	g_string_append(s, ".");
}

/* Without counts noise cannot be estimated. */
static void append_without_counts(GString *s, struct diff *d)
{
	const struct diff_table *t = diff_table(d, DIFF_BY_STACK);
	const struct diff_row *most = t->rows->len ? &g_array_index(t->rows, struct diff_row, 0) : NULL;

	append_more_or_less(s, d);
	if (most && most->time.by != 0) {
		g_string_append(s, "; the largest change of a stack is ");
		append_row_name(s, most);
		g_string_append(s, ": ");
		diff_text_signed(s, most->time.by);
	}
	g_string_append_printf(s, ". How many %s there were is not known, so nothing tells how much of that is noise.",
			       rows_word(d));
}

void diff_text_finding(GString *s, struct diff *d)
{
	const struct diff_row *other;

	if (!d->total.side[DIFF_BEFORE].threads_cnt && !d->total.side[DIFF_AFTER].threads_cnt) {
		g_string_append(s, diff_all_ns(d, DIFF_BEFORE) || diff_all_ns(d, DIFF_AFTER) ?
					   "There is nothing to compare: all waits of BEFORE and AFTER are idle." :
					   "There is nothing to compare: neither BEFORE nor AFTER has a wait.");
		return;
	}
	if (!diff_has_counts(d)) {
		append_without_counts(s, d);
		return;
	}
	if (d->total.time.is_real) {
		append_total_change(s, d);
		append_lost_change(s, d);
		return;
	}
	other = main_row(d, false);
	if (!other) {
		g_string_append(s, "No change: ");
		append_totals(s, d);
		g_string_append(s, ", and the difference ");
		append_change(s, &d->total.time);
		g_string_append(s, " is within the noise.");
		return;
	}
	g_string_append(s, other->fate == DIFF_NEW	  ? "What is new in AFTER is "
			   : other->fate == DIFF_VANISHED ? "What has vanished since BEFORE is "
							  : "What changed from BEFORE to AFTER is ");
	append_what_changed(s, d, other);
	g_string_append_printf(s, ". All %s together differ within the noise: ", rows_word(d));
	append_totals(s, d);
	g_string_append(s, " ");
	append_change(s, &d->total.time);
	g_string_append(s, ".");
}
