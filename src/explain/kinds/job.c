/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/little.h"

#include <inttypes.h>

#include "base/find.h"
#include "explain/findings_part.h"
#include "explain/limits.h"
#include "explain/text.h"

#define ALL_CPUS_TENTHS 8	/* of all CPUs' time: a program that has more lacks CPUs */
#define PART 10			/* of what it wants: less is negligible beside that */
#define OWN_PART 4		/* of all CPUs: a job that wants so many more has too many threads */
#define WORKER_PART 4		/* of its time: a thread that wants a CPU for less rests at times */
#define STAGE_TENTHS 8		/* of its time: a stage that wants a CPU for longer bounds the others */
#define STAGE_WINDOW_PART 2	/* of the window: a shorter one does not */
#define NAMES_MAX 3
#define NAME_PART 5		/* of the job's CPU time: who had less is not named */
#define NAME_COLUMNS 40

/*
 * A job computes if its threads want a CPU at nearly all times, and wait for nothing but each other besides: its stages
 * and helpers wait while others of it run, or would if there were a CPU.  How long it takes is then up to the CPUs, and
 * to what it computes.
 */
struct job {
	uint64_t on_cpu_ns, wants_ns, workers_ns, all_ns;	/* workers_ns: of threads that work; all_ns: of all CPUs */
	bool has_all, wants_all;	/* CPUs: nothing would be done sooner if its parts waited less for each other */
	bool has_stage;		/* a thread that bounds the others: more of these at a time would be faster */
	struct finding queue;	/* all its run queues */
	uint64_t own_ns;	/* in which its parts wait for each other */
};

static struct job job_of(const struct findings *f)
{
	const struct profile *p = f->profile;
	struct job j = { .all_ns = p->info.duration_ns * p->info.cpus };
	g_autofree uint64_t *wants_ns = g_new0(uint64_t, (gsize)p->threads->len + 1);

	EACH_ROW(i, const struct wait, w, p->waits)
		wants_ns[w->thread] += w->runnable_ns + w->preempted_ns;
	EACH_ROW(i, const struct thread, t, p->threads) {
		const uint64_t observed_ns = thread_observed_ns(t);

		if ((f->selection && !f->selection->threads[i]) || t->flags & THREAD_KERNEL)
			continue;
		wants_ns[i] += t->on_cpu_ns;
		j.on_cpu_ns += t->on_cpu_ns;
		j.wants_ns += wants_ns[i];
		j.workers_ns += wants_ns[i] > observed_ns / WORKER_PART ? wants_ns[i] : 0;
		j.has_stage |= observed_ns > p->info.duration_ns / STAGE_WINDOW_PART &&
			       wants_ns[i] > observed_ns / 10 * STAGE_TENTHS;
	}
	j.has_all = j.on_cpu_ns >= j.all_ns / 10 * ALL_CPUS_TENTHS;
	j.wants_all = j.wants_ns >= j.all_ns - j.all_ns / PART;
	return j;
}

/* Clients wait for it: what it waits for they notice. */
static bool serves(const struct findings *f)
{
	EACH_ROW(i, const struct connection, c, f->profile->connections)
		if (c->side == CONNECTION_SERVER && *c->remote)
			return true;
	EACH_ROW(i, const struct wait, w, f->profile->waits) {
		const struct object *o = profile_wait_object(f->profile, w);

		if (o && object_is_accepted(o))
			return true;
	}
	return false;
}

/*
 * It waits for what others of the job do, which have rows of their own for what they wait for.  Not as its runtime
 * stops it, nor for ever new processes, whose number takes the time.
 */
static bool is_of_job(const struct findings *f, const struct finding *row, const struct job *j)
{
	const enum reason_family family = reason_family(row->reason);
	const bool is_known = row->by.is_program || row->by.threads_cnt > 1 ||
			      (row->by.pid && cause_thread(f->profile, row->by.pid, row->by.tid) != CAUSE_NONE);

	if (row->spawned_cnt || row->reason == REASON_LOCK_OTHER || (finding_is_held(f, row) && !j->has_all))
		return false;
	if (row->reason == REASON_CHILD_EXIT)
		return is_known || profile_is_of_command(f->profile);
	return is_known && (family == FAMILY_PIPE ? j->wants_all || !j->has_stage :
			    family == FAMILY_LOCK ? j->has_all || j->wants_all :
						    false);
}

/* A limit, few CPUs of several, threads that all start at once, one of many that has all the work. */
static bool has_cause(const struct findings *f, const struct finding *queue)
{
	return finding_has_limit(queue) || queue->is_kept_off || queue->bursts.cnt || ran_uneven(f, queue);
}

static void add_queue(struct finding *all, const struct finding *row)
{
	all->time_ns += row->time_ns;
	all->durations_ns += row->durations_ns;
	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++)
		all->hist[i] += row->hist[i];
}

