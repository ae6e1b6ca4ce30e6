/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/little.h"

#include <inttypes.h>
#include <string.h>

#include "base/find.h"
#include "explain/findings_part.h"
#include "explain/kinds/at_once.h"
#include "explain/limits.h"
#include "explain/sentence.h"
#include "explain/text.h"
#include "features/requests/rows.h"
#include "features/wakers/analysis.h"

#define WAITING_PART 10		/* of the window: less is what a tenth of a thread waits on average */
#define UNSEEN_MOST 2		/* maximum waits of a finding */
#define COMPUTES 9		/* ratio of CPU time to waits: a CPU profile is more useful */
#define OTHERS_PART 5	/* of its time: if it waits less for CPUs others' load makes that */
#define NAME_COLUMNS 40
#define RHYTHM_MIN 3	/* per thread: fewer are no regular pattern */
#define MEANT_MAX 2
#define PIECES_MIN 50	/* of work: fewer tell no mean */
#define EACH_NS 25000000ULL	/* of each: nobody notices that */
#define CLIENT_PART 4	/* of the time of threads that only ask: more is their work */
#define REST_PART 20	/* of the time of threads that work: more is no rest */

/* Waits for others' work, which are counted there, and for a class what may be intended; NULL: all classes. */
static uint64_t elsewhere_ns(const struct findings *f, const struct finding_class *c)
{
	uint64_t ns = 0;

	EACH_ROW(i, const struct finding, row, f->rows)
		if ((row->is_told_elsewhere || (c && row->may_be_meant)) && (!c || row->process == c->process))
			ns += row->time_ns;
	return ns;
}

static uint64_t matters_ns(const struct findings *f, const struct finding_class *c)
{
	uint64_t ns = finding_class_matters_ns(c);

	return ns - MIN(elsewhere_ns(f, c), ns);
}

static bool computes(const struct findings *f, const struct finding_class *c)
{
	return c->on_cpu_ns / COMPUTES >= matters_ns(f, c);
}

/* NULL: none of its threads is selected. */
static const struct finding_class *class_of(const struct findings *f, const struct finding *row)
{
	return FIRST_ROW(const struct finding_class, c, f->classes, c->process == row->process, c, NULL);
}

static bool process_computes(const struct findings *f, const struct finding *row)
{
	const struct finding_class *c = class_of(f, row);

	return c && computes(f, c);
}

bool little_is_certain(const struct finding *row)
{
	return row->deadlock || row->never_let_go || row->nobody_works || row->is_stuck || row->busy ||
	       finding_has_limit(row) || row->reason == REASON_CPU_THROTTLED;
}

static bool is_noticed(const struct findings *f, const struct finding *row)
{
	/* nor is it a pause cut off by the recording's end */
	if (row->reason == REASON_SLEEP && row->count == 1 && !row->loop &&
	    profile_wait(f->profile, row->wait)->flags & WAIT_OPEN_AT_END)
		return false;
	/* a wait whose stack was lost may be idle and says nothing; only many of these count */
	if (reasons_is_unseen(f->reasons, row->wait) && row->count <= UNSEEN_MOST)
		return false;
	/* single waits for a CPU are due to others: ignore one in a hundred, and the longest of a few */
	double share = row->reason == REASON_CPU_QUEUE ? MIN(0.99, 1 - 2.0 / (double)MAX(row->count, 2)) : 1;
	/* the longest counts as a whole, even if most of it was run-queue time */
	uint64_t longest_ns = row->max_ns && share == 1
				      ? MIN(row->max_ns, row->time_ns)
				      : wait_percentile_ns(row->hist, share, row->durations_ns, row->time_ns);

	return longest_ns >= FINDING_NOTICED_NS;
}

/*
 * It hardly ran, and waited for CPUs at most a fifth of its time and half a thread on average: due to others' load,
 * not its own problem.
 */
