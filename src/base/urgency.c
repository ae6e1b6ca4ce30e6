/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/urgency.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/proc/status.h"
#include "base/quiet_thread.h"

#define THREADS_MAX 8
#define NICE_INSTEAD (-20)
#define LOOK_EVERY_MS 500	/* a check takes some 90 us: caches are cold */
#define LOOK_AGAIN_MS 100	/* interval while a thread seems to wait */
#define LOOK_LAST_MS 20		/* interval while a user waits for our end */

/* The kernel's counters of a thread (CONFIG_SCHED_INFO). The current wait is added only when it ends. */
struct schedstat {
	uint64_t ran_ns, waited_ns, turns;
};

struct thread {
	pid_t tid;		/* 0: unused */
	int schedstat_fd;	/* -1: not available */
	struct schedstat last;	/* at the last look */
	uint64_t since_ns;	/* the first look that saw it runnable, without a turn since; 0: not waiting */
	int nice;		/* its original value */
	bool is_raised, by_nice;
};

static struct {
	GThread *watcher;
	int changed_fd, signal_fd;	/* readable when: is_ending or the state was changed; the end was requested */
	GMutex life;		/* protects the next field: calls of begin and end */
	unsigned user_cnt;
	GMutex lock;		/* protects what follows */
	bool is_ending;
	struct urgency_state state;
	struct thread threads[THREADS_MAX];	/* the main thread is the first */
	unsigned unborn_cnt;	/* helpers that had no turn yet */
	uint64_t unborn_since_ns;	/* when the first of them was created */
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
	uint64_t bearable_ns = state->is_awaited ? URGENCY_LAST_WAIT_NS : URGENCY_WAIT_NS;
	bool is_starved = waited_ns >= bearable_ns || (!state->has_looked && runnable_cnt >= URGENCY_CROWD);

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

/* Keeps a real-time policy: the user chose it. Where ours is forbidden a better nice value helps a little. */
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

static bool take_schedstat(const char *text, struct schedstat *ret)
{
	return sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &ret->ran_ns, &ret->waited_ns, &ret->turns) == 3;
}

static bool read_schedstat(int fd, struct schedstat *ret)
{
	char text[96] = { 0 };

	return fd >= 0 && pread(fd, text, sizeof(text) - 1, 0) > 0 && take_schedstat(text, ret);
}

/* The beginning of a /proc file of one of our threads. */
static bool read_task(pid_t tid, const char *what, char *text, size_t bytes)
{
	char path[48];
	int fd;
	ssize_t n;

	g_snprintf(path, sizeof(path), "/proc/self/task/%d/%s", (int)tid, what);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, bytes - 1);
	close(fd);
	text[MAX(n, 0)] = 0;
	return n > 0;
}

static bool is_runnable(pid_t tid)
{
	char text[128];
	const char *name_end = read_task(tid, "stat", text, sizeof(text)) ? strrchr(text, ')') : NULL;

	return name_end && g_str_has_prefix(name_end, ") R");
}

static bool is_unborn(pid_t tid)
{
	char text[96];
	struct schedstat stat;

	return read_task(tid, "schedstat", text, sizeof(text)) && take_schedstat(text, &stat) && !stat.turns;
}

/* Threads other than the main one that are in no list: those that had no turn yet, or all. */
static void raise_unlisted(bool only_unborn)
{
	const struct sched_param lowest = { .sched_priority = sched_get_priority_min(SCHED_RR) };
	GDir *tasks = g_dir_open("/proc/self/task", 0, NULL);
	const char *name;

	while (tasks && (name = g_dir_read_name(tasks))) {
		pid_t tid = (pid_t)strtol(name, NULL, 10);

		if (tid == all.threads[0].tid || sched_getscheduler(tid) != SCHED_OTHER ||
		    (only_unborn && !is_unborn(tid)))
			continue;
		if (sched_setscheduler(tid, SCHED_RR, &lowest))
			setpriority(PRIO_PROCESS, (id_t)tid, NICE_INSTEAD);
	}
	if (tasks)
		g_dir_close(tasks);
}

