/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/urgency.h"

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

#define THREADS_MAX 8
#define NICE_INSTEAD (-20)
#define LOOK_EVERY_US 500000	/* a look takes some 90 us: caches are cold */

struct thread {
	pid_t tid;		/* 0: nobody */
	int schedstat_fd;	/* ns on a CPU, ns waiting for one, turns; -1: not to be had */
	uint64_t waited_ns;	/* as of the last look */
	int nice;		/* what it had */
	bool is_raised, by_nice;
};

static struct {
	GThread *watcher;
	GMutex lock;		/* of what follows */
	GCond changed;
	bool is_ending;
	struct urgency_state state;
	struct thread threads[THREADS_MAX];	/* the main thread is the first */
} all;

static bool is_due(const struct urgency_state *state, uint64_t now_ns)
{
	return state->is_raised && !state->is_kept && now_ns >= state->until_ns;
}

bool urgency_asks_for_crowd(const struct urgency_state *state, uint64_t now_ns)
{
	return !state->has_looked || is_due(state, now_ns);
}

enum urgency_step urgency_judge(struct urgency_state *state, uint64_t now_ns, uint64_t waited_ns,
				unsigned runnable_cnt)
{
	bool is_starved = waited_ns >= URGENCY_WAIT_NS || (!state->has_looked && runnable_cnt >= URGENCY_CROWD);

	state->has_looked = true;
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
	for (int i = 0; i < THREADS_MAX; i++)
		(is_raised ? raise_thread : lower_thread)(&all.threads[i]);
	if (is_raised && all.state.is_kept)
		raise_everyone();
}

static pid_t own_tid(void)
{
	return (pid_t)syscall(SYS_gettid);
}

static uint64_t read_waited(int schedstat_fd)
{
	char text[96] = { 0 };
	const char *second;

	if (schedstat_fd < 0 || pread(schedstat_fd, text, sizeof(text) - 1, 0) <= 0)
		return 0;
	second = strchr(text, ' ');
	return second ? strtoull(second, NULL, 10) : 0;
}

/* Who was made while the main thread was raised has that from there, and loses it with it. */
static void inherit(struct thread *t)
{
	const struct thread *main = &all.threads[0];

	if (!main->is_raised || (main->by_nice ? getpriority(PRIO_PROCESS, (id_t)t->tid) != NICE_INSTEAD
					       : sched_getscheduler(t->tid) != SCHED_RR))
		return;
	t->nice = main->nice;
	t->by_nice = main->by_nice;
	t->is_raised = true;
}

void urgency_enter(void)
{
	struct thread me = { .tid = own_tid(), .schedstat_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC) };

	me.waited_ns = read_waited(me.schedstat_fd);
	g_mutex_lock(&all.lock);
	for (int i = 0; i < THREADS_MAX && me.tid; i++) {
		struct thread *t = &all.threads[i];

		if (t->tid)
			continue;
		*t = me;
		inherit(t);
		if (all.state.is_raised)
			raise_thread(t);
		me.tid = 0;
	}
	g_mutex_unlock(&all.lock);
	if (me.tid && me.schedstat_fd >= 0)
		close(me.schedstat_fd);
}

void urgency_leave(void)
{
	g_mutex_lock(&all.lock);
	for (int i = 0; i < THREADS_MAX; i++) {
		struct thread *t = &all.threads[i];

		if (t->tid != own_tid())
			continue;
		if (t->schedstat_fd >= 0)
			close(t->schedstat_fd);
		t->tid = 0;
	}
	g_mutex_unlock(&all.lock);
}

void urgency_decline(void)
{
	const struct sched_param none = { 0 };

	g_mutex_lock(&all.lock);
	if (all.state.is_raised && !all.state.is_kept && all.threads[0].is_raised && !all.threads[0].by_nice)
		sched_setscheduler(0, SCHED_OTHER, &none);
	g_mutex_unlock(&all.lock);
}

void urgency_keep(void)
{
	g_mutex_lock(&all.lock);
	all.state.is_kept = true;
	all.state.has_looked = false;
	if (all.state.is_raised)
		apply(true);
	g_cond_signal(&all.changed);
	g_mutex_unlock(&all.lock);
}

/* Threads that run or could, for each CPU. */
static unsigned runnable_cnt(void)
{
	unsigned cnt, all_cnt;

	if (!loadavg_threads(&cnt, &all_cnt))
		return 0;
	return cnt / (unsigned)MAX(1, sysconf(_SC_NPROCESSORS_ONLN));
}

static uint64_t longest_wait(void)
{
	uint64_t longest_ns = 0;

	for (int i = 0; i < THREADS_MAX; i++) {
		struct thread *t = &all.threads[i];
		uint64_t waited_ns = t->tid ? read_waited(t->schedstat_fd) : 0;

		if (waited_ns > t->waited_ns)
			longest_ns = MAX(longest_ns, waited_ns - t->waited_ns);
		t->waited_ns = waited_ns;
	}
	return longest_ns;
}

static void look(void)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC), waited_ns = longest_wait();
	enum urgency_step step = urgency_judge(&all.state, now_ns, waited_ns,
					       urgency_asks_for_crowd(&all.state, now_ns) ? runnable_cnt() : 0);

	if (step != URGENCY_STAY)
		apply(step == URGENCY_RAISE);
}

static gpointer watch(gpointer unused)
{
	struct thread me = { .tid = own_tid() };

	(void)unused;
	raise_thread(&me);
	g_mutex_lock(&all.lock);
	while (!all.is_ending) {
		look();
		g_cond_wait_until(&all.changed, &all.lock, g_get_monotonic_time() + LOOK_EVERY_US);
	}
	g_mutex_unlock(&all.lock);
	return NULL;
}

void urgency_begin(void)
{
	all.state = (struct urgency_state){ 0 };
	all.is_ending = false;
	urgency_enter();
	look();		/* here: in a crowd the watcher would have to wait for its first turn */
	all.watcher = g_thread_new("urgency", watch, NULL);
}

void urgency_end(void)
{
	g_mutex_lock(&all.lock);
	all.is_ending = true;
	if (!all.state.is_kept)
		apply(false);
	g_cond_signal(&all.changed);
	g_mutex_unlock(&all.lock);
	g_thread_join(all.watcher);
	urgency_leave();
}
