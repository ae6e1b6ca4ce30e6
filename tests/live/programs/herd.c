/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * herd OUT KIND THREADS EVENTS: events that wake many threads at once.
 *
 * cond: a broadcast to threads that all need the mutex, which is held on.  work: a broadcast to threads that then
 * burn 1 ms of CPU each.  epoll, exclusive, poll: each thread waits for a listening socket, with an epoll file of
 * its own, the same with EPOLLEXCLUSIVE, with poll(); all but one find no connection to accept.
 *
 * How many of the woken took more CPU time than sleeping again "at once" allows (slow) they measure by their own
 * clocks: on a virtual machine whose host is busy an accept4() in vain can take that long.
 */
#include "features/storms/abi.h"
#include "truth.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BURN_NS 1000000
#define BETWEEN_NS 40000000	/* events */
#define HOLD_NS 15000000	/* the mutex, after the broadcast */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static uint64_t event, events, asleep_cnt, woken_cnt, served_cnt, slow_cnt;
static const char *kind;
static struct sockaddr_in address = { .sin_family = AF_INET };
static int listener;

static void pause_ns(uint64_t ns)
{
	struct timespec ts = { .tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000) };

	sys2(SYS_nanosleep, &ts, 0);
}

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void burn(void)
{
	uint64_t end_ns = cpu_ns() + BURN_NS;

	while (cpu_ns() < end_ns)
		;
}

/* Once round a thread's loop, from sleep to sleep: the CPU time since it was here last. */
static void note_round(uint64_t *cpu_before_ns)
{
	uint64_t now_ns = cpu_ns();

	if (now_ns - *cpu_before_ns > STORM_AGAIN_NS)
		__atomic_fetch_add(&slow_cnt, 1, __ATOMIC_RELAXED);
	*cpu_before_ns = now_ns;
}

SITE void wait_for_event(uint64_t seen)
{
	pthread_mutex_lock(&mutex);
	asleep_cnt++;
	while (event == seen)
		pthread_cond_wait(&cond, &mutex);
	woken_cnt++;
	pthread_mutex_unlock(&mutex);
}

SITE void *waiter_main(void *arg)
{
	bool has_work = strcmp(kind, "work") == 0;
	uint64_t before_ns = cpu_ns();

	for (uint64_t i = 0; i < events; i++) {
		wait_for_event(i);
		if (has_work)
			burn();
		note_round(&before_ns);
	}
	return arg;
}

SITE void broadcast_site(void)
{
	bool hold = strcmp(kind, "cond") == 0;

	pthread_mutex_lock(&mutex);
	event++;
	if (!hold)
		pthread_mutex_unlock(&mutex);
	pthread_cond_broadcast(&cond);
	if (hold) {
		pause_ns(HOLD_NS);
		pthread_mutex_unlock(&mutex);
	}
}

/* All waiters sleep; how long it took them last time to get there does not matter. */
static void await_sleepers(uint64_t cnt)
{
	for (;;) {
		pthread_mutex_lock(&mutex);
		bool all = asleep_cnt == cnt;
		pthread_mutex_unlock(&mutex);
		if (all)
			return;
		pause_ns(1000000);
	}
}

/* True when there was a connection. */
static bool serve(void)
{
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);

	__atomic_fetch_add(&woken_cnt, 1, __ATOMIC_RELAXED);
	if (fd < 0)
		return false;
	close(fd);
	__atomic_fetch_add(&served_cnt, 1, __ATOMIC_RELAXED);
	return true;
}

SITE void *epoll_main(void *arg)
{
	struct epoll_event e = { .events = EPOLLIN };
	int file = epoll_create1(0);

	if (strcmp(kind, "exclusive") == 0)
		e.events |= EPOLLEXCLUSIVE;
	if (epoll_ctl(file, EPOLL_CTL_ADD, listener, &e))
		truth_die("adding the listening socket to an epoll file", errno);
	for (uint64_t before_ns = cpu_ns();; note_round(&before_ns))
		if (epoll_wait(file, &e, 1, -1) == 1)
			serve();
	return arg;
}

SITE void *poll_main(void *arg)
{
	struct pollfd p = { .fd = listener, .events = POLLIN };

	for (uint64_t before_ns = cpu_ns();; note_round(&before_ns))
		if (poll(&p, 1, -1) == 1)
			serve();
	return arg;
}

SITE void connect_site(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char byte;

	if (connect(fd, (struct sockaddr *)&address, sizeof(address)))
		truth_die("connecting to the loopback", errno);
	(void)!read(fd, &byte, 1);	/* until the server has closed it */
	close(fd);
}

static void listen_here(void)
{
	socklen_t length = sizeof(address);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (bind(listener, (struct sockaddr *)&address, length) || listen(listener, 16) ||
	    getsockname(listener, (struct sockaddr *)&address, &length))
		truth_die("listening on the loopback", errno);
}

int main(int argc, char **argv)
{
	uint64_t threads = truth_arg(argc, argv, 3);
	pthread_t thread;
	bool is_condition;

	kind = truth_arg_string(argc, argv, 2);
	events = truth_arg(argc, argv, 4);
	is_condition = strcmp(kind, "cond") == 0 || strcmp(kind, "work") == 0;
	truth_open(truth_arg_string(argc, argv, 1));
	if (!is_condition)
		listen_here();
	for (uint64_t i = 0; i < threads; i++) {
		if (pthread_create(&thread, NULL,
				   is_condition ? waiter_main : strcmp(kind, "poll") == 0 ? poll_main : epoll_main, NULL))
			truth_die("making a thread", errno);
	}
	pause_ns(BETWEEN_NS);
	truth_ready(NULL, 0);
	for (uint64_t i = 0; i < events; i++) {
		if (is_condition)
			await_sleepers(threads * (i + 1));
		pause_ns(BETWEEN_NS);
		if (is_condition)
			broadcast_site();
		else
			connect_site();
	}
	pause_ns(BETWEEN_NS + (strcmp(kind, "work") == 0 ? threads * BURN_NS : 0));
	truth_printf("{\"kind\":\"%s\",\"threads\":%llu,\"events\":%llu,\"woken\":%llu,\"served\":%llu,\"slow\":%llu}\n",
		     kind, (unsigned long long)threads, (unsigned long long)events, (unsigned long long)woken_cnt,
		     (unsigned long long)served_cnt, (unsigned long long)slow_cnt);
	truth_done();
	return 0;
}
