/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * runq OUT HOGS MS: threads named hog-1, hog-2 ... that want the one CPU all the time, and one named victim that
 * sleeps and works by turns, all on the same CPU.  So who holds it while another waits is known from their CPU times,
 * and how long each waited from the scheduler's own count (delay_ns; -1 where this kernel keeps none).
 */
#include "truth.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "events.h"

static uint64_t span_ns;

static void burn(uint64_t until_ns)
{
	while (truth_now_ns() < until_ns)
		for (volatile int i = 0; i < 5000; i++)
			;
}

static void run(const char *name, bool is_victim)
{
	struct timespec nap = { .tv_nsec = 3000000 };
	struct event_log *log = events_new(1);
	struct event *all;
	uint64_t until_ns;

	prctl(PR_SET_NAME, name);
	events_mine(log);
	truth_gate_wait();
	until_ns = truth_now_ns() + span_ns;
	all = event_begin(log, EVENT_SLEEP, 0);
	while (is_victim && truth_now_ns() < until_ns) {
		sys2(SYS_nanosleep, &nap, 0);
		burn(truth_now_ns() + 500000);
	}
	burn(until_ns);
	event_end(log, all, 0);
	truth_printf("{\"kind\":\"runq\",\"name\":\"%s\",\"tid\":%d,\"wall_ns\":%lu,\"cpu_ns\":%lu,\"delay_ns\":%ld}\n", name,
		     truth_gettid(), all->after.wall_ns - all->before.wall_ns, all->after.cpu_ns - all->before.cpu_ns,
		     all->before.delay_ns < 0 ? -1 : all->after.delay_ns - all->before.delay_ns);
}

SITE void *hog_main(void *arg)
{
	char name[16];

	snprintf(name, sizeof(name), "hog-%u", (unsigned)(uintptr_t)arg);
	run(name, false);
	return arg;
}

SITE void *victim_main(void *arg)
{
	run("victim", true);
	return arg;
}

/* The last CPU that we may use: the first ones have more interrupts. */
static void stay_on_one_cpu(void)
{
	cpu_set_t may, one;

	if (sched_getaffinity(0, sizeof(may), &may))
		truth_die("asking which CPUs are ours", errno);
	CPU_ZERO(&one);
	for (int cpu = CPU_SETSIZE - 1; cpu >= 0; cpu--) {
		if (!CPU_ISSET(cpu, &may))
			continue;
		CPU_SET(cpu, &one);
		break;
	}
	if (sched_setaffinity(0, sizeof(one), &one))
		truth_die("staying on one CPU", errno);
}

int main(int argc, char **argv)
{
	uint64_t hogs = truth_arg(argc, argv, 2);
	pthread_t *threads = calloc(hogs + 1, sizeof(*threads));

	span_ns = truth_arg(argc, argv, 3) * 1000000;
	truth_open(truth_arg_string(argc, argv, 1));
	stay_on_one_cpu();
	for (uint64_t i = 0; i < hogs; i++)
		pthread_create(&threads[i], NULL, hog_main, (void *)(uintptr_t)(i + 1));
	if (hogs > 1)
		pthread_create(&threads[hogs], NULL, victim_main, NULL);
	truth_ready(NULL, 0);
	truth_gate_open();
	for (uint64_t i = 0; i < hogs + (hogs > 1); i++)
		pthread_join(threads[i], NULL);
	truth_done();
	free(threads);
	return 0;
}