/* Unlisted threads inherit from the main thread when they enter. What is to be kept is not lowered again. */
static void raise_or_lower(bool is_raised)
{
	for (int i = 0; i < THREADS_MAX; i++)
		(is_raised ? raise_thread : lower_thread)(&all.threads[i]);
	if (is_raised && (all.unborn_cnt || all.state.is_kept))
		raise_unlisted(!all.state.is_kept);
}

static pid_t own_tid(void)
{
	return (pid_t)syscall(SYS_gettid);
}

/* A thread created while the main thread was raised has inherited that, and loses it with the main thread. */
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

static void register_thread(bool is_born_now)
{
	struct thread me = { .tid = own_tid(),
			     .schedstat_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC) };

	read_schedstat(me.schedstat_fd, &me.last);
	g_mutex_lock(&all.lock);
	all.unborn_cnt -= is_born_now;
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

/* lives_on: the thread continues, so its priority is lowered again. */
static void unregister_thread(bool lives_on)
{
	g_mutex_lock(&all.lock);
	for (int i = 0; i < THREADS_MAX; i++) {
		struct thread *t = &all.threads[i];

		if (t->tid != own_tid())
			continue;
		if (lives_on && !all.state.is_kept)
			lower_thread(t);
		if (t->schedstat_fd >= 0)
			close(t->schedstat_fd);
		t->tid = 0;
	}
	g_mutex_unlock(&all.lock);
}

struct helper {
	GThreadFunc func;
	gpointer data;
};

static gpointer run_helper(gpointer data)
{
	struct helper helper = *(struct helper *)data;
	gpointer result;

	g_free(data);
	spare_stack_use();
	register_thread(true);
	result = helper.func(helper.data);
	unregister_thread(false);
	return result;
}

GThread *urgency_thread_new(const char *name, GThreadFunc func, gpointer data)
{
	struct helper *helper = g_new0(struct helper, 1);
	GError *error = NULL;
	GThread *thread;

	*helper = (struct helper){ .func = func, .data = data };
	g_mutex_lock(&all.lock);
	if (!all.unborn_cnt++)
		all.unborn_since_ns = clock_ns(CLOCK_MONOTONIC);
	g_mutex_unlock(&all.lock);
	thread = quiet_thread_new(name, run_helper, helper, &error);
	if (!thread)
		g_error("%s: %s", name, error->message);	/* as g_thread_new() */
	return thread;
}

void urgency_decline(void)
{
	const struct sched_param none = { 0 };

	g_mutex_lock(&all.lock);
	if (all.state.is_raised && !all.state.is_kept && all.threads[0].is_raised && !all.threads[0].by_nice)
		sched_setscheduler(0, SCHED_OTHER, &none);
	g_mutex_unlock(&all.lock);
}

static void wake_watcher(void)
{
	eventfd_write(all.changed_fd, 1);
}

void urgency_keep(void)
{
	g_mutex_lock(&all.lock);
	all.state.is_kept = true;
	all.state.has_looked = false;
	if (all.state.is_raised)
		raise_or_lower(true);
	wake_watcher();
	g_mutex_unlock(&all.lock);
}

/* Running and runnable threads for each CPU. */
static unsigned runnable_cnt(void)
{
	unsigned cnt, all_cnt;

	if (!loadavg_threads(&cnt, &all_cnt))
		return 0;
	return cnt / (unsigned)MAX(1, sysconf(_SC_NPROCESSORS_ONLN));
}

/* Waiting time since the last look; of a wait that continues, since it was first seen. */
static uint64_t waited_by(struct thread *t, uint64_t now_ns)
{
	struct schedstat new = { 0 }, last = t->last;

	if (!read_schedstat(t->schedstat_fd, &new))
		return 0;
	t->last = new;
	if (new.ran_ns != last.ran_ns || new.turns != last.turns || !is_runnable(t->tid)) {
		t->since_ns = 0;
		return new.waited_ns > last.waited_ns ? new.waited_ns - last.waited_ns : 0;
	}
	if (!t->since_ns)
		t->since_ns = now_ns;
	return now_ns - t->since_ns;
}