static bool is_others_load(const struct findings *f, const struct finding *row)
{
	const struct finding_class *c = class_of(f, row);

	return c && row->reason == REASON_CPU_QUEUE && !row->is_yield && c->on_cpu_ns < c->observed_ns / WAITING_PART &&
	       row->time_ns < MIN(c->observed_ns / OTHERS_PART, f->profile->info.duration_ns / 2);
}

/*
 * Threads that wait here are idle nearly all of their time, and return to idleness so often that the wait is short per
 * piece of work.
 */
static bool is_little_each(const struct findings *f, uint64_t sum_ns)
{
	const struct profile *p = f->profile;
	g_autofree bool *works = g_new0(bool, (gsize)p->threads->len + 1);
	uint64_t observed_ns = 0, rests_cnt = 0;

	EACH_ROW(i, const struct wait, w, p->waits)
		works[w->thread] |= f->blocked_in[i] && reasons_of(f->reasons, i) == REASON_NETWORK_RECEIVE;
	for (uint32_t i = 0; i < p->threads->len; i++)
		observed_ns += works[i] ? thread_observed_ns(profile_thread(p, i)) : 0;
	EACH_ROW(i, const struct wait, w, p->waits) {
		if (works[w->thread] && idle_kind_is_rest(reasons_idle(f->reasons, i)))
			rests_cnt += w->count;
	}
	return rests_cnt >= PIECES_MIN && sum_ns / rests_cnt < EACH_NS && sum_ns < observed_ns / REST_PART;
}

/* Of many waits a few may be longer. */
static bool is_seldom_noticed(const struct finding *row)
{
	return row->count >= PIECES_MIN &&
	       finding_percentile_ns(row, 0.99) < FINDING_NOTICED_NS;
}

/*
 * A client whose answers come soon, and take a part of its time only: what takes theirs is in the recording, and is told of
 * the program that it asks.  One that does little else may ask too often.
 */
static bool is_answered_soon(const struct findings *f, const struct finding *row)
{
	return row->is_of_client && row->count >= PIECES_MIN && !finding_has_limit(row) && !row->deadlock &&
	       row->time_ns < row->threads_cnt * f->profile->info.duration_ns / CLIENT_PART &&
	       finding_percentile_ns(row, 0.99) < EACH_NS;
}

static bool is_little(const struct findings *f)
{
	uint64_t sum_ns = 0;
	bool is_each = true, has_long = false;

	EACH_ROW(i, const struct finding, row, f->rows) {
		bool is_of_work = process_computes(f, row);
		bool is_queue = row->reason == REASON_CPU_QUEUE;

		if (row->is_told_elsewhere || row->may_be_meant || row->is_spin ||
		    clocks_is_all(f, row) || owed_is_quick(f, row) || is_answered_soon(f, row))
			continue;
		bool is_long = !(is_queue && is_of_work) && is_noticed(f, row);

		is_each = is_each && (is_queue || row->reason == REASON_NETWORK_RECEIVE ||
				      row->time_ns < f->matters_ns / WAITING_PART);
		if (little_is_certain(row) || (is_long && !is_seldom_noticed(row)))
			return false;
		has_long = has_long || is_long;
		sum_ns += is_of_work || is_others_load(f, row) ? 0 : row->time_ns - row->beside_clock_ns;
	}
	/* where clients wait for a timer of TCP many short waits are not what to look at */
	return (!has_long && (sum_ns < f->profile->info.duration_ns / WAITING_PART || held_back_is_seen(f))) ||
	       (is_each && is_little_each(f, sum_ns));
}

/* "xz computes: 97% of its workers' time is on CPU; a CPU profile tells more." */
static char *say_computes(const struct findings *f, const struct finding_class *c)
{
	GString *s = g_string_new("Little to find: ");

	text_safe_cut(s, c->process, NAME_COLUMNS);
	g_string_append_printf(s, " computes: %.0f%% of its workers' time is on CPU; a CPU profile tells more.",
			       text_percent(c->on_cpu_ns, c->on_cpu_ns + matters_ns(f, c)));
	return g_string_free(s, FALSE);
}

