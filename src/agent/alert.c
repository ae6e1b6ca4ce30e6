/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "agent/alert.h"

#include <string.h>

#include "agent/config.h"
#include "features/requests/agent_rule.h"
#include "features/requests/analysis.h"
#include "analyse/reason/reasons.h"
#include "features/wakers/analysis.h"
#include "base/parse.h"
#include "base/text.h"

#define WORDS_MAX 8

static const char *const metrics[ALERT_METRICS] = {
	[ALERT_SHARE] = "share", [ALERT_THREADS] = "threads", [ALERT_WAITS] = "waits", [ALERT_P50] = "p50",
	[ALERT_P90] = "p90", [ALERT_P99] = "p99", [ALERT_MAX] = "max", [ALERT_STORMS] = "storms",
	[ALERT_RATE] = "rate",
};

struct alert_rule *alert_rule_new(const char *name)
{
	struct alert_rule *r = g_new0(struct alert_rule, 1);

	r->name = g_strdup(name);
	r->for_windows = 3;
	return r;
}

FREES(alert_rule_free, struct alert_rule, r, g_free(r->name); g_free(r->when); g_free(r->process); g_free(r->service);
      g_free(r->reason); g_free(r->request); g_strfreev(r->run))

static bool is_reason(const char *name)
{
	for (int r = 0; r < REASON_COUNT; r++)
		if (r != REASON_ON_CPU && reason_is_named((enum reason)r, name))
			return true;
	return false;
}

/* Parses "process=GLOB"; *ret_is_one: it is such a word. */
static bool take_subject(struct alert_rule *r, const char *word, bool *ret_is_one, GError **error)
{
	const struct {
		const char *prefix;
		char **to;
	} subjects[] = { { "process=", &r->process }, { "service=", &r->service }, { "reason=", &r->reason },
		      { "request=", &r->request } };

	*ret_is_one = false;
	for (size_t i = 0; i < G_N_ELEMENTS(subjects); i++) {
		const char *value = word + strlen(subjects[i].prefix);

		if (!g_str_has_prefix(word, subjects[i].prefix))
			continue;
		*ret_is_one = true;
		if (!*value || *subjects[i].to)
			return config_wrong(error, *value ? "'%s' is one too many" : "'%s' has nothing behind it", word);
		if (subjects[i].to == &r->reason && strcmp(value, "any") != 0 && !is_reason(value))
			return config_wrong(error, "there is no reason '%s'; there are %s", value, reason_names());
		*subjects[i].to = g_strdup(value);
	}
	return true;
}

static bool take_number(struct alert_rule *r, const char *text, const char *unit, GError **error)
{
	bool is_hex = g_ascii_isdigit(text[0]) && g_ascii_tolower(text[1]) == 'x' && text[2];
	char *end = NULL;

	r->threshold = g_ascii_isdigit(text[0]) || text[0] == '.' ? g_ascii_strtod(text, &end) : -1;
	if (r->threshold > 0 && r->threshold < 1e12 && !is_hex && strcmp(end, unit) == 0)
		return true;
	return config_wrong(error, "'%s' is not a number above 0%s%s", text, *unit ? " and " : "", unit);
}

/* Parses what follows '>'. */
static bool take_threshold(struct alert_rule *r, char **words, guint cnt, GError **error)
{
	const char *text = words[0];
	uint64_t ns = 0;

	r->is_of_yesterday = cnt == 2 && strcmp(words[1], "yesterday") == 0;
	if (cnt != 1 && !r->is_of_yesterday)
		return config_wrong(error, "'%s' stands behind the threshold", words[1]);
	if (r->is_of_yesterday && r->request)
		return g_str_has_suffix(text, "x") ? take_number(r, text, "x", error) :
						     config_wrong(error, "'%s yesterday' is not such as 2x yesterday", text);
	if (r->is_of_yesterday) {
		if (r->metric != ALERT_THREADS || r->process || r->service)
			return config_wrong(
				error,
				"of yesterday only the threads of all processes are known: reason=lock threads > 2x yesterday");
		return g_str_has_suffix(text, "x") ? take_number(r, text, "x", error) :
						     config_wrong(error, "'%s yesterday' is not such as 2x yesterday", text);
	}
	if (r->metric == ALERT_SHARE)
		return take_number(r, text, "%", error);
	if (r->metric == ALERT_THREADS || r->metric == ALERT_WAITS || r->metric == ALERT_STORMS ||
	    r->metric == ALERT_RATE)
		return take_number(r, text, "", error);
	if (!parse_duration(text, 0, &ns, error))
		return false;
	r->threshold = (double)ns;
	return ns > 0 || config_wrong(error, "'%s' is not above 0", text);
}