static uint64_t longest_wait(uint64_t now_ns, bool *ret_is_waiting)
{
	uint64_t longest_ns = all.unborn_cnt ? now_ns - all.unborn_since_ns : 0;

	*ret_is_waiting = all.unborn_cnt;
	for (int i = 0; i < THREADS_MAX; i++) {
		struct thread *t = &all.threads[i];

		if (!t->tid)
			continue;
		longest_ns = MAX(longest_ns, waited_by(t, now_ns));
		*ret_is_waiting |= t->since_ns != 0;
	}
	return longest_ns;
}

/* Does any thread seem to wait for a CPU now? */
static bool judge_threads(void)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC), waited_ns;
	bool is_waiting;
	enum urgency_step step;

	waited_ns = longest_wait(now_ns, &is_waiting);
	step = urgency_judge(&all.state, now_ns, waited_ns,
			     urgency_asks_for_crowd(&all.state, now_ns) ? runnable_cnt() : 0);
	if (step != URGENCY_STAY)
		raise_or_lower(step == URGENCY_RAISE);
	else if (all.state.is_raised && all.unborn_cnt)	/* created since then by a thread without inheritance */
		raise_unlisted(!all.state.is_kept);
	return is_waiting;
}

/* Was the end requested? A signal stays pending until the main thread takes it: after the first time it is ignored. */
static bool await_change(int timeout_ms, bool was_asked)
{
	struct pollfd fds[] = {
		{ .fd = all.changed_fd, .events = POLLIN },
		{ .fd = was_asked ? -1 : all.signal_fd, .events = POLLIN },
	};
	eventfd_t unused;

	if (poll(fds, G_N_ELEMENTS(fds), timeout_ms) > 0 && fds[0].revents)
		eventfd_read(all.changed_fd, &unused);
	return was_asked || fds[1].revents;
}

static gpointer run_watcher(gpointer unused)
{
	struct thread me = { .tid = own_tid() };
	bool is_asked = false;

	spare_stack_use();
	raise_thread(&me);	/* if it was not created so */
	g_mutex_lock(&all.lock);
	while (!all.is_ending) {
		bool is_waiting = judge_threads();

		/* the lower limit applies only to waits from then on */
		all.state.is_awaited = is_asked || all.state.is_kept;
		int timeout_ms = all.state.is_awaited ? LOOK_LAST_MS : is_waiting ? LOOK_AGAIN_MS : LOOK_EVERY_MS;

		g_mutex_unlock(&all.lock);
		is_asked = await_change(timeout_ms, is_asked);
		g_mutex_lock(&all.lock);
	}
	g_mutex_unlock(&all.lock);
	return NULL;
}

static void open_fds(void)
{
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	/* only observed: the main thread handles the signals */
	all.signal_fd = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
	all.changed_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

/* How often this thread has called begin. */
static _Thread_local unsigned begun_cnt;

void urgency_begin(void)
{
	g_mutex_lock(&all.life);
	if (!all.user_cnt) {
		all.state = (struct urgency_state){ 0 };
		all.is_ending = false;
		open_fds();
	}
	if (!begun_cnt++)
		register_thread(false);
	if (!all.user_cnt++) {
		struct thread me = { .tid = own_tid() };

		judge_threads();
		raise_thread(&me);	/* from now on the watcher raises it: else it starves before its first turn */
		all.watcher = g_thread_new("urgency", run_watcher, NULL);
		lower_thread(&me);
	}
	g_mutex_unlock(&all.life);
}

static void end_all(void)
{
	g_mutex_lock(&all.lock);
	all.is_ending = true;
	if (!all.state.is_kept)
		raise_or_lower(false);
	wake_watcher();
	g_mutex_unlock(&all.lock);
	g_thread_join(all.watcher);
	close(all.signal_fd);
	close(all.changed_fd);
}

void urgency_end(void)
{
	g_mutex_lock(&all.life);
	if (!--all.user_cnt)
		end_all();
	if (!--begun_cnt)
		unregister_thread(true);
	g_mutex_unlock(&all.life);
}
