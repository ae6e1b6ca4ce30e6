/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#include <string.h>

#include "analyse/plumbing.h"
#include "base/find.h"
#include "explain/findings_part.h"
#include "features/tasks/analysis.h"
#include "features/tasks/rows.h"

#define FULL 10	/* full except for a tenth of the window */
#define LASTS_PERCENT 75	/* of its threads' time: the rest they run, or wait for one another */
#define RESTS_PART 10	/* of its waits */
#define PIECES_EACH 5	/* waits of a thread: fewer may all be for one piece of work */

/*
 * What a thread of a pool runs, and what hands that in: libuv's src/threadpool.c, src/unix/fs.c, getaddrinfo.c;
 * Python's Lib/concurrent/futures/thread.py, which asyncio uses for what blocks; anyio and Twisted
 * (_threads/_threadworker.py) have threads of their own.
 * Tokio's runtime/blocking/pool.rs makes threads up to a limit while its work has to wait.
 */
#define TOKIO_RUNS "tokio::runtime::blocking::pool::Inner::run"
static const struct work {
	const char *runs, *asks;
	bool is_slow; /* half of the pool's threads may do such work at a time */
	bool is_awaited; /* by tasks of asyncio */
	const char *loop; /* in which its threads wait for work, of an executor; NULL: none */
} works[] = {
	{ "uv__getaddrinfo_work", "uv_getaddrinfo", true, false, NULL },
	{ "uv__getnameinfo_work", "uv_getnameinfo", true, false, NULL },
	{ "uv__fs_work", "uv_fs_", false, false, NULL },
	{ "uv__random_work", "uv_random", false, false, NULL },
	{ "uv__queue_work", "uv_queue_work", false, false, NULL },
	{ "_WorkItem.run", "ThreadPoolExecutor.submit", false, true, "_worker" },
	{ "WorkerThread.run", "run_sync_in_worker_thread", false, true, "WorkerThread.run" },
	{ "ThreadWorker.__init__.<locals>.work", "deferToThread", false, true, "ThreadWorker.__init__.<locals>.work" },
	{ TOKIO_RUNS, "tokio::", false, true, NULL },
};

static const char *name_of(const struct profile *p, uint32_t node)
{
	return profile_get_frame(p, profile_get_node(p, node)->frame)->name;
}

static bool is_in(const struct profile *p, uint32_t user, const char *function)
{
	for (uint32_t n = user; n; n = profile_get_node(p, n)->parent)
		if (g_strcmp0(name_of(p, n), function) == 0)
			return true;
	return false;
}

static const struct work *work_of(const struct profile *p, uint32_t user)
{
	for (uint32_t n = user; n; n = profile_get_node(p, n)->parent)
		for (size_t i = 0; name_of(p, n) && i < G_N_ELEMENTS(works); i++)
			if (strcmp(name_of(p, n), works[i].runs) == 0)
				return &works[i];
	return NULL;
}

/* Functions of Node's own library have such modules, and closures of a program have no name. */
static bool is_own_function(const struct findings *f, uint32_t frame)
{
	const struct frame *fr = profile_get_frame(f->profile, frame);

	return fr->name && *fr->name != '<' && !g_str_has_prefix(fr->module ? fr->module : "", "node:") &&
	       !plumbing_is_scripts_library(fr) &&
	       plumbing_frame_level(reasons_plumbing(f->reasons), frame) == RUNTIME_NONE;
}

/* The innermost function of the program that led to the call; -1: a different stack. */
static int64_t asker_in(const struct findings *f, const struct work *work, uint32_t user)
{
	const struct profile *p = f->profile;
	uint32_t n = user;

	while (n && !(name_of(p, n) && g_str_has_prefix(name_of(p, n), work->asks)))
		n = profile_get_node(p, n)->parent;
	for (; n; n = profile_get_node(p, n)->parent)
		if (is_own_function(f, profile_get_node(p, n)->frame))
			return profile_get_node(p, n)->frame;
	return -1;
}

static void find_asker(const struct findings *f, const struct work *work, struct finding *row)
{
	const struct profile *p = f->profile;
	g_autofree uint64_t *asked = g_new0(uint64_t, (gsize)p->frames->len + 1); /* by frame: how often */

	EACH_ROW(i, const struct wake, wake, p->wakes) {
		const struct waker *w = profile_get_waker(p, wake->waker);
		const struct thread *sleeper = profile_thread(p, profile_wait(p, wake->wait)->thread);

		if (!w->user || w->pid != sleeper->pid || (row->pid && sleeper->pid != row->pid))
			continue;
		int64_t frame = asker_in(f, work, w->user);
		if (frame < 0)
			continue;
		asked[frame] += wake->count;
		if (row->asked_frame < 0 || asked[frame] > asked[row->asked_frame])
			row->asked_frame = frame;
	}
}