static bool take_metric(struct alert_rule *r, const char *word, GError **error)
{
	for (int m = 0; m < ALERT_METRICS; m++)
		if (strcmp(word, metrics[m]) == 0) {
			r->metric = (enum alert_metric)m;
			return true;
		}
	return config_wrong(error, "'%s' is none of share, threads, waits, p50, p90, p99, max, storms and rate", word);
}

/* words: METRIC, > or <, and the threshold. */
static bool parse_of_request(struct alert_rule *r, const char *when, char **words, guint cnt, GError **error)
{
	if (cnt < 3 || (strcmp(words[1], ">") != 0 && strcmp(words[1], "<") != 0))
		return config_wrong(error, "'%s' is not such as request=checkout p99 > 50ms", when);
	if (r->process || r->service || r->reason)
		return config_wrong(error, "'%s': a request has no process, service or reason", when);
	if (!take_metric(r, words[0], error))
		return false;
	if (r->metric != ALERT_RATE && r->metric != ALERT_P50 && r->metric != ALERT_P90 && r->metric != ALERT_P99 &&
	    r->metric != ALERT_MAX)
		return config_wrong(error, "'%s': of a request there are p50, p90, p99, max and rate", words[0]);
	r->is_below = *words[1] == '<';
	if (!take_threshold(r, words + 2, cnt - 2, error))
		return false;
	r->when = g_strdup(when);
	return true;
}

bool alert_rules_check(const GPtrArray *rules, const GPtrArray *requests, GError **error)
{
	EACH_POINTER(i, const struct alert_rule, r, rules) {
		if (r->request && !request_rules_find(requests, r->request))
			return config_wrong(error, "[alert %s]: there is no [request %s]", r->name, r->request);
		if (r->record_ns && !(r->keep_before_ns + r->keep_after_ns))
			return config_wrong(error, "[alert %s]: record is kept with windows: it takes keep, too", r->name);
	}
	return true;
}

bool alert_rule_parse(struct alert_rule *r, const char *when, GError **error)
{
	g_auto(GStrv) split = g_strsplit_set(when, " \t", -1);
	char *words[WORDS_MAX + 1] = { NULL };
	guint cnt = 0, at = 0;
	bool is_subject = true;

	for (char **w = split; *w; w++) {
		if (!**w)
			continue;
		if (cnt == WORDS_MAX)
			return config_wrong(error, "'%s' is longer than a condition can be", when);
		words[cnt++] = *w;
	}
	for (; at < cnt; at++) {
		if (!take_subject(r, words[at], &is_subject, error))
			return false;
		if (!is_subject)
			break;
	}
	bool is_storms = at < cnt && strcmp(words[at], metrics[ALERT_STORMS]) == 0;

	if (r->request)
		return parse_of_request(r, when, words + at, cnt - at, error);
	if ((!r->reason && !is_storms) || at + 2 >= cnt || strcmp(words[at + 1], ">") != 0)
		return config_wrong(error, "'%s' is not such as reason=lock share > 30%%", when);
	if (!take_metric(r, words[at], error) || !take_threshold(r, words + at + 2, cnt - at - 2, error))
		return false;
	if (r->metric == ALERT_RATE)
		return config_wrong(error, "rate is of requests: request=NAME rate < 100");
	if (is_storms && (r->reason || r->service))
		return config_wrong(error, "storms have no reason and no service, but who wakes: process=nginx storms > 10");
	if (g_strcmp0(r->reason, "any") == 0)
		g_clear_pointer(&r->reason, g_free);
	r->when = g_strdup(when);
	return true;
}

bool alert_rule_parse_run(struct alert_rule *r, const char *run, GError **error)
{
	g_autoptr(GError) why = NULL;

	if (!g_shell_parse_argv(run, NULL, &r->run, &why))
		return config_wrong(error, "'%s' is no command: %s", run, why->message);
	return r->run[0][0] == '/' || config_wrong(error, "'%s': a command is given with its whole path", r->run[0]);
}

bool alert_rules_same(const struct alert_rule *a, const struct alert_rule *b)
{
	return strcmp(a->name, b->name) == 0 && g_strcmp0(a->when, b->when) == 0 && a->for_windows == b->for_windows;
}

/* Sums of a window for one rule. */
struct sums {
	const struct alert_rule *rule;
	const struct profile *p;
	GHashTable *by_process;	/* name -> index into ns, + 1 */
	GArray *names, *ns;
	uint64_t all_ns, time_ns, count;
	uint64_t hist[PROFILE_HIST_SLOTS];
	uint64_t durations_ns, max_ns;	/* sum and maximum of the durations in hist */
};

