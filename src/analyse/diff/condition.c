/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/diff/condition.h"

#include <math.h>
#include <string.h>

#include "analyse/diff/compare.h"
#include "analyse/diff/keys.h"
#include "analyse/diff/stats.h"
#include "analyse/query.h"
#include "analyse/reason/reason.h"
#include "base/refuse.h"

static const char *const metric_names[CONDITION_METRICS] = {
	[CONDITION_TOTAL] = "total", [CONDITION_COUNT] = "count", [CONDITION_MEAN] = "mean", [CONDITION_P50] = "p50",
	[CONDITION_P90] = "p90",     [CONDITION_P99] = "p99",	  [CONDITION_MAX] = "max",
};

const char *condition_metric_name(enum condition_metric metric)
{
	return (unsigned)metric < CONDITION_METRICS ? metric_names[metric] : "unknown";
}

/* Position while parsing. */
struct reader {
	const char *text, *at;
};

static bool bad_condition(const struct reader *r, const char *at, GError **error, const char *format, ...)
	G_GNUC_PRINTF(4, 5);
static bool bad_condition(const struct reader *r, const char *at, GError **error, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	g_autofree char *why = g_strdup_vprintf(format, ap);
	va_end(ap);
	return refuse(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "'%s', character %ld: %s", r->text,
		      g_utf8_validate(r->text, at - r->text, NULL) ? g_utf8_pointer_to_offset(r->text, at) + 1
								   : (long)(at - r->text) + 1,
		      why);
}

static void skip_blanks(struct reader *r)
{
	r->at += strspn(r->at, " \t");
}

static char *read_word(struct reader *r)
{
	size_t n = 0;

	while (g_ascii_isalnum(r->at[n]) || r->at[n] == '_')
		n++;
	char *word = g_strndup(r->at, n);
	r->at += n;
	return word;
}

/* A name, quoted if it contains blanks, < or >. */
static bool read_name(struct reader *r, char **ret_name, GError **error)
{
	const char *begin = r->at;
	char quote = *r->at == '"' || *r->at == '\'' ? *r->at : '\0';
	size_t n;

	if (quote) {
		const char *end = strchr(++r->at, quote);
		if (!end)
			return bad_condition(r, begin, error, "this quote is not closed");
		n = (size_t)(end - r->at);
	} else {
		n = strcspn(r->at, " \t<>");
	}
	if (!n)
		return bad_condition(r, begin, error, "a name is wanted here");
	*ret_name = g_strndup(r->at, n);
	r->at += n + (quote != '\0');
	return true;
}

static bool is_reason(const char *name)
{
	for (unsigned i = 0; i < REASON_COUNT; i++)
		if (reason_is_named(i, name))
			return true;
	return false;
}

static bool read_subject(struct reader *r, struct condition *c, GError **error)
{
	const char *begin = r->at;
	g_autofree char *word = read_word(r);

	skip_blanks(r);
	bool has_name = *r->at == '=' || *r->at == '~';
	if (strcmp(word, "total") == 0 && !has_name)
		return true;
	if (!diff_by_parse(word, &c->by))
		return bad_condition(r, begin, error, "\"%s\" is none of total, %s", *word ? word : begin, diff_by_names());
	if (!has_name)
		return bad_condition(r, r->at, error, "= and a name, or ~ and a regular expression are wanted after %s", word);
	bool is_regex = *r->at++ == '~';
	if (!is_regex && c->by == DIFF_BY_STACK)
		return bad_condition(r, r->at - 1, error,
				     "a stack has no name: ~ and a regular expression for one of its frames is wanted");
	skip_blanks(r);
	const char *name = r->at;
	g_autoptr(GError) why = NULL;
	if (!read_name(r, &c->name, error))
		return false;
	if (!is_regex && c->by == DIFF_BY_REASON && !is_reason(c->name))
		return bad_condition(r, name, error, "there is no reason \"%s\"; known are %s, and what stands before their dots",
				     c->name, reason_names());
	if (c->by == DIFF_BY_STACK)
		c->by = DIFF_BY_FUNCTION;	/* stacks that contain such a frame */
	if (is_regex && !(c->regex = query_regex(c->name, &why)))
		return bad_condition(r, name, error, "%s", why->message);
	return true;
}

