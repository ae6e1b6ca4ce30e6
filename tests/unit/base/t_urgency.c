/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* When the recorder asks for a CPU, and when it gives that back. */
#include "base/urgency.h"

#include <glib.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS 1000000ULL
#define CROWD URGENCY_CROWD

/* Checks every 50 ms for so long, having waited so much in each 50: the steps that were not to stay. */
static unsigned pass(struct urgency_state *s, uint64_t *now_ns, unsigned ms, unsigned waited_ms, unsigned runnable_cnt,
		     enum urgency_step *ret_last)
{
	unsigned steps = 0;

	for (unsigned at = 0; at < ms; at += 50) {
		*now_ns += 50 * MS;
		enum urgency_step step = urgency_judge(s, *now_ns, waited_ms * MS, runnable_cnt);

		if (step != URGENCY_STAY) {
			*ret_last = step;
			steps++;
		}
	}
	return steps;
}

static void test_never_without_need(void)
{
	struct urgency_state s = { 0 };
	enum urgency_step last = URGENCY_STAY;
	uint64_t now_ns = 0;

	g_assert_cmpuint(pass(&s, &now_ns, 60000, 99, 0, &last), ==, 0);
	g_assert_false(s.is_raised);
}

static void test_raised_and_given_back(void)
{
	struct urgency_state s = { 0 };
	enum urgency_step last = URGENCY_STAY;
	uint64_t now_ns = 0;

	g_assert_cmpuint(pass(&s, &now_ns, 50, 100, CROWD, &last), ==, 1);
	g_assert_cmpint(last, ==, URGENCY_RAISE);
	/* as long as there is a crowd, though nothing is waited for now */
	g_assert_cmpuint(pass(&s, &now_ns, 60000, 0, CROWD, &last), ==, 0);
	g_assert_cmpuint(pass(&s, &now_ns, 2000, 0, CROWD - 1, &last), ==, 1);
	g_assert_cmpint(last, ==, URGENCY_LOWER);
}

/* In a crowd at once: who begins or ends in one has no time to find out. */
static void test_begins_and_ends_in_a_crowd(void)
{
	struct urgency_state s = { 0 }, alone = { 0 };

	g_assert_true(urgency_asks_for_crowd(&s, 0));
	g_assert_cmpint(urgency_judge(&s, MS, 0, CROWD), ==, URGENCY_RAISE);
	g_assert_false(urgency_asks_for_crowd(&s, 2 * MS));
	g_assert_cmpint(urgency_judge(&alone, MS, 0, CROWD - 1), ==, URGENCY_STAY);
	g_assert_false(urgency_asks_for_crowd(&alone, 2 * MS));
	/* later a crowd alone is no reason: it may leave room */
	g_assert_cmpint(urgency_judge(&alone, 2 * MS, 0, CROWD), ==, URGENCY_STAY);
	/* at the end it is: the main thread has to wait for others that starve, and does not starve itself */
	alone.is_kept = true;
	alone.has_looked = false;
	g_assert_true(urgency_asks_for_crowd(&alone, 3 * MS));
	g_assert_cmpint(urgency_judge(&alone, 3 * MS, 0, CROWD), ==, URGENCY_RAISE);
}

/* Where it starves again and again, it is held for longer each time. */
static void test_held_longer(void)
{
	struct urgency_state s = { 0 };
	enum urgency_step last = URGENCY_STAY;
	uint64_t now_ns = 0, held_ns = 0;

	for (int i = 0; i < 9; i++) {
		pass(&s, &now_ns, 50, 100, 0, &last);
		g_assert_cmpint(last, ==, URGENCY_RAISE);
		uint64_t raised_ns = now_ns;

		while (last == URGENCY_RAISE)
			pass(&s, &now_ns, 50, 0, 0, &last);
		g_assert_cmpuint(now_ns - raised_ns, >=, held_ns);
		held_ns = now_ns - raised_ns;
		g_assert_cmpuint(held_ns, <=, URGENCY_HOLD_MAX_NS);
	}
	g_assert_cmpuint(held_ns, ==, URGENCY_HOLD_MAX_NS);
}

