/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "tasks/census.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "tasks/source.h"

#define FIRST_GUESS_NS 2000	/* of CPU time that a task costs, until that is measured */
#define NS_PER_S 1e9

static const struct task_source *const sources[] = { &go_task_source, &asyncio_task_source };

GQuark census_error_quark(void)
{
	return g_quark_from_static_string("offcpu-census");
}

struct census {
	const struct census_options *options;
	const struct task_source *source;
	void *state;
	struct tasks *tasks;
	double task_cost_ns;
	double share_sum;
};

static bool is_stopped(const struct census *c)
{
	struct pollfd fd = { .fd = c->options->stop_fd, .events = POLLIN };

	return (c->options->stop && *c->options->stop) || (c->options->stop_fd && poll(&fd, 1, 0) > 0);
}

/* How many tasks one that is looked at stands for, so that looking keeps to its budget. */
static uint64_t stride_of(const struct census *c, uint64_t count)
{
	double room = (double)c->options->budget_ppm / 1e6 / c->options->hz * NS_PER_S / c->task_cost_ns;

	if (!c->options->duration_ns || (double)count <= room)
		return 1;
	return (uint64_t)((double)count / MAX(room, 1)) + 1;
}

static bool look(struct census *c, uint64_t period_ns)
{
	uint64_t count = c->source->count(c->state), stride = stride_of(c, count), cost_ns, before_ns;
	bool is_there;

	before_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	is_there = c->source->look(c->state, c->tasks, g_random_int() % stride, stride);
	cost_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
	if (!is_there)
		return false;
	/* names are read in the first looks, so what a look costs falls */
	if (count)
		c->task_cost_ns = MAX((double)cost_ns * (double)stride / (double)count, 100);
	c->share_sum += 1.0 / (double)stride;
	tasks_look_done(c->tasks, period_ns);
	return true;
}

static void sleep_until(const struct census *c, uint64_t ns)
{
	struct pollfd fd = { .fd = c->options->stop_fd, .events = POLLIN };
	uint64_t now;

	while (!is_stopped(c) && (now = clock_ns(CLOCK_MONOTONIC)) < ns) {
		struct timespec left = { .tv_sec = (time_t)((ns - now) / (uint64_t)NS_PER_S), .tv_nsec = (long)((ns - now) % (uint64_t)NS_PER_S) };

		ppoll(&fd, c->options->stop_fd ? 1 : 0, &left, NULL);
	}
}

/*
 * The window is cut into periods, and each stands as it is at a random instant of it.  A look that comes late, on a busy machine,
 * stands for the periods that were missed, too.
 */
static void watch(struct census *c)
{
	const uint64_t period_ns = MAX((uint64_t)(NS_PER_S / c->options->hz), 1), start_ns = clock_ns(CLOCK_MONOTONIC),
		       periods = MAX(c->options->duration_ns / period_ns, 2);

	for (uint64_t i = 0; i < periods && !is_stopped(c);) {
		uint64_t now;

		sleep_until(c, start_ns + i * period_ns + (uint64_t)(g_random_double() * (double)period_ns));
		now = MIN((clock_ns(CLOCK_MONOTONIC) - start_ns) / period_ns, periods - 1);
		if (is_stopped(c) || !look(c, period_ns * (now + 1 - i)))
			return;
		i = now + 1;
	}
}

static bool may_be_read(uint32_t pid, GError **error)
{
	g_autofree char *path = g_strdup_printf("/proc/%u/maps", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		close(fd);
		return true;
	}
	if (errno == EACCES || errno == EPERM)
		g_set_error(error, CENSUS_ERROR, CENSUS_NOT_PERMITTED,
			    "the memory of process %u may not be read: that takes CAP_SYS_PTRACE, or to be its user", pid);
	else
		g_set_error(error, CENSUS_ERROR, CENSUS_FAILED, "process %u: %s", pid, g_strerror(errno));
	return false;
}

static bool open_source(struct census *c, GError **error)
{
	for (size_t i = 0; i < G_N_ELEMENTS(sources) && (!c->options->is_go_only || sources[i]->kind == TASKS_GO); i++) {
		GError *why = NULL;

		c->source = sources[i];
		c->tasks = tasks_new(sources[i]->kind, c->options->pid);
		c->state = sources[i]->open(c->options->pid, c->tasks, &why);
		if (c->state)
			return true;
		tasks_free(c->tasks);
		c->tasks = NULL;
		if (why) {
			g_propagate_error(error, why);
			return false;
		}
	}
	g_set_error(error, CENSUS_ERROR, CENSUS_NO_RUNTIME,
		    "process %u has no runtime whose tasks can be seen: it is neither a Go program (x86-64, Go 1.18 or later) nor "
		    "CPython", c->options->pid);
	return false;
}

struct tasks *census_take(const struct census_options *options, GError **error)
{
	struct census c = { .options = options, .task_cost_ns = FIRST_GUESS_NS };
	uint64_t before_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	if (!may_be_read(options->pid, error) || !open_source(&c, error))
		return NULL;
	if (options->duration_ns)
		watch(&c);
	else
		look(&c, 0);
	c.source->close(c.state);
	if (!c.tasks->looks) {
		g_set_error(error, CENSUS_ERROR, CENSUS_FAILED, "process %u ended before its tasks could be read", options->pid);
		tasks_free(c.tasks);
		return NULL;
	}
	c.tasks->rate_hz = options->duration_ns ? options->hz : 0;
	c.tasks->looked_at_share = c.share_sum / (double)c.tasks->looks;
	c.tasks->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
	tasks_finish(c.tasks);
	return c.tasks;
}