static bool read_metric(struct reader *r, struct condition *c, GError **error)
{
	const char *begin = r->at;

	if (!g_ascii_isalpha(*r->at))
		return true;
	g_autofree char *word = read_word(r);
	for (unsigned i = 0; i < CONDITION_METRICS; i++) {
		if (strcmp(word, metric_names[i]) == 0) {
			c->metric = i;
			return true;
		}
	}
	return bad_condition(r, begin, error, "\"%s\" is none of total, count, mean, p50, p90, p99, max", word);
}

static bool read_unit(struct reader *r, struct condition *c, GError **error)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
	const char *begin = r->at;

	if (*r->at == '%') {
		c->unit = CONDITION_PERCENT;
		r->at++;
		return true;
	}
	g_autofree char *word = read_word(r);
	c->unit = CONDITION_WAITS;
	for (unsigned i = 0; i < G_N_ELEMENTS(units); i++) {
		if (strcmp(word, units[i].name) == 0) {
			c->unit = CONDITION_NS;
			c->threshold *= units[i].ns;
		}
	}
	if (c->metric == CONDITION_COUNT ? *word != '\0' : c->unit != CONDITION_NS)
		return bad_condition(r, begin, error, "%s is wanted here",
				     c->metric == CONDITION_COUNT ? "% or nothing" : "%, ns, us, ms or s");
	return true;
}

static bool read_threshold(struct reader *r, struct condition *c, GError **error)
{
	char *end;

	if (*r->at != '>' && *r->at != '<')
		return bad_condition(r, r->at, error, "> or < is wanted here");
	c->is_below = *r->at++ == '<';
	skip_blanks(r);
	const char *begin = r->at;
	if (!strchr("+-0123456789.", *r->at) || !*r->at)
		return bad_condition(r, begin, error, "a number is wanted here, as +10%%");
	c->threshold = g_ascii_strtod(r->at, &end);
	/* rejects 0x10, 1e999 and a lone sign */
	if (end == r->at || !isfinite(c->threshold) || fabs(c->threshold) > 1e15 ||
	    memchr(r->at, 'x', (size_t)(end - r->at)))
		return bad_condition(r, begin, error, "this is no number that can be compared with");
	r->at = end;
	return read_unit(r, c, error);
}

static bool read_all(struct reader *r, struct condition *c, GError **error)
{
	skip_blanks(r);
	if (!read_subject(r, c, error))
		return false;
	skip_blanks(r);
	if (!read_metric(r, c, error))
		return false;
	skip_blanks(r);
	if (!read_threshold(r, c, error))
		return false;
	skip_blanks(r);
	return !*r->at || bad_condition(r, r->at, error, "\"%s\" is left over", r->at);
}

struct condition *condition_parse(const char *text, GError **error)
{
	struct condition *c = g_new0(struct condition, 1);
	struct reader r = { .text = text, .at = text };

	c->text = g_strdup(text);
	if (read_all(&r, c, error))
		return c;
	condition_free(c);
	return NULL;
}

void condition_free(struct condition *c)
{
	if (!c)
		return;
	g_free(c->text);
	g_free(c->name);
	if (c->regex)
		g_regex_unref(c->regex);
	g_free(c);
}

/* The keys that a condition selects; each name is matched once. */
struct key_filter {
	const struct diff *d;
	const struct condition *c;
	GString *name;		/* spelled for comparison */
	GHashTable *known;	/* key + 1 -> 1: selected, 2: not */
	GError *error;
};

static bool is_named(struct key_filter *w, const char *text)
{
	g_autoptr(GString) s = g_string_new(NULL);

	if (w->c->regex)
		return !w->error && g_regex_match_full(w->c->regex, text, -1, 0, 0, NULL, &w->error);
	/* "lock" includes "lock.mutex" */
	if (w->c->by == DIFF_BY_REASON && g_str_has_prefix(text, w->c->name) && text[strlen(w->c->name)] == '.')
		return true;
	diff_name_append(s, text);
	return strcmp(s->str, w->name->str) == 0;
}

