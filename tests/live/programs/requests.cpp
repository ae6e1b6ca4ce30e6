/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * requests OUT MODE COUNT THREADS: each thread makes COUNT requests, which compute and sleep, and reads both clocks around each, and
 * within: what a tracer says lies between the two, whatever its probes cost and whoever had the CPU in between.
 * Modes: plain, throw (every fifth throws to its caller), deep (recursive), nested (the function calls another one that is a
 * request, too), jump (every fifth leaves by longjmp), leave (the last one of each thread ends that), cold (before each its thread
 * sleeps as long outside of it), tail (every hundredth looks something up, which sleeps for long), once (another function, which takes
 * no time, and the caller sleeps for long then).
 */
#include <pthread.h>
#include <setjmp.h>
#include <string.h>
#include <time.h>

extern "C" {
#include "truth.h"
}

/* Where g++ is not installed Meson takes clang++, which makes no clones and does not know the word. */
#ifdef __clang__
#define KEPT __attribute__((noinline))
#else
#define KEPT __attribute__((noinline, noclone))
#endif
#define SPIN_NS 500000
#define NAP_NS 1000000
#define LOOK_UP_NS 200000000

static const char *mode;
static uint64_t count;

struct sums {
	uint64_t count, thrown, left, wall_ns, cpu_ns, max_ns, in_wall_ns, in_cpu_ns;
};

static uint64_t clock_now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static bool is(const char *name)
{
	return strcmp(mode, name) == 0;
}

KEPT static void nap(void)
{
	struct timespec t = { 0, NAP_NS };

	nanosleep(&t, nullptr);
}

KEPT static void work(void)
{
	uint64_t end = clock_now(CLOCK_THREAD_CPUTIME_ID) + SPIN_NS;

	while (clock_now(CLOCK_THREAD_CPUTIME_ID) < end)
		;
	nap();
}

struct failure { uint64_t number; };

/* Of the outermost call. */
static thread_local struct {
	uint64_t wall_ns, cpu_ns;
	unsigned depth;
} within;

static void enter()
{
	if (within.depth++)
		return;
	within.cpu_ns = clock_now(CLOCK_THREAD_CPUTIME_ID);
	within.wall_ns = clock_now(CLOCK_MONOTONIC);
}

static void leave()
{
	if (--within.depth)
		return;
	within.wall_ns = clock_now(CLOCK_MONOTONIC) - within.wall_ns;
	within.cpu_ns = clock_now(CLOCK_THREAD_CPUTIME_ID) - within.cpu_ns;
}

/* Is destroyed, too, as an exception passes: the unwinder stops there on its way. */
struct guard {
	guard() { enter(); }
	~guard() { leave(); }
};

static thread_local jmp_buf back;

namespace service {

KEPT uint64_t inner_request(uint64_t n)
{
	work();
	return n + 1;
}

KEPT uint64_t look_up(uint64_t n)
{
	struct timespec t = { 0, LOOK_UP_NS };

	nanosleep(&t, nullptr);
	return n + 1;
}

KEPT uint64_t handle_request(uint64_t n, unsigned depth)
{
	volatile uint64_t cell = n;
	guard g;

	if (depth)
		return handle_request(n, depth - 1) + cell;
	if (is("nested"))
		return inner_request(n) + cell;
	if (is("tail") && n % 100 == 50)
		cell = cell + look_up(n);
	work();
	if (is("throw") && n % 5 == 0)
		throw failure { n };
	if (is("leave") && n + 1 == count)
		pthread_exit(nullptr);
	return n + cell;
}

KEPT uint64_t short_request(uint64_t n)
{
	return n + clock_now(CLOCK_MONOTONIC);
}

KEPT uint64_t call_and_sleep(uint64_t n)
{
	uint64_t sum = short_request(n);

	return sum + look_up(n);
}

} // namespace service

/* longjmp() runs no destructors: here are none. */
extern "C" KEPT uint64_t jumping_request(uint64_t n)
{
	enter();
	work();
	if (n % 5 == 0)
		longjmp(back, 1);
	leave();
	return n + 1;
}

KEPT static uint64_t call(uint64_t n, struct sums *s)
{
	if (is("jump")) {
		if (setjmp(back)) {
			within.depth = 0;
			s->left++;
			return 0;
		}
		return jumping_request(n);
	}
	try {
		return service::handle_request(n, is("deep") ? 5 : 0);
	} catch (const failure &f) {
		s->thrown++;
		return f.number;
	}
}

