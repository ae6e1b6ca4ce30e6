/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Programs of known structure for `offcpu whatif`: whatif MODE [KEY=NUMBER ...].  It prints its cycles a second, of
 * `seconds` behind the first 0.3, and ends.  Times are in us and vary by half, or, with wild=1,
 * exponentially, so nothing runs in step.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static struct {
	const char *name;
	long value;
} settings[] = { { "threads", 4 }, { "hold", 0 },  { "hold2", 0 },    { "cpu", 0 }, { "wait", 0 },
		 { "port", 0 },    { "calls", 1 }, { "service", 0 },  { "nap", 0 }, { "seconds", 8 },
		 { "sync", 1 },	   { "burn", 0 },  { "period", 0 }, { "wild", 0 } };

static long setting(const char *name)
{
	for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++)
		if (!strcmp(settings[i].name, name))
			return settings[i].value;
	abort();
}

static atomic_long cycles;
static pthread_mutex_t inventory_lock = PTHREAD_MUTEX_INITIALIZER, ledger_lock = PTHREAD_MUTEX_INITIALIZER;
static __thread unsigned seed;

static int64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int64_t vary(long us)
{
	if (setting("wild"))	/* exponential */
		return (int64_t)(-1000.0 * (double)us * log((rand_r(&seed) + 1.0) / ((double)RAND_MAX + 1)));
	return us * (500 + rand_r(&seed) % 1001);
}

static void compute(long us)
{
	int64_t end = now_ns(CLOCK_THREAD_CPUTIME_ID) + vary(us);

	while (us && now_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

static void reserve(void)
{
	if (!setting("hold"))
		return;
	pthread_mutex_lock(&inventory_lock);
	compute(setting("hold"));
	pthread_mutex_unlock(&inventory_lock);
}

static void book(void)
{
	if (!setting("hold2"))
		return;
	pthread_mutex_lock(&ledger_lock);
	compute(setting("hold2"));
	pthread_mutex_unlock(&ledger_lock);
}

static int connection(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)setting("port")),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (connect(fd, (struct sockaddr *)&to, sizeof(to))) {
		perror("connect");
		exit(1);
	}
	return fd;
}

static void ask(int fd)
{
	char c = 'q';

	for (long i = setting("calls"); i--;)
		if (write(fd, &c, 1) != 1 || read(fd, &c, 1) != 1)
			exit(1);
}

static void keep(int file)
{
	if (pwrite(file, &cycles, sizeof(cycles), 0) < 0 || (setting("sync") && fsync(file)))
		exit(1);
}

static void *work(void *arg)
{
	int fd = setting("port") ? connection() : -1, file = -1;
	char name[] = "whatif-XXXXXX";

	seed = (unsigned)(uintptr_t)arg;
	if (setting("sync") > 1 || !setting("sync")) {
		file = mkstemp(name);
		unlink(name);
	}
	for (int64_t due = now_ns(CLOCK_MONOTONIC);;) {
		compute(setting("cpu"));
		if (setting("wait"))
			usleep((useconds_t)setting("wait"));
		reserve();
		book();
		if (fd >= 0)
			ask(fd);
		if (file >= 0)
			keep(file);
		if (setting("nap"))
			usleep((useconds_t)setting("nap"));
		cycles++;
		if (setting("period")) {
			due += setting("period") * 1000;
			int64_t left = due - now_ns(CLOCK_MONOTONIC);
			if (left > 0)
				usleep((useconds_t)(left / 1000));
		}
	}
	return NULL;
}

/* A stage takes from one queue and puts into the next, which has room for a few. */
#define ROOM 4
static struct queue {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int filled;
} queues[3];

static void pass(struct queue *q, int by)
{
	pthread_mutex_lock(&q->lock);
	while (by > 0 ? q->filled == ROOM : !q->filled)
		pthread_cond_wait(&q->changed, &q->lock);
	q->filled += by;
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->lock);
}

static void *read_stage(void *arg)
{
	for (seed = 1;; pass(&queues[0], 1))
		compute(setting("cpu"));
	return arg;
}

static void *price_stage(void *arg)
{
	int fd = connection();

	for (seed = 2;;) {
		pass(&queues[0], -1);
		ask(fd);
		pass(&queues[1], 1);
	}
	return arg;
}

static void *write_stage(void *arg)
{
	for (seed = 3;;) {
		pass(&queues[1], -1);
		if (setting("wait"))
			usleep((useconds_t)setting("wait"));
		compute(setting("hold"));
		cycles++;
	}
	return arg;
}

static void answer(int fd)
{
	char c;

	if (read(fd, &c, 1) != 1)
		return;
	compute(setting("burn"));
	if (setting("service"))
		usleep((useconds_t)setting("service"));
	if (write(fd, &c, 1) != 1)
		exit(0);
}

static void *serve_one(void *arg)
{
	for (seed = (unsigned)(uintptr_t)arg;;)
		answer((int)(intptr_t)arg);
	return arg;
}

/* Each client has a thread of its own, or one thread has all. */
static void serve(bool is_queue)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)setting("port")),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int l = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
	struct pollfd fds[64] = { { .fd = l, .events = POLLIN } };
	nfds_t cnt = 1;
	pthread_t thread;

	setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(l, (struct sockaddr *)&at, sizeof(at)) || listen(l, 64))
		exit(1);
	while (!is_queue)
		pthread_create(&thread, NULL, serve_one, (void *)(intptr_t)accept(l, NULL, NULL));
	while (poll(fds, cnt, -1) > 0) {
		for (nfds_t i = 1; i < cnt; i++)
			if (fds[i].revents)
				answer(fds[i].fd);
		if (fds[0].revents && cnt < 64)
			fds[cnt++] = (struct pollfd){ .fd = accept(l, NULL, NULL), .events = POLLIN };
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	pthread_t thread;

	for (int i = 2; i < argc; i++)
		for (size_t k = 0; k < sizeof(settings) / sizeof(*settings); k++)
			if (!strncmp(argv[i], settings[k].name, strlen(settings[k].name)) &&
			    argv[i][strlen(settings[k].name)] == '=')
				settings[k].value = atol(strchr(argv[i], '=') + 1);
	prctl(PR_SET_TIMERSLACK, 1);	/* a sleep is as long as asked for */
	if (!strcmp(mode, "serve") || !strcmp(mode, "serve-queue")) {
		alarm((unsigned)setting("seconds"));
		serve(!strcmp(mode, "serve-queue"));
	} else if (!strcmp(mode, "pipeline")) {
		void *(*stages[])(void *) = { read_stage, price_stage, write_stage };
		for (int i = 0; i < 3; i++) {
			pthread_mutex_init(&queues[i].lock, NULL);
			pthread_cond_init(&queues[i].changed, NULL);
			pthread_create(&thread, NULL, stages[i], NULL);
		}
	} else {
		for (long i = 1; i <= setting("threads"); i++)
			pthread_create(&thread, NULL, work, (void *)(uintptr_t)i);
	}
	usleep(300000);
	long before = cycles;
	int64_t start = now_ns(CLOCK_MONOTONIC);
	sleep((unsigned)setting("seconds"));
	printf("%.2f\n", (double)(cycles - before) * 1e9 / (double)(now_ns(CLOCK_MONOTONIC) - start));
	return 0;
}
