/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * phases OUT MS: threads that wait on a pipe for so long, and then on a lock for as long.  Meanwhile one sleeps
 * right through, and others are born, sleep for a while and end.  The truth has the clock times of both phases.
 */
#include "truth.h"

#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#define WORKERS 3
#define TURN_NS 7000000
#define MS 1000000ULL

static int dry[2];
static uint32_t word;
static uint64_t phase_ns, begun_ns;

SITE void pipe_site(void)
{
	struct pollfd fd = { .fd = dry[0], .events = POLLIN };
	struct timespec turn = { .tv_nsec = TURN_NS };

	sys6(SYS_ppoll, (long)&fd, 1, (long)&turn, 0, 0, 0);
}

SITE void lock_site(void)
{
	struct timespec turn = { .tv_nsec = TURN_NS };

	sys4(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &turn);
}

SITE void sleep_site(uint64_t ns)
{
	struct timespec time = { .tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000) };

	sys2(SYS_nanosleep, &time, 0);
}

SITE void *worker_main(void *arg)
{
	truth_gate_wait();
	while (truth_now_ns() < begun_ns + phase_ns)
		pipe_site();
	while (truth_now_ns() < begun_ns + 2 * phase_ns)
		lock_site();
	return arg;
}

SITE void *long_main(void *arg)
{
	sleep_site(2 * phase_ns + 300 * MS);
	return arg;
}

SITE void *short_main(void *arg)
{
	sleep_site(130 * MS);
	return arg;
}

static uint64_t unix_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

int main(int argc, char **argv)
{
	pthread_t workers[WORKERS], sleeper, born;

	truth_open(truth_arg_string(argc, argv, 1));
	phase_ns = truth_arg(argc, argv, 2) * MS;
	if (pipe(dry))
		truth_die("pipe", 0);
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, worker_main, NULL);
	truth_ready(NULL, 0);
	pthread_create(&sleeper, NULL, long_main, NULL);
	begun_ns = truth_now_ns();
	truth_printf("{\"kind\":\"phases\",\"begun_unix_ns\":%llu,\"phase_ns\":%llu}\n", (unsigned long long)unix_now_ns(),
		     (unsigned long long)phase_ns);
	truth_gate_open();
	while (truth_now_ns() < begun_ns + 2 * phase_ns) {
		if (pthread_create(&born, NULL, short_main, NULL) == 0)
			pthread_detach(born);
		sleep_site(45 * MS);
	}
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	pthread_join(sleeper, NULL);
	truth_done();
	return 0;
}