/* "; 80 requests waited 4.00 ms each", or for waits with unknown requests: "; 86 waits took 345 ms in all". */
static void append_waits(GString *s, const struct findings *f, uint64_t clocks_ns)
{
	uint64_t requests = 0, off_cpu_ns = 0, waits = 0;

	for (guint i = 0; i < f->profile->requests->len; i++) {
		const struct offcpu_request_times *t = &profile_request(f->profile, i)->sum.all;

		requests += t->count;
		off_cpu_ns += t->wall_ns - MIN(t->on_cpu_ns, t->wall_ns);
	}
	EACH_ROW(i, const struct finding, row, f->rows)
		waits += row->may_be_meant || row->is_told_elsewhere || clocks_is_all(f, row) ||
					 owed_is_quick(f, row)
				 ? 0
				 : row->count;
	g_string_append(s, requests || waits ? "; " : ".");
	if (!requests && !waits)
		return;
	text_thousands(s, requests ? requests : waits);
	if (requests) {
		g_string_append_printf(s, "%s%s%s", requests == 1 ? " request waited " : " requests waited ",
				       TEXT_NS(off_cpu_ns / requests), requests == 1 ? "." : " each.");
		return;
	}
	g_string_append_printf(s, "%s%s%s", waits == 1 ? " wait took " : " waits took ",
			       TEXT_NS(f->matters_ns - MIN(clocks_ns, f->matters_ns)), waits == 1 ? "." : " in all.");
}

/* " 1.02 s of that geo waited for a CPU, ..": others' load that is a tenth of its time or more */
static void append_load(GString *s, const struct findings *f)
{
	EACH_ROW(i, const struct finding, row, f->rows) {
		const struct finding_class *c = class_of(f, row);

		if (!is_others_load(f, row) || row->time_ns < c->observed_ns / WAITING_PART)
			continue;
		g_string_append_printf(s, " %s of that ", TEXT_NS(row->time_ns));
		text_safe_cut(s, row->process, NAME_COLUMNS);
		g_string_append(s, " waited for a CPU, as others held them: record -a --runq-blame tells who.");
		return;
	}
}

/* " pacer sleeps until a timer in pace_frames, 60 times a second.", and what its finding would advise */
static void append_clock(GString *s, const struct findings *f, const struct finding *row)
{
	const struct script_run run = script_run_of(f, row);
	double seconds = (double)f->profile->info.duration_ns / 1e9;
	int digits = (double)run.tick_cnt < seconds * 10 ? 1 : 0;

	g_string_append_c(s, ' ');
	sentence_finding(s, f, row);
	g_string_append_printf(s, ", %.*f times a second.", digits, (double)run.tick_cnt / seconds);
	if (!run.known_cnt)
		g_string_append_printf(s, " %s", sentence_advice(f, row));
	clocks_append_meanwhile(s, f, row);
	if (!run.name)
		return;
	g_string_append(s, " In between it runs ");
	script_run_append(s, &run);
	g_string_append(s, run.known_cnt && !run.failed_cnt ? "." :
			   run.known_cnt			? ": if it waits for that see why." :
								  ": if that fails each time see why.");
}

/* What sleeps meanwhile, for tasks, and advice. */
static void append_failing(GString *s, const struct task_findings *tasks, uint32_t pid)
{
	const struct task_wait *most = NULL;

	EACH_ROW(i, const struct task_wait, w, tasks->rows)
		if (w->pid == pid && w->is_sleep && !*w->idle && (!most || w->task_ns > most->task_ns))
			most = w;
	g_string_append(s, " It tries again and again");
	if (most) {
		g_string_append(s, ", and ");
		sentence_task(s, most);
	}
	g_string_append(s, ": if it needs that service, see why it fails.");
}