static bool is_subject(const struct alert_rule *r, const struct thread *t)
{
	return (!r->process || g_pattern_match_simple(r->process, t->process)) &&
	       (!r->service || (t->service && g_pattern_match_simple(r->service, t->service)));
}

static bool is_named(const struct alert_rule *r, enum reason reason)
{
	return !r->reason || reason_is_named(reason, r->reason);
}

static void add_to_process(struct sums *s, const struct thread *t, uint64_t ns)
{
	guint at = GPOINTER_TO_UINT(g_hash_table_lookup(s->by_process, t->process));

	if (!at) {
		uint64_t none = 0;

		g_array_append_val(s->names, t->process);
		g_array_append_val(s->ns, none);
		at = s->ns->len;
		g_hash_table_insert(s->by_process, (gpointer)t->process, GUINT_TO_POINTER(at));
	}
	g_array_index(s->ns, uint64_t, at - 1) += ns;
	s->time_ns += ns;
}

/* Blocked time counts for the wait's reason, the rest for a CPU. */
static void add_wait(struct sums *s, const struct reasons *reasons, uint32_t i)
{
	const struct wait *w = profile_wait(s->p, i);
	const struct thread *t = profile_thread(s->p, w->thread);
	uint64_t blocked_ns = w->state == 'C' || reasons_is_idle(reasons, i) ? 0 : w->blocked_ns;
	uint64_t queue_ns = w->state == 'C' ? 0 : w->runnable_ns + w->preempted_ns;
	bool is_for_cpu = w->state == 'R';

	if (!is_subject(s->rule, t))
		return;
	s->all_ns += blocked_ns + queue_ns;
	if (blocked_ns && is_named(s->rule, reasons_of(reasons, i)))
		add_to_process(s, t, blocked_ns);
	if (queue_ns && is_named(s->rule, REASON_CPU_QUEUE))
		add_to_process(s, t, queue_ns);
	if (!(blocked_ns || is_for_cpu) || !is_named(s->rule, is_for_cpu ? REASON_CPU_QUEUE : reasons_of(reasons, i)))
		return;
	s->count += w->count;
	s->durations_ns += wait_off_cpu_ns(w);
	s->max_ns = MAX(s->max_ns, w->max_ns);
	for (unsigned k = 0; k < PROFILE_HIST_SLOTS; k++)
		s->hist[k] += w->hist[k];
}

static double percentile(const struct sums *s, double share)
{
	return (double)wait_percentile_ns(s->hist, share, s->durations_ns, s->max_ns);
}

static double metric_of(const struct sums *s, bool *ret_is_known)
{
	double window_ns = (double)s->p->info.duration_ns;

	*ret_is_known = s->rule->metric <= ALERT_WAITS || s->count > 0;
	switch (s->rule->metric) {
	case ALERT_SHARE: return s->all_ns ? 100.0 * (double)s->time_ns / (double)s->all_ns : 0;
	case ALERT_THREADS: return window_ns > 0 ? (double)s->time_ns / window_ns : 0;
	case ALERT_WAITS: return window_ns > 0 ? (double)s->count * 1e9 / window_ns : 0;
	case ALERT_P50: return percentile(s, 0.5);
	case ALERT_P90: return percentile(s, 0.9);
	case ALERT_P99: return percentile(s, 0.99);
	default: return (double)s->max_ns;
	}
}

/* Storms a second, and the process with most of them. */
static struct alert_value storms_value(const struct alert_rule *rule, const struct profile *window)
{
	double seconds = (double)window->info.duration_ns / 1e9;
	uint64_t all = 0, most = 0;
	struct alert_value v = { .is_known = window->info.has_storms };

	EACH_ROW(i, const struct storm, s, window->storms) {
		const char *name = waker_name(profile_get_waker(window, s->waker));

		if (rule->process && !g_pattern_match_simple(rule->process, name))
			continue;
		all += s->event_cnt;
		if (s->event_cnt <= most)
			continue;
		most = s->event_cnt;
		v.process = name;
	}
	v.value = seconds > 0 ? (double)all / seconds : 0;
	v.process_percent = all ? 100.0 * (double)most / (double)all : 0;
	return v;
}

static struct alert_value waits_value(const struct alert_rule *rule, const struct profile *window,
				      const struct reasons *reasons)
{
	struct sums s = { .rule = rule,
			  .p = window,
			  .by_process = g_hash_table_new(NULL, NULL),
			  .names = g_array_new(FALSE, FALSE, sizeof(char *)),
			  .ns = g_array_new(FALSE, FALSE, sizeof(uint64_t)) };
	struct alert_value v = { 0 };
	uint64_t most = 0;

	for (uint32_t i = 0; i < window->waits->len; i++)
		add_wait(&s, reasons, i);
	v.value = metric_of(&s, &v.is_known);
	for (guint i = 0; i < s.ns->len; i++)
		if (g_array_index(s.ns, uint64_t, i) > most) {
			most = g_array_index(s.ns, uint64_t, i);
			v.process = g_array_index(s.names, const char *, i);
		}
	v.process_percent = s.time_ns ? 100.0 * (double)most / (double)s.time_ns : 0;
	g_hash_table_destroy(s.by_process);
	g_array_unref(s.names);
	g_array_unref(s.ns);
	return v;
}

