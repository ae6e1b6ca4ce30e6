/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "tasks/watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tasks/census.h"

#define LOOKS_HZ 5
#define BUDGET_PPM 2500	/* of one CPU, all looks together */
#define WINDOW_NS (UINT64_C(24) * 3600 * 1000 * 1000 * 1000)	/* a recording ends it before */
#define TRY_AGAIN_MS 100
#define TRIES 50

struct watched {
	struct task_watch *watch;
	uint32_t pid;
	GThread *thread;
	struct tasks *tasks;
};

struct task_watch {
	int stop_fd;
	unsigned cnt;
	struct watched watched[TASK_WATCH_PROCESSES_MAX];
};

static bool is_stopped_within(const struct task_watch *w, int ms)
{
	struct pollfd fd = { .fd = w->stop_fd, .events = POLLIN };

	return poll(&fd, 1, ms) > 0;
}

/* A program that has just begun has no list of goroutines yet. */
static gpointer watch_one(gpointer data)
{
	struct watched *one = data;
	const struct census_options options = {
		.pid = one->pid,
		.duration_ns = WINDOW_NS,
		.hz = LOOKS_HZ,
		.budget_ppm = BUDGET_PPM / one->watch->cnt,
		.stop_fd = one->watch->stop_fd,
		.is_go_only = true,
	};

	for (unsigned i = 0; i < TRIES && !one->tasks; i++) {
		g_autoptr(GError) error = NULL;

		one->tasks = census_take(&options, &error);
		if (!one->tasks && (!g_error_matches(error, CENSUS_ERROR, CENSUS_FAILED) || is_stopped_within(one->watch, TRY_AGAIN_MS)))
			break;
	}
	return NULL;
}

struct task_watch *task_watch_start(const GArray *pids)
{
	struct task_watch *w = g_new0(struct task_watch, 1);

	w->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (w->stop_fd <= 0) {
		g_free(w);
		return NULL;
	}
	w->cnt = MIN(pids->len, TASK_WATCH_PROCESSES_MAX);
	for (unsigned i = 0; i < w->cnt; i++) {
		struct watched *one = &w->watched[i];

		*one = (struct watched){ .watch = w, .pid = g_array_index(pids, uint32_t, i) };
		one->thread = g_thread_try_new("goroutines", watch_one, one, NULL);
	}
	return w;
}

GPtrArray *task_watch_stop(struct task_watch *w)
{
	GPtrArray *all = g_ptr_array_new_with_free_func((GDestroyNotify)tasks_free);
	const uint64_t one = 1;

	if (!w)
		return all;
	if (write(w->stop_fd, &one, sizeof(one)) != sizeof(one))	/* cannot be full */
		abort();
	for (unsigned i = 0; i < w->cnt; i++) {
		if (w->watched[i].thread)
			g_thread_join(w->watched[i].thread);
		if (w->watched[i].tasks)
			g_ptr_array_add(all, w->watched[i].tasks);
	}
	close(w->stop_fd);
	g_free(w);
	return all;
}