static void write_sums(const struct sums *s)
{
	truth_printf("{\"kind\":\"requests\",\"tid\":%d,\"count\":%llu,\"thrown\":%llu,\"left\":%llu,\"wall_ns\":%llu,\"cpu_ns\":%llu,"
		     "\"max_ns\":%llu,\"in_wall_ns\":%llu,\"in_cpu_ns\":%llu}\n", truth_gettid(), (unsigned long long)s->count, (unsigned long long)s->thrown,
		     (unsigned long long)s->left, (unsigned long long)s->wall_ns, (unsigned long long)s->cpu_ns,
		     (unsigned long long)s->max_ns, (unsigned long long)s->in_wall_ns, (unsigned long long)s->in_cpu_ns);
}

static void *run(void *)
{
	struct sums s = { };
	volatile uint64_t result = 0;

	truth_gate_wait();
	for (uint64_t n = 0; n < count; n++) {
		uint64_t left = s.left, wall, cpu;

		if (is("cold"))
			nap();
		if (is("leave") && n + 1 == count) {
			s.left++;
			write_sums(&s);
		}
		if (is("once")) {
			result = result + service::call_and_sleep(n);
			s.count++;
			continue;
		}
		cpu = clock_now(CLOCK_THREAD_CPUTIME_ID);
		wall = clock_now(CLOCK_MONOTONIC);
		result = result + call(n, &s);
		wall = clock_now(CLOCK_MONOTONIC) - wall;
		cpu = clock_now(CLOCK_THREAD_CPUTIME_ID) - cpu;
		if (s.left != left)
			continue;
		s.count++;
		s.wall_ns += wall;
		s.cpu_ns += cpu;
		s.in_wall_ns += within.wall_ns;
		s.in_cpu_ns += within.cpu_ns;
		s.max_ns = wall > s.max_ns ? wall : s.max_ns;
	}
	write_sums(&s);
	return nullptr;
}

/*
 * Where the calls return to becomes known before the window opens.  Some of these lie in it: so each is told with its start.
 */
#define WARM_MAX 20000

static void *warm(void *)
{
	static struct { uint64_t start_ns, wall_ns, cpu_ns, in_wall_ns, in_cpu_ns; } told[WARM_MAX];
	struct sums s = { };
	unsigned n = 0;

	while (!__atomic_load_n(&count, __ATOMIC_RELAXED) && n < WARM_MAX) {
		uint64_t cpu;

		nap();
		cpu = clock_now(CLOCK_THREAD_CPUTIME_ID);
		told[n].start_ns = clock_now(CLOCK_MONOTONIC);
		call(1, &s);
		told[n].wall_ns = clock_now(CLOCK_MONOTONIC) - told[n].start_ns;
		told[n].cpu_ns = clock_now(CLOCK_THREAD_CPUTIME_ID) - cpu;
		told[n].in_wall_ns = within.wall_ns;
		told[n].in_cpu_ns = within.cpu_ns;
		n++;
	}
	for (unsigned i = 0; i < n; i++)
		truth_printf("{\"kind\":\"warm\",\"start_ns\":%llu,\"wall_ns\":%llu,\"cpu_ns\":%llu,\"in_wall_ns\":%llu,\"in_cpu_ns\":%llu}\n",
			     (unsigned long long)told[i].start_ns, (unsigned long long)told[i].wall_ns, (unsigned long long)told[i].cpu_ns,
			     (unsigned long long)told[i].in_wall_ns, (unsigned long long)told[i].in_cpu_ns);
	return nullptr;
}

int main(int argc, char **argv)
{
	static pthread_t threads[64], warming;
	uint64_t cnt, wanted;

	truth_open(truth_arg_string(argc, argv, 1));
	mode = truth_arg_string(argc, argv, 2);
	wanted = truth_arg(argc, argv, 3);
	cnt = truth_arg(argc, argv, 4);
	if (cnt > 64)
		truth_die("too many threads", 0);
	pthread_create(&warming, nullptr, warm, nullptr);
	truth_ready(nullptr, 0);
	__atomic_store_n(&count, wanted, __ATOMIC_RELAXED);
	pthread_join(warming, nullptr);
	for (uint64_t i = 0; i < cnt; i++)
		pthread_create(&threads[i], nullptr, run, nullptr);
	truth_gate_open();
	for (uint64_t i = 0; i < cnt; i++)
		pthread_join(threads[i], nullptr);
	truth_done();
	return 0;
}
