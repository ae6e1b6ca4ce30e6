/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/explain.h"

#include <inttypes.h>
#include <string.h>

#include "base/find.h"
#include "explain/findings_part.h"
#include "explain/little.h"
#include "explain/sentence.h"
#include "explain/text.h"
#include "features/storms/analysis.h"
#include "features/wakers/analysis.h"

#define HEADLINE_PERCENT 5	/* of its whole: smaller ones are reported only as the first */
#define NAME_COLUMNS 20
#define STORM_NAME_COLUMNS 20

const char *headline_kind_name(enum headline_kind kind)
{
	static const char *const names[HEADLINE_KIND_COUNT] = { "wait", "busy", "tasks" };

	return names[kind];
}

static bool is_worth(uint64_t time_ns, uint64_t whole_ns, bool is_first)
{
	return is_first || time_ns >= whole_ns / 100 * HEADLINE_PERCENT;
}

#define MOMENT_NS 1000000	/* of a wait for a CPU */
#define MOMENTS_MIN 100
#define MOMENTS_PART 10	/* 1/n of the window: so much of it in all threads holds nobody up */

/* Many moments in a run queue, as of any program that wakes often. */
static bool are_moments(const struct finding *row, uint64_t window_ns)
{
	return row->reason == REASON_CPU_QUEUE && !row->busy && !row->is_yield && !row->is_for_hog &&
	       !row->limit.limit && row->count >= MOMENTS_MIN && row->time_ns < window_ns / MOMENTS_PART &&
	       finding_percentile_ns(row, 0.99) < MOMENT_NS;
}

static bool is_nothing(const struct explanation *e, const struct finding *row)
{
	const uint64_t window_ns = e->findings->profile->info.duration_ns;

	return task_findings_outweigh(e->tasks, row, window_ns) || are_moments(row, window_ns);
}

/* The base of its share. */
static uint64_t whole_of(const struct findings *f, const struct finding *row)
{
	if (row->may_be_meant)
		return 0;
	return row->busy == BUSY_SPIN ? row->on_cpu_ns : row->busy ? row->observed_ns : f->matters_ns;
}

static struct headline of_finding(const struct explanation *e, const struct finding *row)
{
	return (struct headline){
		.kind = row->busy ? HEADLINE_BUSY : HEADLINE_WAIT,
		.finding = row,
		.time_ns = row->time_ns,
		.whole_ns = whole_of(e->findings, row),
	};
}

static struct headline of_task(const struct task_wait *w)
{
	return (struct headline){ .kind = HEADLINE_TASKS, .task = w, .time_ns = w->task_ns, .whole_ns = w->busy_ns };
}

/* It is part of the evidence of a headline for tasks, as what threads wait for under a lock. */
static bool is_told(const struct explanation *e, const struct finding *row)
{
	return FIRST_ROW(const struct headline, h, e->headlines, h->task && h->task->under == row, h, NULL) != NULL;
}

/*
 * The next finding of threads that deserves a headline, from *at on; NULL: none.  After one that is too small, only a
 * run queue may follow, since it is ranked by a part of its time.
 */
static const struct finding *next_finding(const struct explanation *e, guint *at)
{
	const struct findings *f = e->findings;
	bool is_over = false;

	for (; *at < f->rows->len; (*at)++) {
		const struct finding *row = &g_array_index(f->rows, struct finding, *at);

		bool is_queue = row->reason == REASON_CPU_QUEUE && !row->is_yield;

		const uint64_t led_ns = row->reason == REASON_SLEEP ? 0 : row->leads_ns;

		if (!row->deadlock && !is_worth(row->time_ns + led_ns, f->matters_ns, !*at)) {
			is_over = true;
			continue;
		}
		if (is_over && !is_queue)
			continue;
		if (!is_nothing(e, row) && !row->is_link && !is_told(e, row))
			return row;
	}
	return NULL;
}