/* Adds up what it waits for; false: also for other things than CPUs and itself. */
static bool add_rows(const struct findings *f, struct job *j)
{
	uint64_t others_ns = 0;

	EACH_ROW(i, const struct finding, row, f->rows) {
		const bool is_queue = row->reason == REASON_CPU_QUEUE && !row->is_yield && !row->busy;

		if (is_queue ? row->time_ns > j->wants_ns / PART && has_cause(f, row) : little_is_certain(row))
			return false;
		if (is_queue)
			add_queue(&j->queue, row);
		else if (row->is_told_elsewhere || is_of_job(f, row, j))
			j->own_ns += row->time_ns;
		else if (!row->is_spin && !clocks_is_all(f, row))
			others_ns += row->time_ns;
	}
	return others_ns < j->wants_ns / PART;
}

/* A goroutine that computes, or waits for others of the program, while these have all CPUs that there are. */
static bool are_tasks_of_job(const struct task_findings *tasks, const struct job *j)
{
	uint64_t all_ns = 0, others_ns = 0;

	EACH_ROW(i, const struct task_wait, w, tasks->rows) {
		if (w->answers_request)
			return false;
		all_ns += w->rank_ns ? w->task_ns : 0;
		others_ns += w->rank_ns && !w->is_within ? w->task_ns : 0;
	}
	return !tasks->cnt || (j->wants_all && others_ns < all_ns / PART);
}

/* "sort, awk and gzip compute"; returns whether it is one. */
static bool append_names(GString *s, const struct findings *f, const struct job *j)
{
	const struct finding_class *names[NAMES_MAX] = { 0 };
	unsigned cnt = 0;

	while (cnt < NAMES_MAX) {
		const struct finding_class *most = NULL;

		EACH_ROW(i, const struct finding_class, c, f->classes)
			if ((!cnt || c->on_cpu_ns < names[cnt - 1]->on_cpu_ns) &&
			    (!most || c->on_cpu_ns > most->on_cpu_ns))
				most = c;
		if (!most || (cnt && most->on_cpu_ns < j->on_cpu_ns / NAME_PART))
			break;
		names[cnt++] = most;
	}
	for (unsigned i = 0; i < cnt; i++) {
		g_string_append(s, !i ? "" : i + 1 < cnt ? ", " : " and ");
		text_safe_cut(s, names[i]->process, NAME_COLUMNS);
	}
	g_string_append(s, cnt == 1 ? " computes" : " compute");
	return cnt == 1;
}

/* "Little to find: tokenizer computes: it had 97% of the time of all 2 CPUs, and what its threads wait for .." */
static void say_all(GString *s, const struct findings *f, const struct job *j)
{
	const bool is_one = append_names(g_string_append(s, "Little to find: "), f, j);

	g_string_append_printf(s, ": %s had %.0f%% of the time of all %" PRIu32 " CPUs, and what %s threads wait for is done by "
				  "those that run. A CPU profile tells more.",
			       is_one ? "it" : "they", text_percent(j->on_cpu_ns, j->all_ns), f->profile->info.cpus,
			       is_one ? "its" : "their");
}

/*
 * "gzip computes, and shares the CPUs with others: it ran for 21% of its time, and waited for a CPU for 9.00 s (p99
 * 33.4 ms)."
 */
static void say_shares(GString *s, const struct findings *f, const struct job *j)
{
	const bool is_one = append_names(s, f, j);

	const uint64_t p99_ns = wait_percentile_ns(j->queue.hist, 0.99, j->queue.durations_ns, j->queue.time_ns);

	g_string_append_printf(s, ", and share%s the CPUs with others: %s ran for %.0f%% of %s time, and waited for a CPU for %s (p99 %s).",
			       is_one ? "s" : "", is_one ? "it" : "they", text_percent(j->on_cpu_ns, j->wants_ns),
			       is_one ? "its" : "their", TEXT_NS(j->queue.time_ns),
			       TEXT_NS(p99_ns));
	if (j->own_ns > j->wants_ns / PART)
		g_string_append_printf(s, " What else waits does so for what %s.", is_one ? "it does" : "they do");
	g_string_append_printf(s, " A job that has time may go on so. Else see who they are (record -a --runq-blame). A CPU profile tells "
				  "what %s.", is_one ? "it computes" : "they compute");
}

char *job_says(const struct findings *f, const struct task_findings *tasks)
{
	const struct profile_info *info = &f->profile->info;
	struct job j = job_of(f);
	const bool wants_few = j.wants_ns <= j.all_ns + j.all_ns / OWN_PART;

	if (profile_is_of_machine(f->profile) || info->has_blame || info->scheduler ||
	    j.workers_ns < info->duration_ns - info->duration_ns / PART || j.on_cpu_ns < j.wants_ns / PART ||
	    !are_tasks_of_job(tasks, &j) || serves(f) || !add_rows(f, &j) ||
	    (!j.has_all && (!wants_few || !j.queue.time_ns)))
		return NULL;
	GString *s = g_string_new(NULL);

	if (j.has_all)
		say_all(s, f, &j);
	else
		say_shares(s, f, &j);
	return g_string_free(s, FALSE);
}
