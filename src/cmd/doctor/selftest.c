/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/doctor/selftest.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/error.h"
#include "attach/feature.h"
#include "base/refuse.h"
#include "session/session.h"

/* docs/semantics.md promises 1 % or 100 us per wait. */
#define TOLERANCE_NS 100000ULL
#define SWITCH_NS 5000ULL	/* if the wait ends during a switch, the CPU clock and the recording may differ */
#define GIVE_UP_MS 10000

static const struct {
	const char *name, *function;
	char state;
} cases[SELFTEST_CNT] = {
	[SELFTEST_SLEEP] = { "sleep", "selftest_sleep", 'S' },
	[SELFTEST_FUTEX] = { "futex", "selftest_futex", 'S' },
	[SELFTEST_PIPE] = { "pipe", "selftest_pipe", 'S' },
	[SELFTEST_FSYNC] = { "fsync", "selftest_fsync", 'D' },
	[SELFTEST_PREEMPT] = { "preemption", "selftest_preempt", 'R' },
	[SELFTEST_BLOCKED] = { "blocked throughout", "selftest_blocked", 'S' },
};

static pid_t start_workload(struct selftest_shared *shared)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "offcpu-selftest");
	selftest_workload(shared);
	for (;;)
		pause();
}

static bool all_done(const struct selftest_shared *shared)
{
	for (int i = 0; i < SELFTEST_BLOCKED; i++)
		if (!__atomic_load_n(&shared->truth[i].done, __ATOMIC_ACQUIRE))
			return false;
	return true;
}

/* Whether the user stack has that function, by its whole name. */
static bool stack_has(const struct profile *p, uint32_t node, const char *function)
{
	for (; node; node = profile_get_node(p, node)->parent) {
		const struct frame *f = profile_get_frame(p, profile_get_node(p, node)->frame);
		if (g_strcmp0(f->name, function) == 0)
			return true;
	}
	return false;
}

struct measured {
	uint64_t count, off_cpu_ns, main_state_ns;
	bool open_both;
};

/*
 * If sleepers' memory cannot be read, a wait that was open at the start has no user stack and is identified by its
 * thread.
 */
static bool is_of_case(const struct profile *p, const struct wait *w, int which)
{
	return stack_has(p, w->user, cases[which].function) ||
	       (which == SELFTEST_BLOCKED && !feature_supported(FEATURE_SLEEPER_STACKS));
}

static void measure_case(const struct profile *p, uint32_t tid, int which, struct measured *ret)
{
	*ret = (struct measured){ 0 };
	EACH_ROW(i, const struct wait, w, p->waits) {
		if (profile_thread(p, w->thread)->tid != tid || !is_of_case(p, w, which))
			continue;
		ret->count += w->count;
		ret->off_cpu_ns += wait_off_cpu_ns(w);
		if (w->state == cases[which].state)
			ret->main_state_ns += wait_off_cpu_ns(w);
		if ((w->flags & WAIT_OPEN_AT_START) && (w->flags & WAIT_OPEN_AT_END))
			ret->open_both = true;
	}
}

/*
 * Time stolen by the hypervisor on all CPUs.  A thread's CPU clock stops meanwhile, although the thread is on its CPU.
 */
static uint64_t stolen_ns(void)
{
	unsigned long long field[8] = { 0 };
	FILE *f = fopen("/proc/stat", "re");

	if (!f)
		return 0;
	if (fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &field[0], &field[1], &field[2], &field[3],
		   &field[4], &field[5], &field[6], &field[7]) != 8)
		field[7] = 0;
	fclose(f);
	return field[7] * (1000000000ULL / (uint64_t)sysconf(_SC_CLK_TCK));
}

/*
 * A wait lasts at most the wall time around it, and at least that minus the thread's CPU time.  Both bounds have a
 * tolerance: a thread's CPU clock omits interrupts (IRQ_TIME_ACCOUNTING), during which it was on its CPU.
 */
static void judge_case(const struct profile *p, const struct selftest_shared *shared, int which, uint64_t stolen,
		       struct selftest_result *result)
{
	const struct selftest_truth *truth = &shared->truth[which];
	uint64_t wall = which == SELFTEST_BLOCKED ? p->info.duration_ns : truth->wall_ns;
	uint64_t tolerance = MAX(wall / 100, TOLERANCE_NS * MAX(truth->waits_cnt, 1)), most, least;
	uint64_t not_waited = MIN(truth->cpu_ns + stolen, wall);
	struct measured m;

	measure_case(p, truth->tid, which, &m);
	/* on a busy machine hundreds of preemptions may be one wait to the program's clock */
	tolerance += SWITCH_NS * m.count;
	most = wall + tolerance;
	least = wall - MIN(not_waited + tolerance, wall);
	result->name = cases[which].name;
	result->passed = m.count && m.off_cpu_ns <= most && m.off_cpu_ns >= least &&
			 m.main_state_ns >= m.off_cpu_ns / 2;
	if (which == SELFTEST_BLOCKED)
		result->passed = result->passed && m.open_both;
	/* A file system in memory does not wait. */
	if (which == SELFTEST_FSYNC && wall - not_waited < TOLERANCE_NS && !m.count) {
		result->skipped = true;
		result->detail = g_strdup("fsync did not block here");
		return;
	}
	result->detail = g_strdup_printf(
		"%" G_GUINT64_FORMAT " wait%s in %s, state %c, %.3f ms measured, %.3f to %.3f ms expected", m.count,
		m.count == 1 ? "" : "s", cases[which].function, cases[which].state, (double)m.off_cpu_ns / 1e6,
		(double)least / 1e6, (double)most / 1e6);
}

static bool trace_workload(struct selftest_shared *shared, pid_t child, struct session *session, GError **error)
{
	for (int ms = 0; !__atomic_load_n(&shared->ready, __ATOMIC_ACQUIRE); ms++) {
		if (ms > GIVE_UP_MS || waitpid(child, NULL, WNOHANG) == child)
			return refuse(error, ATTACH_ERROR, ATTACH_ERROR_FAILED,
				"the self-test's workload did not start");
		g_usleep(1000);
	}
	if (!session_start(session, error))
		return false;
	__atomic_store_n(&shared->go, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &shared->go, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
	for (int ms = 0; !all_done(shared) && ms < GIVE_UP_MS; ms += SESSION_DRAIN_MS) {
		session_drain(session);
		g_usleep(SESSION_DRAIN_MS * 1000);
	}
	return session_stop(session, error);
}

bool selftest_run(struct selftest_result *results, GError **error)
{
	struct collect_options options = { 0 };
	struct selftest_shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
					      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t stolen = stolen_ns();
	bool ok = false;

	if (shared == MAP_FAILED)
		return refuse(error, ATTACH_ERROR, ATTACH_ERROR_FAILED, "shared memory: %s", g_strerror(errno));
	pid_t child = start_workload(shared);
	uint32_t pid = (uint32_t)child;
	options.pids = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	g_array_append_val(options.pids, pid);
	struct session *session = child > 0 ? session_new(&options, error) : NULL;
	if (session && trace_workload(shared, child, session, error)) {
		struct profile *p = session_take_profile(session);
		stolen = stolen_ns() - stolen;
		for (int i = 0; i < SELFTEST_CNT; i++)
			judge_case(p, shared, i, stolen, &results[i]);
		profile_free(p);
		ok = true;
	}
	session_free(session);
	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	g_array_unref(options.pids);
	munmap(shared, sizeof(*shared));
	return ok;
}