/*
 * No other process was recorded, nor, for a pause, another thread: the purpose of a server master's pauses is known.
 */
static bool is_lone(const struct profile *p, uint32_t thread, bool is_pause)
{
	EACH_ROW(i, const struct thread, t, p->threads)
		if (i != thread && (is_pause || t->pid != profile_thread(p, thread)->pid) &&
		    !(t->flags & THREAD_KERNEL))
			return false;
	return true;
}

/* It reads from a connection that it made, by no call that is known to wait for work. */
static bool is_listener(const struct findings *f, uint32_t i)
{
	const struct object *o = profile_wait_object(f->profile, profile_wait(f->profile, i));
	const struct rule *rule = reasons_rule(f->reasons, i);

	return reasons_idle(f->reasons, i) == IDLE_CLIENT && o && strcmp(o->place, "tcp") == 0 && !object_is_accepted(o) &&
	       !(rule && (rule->idle == RULE_IDLE_YES || g_str_has_prefix(rule->name, RULES_MEMORY_SERVER)));
}

/*
 * " mailq.pl sleeps until a timer in next_mail, 4.0 times a second.": the pauses of a program's only thread, if they
 * take most of its time, are what its work takes.  A listener may read a long answer in pieces.
 */
static void append_rhythm(GString *s, const struct findings *f, bool is_told)
{
	const struct profile *p = f->profile;
	const struct wait *most = NULL;
	uint32_t at = 0;
	uint64_t count = 0, ns = 0;

	EACH_ROW(i, const struct wait, w, p->waits) {
		if ((reasons_idle(f->reasons, i) != IDLE_TIMER && !is_listener(f, i)) ||
		    (f->selection && !f->selection->waits[i]) || (most && w->blocked_ns <= most->blocked_ns))
			continue;
		most = w;
		at = i;
	}
	const int64_t frame = most ? finding_frame(f, at) : -1;

	EACH_ROW(i, const struct wait, w, p->waits) {	/* waits open at an edge of the window are listed separately */
		if (!most || w->thread != most->thread || w->kernel != most->kernel ||
		    finding_frame(f, i) != frame)	/* below it an interpreter may take several ways */
			continue;
		count += w->count;
		ns += w->blocked_ns;
	}
	const bool is_pause = most && reasons_idle(f->reasons, at) == IDLE_TIMER;
	if (count < RHYTHM_MIN || ns <= p->info.duration_ns / 2 || p->info.duration_ns < 1000000000 ||
	    !is_lone(p, most->thread, is_pause))
		return;
	struct finding row = finding_of_wait(f, at);

	row.threads_cnt = 1;
	row.asks_object = is_pause ? pauses_asked_by(f, most->thread, count) : 0;
	g_string_append_c(s, ' ');
	sentence_finding(s, f, &row);
	g_string_append_printf(s, ", %.1f times a second", (double)count * 1e9 / (double)p->info.duration_ns);
	pauses_append_evidence(s, f, &row);
	g_string_append(s, is_told ? "." :
			   row.asks_object ? ": a clock, a look whether something has come (wait for that instead), or a pause between "
					     "tries: see what is answered." :
			   is_pause ? ": a clock, or a pause that its work waits for. If it looks whether something has come, wait for "
				      "that instead." :
				      ": it has asked for nothing meanwhile. If that is one answer, which comes in pieces, look at the peer.");
}

/*
 * "java waits for a semaphore in take (Java semaphore). 4 threads, 4 waits, 28.2 s. Nobody raised it while this was
 * recorded. ..": may be intended.
 */
