/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "tasks/watch.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "tasks/watched.h"

#define PERIOD_NS 200000000ULL
#define BUDGET_PPM 2500	/* of one CPU, all looks together */
#define TRY_AGAIN_NS 100000000ULL
#define TRIES 20

struct one {
	struct task_watch *watch;
	uint32_t pid;
	GThread *thread;
	struct tasks *tasks;
};

struct task_watch {
	int stop_fd;
	unsigned cnt;
	struct one all[TASK_WATCH_PROCESSES_MAX];
};

static bool is_stopped_before(const struct task_watch *w, uint64_t ns)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), left = ns > now ? ns - now : 0;
	const struct timespec wait = { .tv_sec = (time_t)(left / 1000000000), .tv_nsec = (long)(left % 1000000000) };
	struct pollfd fd = { .fd = w->stop_fd, .events = POLLIN };

	return ppoll(&fd, 1, &wait, NULL) > 0;
}

/* Each period stands as it is at a random instant of it; one that is late stands for those that were missed, too. */
static void watch(const struct task_watch *w, struct watched *process)
{
	const uint64_t start_ns = clock_ns(CLOCK_MONOTONIC), room_ns = PERIOD_NS * BUDGET_PPM / 1000000 / w->cnt;

	for (uint64_t i = 0;;) {
		if (is_stopped_before(w, start_ns + i * PERIOD_NS + (uint64_t)(g_random_double() * (double)PERIOD_NS)))
			return;
		uint64_t now = MAX((clock_ns(CLOCK_MONOTONIC) - start_ns) / PERIOD_NS, i);

		if (!watched_look(process, PERIOD_NS * (now + 1 - i), room_ns))
			return;
		i = now + 1;
	}
}

/* A program that has just begun has no list of goroutines yet. */
static gpointer watch_one(gpointer data)
{
	struct one *one = data;

	for (unsigned i = 0; i < TRIES; i++) {
		g_autoptr(GError) error = NULL;
		struct watched *process = watched_open(one->pid, &error);

		if (process) {
			if (watched_kind(process) == TASKS_GO)
				watch(one->watch, process);
			one->tasks = watched_close(process);
			return NULL;
		}
		if (!g_error_matches(error, CENSUS_ERROR, CENSUS_FAILED) ||
		    is_stopped_before(one->watch, clock_ns(CLOCK_MONOTONIC) + TRY_AGAIN_NS))
			return NULL;
	}
	return NULL;
}

struct task_watch *task_watch_start(const GArray *pids)
{
	struct task_watch *w = g_new0(struct task_watch, 1);

	w->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (w->stop_fd < 0) {
		g_free(w);
		return NULL;
	}
	w->cnt = MIN(pids->len, TASK_WATCH_PROCESSES_MAX);
	for (unsigned i = 0; i < w->cnt; i++) {
		struct one *one = &w->all[i];

		*one = (struct one){ .watch = w, .pid = g_array_index(pids, uint32_t, i) };
		one->thread = g_thread_try_new("goroutines", watch_one, one, NULL);
	}
	return w;
}

GPtrArray *task_watch_stop(struct task_watch *w)
{
	GPtrArray *all = g_ptr_array_new_with_free_func((GDestroyNotify)tasks_free);
	const uint64_t stop = 1;

	if (!w)
		return all;
	if (write(w->stop_fd, &stop, sizeof(stop)) != sizeof(stop)) /* cannot be full */
		abort();
	for (unsigned i = 0; i < w->cnt; i++) {
		if (w->all[i].thread)
			g_thread_join(w->all[i].thread);
		if (w->all[i].tasks)
			g_ptr_array_add(all, w->all[i].tasks);
	}
	close(w->stop_fd);
	g_free(w);
	return all;
}
