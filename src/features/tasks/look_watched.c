/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/opener/opener.h"
#include "base/refuse.h"
#include "features/tasks/look_parts.h"
#include "symbolize/process/maps.h"
#include "symbolize/runtime/memory.h"

#define FIRST_GUESS_NS 2000	/* assumed CPU time per task before the first measurement */
#define LEAST_NS 100
#define NONE_NS UINT64_C(60000000000)

static const struct task_source *const sources[] = { &go_task_source, &greenlet_task_source, &asyncio_task_source,
						     &tokio_task_source, &java_task_source };

GQuark census_error_quark(void)
{
	return g_quark_from_static_string("offcpu-census");
}

struct watched {
	uint32_t pid;
	const struct task_source *source;	/* NULL: none found yet */
	void *state;
	struct tasks *tasks;
	uint64_t ran_ns;	/* its CPU time before it was last looked at */
	uint64_t files;		/* a hash of the code that it had mapped then */
	uint64_t none_until_ns;	/* no source knows these files, or one of them could not be read just then */
	bool has_looked;
	bool was_whole;		/* the last look saw all tasks as they stood */
	GArray *pages;		/* that the last look needed, for memory_keep_ahead() */
	double task_cost_ns, share_sum;
	uint64_t cost_ns;	/* of a look, most likely; 0: unknown */
	uint64_t fixed_cost_ns;	/* of the last look; reduces the room for tasks */
	uint64_t cpu_ns;
};

struct watched *watched_new(uint32_t pid)
{
	struct watched *w = g_new0(struct watched, 1);

	w->pid = pid;
	w->pages = g_array_new(FALSE, FALSE, sizeof(uint64_t));
	w->task_cost_ns = FIRST_GUESS_NS;
	return w;
}

void watched_note_run(struct watched *w)
{
	w->ran_ns = clock_of_process_ns((pid_t)w->pid);
}

static bool refuse_unreadable(uint32_t pid, GError **error)
{
	if (errno == EACCES || errno == EPERM)
		return refuse(error, CENSUS_ERROR, CENSUS_NOT_PERMITTED,
			      "the memory of process %u may not be read: that takes CAP_SYS_PTRACE, or to be its user",
			      pid);
	return refuse(error, CENSUS_ERROR, CENSUS_FAILED, "process %u: %s", pid, g_strerror(errno));
}

static bool refuse_none(uint32_t pid, GError **error)
{
	return refuse(error, CENSUS_ERROR, CENSUS_NO_RUNTIME,
		      "process %u has no runtime whose tasks can be seen: it is neither a Go program (Go 1.18 or later), "
		      "nor CPython with asyncio or greenlets, nor a Rust program with symbols and tasks of Tokio, nor a JVM with virtual threads",
		      pid);
}

static void close_source(struct watched *w)
{
	if (w->state)
		w->source->close(w->state);
	w->state = NULL;
	g_clear_pointer(&w->tasks, tasks_free);
}

static bool open_source(struct watched *w, const GArray *lines, GError **error)
{
	close_source(w);
	w->none_until_ns = 0;
	for (size_t i = 0; i < G_N_ELEMENTS(sources); i++) {
		GError *why = NULL;

		w->source = sources[i];
		w->tasks = tasks_new(sources[i]->kind, w->pid);
		w->state = sources[i]->open(w->pid, lines, w->tasks, &why);
		if (w->state)
			return true;
		close_source(w);
		if (why) {
			g_propagate_error(error, why);
			return false;
		}
	}
	w->none_until_ns = clock_ns(CLOCK_MONOTONIC) + NONE_NS;
	return refuse_none(w->pid, error);
}

/* A process that executes another program maps another one, and what it loads later is mapped, too. */
static uint64_t files_of(const GArray *lines)
{
	uint64_t files = 0;

	EACH_ROW(i, const struct maps_line, m, lines)
		if (m->is_exec && m->inode)
			files = hash_more(hash_more(files, m->inode), m->start);
	return files;
}

static bool find_source(struct watched *w, const GArray *lines, GError **error)
{
	const uint64_t files = files_of(lines);
	GError *why = NULL;

	if (files == w->files && clock_ns(CLOCK_MONOTONIC) < w->none_until_ns)
		return refuse_none(w->pid, error);
	if ((files != w->files || !w->state) && !open_source(w, lines, error)) {
		w->files = files;
		return false;
	}
	w->files = files;
	if (!w->source->is_ready || w->source->is_ready(w->state, lines, w->tasks, &why))
		return true;
	if (!why)
		return refuse_none(w->pid, error);
	g_propagate_error(error, why);
	return false;
}