static void test_kept_at_the_end(void)
{
	struct urgency_state s = { .is_kept = true };
	enum urgency_step last = URGENCY_STAY;
	uint64_t now_ns = 0;

	g_assert_cmpuint(pass(&s, &now_ns, 50, 100, 0, &last), ==, 1);
	g_assert_cmpuint(pass(&s, &now_ns, 600000, 0, 0, &last), ==, 0);
	g_assert_true(s.is_raised);
}

/* Who waits for our end has no patience. */
static void test_awaited(void)
{
	struct urgency_state s = { .is_awaited = true };
	enum urgency_step last = URGENCY_STAY;
	uint64_t now_ns = 0;

	g_assert_cmpuint(pass(&s, &now_ns, 1000, 19, 0, &last), ==, 0);
	g_assert_cmpuint(pass(&s, &now_ns, 50, 20, 0, &last), ==, 1);
	g_assert_cmpint(last, ==, URGENCY_RAISE);
}

static gpointer read_blocked(gpointer set)
{
	sigprocmask(SIG_SETMASK, NULL, set);
	return NULL;
}

static void test_helpers_take_no_signals(void)
{
	sigset_t in_helper, before, after;

	sigprocmask(SIG_SETMASK, NULL, &before);
	g_thread_join(urgency_thread_new("helper", read_blocked, &in_helper));
	sigprocmask(SIG_SETMASK, NULL, &after);
	g_assert_true(sigismember(&in_helper, SIGINT) && sigismember(&in_helper, SIGTERM) && sigismember(&in_helper, SIGHUP));
	g_assert_cmpint(sigismember(&after, SIGINT), ==, sigismember(&before, SIGINT));
}

#define HOGS 16

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	g_assert_cmpint(sched_setaffinity(0, sizeof(set), &set), ==, 0);
}

/* Processes that leave the others on that CPU next to nothing.  They end with the thread that made them. */
static void make_hogs(pid_t *pids, int cpu)
{
	const struct sched_param none = { 0 };

	for (int i = 0; i < HOGS; i++) {
		pids[i] = fork();
		if (pids[i])
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pin(cpu);
		sched_setscheduler(0, SCHED_OTHER, &none);
		setpriority(PRIO_PROCESS, 0, -20);
		for (;;)
			;
	}
}