/* The same of tasks; few of them are told only if nothing else is. */
static const struct task_wait *next_task(const struct explanation *e, guint *at)
{
	for (; *at < e->tasks->cnt; (*at)++) {
		const struct task_wait *w = &g_array_index(e->tasks->rows, struct task_wait, *at);

		if (is_worth(w->task_ns, w->busy_ns, !*at) && (w->tasks >= TASKS_MIN || !e->headlines->len))
			return w;
	}
	return NULL;
}

/*
 * On a whole machine the first few explain little, so more are reported: any of these may be what the user looks for.
 */
static bool is_enough(const struct explanation *e)
{
	uint64_t told_ns = 0;

	EACH_ROW(i, const struct headline, h, e->headlines)
		told_ns += h->whole_ns ? h->time_ns : 0;
	return e->headlines->len >= HEADLINES_MOST ||
	       (e->headlines->len >= HEADLINES_MAX && told_ns >= e->findings->matters_ns / 2);
}

/* Times of tasks and threads cannot be compared, so a second finding of tasks comes after the first one of threads. */
static void choose(struct explanation *e)
{
	guint at = 0, task_at = 0;

	while (!is_enough(e)) {
		const struct finding *row = next_finding(e, &at);
		const struct task_wait *w = next_task(e, &task_at);
		bool is_first = w && row && row != w->behind && task_at <= at &&
				(w->rank_ns >= finding_rank_ns(row) || task_findings_precede(e->findings, w, row));
		bool is_task = w && (!row || is_first);
		struct headline h;

		if (!row && !w)
			return;
		h = is_task ? of_task(w) : of_finding(e, row);
		*(is_task ? &task_at : &at) += 1;
		g_array_append_val(e->headlines, h);
	}
}

/* Its time is a clock's, as its sentence says, or it has none, or it may be intended: no share is given. */
static bool has_no_share(const struct headline *h)
{
	return h->finding &&
	       (h->finding->busy == BUSY_ALONE || h->finding->busy == BUSY_REFUSES || h->finding->may_be_meant);
}

/* The first one with a share. */
static const struct headline *first_with_share(const struct explanation *e)
{
	const struct headline *first = &g_array_index(e->headlines, struct headline, 0);
	guint at = 0;

	while (at + 1 < e->headlines->len && has_no_share(first + at))
		at++;
	return first + at;
}

/* Whether both shares have the same base. */
static bool same_whole(const struct headline *a, const struct headline *b)
{
	if (has_no_share(b))
		return false;
	if (a->kind != b->kind || a->kind == HEADLINE_BUSY)
		return a == b;
	return a->kind == HEADLINE_WAIT ||
	       (a->task->pid == b->task->pid && strcmp(a->task->program, b->task->program) == 0);
}

/* "41% of the time that matters: ", "94% of the time of shop's goroutines: "; without its share "shop's goroutines: ". */
static void append_share(GString *s, const struct headline *h, bool has_share)
{
	if (has_share)
		g_string_append_printf(s, "%.0f%% of %s", text_percent(h->time_ns, h->whole_ns),
				       h->finding && h->finding->busy == BUSY_SPIN ? "its CPU time: " :
				       h->kind == HEADLINE_WAIT			   ? "the time that matters: " :
										     "the time of ");
	if (h->kind != HEADLINE_TASKS)
		return;
	sentence_tasks_whole(s, h->task);
	g_string_append(s, ": ");
}

/* "6%: java waits for a Java monitor (synchronized) in Acc.line" */
static char *brief_of(const struct findings *f, const struct headline *h, bool has_share)
{
	GString *s = g_string_new(NULL);

	if (has_share)
		g_string_append_printf(s, "%.0f%%: ", text_percent(h->time_ns, h->whole_ns));
	if (h->task && !has_share) {	/* else it is one of the program that has been named */
		text_safe_cut(s, h->task->program, NAME_COLUMNS);
		g_string_append(s, ": ");
	}
	if (h->task)
		sentence_task(s, h->task);
	else
		sentence_finding(s, f, h->finding);
	return g_string_free(s, FALSE);
}