/* Whether all threads that run such work do so all the time, or half of them in turns; 0: others may run it, too. */
static uint32_t at_once_of(const struct profile *p, const struct finding *row)
{
	const uint64_t full_ns = p->info.duration_ns - p->info.duration_ns / FULL;
	const uint32_t half = (row->threads_cnt + 1) / 2;

	return row->time_ns >= row->threads_cnt * full_ns ? row->threads_cnt
	       : row->time_ns >= half * full_ns           ? half
							  : 0;
}

/*
 * Number of asyncio tasks that await work done in a thread, or of Tokio tasks that await anything, if more than there
 * are threads; else 0.
 */
static uint32_t tasks_of(const struct profile *p, const struct finding *row)
{
	static const char *const calls[] = { "to_thread", "run_sync", "run_in_threadpool" };	/* asyncio's, anyio's, Starlette's */
	double cnt = 0;

	for (guint i = 0; i < p->tasks->len; i++) {
		const struct tasks *t = profile_tasks(p, i);

		for (guint k = 0; t->pid == row->pid && k < t->rows->len; k++) {
			const struct task_row *one = tasks_get(t, k);
			const char *call = task_call(t->kind, one);

			if (t->kind == TASKS_TOKIO && g_strcmp0(one->reason, "an await") == 0)
				cnt += one->tasks;
			if (t->kind != TASKS_ASYNCIO)
				continue;
			cnt += g_strcmp0(one->reason, "a future") == 0 && (!call || ANY(x, calls, strcmp(call, *x) == 0)) ? one->tasks : 0;
		}
	}
	return cnt >= row->threads_cnt + 1 ? (uint32_t)cnt : 0;
}

/* Others of its pool, or of one like it, wait for work. */
static bool others_rest(const struct findings *f, const struct finding *row, const struct work *work)
{
	g_autofree bool *is_of_row = finding_waiters_new(f, row);

	EACH_ROW(i, const struct wait, w, f->profile->waits)
		if (!is_of_row[w->thread] && profile_thread(f->profile, w->thread)->pid == row->pid &&
		    reasons_idle(f->reasons, i) == IDLE_POOL && is_in(f->profile, w->user, work->loop))
			return true;
	return false;
}

/* Its threads find the next piece of work as they end one: a queue of them, where others wait as well. */
static bool never_rest(const struct findings *f, const struct finding *row)
{
	g_autofree bool *is_of_pool = finding_waiters_new(f, row);
	uint64_t rests_cnt = 0;

	EACH_ROW(i, const struct wait, w, f->profile->waits)
		if (is_of_pool[w->thread] && reasons_is_idle(f->reasons, i) && !work_of(f->profile, w->user))
			rests_cnt += w->count;
	return rests_cnt <= row->count / RESTS_PART;
}

/* Threads of an executor that do this all the time; NULL: not so. */
static const struct work *work_that_lasts(const struct findings *f, const struct finding *row)
{
	const struct work *work = work_of(f->profile, profile_wait(f->profile, row->wait)->user);

	if (!work || !work->loop || !row->pid || row->count < (uint64_t)row->threads_cnt * PIECES_EACH)
		return NULL;
	const uint64_t lasts_ns = f->profile->info.duration_ns / 100 * LASTS_PERCENT;

	return row->time_ns >= row->threads_cnt * lasts_ns && never_rest(f, row) ? work : NULL;
}

bool asked_leaves_room(const struct findings *f, const struct finding *row)
{
	const bool pauses = row->reason == REASON_SLEEP && !row->waited_ns && !row->leads_ns && !row->limit.limit &&
			    !row->loop;
	const struct work *work = pauses ? work_that_lasts(f, row) : NULL;

	return work && others_rest(f, row, work);
}

void asked_find(struct findings *f)
{
	const struct profile *p = f->profile;

	EACH_FIRST(i, row, f, FINDINGS_WITH_CAUSES) {
		uint32_t user = profile_wait(p, row->wait)->user;
		bool is_own = row->frame >= 0 && !reasons_pool(f->reasons, row->wait) &&
			      is_own_function(f, (uint32_t)row->frame);
		const struct work *work = work_of(p, user);

		if (!work || row->reason == REASON_CPU_QUEUE || row->reason == REASON_CPU_THROTTLED)
			continue;
		const bool is_tokio = strcmp(work->runs, TOKIO_RUNS) == 0;

		if (work->is_awaited && !(is_tokio && row->loop) && row->pid && at_once_of(p, row) == row->threads_cnt)
			row->queue_tasks = tasks_of(p, row);
		row->is_pool_taken = !row->queue_tasks && work_that_lasts(f, row) && !others_rest(f, row, work);
		if (is_own || is_tokio)
			continue;
		find_asker(f, work, row);
		row->frame = -1;	/* the pool's own */
		if (work->is_slow && row->pid && row->threads_cnt > 1)
			row->queue_at_once = at_once_of(p, row);
	}
}