static void append_meant(GString *s, const struct findings *f)
{
	const char *advice = NULL;
	guint told = 0;

	for (guint i = 0; i < f->rows->len && told < MEANT_MAX; i++) {
		const struct finding *row = &g_array_index(f->rows, struct finding, i);

		if (!row->may_be_meant)
			continue;
		g_string_append(s, told++ ? " " : "");
		sentence_finding(s, f, row);
		g_string_append(s, ". ");
		sentence_evidence(s, f, row);
		g_string_append_c(s, '.');
		if (row->reason == REASON_SLEEP && clocks_append_meanwhile(s, f, row))
			continue;
		if (advice == sentence_advice(f, row))
			continue;
		advice = sentence_advice(f, row);
		g_string_append_printf(s, " %s", advice);
	}
}

/*
 * The same of tasks, "2 goroutines wait for an answer, 10.0.0.7:9205 (queue-svc), in main.receive (main.go:3). ..":
 * a long poll, or a limit of their own rate.
 */
static bool append_meant_task(GString *s, const struct task_findings *tasks, const char *little)
{
	const struct task_wait *most = NULL;

	EACH_ROW(i, const struct task_wait, w, tasks->rows)
		if (w->meant && (!most || w->task_ns > most->task_ns))
			most = w;
	if (!most)
		return false;
	g_string_append_printf(s, "%s, if this is meant: in ", little);
	text_safe_cut(s, most->program, NAME_COLUMNS);
	g_string_append_c(s, ' ');
	sentence_task(s, most);
	g_string_append_printf(s, ". %s Else ", most->advice);
	return true;
}

/*
 * "Little to find, if its clients wait for events (a long poll): notify-hub waits for its own timers, .. Little
 * else"
 */
static bool append_held(GString *s, const struct findings *f, const char *little, bool has_unseen)
{
	const gsize begin = s->len;

	if (!has_unseen)
		g_string_append_printf(s, "%s, if its clients wait for events (a long poll): ", little);
	if (at_once_append_held(s, f, has_unseen)) {
		g_string_append(s, " Little else is found");
		return true;
	}
	g_string_truncate(s, begin);
	return false;
}

/* Waits that are listed beside idle time. */
struct rest {
	const struct finding *clock;	/* the longest; NULL: none */
	uint64_t clocks_ns, quick_ns, all_ns;
};

static struct rest rest_of(const struct findings *f)
{
	struct rest r = { 0 };

	EACH_ROW(i, const struct finding, row, f->rows) {
		const bool is_clock = clocks_is_all(f, row), is_quick = owed_is_quick(f, row);

		r.clocks_ns += is_clock ? row->time_ns : 0;
		r.quick_ns += is_quick ? row->time_ns : 0;
		r.all_ns += (is_clock ? row->time_ns : 0) + (is_quick ? row->time_ns : 0) +
			    (row->is_told_elsewhere && !is_clock ? row->time_ns : 0);
		if (is_clock && !row->is_shells_sleep && (!r.clock || row->time_ns > r.clock->time_ns))
			r.clock = row;
	}
	return r;
}

