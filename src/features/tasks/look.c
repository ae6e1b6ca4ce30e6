/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/tasks/look.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/find.h"
#include "base/hurry.h"
#include "base/opener/opener.h"
#include "base/order.h"
#include "base/proc/status.h"
#include "base/urgency.h"
#include "features/tasks/look_parts.h"

static bool is_recorded(const struct profile *p, uint32_t pid)
{
	for (guint i = 0; i < p->threads->len; i++)
		if (profile_thread(p, i)->pid == pid)
			return true;
	return false;
}

ORDER_POINTERS(by_tasks, struct tasks, ORDER_HIGH(tasks) ORDER_LOW(pid))

void tasks_put(struct profile *p, GPtrArray *tasks)
{
	g_ptr_array_sort(tasks, by_tasks);
	for (guint i = 0; i < tasks->len && p->tasks->len < TASKS_POPULATIONS_MAX; i++)
		if (is_recorded(p, ((const struct tasks *)tasks->pdata[i])->pid))
			profile_add_tasks(p, g_steal_pointer(&tasks->pdata[i]));
	g_ptr_array_unref(tasks);
}

#define NS_PER_S UINT64_C(1000000000)
#define PERIOD_NS (NS_PER_S / TASK_SAMPLER_HZ)
#define EXACT_BUDGET_PPM 10000	/* of one CPU, if there is no budget */
#define PART_OF_BUDGET 2
#define PART_LEAST 0.1	/* of the periods have a look, also without room for it */
#define OPENER_TIMES 2	/* the budget is for this thread, and the opener takes about as much */
#define ROOM_LEAST_NS UINT64_C(300000)	/* to find any task costs part of it */
#define TRY_AGAIN_NS NS_PER_S	/* limit of the pause, which doubles */
#define TRY_AGAIN_MAX_NS (64 * NS_PER_S)
#define TRY_SHARE 100	/* 1/n of the time for retries: the classes of a JVM may be searched */

/* A process without visible tasks so far. */
struct candidate {
	uint64_t there_ns;	/* when it was last seen alive */
	uint64_t next_try_ns, wait_ns;	/* UINT64_MAX: it is not meant */
	struct watched *watched;
};

FREES_DATA(candidate_free, struct candidate, c, if (c->watched) tasks_free(watched_close(c->watched)))

struct seen {
	uint32_t pid;
	struct watched *watched;
	uint64_t until_ns;	/* its looks stand for the window up to this time */
};

struct task_sampler {
	struct task_sampler_options options;
	GThread *thread;
	GMutex lock;		/* protects the next two */
	GCond ended;
	bool is_stopped;
	GMutex looking;		/* protects everything below */
	GHashTable *candidates;	/* pid: struct candidate */
	GArray *seen;		/* struct seen */
	GPtrArray *done;
	uint64_t start_ns, tried_ns;	/* when it began; CPU time that searches for runtimes took since */
};

static void keep_tasks(struct task_sampler *s, struct tasks *t)
{
	if (!t)
		return;
	t->rate_hz = TASK_SAMPLER_HZ;
	g_ptr_array_add(s->done, t);
}

static void seen_end(struct task_sampler *s, guint i)
{
	keep_tasks(s, watched_close(g_array_index(s->seen, struct seen, i).watched));
	g_array_remove_index(s->seen, i);
}

static bool is_watched(const struct task_sampler *s, uint32_t pid)
{
	return ANY_ROW(const struct seen, e, s->seen, e->pid == pid);
}

/* A scan of all processes is longer. */
static uint64_t find_every_ns(const struct task_sampler *s)
{
	return s->options.pids && !s->options.follow ? PERIOD_NS : TRY_AGAIN_NS;
}

/* Where nobody asked for tasks, searches keep within what looks may take. The first may take as much as a second has. */
static bool may_try(const struct task_sampler *s, const struct candidate *c, uint64_t now_ns)
{
	return watched_has_run(c->watched) &&
	       s->tried_ns <= (now_ns - s->start_ns + NS_PER_S) / 1000000 * s->options.budget_ppm;
}