/* The reason for shares that increase down the list, given at the headline that is not ranked by its time. */
static const char *order_reason(const struct explanation *e, guint at)
{
	const struct headline *h = &g_array_index(e->headlines, struct headline, at);
	const struct finding_rank rank = h->finding ? finding_rank(h->finding) : (struct finding_rank){ 0 };

	EACH_ROW(i, const struct headline, o, e->headlines) {
		bool is_behind_less = i < at && o->time_ns < h->time_ns && rank.ns < h->time_ns;
		bool is_before_more = i > at && o->time_ns > h->time_ns && rank.ns > h->time_ns;

		if (same_whole(h, o) && (is_behind_less || is_before_more))
			return rank.why;
	}
	return NULL;
}

/* The process that is asked; 0: unknown, or none. */
static uint32_t asked_by(const struct findings *f, const struct headline *h)
{
	const struct object *o = h->finding ? finding_object(f, h->finding) : NULL;
	const bool asks = o && !h->finding->busy && h->finding->reason == REASON_NETWORK_RECEIVE;

	return h->task ? h->task->server : asks ? o->pid : 0;
}

static void say(const struct explanation *e, guint at)
{
	const struct findings *f = e->findings;
	const struct headline *first = first_with_share(e);
	struct headline *h = &g_array_index(e->headlines, struct headline, at);
	GString *sentence = g_string_new(NULL), *evidence = g_string_new(NULL), *command = g_string_new(NULL);
	const char *why = order_reason(e, at);

	append_share(sentence, h, same_whole(first, h));
	h->brief = brief_of(f, h, same_whole(first, h));
	if (h->task) {
		sentence_task(sentence, h->task);
		sentence_task_evidence(evidence, f, h->task);
		g_string_append(command, "`offcpu report --by task`");
	} else {
		sentence_finding(sentence, f, h->finding);
		sentence_evidence(evidence, f, h->finding);
		sentence_command(command, f, h->finding);
	}
	if (asked_by(f, h))
		sentence_tasks_there(evidence, e->tasks, asked_by(f, h), "; there ");
	if (why)
		g_string_append_printf(evidence, "; %s", why);
	h->sentence = g_string_free(sentence, FALSE);
	h->evidence = g_string_free(evidence, FALSE);
	h->command = g_string_free(command, FALSE);
	h->advice = h->task ? h->task->advice : sentence_advice(f, h->finding);
}

/* "Also: 68% of the time that matters: sysbench waits for a CPU, 4.10 s in 8 threads." and what shows them */
static char *also_of(const struct explanation *e, const struct finding *row)
{
	GString *s = g_string_new("Also: ");
	const struct headline *first = first_with_share(e), h = of_finding(e, row);

	append_share(s, &h, !e->headlines->len || first->kind == HEADLINE_WAIT);
	sentence_process(s, row->process, NAME_COLUMNS);
	g_string_append_printf(s, " waits for a CPU, %s in %u thread%s. `offcpu report --weight runnable --stacks`",
			       TEXT_NS(row->time_ns), row->threads_cnt, row->threads_cnt == 1 ? "" : "s");
	return g_string_free(s, FALSE);
}

static void find_also(struct explanation *e)
{
	const struct findings *f = e->findings;
	const struct finding *most = NULL;

	EACH_ROW(i, const struct finding, row, f->rows)
		if (!row->busy && (!most || row->time_ns > most->time_ns) && !is_nothing(e, row))
			most = row;
	if (!most || most->reason != REASON_CPU_QUEUE || most->is_yield || most->is_cost)
		return;
	while (e->also_at < e->headlines->len &&
	       g_array_index(e->headlines, struct headline, e->also_at).finding != most)
		e->also_at++;
	e->also = also_of(e, most);
}