static char *say_idle(const struct findings *f, const struct task_findings *tasks, uint64_t observed_ns,
		      bool has_unseen)
{
	const char *little = !has_unseen ? "Little to find" :
			     unseen_has_children(f->profile) ? "Little to find in these processes" :
							       "Little to find in threads";
	GString *s = g_string_new(NULL);
	const struct rest rest = rest_of(f);
	uint32_t failing = 0;

	const bool are_unseen = has_unseen && !unseen_has_children(f->profile);	/* others than threads */

	/* no all-clear while others wait, or what the program needs may be missing */
	const bool is_silent = silent_append_most(s, f);
	const bool is_taken = !is_silent && backlog_append_taken(s, f);
	const bool leads = is_silent || is_taken || one_command_append_most(s, f) || held_back_append_most(s, f);
	const bool is_owing = leads || owed_append_most(s, f, tasks) || append_held(s, f, little, are_unseen);
	const bool fails = !is_owing && connects_append_most(s, f, &failing);
	const bool is_trying = !is_owing && !fails && tries_append_most(s, f);
	const bool is_unsignalled = !is_owing && !fails && !is_trying && unsignalled_append_most(s, f, true);
	struct still *still = has_unseen ? NULL : still_new(f);
	const bool is_still = !s->len && still_append(s, still, false);

	if (is_unsignalled)
		g_string_append(s, "." UNSIGNALLED_ADVICE " Else little is found");
	if (is_still || leads || is_trying)
		g_string_append(s, " Else little is found");
	if (!s->len && f->meant_ns) {
		g_string_append_printf(s, "%s, if this is meant: ", little);
		append_meant(s, f);
		if (f->idle_sum_ns + rest.clocks_ns <= (observed_ns - f->meant_ns) / 2) {	/* nothing to list */
			still_free(still);
			return g_string_free(s, FALSE);
		}
		g_string_append(s, " Else ");
	} else if (s->len || !append_meant_task(s, tasks, little)) {
		g_string_append_printf(s, "%s: ", s->len ? "" : little);
	}
	g_string_append_printf(s, "%.1f%% of the threads' time is idle%s%s",
			       text_percent(f->idle_sum_ns + rest.all_ns, observed_ns - f->meant_ns), rest.clock ? " or a clock's" : "",
			       rest.quick_ns ? " or for answers that come soon" : "");
	append_waits(s, f, rest.all_ns);
	append_load(s, f);
	if (rest.clock && !is_unsignalled)
		append_clock(s, f, rest.clock);
	else if (!is_owing && !fails)
		append_rhythm(s, f, is_trying);
	if (fails)
		append_failing(s, tasks, failing);
	if (!is_taken)
		backlog_append_most(s, f);
	full_append_most(s, f);
	g_string_append_c(s, ' ');
	if (!is_unsignalled && unsignalled_append_most(s, f, false))
		g_string_append(s, "." UNSIGNALLED_ADVICE);
	g_string_truncate(s, s->len - g_str_has_suffix(s->str, " "));
	at_once_append_most(s, f);
	sole_waker_append_most(s, f);
	unsignalled_append_alone(s, f);
	restarts_append_most(s, f);
	if (!is_still && !has_unseen && !still_append(s, still, true))
		still_append_join(s, f);
	still_free(still);
	return g_string_free(s, FALSE);
}

char *little_nothing_new(const struct findings *f)
{
	struct still *still = still_new(f);
	GString *s = g_string_new(NULL);

	if (!still_append(s, still, false)) {
		const bool is_taken = backlog_append_taken(s, f);

		g_string_append(s, is_taken || one_command_append_most(s, f) || tries_append_most(s, f) ?
					   " Else nothing was waited for: all threads ran or were idle." :
					   "Nothing was waited for: all threads ran or were idle.");
		if (!is_taken)
			backlog_append_most(s, f);
		restarts_append_most(s, f);
		if (!still_append(s, still, true))
			still_append_join(s, f);
	}
	still_free(still);
	return g_string_free(s, FALSE);
}

char *little_new(const struct findings *f, const struct task_findings *tasks, bool has_unseen)
{
	const struct profile_info *info = &f->profile->info;
	const struct finding_class *most = NULL;
	uint64_t observed_ns = 0;

	/* with a selection of stacks nothing is too little to report */
	if (f->selection && f->selection->by_stack)
		return NULL;
	if (info->imported || info->looks.rounds || !info->duration_ns || !f->rows->len || f->has_kernel_only)
		return NULL;
	if (tasks->cnt || !is_little(f))
		return job_says(f, tasks);
	EACH_ROW(i, const struct finding_class, c, f->classes) {
		observed_ns += c->observed_ns;
		most = !most || c->on_cpu_ns > most->on_cpu_ns ? c : most;
	}
	if (most && computes(f, most) &&
	    most->on_cpu_ns >
		    (f->idle_sum_ns + f->meant_ns + f->matters_ns - MIN(elsewhere_ns(f, NULL), f->matters_ns)) / 2)
		return say_computes(f, most);
	return say_idle(f, tasks, observed_ns, has_unseen);
}
