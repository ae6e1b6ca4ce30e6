/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The demo workload: a small order service whose threads wait for the usual things.
 *
 *   order-N     four workers behind one lock, which each holds across a short computation
 *   db-client-N two threads asking a slow database (a child process behind a socket)
 *   log-fsync   appends to a log and forces it to disk
 *   pool-N      three threads waiting for jobs that come ten times a second
 *   never-woken waits on a condition that nobody signals
 *
 * usage: workload [SECONDS]   (0 or none: until a signal)
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ORDER_WORKERS 4
#define DB_CLIENTS 2
#define POOL_THREADS 3

static volatile uint64_t sink;

static void sleep_ms(long ms)
{
	struct timespec ts = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};

	nanosleep(&ts, NULL);
}

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static void compute_us(uint64_t us)
{
	uint64_t end = now_us() + us;

	while (now_us() < end)
		sink++;
}

/* ---- the contended lock ---- */

static pthread_mutex_t inventory_lock = PTHREAD_MUTEX_INITIALIZER;

static void reserve_item_under_inventory_lock(void)
{
	pthread_mutex_lock(&inventory_lock);
	compute_us(400);
	sleep_ms(5);	/* the mistake: sleeps with the lock held */
	pthread_mutex_unlock(&inventory_lock);
}

static void handle_order(void)
{
	reserve_item_under_inventory_lock();
	compute_us(500);
}

static void *order_worker(void *arg)
{
	for (;;)
		handle_order();
	return arg;
}

/* ---- the slow database ---- */

struct db_query {
	uint32_t client;
	uint32_t sequence;
};

static int db_sockets[DB_CLIENTS][2];

static void serve_query(int fd, const struct db_query *query)
{
	sleep_ms(20 + (long)(query->sequence * 37 + query->client * 11) % 61);
	if (write(fd, query, sizeof(*query)) != sizeof(*query))
		_exit(0);
}

static void *database_connection(void *arg)
{
	int fd = *(int *)arg;
	struct db_query query;

	while (read(fd, &query, sizeof(query)) == sizeof(query))
		serve_query(fd, &query);
	_exit(0);	/* the client is gone, so is the service */
}

static bool query_database(int fd, struct db_query *query)
{
	if (write(fd, query, sizeof(*query)) != sizeof(*query))
		return false;
	return read(fd, query, sizeof(*query)) == sizeof(*query);
}

static bool load_customer(int fd, struct db_query *query)
{
	query->sequence++;
	return query_database(fd, query);
}

static void *db_client(void *arg)
{
	int *fd = arg;
	struct db_query query = {.client = (uint32_t)((int(*)[2])(void *)fd - db_sockets)};

	while (load_customer(*fd, &query))
		compute_us(300);
	return NULL;
}

/* ---- the log ---- */

static void flush_log(FILE *file)
{
	fflush(file);
	if (fsync(fileno(file)) != 0)
		sleep_ms(1000);
}

static void write_log_entry(FILE *file, unsigned number)
{
	if (number % 1000 == 0)
		rewind(file);	/* the demo leaves no growing file */
	fprintf(file, "order %u accepted\n", number);
	flush_log(file);
}

static void *log_writer(void *arg)
{
	for (unsigned number = 0;; number++) {
		write_log_entry(arg, number);
		sleep_ms(10);
	}
	return NULL;
}

/* ---- the pool ---- */

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t pool_has_job = PTHREAD_COND_INITIALIZER;
static unsigned pool_jobs;

static void wait_for_job(void)
{
	pthread_mutex_lock(&pool_lock);
	while (pool_jobs == 0)
		pthread_cond_wait(&pool_has_job, &pool_lock);
	pool_jobs--;
	pthread_mutex_unlock(&pool_lock);
}

static void *pool_worker(void *arg)
{
	for (;;) {
		wait_for_job();
		compute_us(2000);
	}
	return arg;
}

static void submit_job(void)
{
	pthread_mutex_lock(&pool_lock);
	pool_jobs++;
	pthread_cond_signal(&pool_has_job);
	pthread_mutex_unlock(&pool_lock);
}