/*
 * "Storm: pusher wakes 100 threads at once, 40 times; 95% of them sleep again at once." Only useless storms are
 * reported.
 */
static char *storm_of(const struct findings *f)
{
	struct storm_table *t = storm_table_new(f->profile, f->selection);
	const struct storm_row *r = t->rows->len ? &g_array_index(t->rows, struct storm_row, 0) : NULL;
	GString *s = g_string_new(NULL);

	if (r && (r->verdict == STORM_IN_VAIN || r->verdict == STORM_PARTLY)) {
		g_string_append(s, "Storm: ");
		text_safe_cut(s, waker_name(profile_get_waker(f->profile, r->storm.waker)), STORM_NAME_COLUMNS);
		g_string_append_printf(s,
				       " wakes up to %" PRIu64 " threads at once (%s), %" PRIu64
				       " times; %.0f%% of them "
				       "sleep again at once. `offcpu report --storms`",
				       (uint64_t)r->storm.most_cnt, storm_title(r), (uint64_t)r->storm.event_cnt,
				       text_percent(r->storm.again_cnt, r->storm.ended_cnt));
	}
	storm_table_free(t);
	return g_string_free(s, s->len == 0);
}

CLEARS(clear_headline, struct headline, h, g_free(h->sentence); g_free(h->brief); g_free(h->evidence);
       g_free(h->command))

struct explanation *explanation_new(const struct profile *p, const struct selection *selection)
{
	struct explanation *e = g_new0(struct explanation, 1);

	e->findings = findings_new(p, selection);
	e->tasks = task_findings_new(p, selection, e->findings);
	e->headlines = g_array_new(FALSE, TRUE, sizeof(struct headline));
	g_array_set_clear_func(e->headlines, clear_headline);
	if (p->info.rows_are)	/* rules are about threads' waits */
		return e;
	e->storm = p->info.has_storms ? storm_of(e->findings) : NULL;
	e->unseen = unseen_new(e->findings);
	e->little = little_new(e->findings, e->tasks, e->unseen);
	if (e->little)
		return e;
	choose(e);
	find_also(e);
	for (guint i = 0; i < e->headlines->len; i++)
		say(e, i);
	if (!e->headlines->len && !e->also && !e->findings->matters_ns && e->findings->classes->len)
		e->little = little_nothing_new(e->findings);
	return e;
}

FREES(explanation_free, struct explanation, e, g_array_unref(e->headlines); findings_free(e->findings);
      task_findings_free(e->tasks); g_free(e->little); g_free(e->also); g_free(e->storm); g_free(e->unseen))

guint explanation_headline_of(const struct explanation *e, uint32_t wait)
{
	for (guint i = 0; i < e->headlines->len; i++) {
		const struct finding *row = g_array_index(e->headlines, struct headline, i).finding;

		if (row && !row->busy && finding_has_wait(e->findings, row, wait))
			return i + 1;
	}
	return 0;
}

const char *explanation_advice_of(const struct explanation *e, uint32_t wait)
{
	EACH_ROW(i, const struct headline, h, e->headlines)
		if (h->finding && (h->finding->deadlock || h->finding->never_let_go) &&
		    finding_has_wait(e->findings, h->finding, wait))
			return h->advice;
	const struct object *o = profile_wait_object(e->findings->profile, profile_wait(e->findings->profile, wait));

	return servers_advice_of_wait(e->findings->reasons, wait, o, NULL, false)
		       ?: reasons_advice(e->findings->reasons, wait);
}

void explanation_wait(GString *s, const struct explanation *e, uint32_t wait)
{
	const struct finding row = finding_of_wait(e->findings, wait);

	sentence_wait(s, e->findings, &row);
}

void explanation_sentence(GString *s, const struct explanation *e, uint32_t wait)
{
	const struct finding row = finding_of_wait(e->findings, wait);

	sentence_finding(s, e->findings, &row);
}
