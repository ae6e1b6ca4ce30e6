/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/urgency.h"

#include <fcntl.h>
#include <glib.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/loadavg.h"

#define THREADS_MAX 4
#define NICE_INSTEAD (-20)

struct thread {
	pid_t tid;	/* 0: nobody */
	int nice;	/* what it had */
	bool is_raised, by_nice;
};

static struct {
	struct urgency_state state;
	int schedstat_fd;	/* of the main thread: ns on a CPU, ns waiting for one, turns; -1: not to be had */
	GMutex lock;		/* of what follows */
	bool is_raised;
	struct thread threads[THREADS_MAX];
} all = { .schedstat_fd = -1 };

static bool is_due(const struct urgency_state *state, uint64_t now_ns)
{
	return state->is_raised && !state->is_kept && now_ns >= state->until_ns;
}

bool urgency_asks_for_crowd(const struct urgency_state *state, uint64_t now_ns)
{
	return !state->has_begun || is_due(state, now_ns);
}

enum urgency_step urgency_judge(struct urgency_state *state, uint64_t now_ns, uint64_t waited_ns,
				unsigned runnable_cnt)
{
	bool is_starved = waited_ns - state->waited_ns >= URGENCY_WAIT_NS ||
			  (!state->has_begun && runnable_cnt >= URGENCY_CROWD);

	state->has_begun = true;
	state->waited_ns = waited_ns;
	if (is_starved && !state->is_raised) {
		state->hold_ns = CLAMP(state->hold_ns * 2, URGENCY_HOLD_NS, URGENCY_HOLD_MAX_NS);
		state->until_ns = now_ns + state->hold_ns;
		state->is_raised = true;
		return URGENCY_RAISE;
	}
	if (!is_due(state, now_ns))
		return URGENCY_STAY;
	if (runnable_cnt >= URGENCY_CROWD) {
		state->until_ns = now_ns + URGENCY_HOLD_NS;
		return URGENCY_STAY;
	}
	state->is_raised = false;
	return URGENCY_LOWER;
}

/* Who has another policy has it by the user's wish, who must not have ours at least gets before others of its kind. */
static void raise_thread(struct thread *t)
{
	const struct sched_param lowest = { .sched_priority = sched_get_priority_min(SCHED_RR) };

	if (!t->tid || t->is_raised || sched_getscheduler(t->tid) != SCHED_OTHER)
		return;
	t->nice = getpriority(PRIO_PROCESS, (id_t)t->tid);
	t->by_nice = sched_setscheduler(t->tid, SCHED_RR, &lowest) != 0;
	t->is_raised = !t->by_nice || setpriority(PRIO_PROCESS, (id_t)t->tid, NICE_INSTEAD) == 0;
}

static void lower_thread(struct thread *t)
{
	const struct sched_param none = { 0 };

	if (!t->tid || !t->is_raised)
		return;
	if (t->by_nice)
		setpriority(PRIO_PROCESS, (id_t)t->tid, t->nice);
	else
		sched_setscheduler(t->tid, SCHED_OTHER, &none);
	t->is_raised = false;
}

/* Those that have not entered too.  Nothing is put back: they end. */
static void raise_everyone(void)
{
	const struct sched_param lowest = { .sched_priority = sched_get_priority_min(SCHED_RR) };
	GDir *tasks = g_dir_open("/proc/self/task", 0, NULL);
	const char *name;

	while (tasks && (name = g_dir_read_name(tasks))) {
		pid_t tid = (pid_t)strtol(name, NULL, 10);

		if (tid != all.threads[0].tid && sched_getscheduler(tid) == SCHED_OTHER &&
		    sched_setscheduler(tid, SCHED_RR, &lowest))
			setpriority(PRIO_PROCESS, (id_t)tid, NICE_INSTEAD);
	}
	if (tasks)
		g_dir_close(tasks);
}

static void apply(bool is_raised)
{
	g_mutex_lock(&all.lock);
	all.is_raised = is_raised;
	for (int i = 0; i < THREADS_MAX; i++)
		(is_raised ? raise_thread : lower_thread)(&all.threads[i]);
	if (is_raised && all.state.is_kept)
		raise_everyone();
	g_mutex_unlock(&all.lock);
}

static pid_t own_tid(void)
{
	return (pid_t)syscall(SYS_gettid);
}

void urgency_enter(void)
{
	g_mutex_lock(&all.lock);
	for (int i = 0; i < THREADS_MAX; i++) {
		struct thread *t = &all.threads[i];

		if (t->tid)
			continue;
		/* One that was made while its maker was raised has that from there. */
		*t = (struct thread){ .tid = own_tid() };
		if (all.is_raised)
			raise_thread(t);
		break;
	}
	g_mutex_unlock(&all.lock);
}

void urgency_leave(void)
{
	g_mutex_lock(&all.lock);
	for (int i = 0; i < THREADS_MAX; i++)
		if (all.threads[i].tid == own_tid())
			all.threads[i].tid = 0;
	g_mutex_unlock(&all.lock);
}

void urgency_decline(void)
{
	const struct sched_param none = { 0 };

	g_mutex_lock(&all.lock);
	if (all.is_raised && !all.state.is_kept && all.threads[0].is_raised && !all.threads[0].by_nice)
		sched_setscheduler(0, SCHED_OTHER, &none);
	g_mutex_unlock(&all.lock);
}

void urgency_begin(void)
{
	if (all.schedstat_fd < 0)
		all.schedstat_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	all.state = (struct urgency_state){ 0 };
	urgency_enter();
}

void urgency_end(void)
{
	apply(false);
	urgency_leave();
	if (all.schedstat_fd >= 0)
		close(all.schedstat_fd);
	all.schedstat_fd = -1;
}

static bool read_waited(uint64_t *ret_ns)
{
	char text[96] = { 0 };
	char *second;

	if (all.schedstat_fd < 0 || pread(all.schedstat_fd, text, sizeof(text) - 1, 0) <= 0)
		return false;
	second = strchr(text, ' ');
	*ret_ns = second ? strtoull(second, NULL, 10) : 0;
	return second != NULL;
}

void urgency_keep(void)
{
	all.state.is_kept = true;
	if (all.is_raised)
		apply(true);
}

/* Threads that run or could, for each CPU. */
static unsigned runnable_cnt(void)
{
	unsigned cnt, all_cnt;

	if (!loadavg_threads(&cnt, &all_cnt))
		return 0;
	return cnt / (unsigned)MAX(1, sysconf(_SC_NPROCESSORS_ONLN));
}

void urgency_check(void)
{
	uint64_t now_ns;
	uint64_t waited_ns;
	enum urgency_step step;

	if (!read_waited(&waited_ns))
		return;
	now_ns = clock_ns(CLOCK_MONOTONIC);
	step = urgency_judge(&all.state, now_ns, waited_ns, urgency_asks_for_crowd(&all.state, now_ns) ? runnable_cnt() : 0);
	if (step != URGENCY_STAY)
		apply(step == URGENCY_RAISE);
}