static void try(struct task_sampler *s, uint32_t pid, uint64_t now_ns)
{
	struct candidate *c = g_hash_table_lookup(s->candidates, GUINT_TO_POINTER(pid));
	bool is_found;

	if (!c) {
		c = g_new0(struct candidate, 1);
		c->watched = watched_new(pid);
		g_hash_table_insert(s->candidates, GUINT_TO_POINTER(pid), c);
		if (s->options.only_running)
			watched_note_run(c->watched);
	}
	c->there_ns = now_ns;
	if (now_ns < c->next_try_ns || (s->options.only_running && !may_try(s, c, now_ns)))
		return;
	if (!c->wait_ns && s->options.wants && !s->options.wants(pid, s->options.data)) {
		c->next_try_ns = UINT64_MAX;
		return;
	}
	uint64_t before_ns = opener_thread_cpu_ns();
	hurry_for_later(true);
	is_found = watched_find(c->watched, NULL);
	hurry_for_later(false);
	uint64_t took_ns = opener_thread_cpu_ns() - before_ns;
	s->tried_ns += took_ns;
	if (is_found) {
		const struct seen e = { .pid = pid, .watched = g_steal_pointer(&c->watched), .until_ns = now_ns };

		g_array_append_val(s->seen, e);
		g_hash_table_remove(s->candidates, GUINT_TO_POINTER(pid));
		return;
	}
	c->wait_ns = MAX(MAX(2 * c->wait_ns, find_every_ns(s)), TRY_SHARE * took_ns);
	c->wait_ns = MIN(c->wait_ns, TRY_AGAIN_MAX_NS);
	c->next_try_ns = now_ns + c->wait_ns;
}

static gboolean is_gone(gpointer pid, gpointer candidate, gpointer now_ns)
{
	return ((const struct candidate *)candidate)->there_ns < *(const uint64_t *)now_ns;
}

struct run {
	uint32_t pid;
	uint64_t ran_ns;	/* since it was first seen, or last tried */
};

ORDER(by_run, struct run, ORDER_HIGH(ran_ns) ORDER_LOW(pid))

/* Those that ran most come first, as the budget may end before all were tried. */
static void sort_by_run(const struct task_sampler *s, GArray *pids)
{
	g_autoptr(GArray) runs = g_array_sized_new(FALSE, FALSE, sizeof(struct run), pids->len);

	for (guint i = 0; i < pids->len; i++) {
		struct run r = { .pid = g_array_index(pids, uint32_t, i) };
		const struct candidate *c = g_hash_table_lookup(s->candidates, GUINT_TO_POINTER(r.pid));

		if (c)
			r.ran_ns = watched_run_ns(c->watched);
		g_array_append_val(runs, r);
	}
	g_array_sort(runs, by_run);
	for (guint i = 0; i < pids->len; i++)
		g_array_index(pids, uint32_t, i) = g_array_index(runs, struct run, i).pid;
}

/* Finds new processes and runtimes. Their looks stand for the time from now_ns on. */
static void find_processes(struct task_sampler *s, uint64_t now_ns)
{
	g_autoptr(GArray) pids = s->options.pids ? g_array_copy(s->options.pids) : process_ids();

	if (s->options.pids && s->options.follow)
		process_ids_add_descendants(pids);
	if (s->options.only_running)
		sort_by_run(s, pids);
	for (guint i = 0; i < pids->len && s->seen->len < TASK_SAMPLER_PROCESSES_MAX; i++) {
		uint32_t pid = g_array_index(pids, uint32_t, i);

		if (pid != (uint32_t)getpid() && !is_watched(s, pid))
			try(s, pid, now_ns);
	}
	if (s->seen->len < TASK_SAMPLER_PROCESSES_MAX)
		g_hash_table_foreach_remove(s->candidates, is_gone, &now_ns);
}

/* The budget that a period has for each process that has run since its last look. */
static uint64_t room_for_each(const struct task_sampler *s)
{
	guint cnt = 0;

	EACH_ROW(i, const struct seen, e, s->seen)
		cnt += watched_has_run(e->watched);
	return MAX((uint64_t)s->options.budget_ppm * PERIOD_NS / 1000000 / MAX(cnt, 1), 1);
}

/*
 * Where a look costs more than there is room for, some are left out by chance, in no step with what the process does.
 * The next one stands for their time, too.
 */
static bool is_left_out(const struct seen *e, uint64_t room_ns)
{
	const double part = OPENER_TIMES * (double)room_ns / (double)MAX(watched_cost_ns(e->watched), 1);

	return part < 1 && watched_has_run(e->watched) && g_random_double() > MAX(part, PART_LEAST);
}

/* Each look stands for its process's time until end_ns. */
static void look_at_all(struct task_sampler *s, uint64_t end_ns)
{
	const uint64_t room_ns = room_for_each(s);

	for (guint i = s->seen->len; i-- > 0;) {
		struct seen *e = &g_array_index(s->seen, struct seen, i);

		if (is_left_out(e, room_ns))
			continue;
		if (watched_look(e->watched, end_ns, end_ns - e->until_ns, MAX(room_ns, ROOM_LEAST_NS)))
			e->until_ns = end_ns;
		else
			seen_end(s, i);
	}
}