double alert_request_value(const struct alert_rule *rule, const struct offcpu_request_sum *sum, uint64_t ns,
			   bool *ret_is_known)
{
	static const double shares[ALERT_METRICS] = { [ALERT_P50] = 0.5, [ALERT_P90] = 0.9, [ALERT_P99] = 0.99,
						      [ALERT_MAX] = 1 };

	*ret_is_known = rule->metric == ALERT_RATE ? ns > 0 : sum->all.count > 0;
	if (!*ret_is_known)
		return 0;
	return rule->metric == ALERT_RATE ? (double)sum->all.count * 1e9 / (double)ns
					  : (double)request_percentile(sum, shares[rule->metric]);
}

static struct alert_value request_value(const struct alert_rule *rule, const struct profile *window)
{
	struct alert_value v = { 0 };

	EACH_ROW(i, const struct request_row, row, window->requests)
		if (strcmp(row->name, rule->request) == 0)
			v.value = alert_request_value(rule, &row->sum, window->info.duration_ns, &v.is_known);
	return v;
}

struct alert_value alert_value(const struct alert_rule *rule, const struct profile *window,
			       const struct reasons *reasons)
{
	if (rule->request)
		return request_value(rule, window);
	return rule->metric == ALERT_STORMS ? storms_value(rule, window) : waits_value(rule, window, reasons);
}

enum alert_change alert_step(struct alert_state *s, const struct alert_rule *rule, bool holds, uint64_t end_unix_ns)
{
	if (holds == s->is_firing) {
		s->windows = 0;
		return ALERT_STAYS;
	}
	if (++s->windows < rule->for_windows)
		return ALERT_STAYS;
	s->windows = 0;
	s->is_firing = holds;
	if (!holds)
		return ALERT_IS_OVER;
	s->since_unix_ns = end_unix_ns;
	return ALERT_FIRES;
}

static void append_value(GString *s, const struct alert_rule *rule, double value)
{
	switch (rule->metric) {
	case ALERT_SHARE: g_string_append_printf(s, "%.0f%%", value); break;
	case ALERT_THREADS: g_string_append_printf(s, "%.2g", value); break;
	case ALERT_WAITS: g_string_append_printf(s, "%.0f a second", value); break;
	case ALERT_STORMS:
	case ALERT_RATE: g_string_append_printf(s, "%.3g a second", value); break;
	default: g_string_append_printf(s, "%.3g ms", value / 1e6);
	}
}

void alert_append_text(GString *s, const struct alert_rule *rule, const struct alert_value *v, double yesterday)
{
	g_string_append_printf(s, "%s: it is ", rule->when);
	append_value(s, rule, v->value);
	if (rule->is_of_yesterday && rule->request) {
		g_string_append(s, ", a day before it was ");
		append_value(s, rule, yesterday);
	} else if (rule->is_of_yesterday) {
		g_string_append_printf(s, ", a day before it was %.2g", yesterday);
	}
	if (v->process && v->process_percent > 0) {
		g_string_append_printf(s, "; %.0f%% of it in ", v->process_percent);
		text_safe(s, v->process);
	}
}

char **alert_environment(const struct alert_rule *rule, bool is_firing, double value, const char *text)
{
	static const char *const kept[] = { "LANG", "LC_ALL", "TZ" };
	char number[G_ASCII_DTOSTR_BUF_SIZE], **e = NULL;
	const char *path = g_getenv("PATH");

	for (size_t i = 0; i < G_N_ELEMENTS(kept); i++)
		if (g_getenv(kept[i]))
			e = g_environ_setenv(e, kept[i], g_getenv(kept[i]), TRUE);
	e = g_environ_setenv(e, "PATH", path ? path : "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", TRUE);
	e = g_environ_setenv(e, "OFFCPU_ALERT", rule->name, TRUE);
	e = g_environ_setenv(e, "OFFCPU_STATE", is_firing ? "firing" : "over", TRUE);
	e = g_environ_setenv(e, "OFFCPU_VALUE", g_ascii_dtostr(number, sizeof(number), value), TRUE);
	return g_environ_setenv(e, "OFFCPU_TEXT", text, TRUE);
}