static void end_hogs(const pid_t *pids)
{
	for (int i = 0; i < HOGS; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
}

struct starved {
	pid_t tid;		/* the main thread */
	int cpu;
	gint is_over;
	bool was_raised;
};

/* Makes the main thread starve and waits for it to be raised; not for long as the hogs would keep it waiting. */
static gpointer starve(gpointer data)
{
	struct starved *starved = data;
	pid_t pids[HOGS];

	g_usleep(100000);
	make_hogs(pids, starved->cpu);
	for (int i = 0; i < 400 && !starved->was_raised; i++) {
		g_usleep(10000);
		starved->was_raised = sched_getscheduler(starved->tid) == SCHED_RR;
	}
	end_hogs(pids);
	g_atomic_int_set(&starved->is_over, 1);
	return NULL;
}

/* A wait is in no statistics until it is over, and that of nice 19 beside nice -20 takes more than ten seconds. */
static void test_seen_while_it_starves(void)
{
	const struct sched_param above = { .sched_priority = 2 }, none = { 0 };
	struct starved starved = { .tid = getpid(), .cpu = sched_getcpu() };
	int nice = getpriority(PRIO_PROCESS, 0);
	cpu_set_t before;

	if (sched_setscheduler(0, SCHED_RR, &above) != 0) {
		g_test_skip("no right to real-time priorities");
		return;
	}
	g_assert_cmpint(sched_getaffinity(0, sizeof(before), &before), ==, 0);
	/* of the priority that the main thread has now */
	GThread *thread = g_thread_new("starver", starve, &starved);

	sched_setscheduler(0, SCHED_OTHER, &none);
	pin(starved.cpu);
	urgency_begin();
	setpriority(PRIO_PROCESS, 0, 19);
	while (!g_atomic_int_get(&starved.is_over))
		;
	g_thread_join(thread);
	urgency_end();
	g_assert_true(starved.was_raised);
	g_assert_cmpint(sched_getscheduler(0), ==, SCHED_OTHER);
	setpriority(PRIO_PROCESS, 0, nice);
	sched_setaffinity(0, sizeof(before), &before);
}

#define STARVED_US 500000

static gpointer note_birth(gpointer born)
{
	g_atomic_int_set((gint *)born, 1);
	return NULL;
}

/* From a thread's making to its first turn, by a main thread that is above the hogs. */
static gint64 birth_us(GThread *(*make)(const char *name, GThreadFunc func, gpointer data))
{
	gint64 begun_us = g_get_monotonic_time();
	gint is_born = 0;
	GThread *thread = make("newborn", note_birth, &is_born);

	while (!g_atomic_int_get(&is_born))
		g_usleep(1000);
	gint64 took_us = g_get_monotonic_time() - begun_us;

	g_thread_join(thread);
	return took_us;
}

/* Who starves before its first turn cannot say that it is there. */
static void test_seen_before_its_first_turn(void)
{
	const struct sched_param above = { .sched_priority = 2 }, none = { 0 };
	int cpu = sched_getcpu();
	pid_t pids[HOGS];
	cpu_set_t before;

	g_assert_cmpint(sched_getaffinity(0, sizeof(before), &before), ==, 0);
	pin(cpu);
	urgency_begin();
	g_usleep(50000);
	if (sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &above) != 0) {
		urgency_end();
		sched_setaffinity(0, sizeof(before), &before);
		g_test_skip("no right to real-time priorities");
		return;
	}
	make_hogs(pids, cpu);
	g_usleep(200000);
	gint64 plain_us = birth_us(g_thread_new);

	urgency_keep();
	g_usleep(50000);
	gint64 helper_us = birth_us(urgency_thread_new);

	end_hogs(pids);
	urgency_end();
	sched_setscheduler(0, SCHED_OTHER, &none);
	sched_setaffinity(0, sizeof(before), &before);
	if (plain_us < STARVED_US)
		g_test_skip("here a new thread has its turn soon");
	else
		g_assert_cmpint(helper_us, <, plain_us / 2);
}

/* All but the decision, on this thread: whatever the rights are, what was before comes back where it is not to be kept. */
static void test_leaves_no_trace(void)
{
	int policy = sched_getscheduler(0), nice = getpriority(PRIO_PROCESS, 0);

	urgency_begin();
	g_usleep(600000);	/* two looks */
	urgency_end();
	/* once more, for the state is the process's */
	urgency_begin();
	urgency_end();
	g_assert_cmpint(sched_getscheduler(0), ==, policy);
	g_assert_cmpint(getpriority(PRIO_PROCESS, 0), ==, nice);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/urgency/never_without_need", test_never_without_need);
	g_test_add_func("/urgency/raised_and_given_back", test_raised_and_given_back);
	g_test_add_func("/urgency/begins_and_ends_in_a_crowd", test_begins_and_ends_in_a_crowd);
	g_test_add_func("/urgency/held_longer", test_held_longer);
	g_test_add_func("/urgency/kept_at_the_end", test_kept_at_the_end);
	g_test_add_func("/urgency/awaited", test_awaited);
	g_test_add_func("/urgency/helpers_take_no_signals", test_helpers_take_no_signals);
	g_test_add_func("/urgency/seen_while_it_starves", test_seen_while_it_starves);
	g_test_add_func("/urgency/seen_before_its_first_turn", test_seen_before_its_first_turn);
	g_test_add_func("/urgency/leaves_no_trace", test_leaves_no_trace);
	return g_test_run();
}