/* False: stopped meanwhile. */
static bool sleep_until(struct task_sampler *s, uint64_t ns)
{
	bool is_stopped;

	g_mutex_unlock(&s->looking);
	g_mutex_lock(&s->lock);
	/* g_get_monotonic_time() uses the same clock */
	while (!s->is_stopped && g_cond_wait_until(&s->ended, &s->lock, (gint64)(ns / 1000)))
		;
	is_stopped = s->is_stopped;
	g_mutex_unlock(&s->lock);
	g_mutex_lock(&s->looking);
	return !is_stopped;
}

/* When a new process or runtime may be found next. */
static uint64_t next_find_ns(const struct task_sampler *s, uint64_t found_ns)
{
	uint64_t next_ns = found_ns + find_every_ns(s), first_ns = UINT64_MAX;

	if (!s->options.pids || s->options.follow)
		return next_ns;
	/* only given processes, each with its own retry time */
	EACH_VALUE(void, candidate, s->candidates)
		first_ns = MIN(first_ns, ((const struct candidate *)candidate)->next_try_ns);
	if (first_ns != UINT64_MAX)
		return MAX(next_ns, first_ns);
	return s->seen->len < s->options.pids->len ? next_ns : found_ns + TRY_AGAIN_MAX_NS;
}

static gpointer run_sampler(gpointer data)
{
	struct task_sampler *s = data;
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC), found_ns, number = 0;
	struct periods periods = { .length_ns = PERIOD_NS };

	g_mutex_lock(&s->looking);
	s->start_ns = now_ns;
	find_processes(s, now_ns);
	periods.start_ns = found_ns = clock_ns(CLOCK_MONOTONIC);
	for (guint i = 0; i < s->seen->len; i++)
		g_array_index(s->seen, struct seen, i).until_ns = periods.start_ns;
	/* with nobody to look at, it wakes only to find processes, whose first look is in the next period */
	while (sleep_until(s, s->seen->len ? periods_instant(&periods, number) : next_find_ns(s, found_ns))) {
		now_ns = clock_ns(CLOCK_MONOTONIC);
		number = periods_number(&periods, now_ns);
		look_at_all(s, periods_end(&periods, number));
		if (now_ns >= next_find_ns(s, found_ns)) {
			found_ns = now_ns;
			find_processes(s, now_ns);
		}
		number++;
	}
	while (s->seen->len)
		seen_end(s, s->seen->len - 1);
	g_mutex_unlock(&s->looking);
	return NULL;
}

uint32_t task_sampler_budget(uint32_t of_all_cpus_ppm)
{
	return of_all_cpus_ppm ? of_all_cpus_ppm / PART_OF_BUDGET * g_get_num_processors() : EXACT_BUDGET_PPM;
}

struct task_sampler *task_sampler_start(const struct task_sampler_options *options)
{
	struct task_sampler *s = g_new0(struct task_sampler, 1);

	s->options = *options;
	s->options.pids = options->pids ? g_array_copy(options->pids) : NULL;
	g_mutex_init(&s->lock);
	g_mutex_init(&s->looking);
	g_cond_init(&s->ended);
	s->candidates = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, candidate_free);
	s->seen = g_array_new(FALSE, FALSE, sizeof(struct seen));
	s->done = tasks_list_new();
	s->thread = urgency_thread_new("tasks", run_sampler, s);
	return s;
}

GPtrArray *task_sampler_take(struct task_sampler *s)
{
	GPtrArray *done;

	g_mutex_lock(&s->looking);
	for (guint i = 0; i < s->seen->len; i++)
		keep_tasks(s, watched_take(g_array_index(s->seen, struct seen, i).watched));
	done = s->done;
	s->done = tasks_list_new();
	g_mutex_unlock(&s->looking);
	return done;
}

GPtrArray *task_sampler_stop(struct task_sampler *s)
{
	GPtrArray *done;

	g_mutex_lock(&s->lock);
	s->is_stopped = true;
	g_cond_signal(&s->ended);
	g_mutex_unlock(&s->lock);
	g_thread_join(s->thread);
	done = s->done;
	g_hash_table_unref(s->candidates);
	g_array_unref(s->seen);
	if (s->options.pids)
		g_array_unref(s->options.pids);
	g_cond_clear(&s->ended);
	g_mutex_clear(&s->lock);
	g_mutex_clear(&s->looking);
	g_free(s);
	return done;
}

void task_sampler_free(struct task_sampler *s)
{
	if (s)
		g_ptr_array_unref(task_sampler_stop(s));
}