bool watched_find(struct watched *w, GError **error)
{
	const uint64_t before_ns = opener_thread_cpu_ns(), ran_ns = clock_of_process_ns((pid_t)w->pid);
	g_autofree char *text = NULL;
	g_autoptr(GArray) lines = NULL;
	bool is_found;

	if (ran_ns && ran_ns == w->ran_ns)
		return false;
	text = living_maps("/proc", w->pid, MAPS_TEXT_MAX);
	if (!text)
		return refuse_unreadable(w->pid, error);
	w->ran_ns = ran_ns;
	lines = maps_parse(text);
	memory_keep_pages(w->pid);
	is_found = find_source(w, lines, error);
	memory_drop_pages();
	w->cpu_ns += opener_thread_cpu_ns() - before_ns;
	return is_found;
}

/* The stride that keeps looks within the budget. */
static uint64_t stride_of(const struct watched *w, uint64_t count, uint64_t room_ns)
{
	double room = (double)room_ns / w->task_cost_ns;

	if (!room_ns || (double)count <= room)
		return 1;
	return (uint64_t)((double)count / MAX(room, 1)) + 1;
}

static uint64_t room_left(const struct watched *w, uint64_t room_ns)
{
	return room_ns ? MAX(room_ns - MIN(w->fixed_cost_ns, room_ns), room_ns / 2) : 0;
}

uint64_t watched_run_ns(const struct watched *w)
{
	const uint64_t now_ns = clock_of_process_ns((pid_t)w->pid);

	return now_ns > w->ran_ns ? now_ns - w->ran_ns : 0;
}

bool watched_has_run(const struct watched *w)
{
	return !w->ran_ns || clock_of_process_ns((pid_t)w->pid) != w->ran_ns;
}

uint64_t watched_cost_ns(const struct watched *w)
{
	return w->cost_ns;
}

/*
 * Names are read in the first looks, so later ones cost less. How many tasks a look covers goes by this thread's part
 * alone; the whole decides how often a process is looked at.
 */
static void note_cost(struct watched *w, uint64_t cost_ns, uint64_t own_ns, uint64_t count, uint64_t stride)
{
	w->cpu_ns += cost_ns;
	if (w->has_looked)
		w->cost_ns = w->cost_ns ? MIN(cost_ns, (3 * w->cost_ns + cost_ns) / 4) : cost_ns;
	w->has_looked = true;
	w->fixed_cost_ns = w->source->fixed_cost_ns ? MIN(w->source->fixed_cost_ns(w->state), own_ns) : 0;
	if (count)
		w->task_cost_ns = MAX((double)(own_ns - w->fixed_cost_ns) * (double)stride / (double)count, LEAST_NS);
}

/* Memory is what it was while the process does not run. A new list of tasks begins with a look of its own. */
static bool is_as_before(const struct watched *w)
{
	return w->was_whole && w->tasks->looks && !watched_has_run(w);
}

bool watched_look(struct watched *w, uint64_t end_ns, uint64_t period_ns, uint64_t room_ns)
{
	const uint64_t count = w->source->count(w->state), stride = stride_of(w, count, room_left(w, room_ns)),
		       missing = w->tasks->stale + w->tasks->unreadable, before_ns = opener_thread_cpu_ns(),
		       own_before_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	bool is_there;

	if (is_as_before(w)) {
		w->share_sum++;
		tasks_look_again(w->tasks, end_ns, period_ns);
		return true;
	}
	w->ran_ns = clock_of_process_ns((pid_t)w->pid);
	memory_keep_pages(w->pid);
	memory_keep_ahead(w->pages);
	is_there = w->source->look(w->state, w->tasks, g_random_int() % stride, stride);
	memory_needed(w->pages);
	memory_drop_pages();
	if (!is_there)
		return false;
	note_cost(w, opener_thread_cpu_ns() - before_ns, clock_ns(CLOCK_THREAD_CPUTIME_ID) - own_before_ns, count,
		  stride);
	w->was_whole = stride == 1 && w->tasks->stale + w->tasks->unreadable == missing && !w->tasks->is_cut;
	w->share_sum += 1.0 / (double)stride;
	tasks_look_done(w->tasks, end_ns, period_ns);
	return true;
}

struct tasks *watched_take(struct watched *w)
{
	struct tasks *t = w->tasks;

	if (!t || !t->looks)
		return NULL;
	w->tasks = tasks_new(t->kind, t->pid);
	w->tasks->program = tasks_string(w->tasks, t->program);
	w->tasks->version = tasks_string(w->tasks, t->version);
	t->looked_at_share = w->share_sum / (double)t->looks;
	t->cpu_ns = w->cpu_ns;
	w->share_sum = 0;
	w->cpu_ns = 0;
	tasks_finish(t);
	return t;
}

struct tasks *watched_close(struct watched *w)
{
	struct tasks *t = watched_take(w);

	close_source(w);
	g_array_unref(w->pages);
	g_free(w);
	return t;
}