/* ---- the thread that is never woken ---- */

static pthread_mutex_t forgotten_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t forgotten_event = PTHREAD_COND_INITIALIZER;
static volatile bool forgotten_happened;

static void *wait_for_forgotten_event(void *arg)
{
	pthread_mutex_lock(&forgotten_lock);
	while (!forgotten_happened)
		pthread_cond_wait(&forgotten_event, &forgotten_lock);
	pthread_mutex_unlock(&forgotten_lock);
	return arg;
}

/* ---- putting it together ---- */

static void start_thread(const char *name, int number, void *(*body)(void *), void *arg)
{
	pthread_t thread;
	char full[16];
	int err = pthread_create(&thread, NULL, body, arg);

	if (err) {
		fprintf(stderr, "workload: cannot start thread %s: %s\n", name, strerror(err));
		exit(1);
	}
	if (number < 0)
		snprintf(full, sizeof(full), "%s", name);
	else
		snprintf(full, sizeof(full), "%s-%d", name, number);
	pthread_setname_np(thread, full);
	pthread_detach(thread);
}

/* Never returns.  Dies with its parent, however that one dies. */
static void run_database(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	prctl(PR_SET_NAME, "slow-database");
	for (int i = 0; i < DB_CLIENTS; i++) {
		close(db_sockets[i][0]);
		start_thread("db-conn", i, database_connection, &db_sockets[i][1]);
	}
	for (;;)
		pause();
}

static pid_t start_database(void)
{
	pid_t parent = getpid(), child;

	for (int i = 0; i < DB_CLIENTS; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, db_sockets[i]) != 0) {
			perror("workload: socketpair");
			exit(1);
		}
	}
	child = fork();
	if (child < 0) {
		perror("workload: fork");
		exit(1);
	}
	if (child == 0)
		run_database(parent);
	for (int i = 0; i < DB_CLIENTS; i++)
		close(db_sockets[i][1]);
	return child;
}

/* In the working folder, since /tmp may be memory, where fsync waits for nothing. */
static FILE *open_log(void)
{
	char path[] = "./demo-log-XXXXXX";
	int fd = mkstemp(path);

	if (fd < 0) {
		perror("workload: cannot create a log file here");
		exit(1);
	}
	unlink(path);
	return fdopen(fd, "w");
}

static void start_threads(FILE *log)
{
	for (int i = 0; i < ORDER_WORKERS; i++)
		start_thread("order", i, order_worker, NULL);
	for (int i = 0; i < DB_CLIENTS; i++)
		start_thread("db-client", i, db_client, &db_sockets[i][0]);
	for (int i = 0; i < POOL_THREADS; i++)
		start_thread("pool", i, pool_worker, NULL);
	start_thread("log-fsync", -1, log_writer, log);
	start_thread("never-woken", -1, wait_for_forgotten_event, NULL);
}

/* Submits ten jobs a second until `seconds` have gone by (0: for ever) or a signal of `end` comes. */
static void submit_jobs(unsigned seconds, const sigset_t *end)
{
	const struct timespec tick = {.tv_nsec = 100000000};
	uint64_t start_us = now_us();

	while (sigtimedwait(end, NULL, &tick) < 0 && (errno == EAGAIN || errno == EINTR)) {
		if (seconds && now_us() - start_us >= seconds * UINT64_C(1000000))
			break;
		submit_job();
	}
}

int main(int argc, char **argv)
{
	unsigned seconds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
	pid_t database;
	FILE *log = open_log();
	sigset_t end;

	if (!log)
		return 1;
	sigemptyset(&end);
	sigaddset(&end, SIGINT);
	sigaddset(&end, SIGTERM);
	sigaddset(&end, SIGHUP);
	database = start_database();
	/* Blocked in every thread from here on; main alone takes them. */
	sigprocmask(SIG_BLOCK, &end, NULL);
	signal(SIGPIPE, SIG_IGN);
	start_threads(log);
	submit_jobs(seconds, &end);
	kill(database, SIGKILL);
	waitpid(database, NULL, 0);
	_exit(0);	/* the other threads hold locks; nothing is left to clean up */
}
