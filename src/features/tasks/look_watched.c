/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "base/opener/opener.h"
#include "base/refuse.h"
#include "features/tasks/look_parts.h"
#include "symbolize/runtime/memory.h"

#define FIRST_GUESS_NS 2000	/* assumed CPU time per task before the first measurement */
#define LEAST_NS 100

static const struct task_source *const sources[] = { &go_task_source, &greenlet_task_source, &asyncio_task_source,
						     &tokio_task_source, &java_task_source };

GQuark census_error_quark(void)
{
	return g_quark_from_static_string("offcpu-census");
}

struct watched {
	const struct task_source *source;
	void *state;
	struct tasks *tasks;
	double task_cost_ns, share_sum;
	uint64_t fixed_cost_ns;	/* of the last look; reduces the room for tasks */
	uint64_t cpu_ns;
};

static bool may_be_read(uint32_t pid, GError **error)
{
	g_autofree char *path = g_strdup_printf("/proc/%u/maps", pid);
	size_t len;
	g_autofree char *text = opener_text(path, 1, &len);

	if (text)
		return true;
	if (errno == EACCES || errno == EPERM)
		g_set_error(error, CENSUS_ERROR, CENSUS_NOT_PERMITTED,
			    "the memory of process %u may not be read: that takes CAP_SYS_PTRACE, or to be its user",
			    pid);
	else
		g_set_error(error, CENSUS_ERROR, CENSUS_FAILED, "process %u: %s", pid, g_strerror(errno));
	return false;
}

static bool open_source(struct watched *w, uint32_t pid, GError **error)
{
	for (size_t i = 0; i < G_N_ELEMENTS(sources); i++) {
		GError *why = NULL;

		w->source = sources[i];
		w->tasks = tasks_new(sources[i]->kind, pid);
		w->state = sources[i]->open(pid, w->tasks, &why);
		if (w->state)
			return true;
		tasks_free(w->tasks);
		w->tasks = NULL;
		if (why) {
			g_propagate_error(error, why);
			return false;
		}
	}
	return refuse(error, CENSUS_ERROR, CENSUS_NO_RUNTIME,
		      "process %u has no runtime whose tasks can be seen: it is neither a Go program (Go 1.18 or later), "
		      "nor CPython with asyncio or greenlets, nor a Rust program with symbols and tasks of Tokio, nor a JVM with virtual threads",
		      pid);
}

struct watched *watched_open(uint32_t pid, GError **error)
{
	struct watched *w;
	uint64_t before_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	bool is_open;

	if (!may_be_read(pid, error))
		return NULL;
	w = g_new0(struct watched, 1);
	w->task_cost_ns = FIRST_GUESS_NS;
	memory_keep_pages(pid);
	is_open = open_source(w, pid, error);
	memory_drop_pages();
	if (!is_open) {
		g_free(w);
		return NULL;
	}
	w->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
	return w;
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

bool watched_look(struct watched *w, uint64_t end_ns, uint64_t period_ns, uint64_t room_ns)
{
	uint64_t count = w->source->count(w->state), stride = stride_of(w, count, room_left(w, room_ns)), cost_ns,
		 before_ns;
	bool is_there;

	before_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	memory_keep_pages(w->tasks->pid);
	is_there = w->source->look(w->state, w->tasks, g_random_int() % stride, stride);
	memory_drop_pages();
	cost_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
	w->cpu_ns += cost_ns;
	if (!is_there)
		return false;
	w->fixed_cost_ns = w->source->fixed_cost_ns ? MIN(w->source->fixed_cost_ns(w->state), cost_ns) : 0;
	cost_ns -= w->fixed_cost_ns;
	/* names are read in the first looks, so later ones cost less */
	if (count)
		w->task_cost_ns = MAX((double)cost_ns * (double)stride / (double)count, LEAST_NS);
	w->share_sum += 1.0 / (double)stride;
	tasks_look_done(w->tasks, end_ns, period_ns);
	return true;
}

struct tasks *watched_take(struct watched *w)
{
	struct tasks *t = w->tasks;

	if (!t->looks)
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

	w->source->close(w->state);
	tasks_free(w->tasks);
	g_free(w);
	return t;
}