static bool is_wanted(uint32_t key, gpointer data)
{
	struct key_filter *w = data;
	gpointer known = g_hash_table_lookup(w->known, GUINT_TO_POINTER(key + 1));

	if (!known) {
		known = GUINT_TO_POINTER(is_named(w, diff_keys_text(w->d->keys, w->c->by, key)) ? 1 : 2);
		g_hash_table_insert(w->known, GUINT_TO_POINTER(key + 1), known);
	}
	return GPOINTER_TO_UINT(known) == 1;
}

static bool row_of(struct diff *d, const struct condition *c, struct diff_row *ret_row, bool *ret_has_waits,
		   GError **error)
{
	struct key_filter w = { .d = d, .c = c, .name = g_string_new(NULL), .known = g_hash_table_new(NULL, NULL) };
	const struct tally_filter filter = { is_wanted, &w };
	struct tally *tallies[DIFF_SIDES];
	const struct tally *known[DIFF_SIDES];

	diff_name_append(w.name, c->name ? c->name : "");
	for (unsigned side = DIFF_SIDES; side-- > 0;)
		known[side] = tallies[side] =
			tally_new(d->keys, side, c->by, d->in[side].selection, c->name ? &filter : NULL);
	*ret_has_waits = compare_key(d, c->text, known, 0, !c->name, ret_row);
	for (unsigned side = 0; side < DIFF_SIDES; side++)
		tally_free(tallies[side]);
	g_hash_table_unref(w.known);
	g_string_free(w.name, TRUE);
	if (!w.error)
		return true;
	g_error_free(w.error);
	return refuse(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
		      "'%s': the expression takes too many steps to match a name", c->text);
}

static double share_of(enum condition_metric metric)
{
	return metric == CONDITION_P50 ? 0.5 : metric == CONDITION_P90 ? 0.9 : 0.99;
}

/* Sets result->change and ->value for the metric. */
static void measure_change(const struct diff *d, const struct condition *c, const struct diff_row *r,
			   struct condition_result *result)
{
	struct compared of[DIFF_SIDES] = { { 0 } };

	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		const struct diff_amount *a = &r->side[side];
		const struct stats_durations durations = { a->hist, a->whole_ns, a->max_ns };

		of[side].dof = a->dof;
		switch (c->metric) {
		case CONDITION_COUNT:
			result->value[side] = a->scaled_cnt;
			of[side].se = a->scaled_cnt_se;
			of[side].is_scaled = true;
			break;
		case CONDITION_P50:
		case CONDITION_P90:
		case CONDITION_P99:
			result->value[side] = stats_quantile(&durations, share_of(c->metric));
			of[side].se = stats_quantile_error(&durations, share_of(c->metric), a->threads_cnt);
			break;
		case CONDITION_MAX: result->value[side] = (double)a->max_ns; break;
		case CONDITION_MEAN: result->value[side] = a->each_ns; break;
		case CONDITION_TOTAL:
		case CONDITION_METRICS: result->value[side] = a->scaled_ns; break;
		}
		of[side].value = result->value[side];
	}
	if (c->metric == CONDITION_TOTAL)
		result->change = r->time;
	else if (c->metric == CONDITION_MEAN)
		result->change = r->each;
	else
		result->change = compare_values(d, of, 0, 0);
	result->change.by = result->value[DIFF_AFTER] - result->value[DIFF_BEFORE];
	result->change.p = c->metric == CONDITION_MAX ? 0 : stats_p(result->change.t, result->change.dof);
}

bool condition_check(struct diff *d, const struct condition *c, unsigned cnt, struct condition_result *ret,
		     GError **error)
{
	struct diff_row row;

	memset(ret, 0, sizeof(*ret));
	if (!row_of(d, c, &row, &ret->has_waits, error))
		return false;
	if (!ret->has_waits)
		return true;
	measure_change(d, c, &row, ret);
	double before = ret->value[DIFF_BEFORE], by = ret->change.by;
	ret->percent = by == 0 ? 0 : before > 0 ? 100 * by / before : INFINITY;
	double value = c->unit == CONDITION_PERCENT ? ret->percent : by;
	ret->is_beyond = c->is_below ? value < c->threshold : value > c->threshold;
	/* Without counts noise is unknown, so only the threshold decides. */
	ret->change.is_real = by != 0 && (!diff_has_counts(d) || ret->change.p <= CONDITION_FALSE_SHARE / cnt);
	ret->is_true = ret->is_beyond && ret->change.is_real;
	return true;
}
