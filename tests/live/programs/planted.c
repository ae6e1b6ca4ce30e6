/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* planted PROBLEM SECONDS [FILE]: a program with one known reason to be slow, in one known function. */
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SITE static __attribute__((noinline, noclone))
#define MUST(x) ((x) < 0 ? (perror(#x), exit(1)) : (void)0)

int kv_get(int key);

static double end_s;
static int file;

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void burn(int us)
{
	double until = now_s() + us / 1e6;

	while (now_s() < until)
		continue;
}

/* Threads wait for one mutex whose holder waits for the disk. */
static pthread_mutex_t audit_lock = PTHREAD_MUTEX_INITIALIZER;

SITE void write_audit(void)
{
	char record[4096] = { 1 };

	pthread_mutex_lock(&audit_lock);
	MUST(pwrite(file, record, sizeof(record), 0));
	MUST(fdatasync(file));
	usleep(500);	/* a disk that is not too fast for the test */
	pthread_mutex_unlock(&audit_lock);
}

static void *audit_worker(void *arg)
{
	while (now_s() < end_s) {
		burn(100);
		write_audit();
	}
	return arg;
}

/* Two connections for sixteen workers. */
static pthread_mutex_t pool_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t pool_cond = PTHREAD_COND_INITIALIZER;
static int connections = 2;

SITE void pool_get(void)
{
	pthread_mutex_lock(&pool_mutex);
	while (!connections)
		pthread_cond_wait(&pool_cond, &pool_mutex);
	connections--;
	pthread_mutex_unlock(&pool_mutex);
}

SITE void pool_put(void)
{
	pthread_mutex_lock(&pool_mutex);
	connections++;
	pthread_cond_signal(&pool_cond);
	pthread_mutex_unlock(&pool_mutex);
}

SITE void run_query(void)
{
	usleep(3000);
}

SITE void serve(void)
{
	pool_get();
	run_query();
	pool_put();
	burn(50);
}

static void *pool_worker(void *arg)
{
	while (now_s() < end_s)
		serve();
	return arg;
}

/* A hundred threads are woken for one event. */
static pthread_mutex_t change_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change_cond = PTHREAD_COND_INITIALIZER;
static int changes;

SITE void wait_change(int seen)
{
	pthread_mutex_lock(&change_mutex);
	while (changes == seen && now_s() < end_s)
		pthread_cond_wait(&change_cond, &change_mutex);
	pthread_mutex_unlock(&change_mutex);
}

static void *change_worker(void *arg)
{
	while (now_s() < end_s)
		wait_change(changes);
	return arg;
}

static void broadcast(void)
{
	pthread_mutex_lock(&change_mutex);
	changes++;
	pthread_cond_broadcast(&change_cond);
	pthread_mutex_unlock(&change_mutex);
}

/* Workers without work. */
static pthread_mutex_t queue_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_cond = PTHREAD_COND_INITIALIZER;
static int queued;

SITE void queue_pop(void)
{
	pthread_mutex_lock(&queue_mutex);
	while (!queued)
		pthread_cond_wait(&queue_cond, &queue_mutex);
	queued--;
	pthread_mutex_unlock(&queue_mutex);
}

SITE void do_job(void)
{
	burn(200);
	usleep(2000);
}

static void *queue_worker(void *arg)
{
	for (;;) {
		queue_pop();
		do_job();
	}
	return arg;
}

SITE void push_job(void)
{
	usleep(30000);
	pthread_mutex_lock(&queue_mutex);
	queued++;
	pthread_cond_signal(&queue_cond);
	pthread_mutex_unlock(&queue_mutex);
}

SITE void insert_row(void)
{
	char row[128] = { 0 };

	MUST(write(file, row, sizeof(row)));
	MUST(fsync(file));
}

SITE void poll_for_job(void)
{
	usleep(1000);
}

SITE void look_up(void)
{
	kv_get(1);
}

SITE void touch(const volatile char *map, off_t len)
{
	for (off_t i = 0; i < len && now_s() < end_s; i += 4096 * 64)
		(void)map[i];
}

SITE void cold_map(void)
{
	off_t len = lseek(file, 0, SEEK_END);

	posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
	char *map = mmap(NULL, (size_t)len, PROT_READ, MAP_SHARED, file, 0);
	madvise(map, (size_t)len, MADV_RANDOM);
	touch(map, len);
	munmap(map, (size_t)len);
}

SITE void feed(int fd)
{
	static char block[65536];

	MUST(write(fd, block, sizeof(block)));
}

SITE void drain(int fd)
{
	char block[4096];

	while (read(fd, block, sizeof(block)) > 0)
		usleep(2000);
	_exit(0);
}

static void full_pipe(void)
{
	int fds[2];

	MUST(pipe(fds));
	if (fork() == 0) {
		close(fds[1]);
		drain(fds[0]);
	}
	close(fds[0]);
	while (now_s() < end_s)
		feed(fds[1]);

	close(fds[1]);
}

SITE void wait_for_child(double seconds)
{
	pid_t child = fork();

	if (child == 0) {
		usleep((useconds_t)(seconds * 1e6));
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

SITE void resolve(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	MUST(send(fd, "?", 1, 0));
	poll(&p, 1, 200);
}

/* Nobody answers. */
static void slow_name_server(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0), silent = socket(AF_INET, SOCK_DGRAM, 0);
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);

	MUST(bind(silent, (struct sockaddr *)&at, len));
	MUST(getsockname(silent, (struct sockaddr *)&at, &len));
	MUST(connect(fd, (struct sockaddr *)&at, len));
	while (now_s() < end_s)
		resolve(fd);
}

/* A program that gives its CPU away instead of sleeping. */
SITE void spin_until_ready(void)
{
	for (unsigned i = 0; i < 1000 && now_s() < end_s; i++)
		sched_yield();
}

static void *spin_worker(void *arg)
{
	while (now_s() < end_s)
		spin_until_ready();
	return arg;
}

/* A queue that its sender fills slowly. */
SITE ssize_t next_message(int queue)
{
	struct {
		long type;
		char text[8];
	} message;
	ssize_t len = msgrcv(queue, &message, sizeof(message.text), 0, 0);

	burn(1);
	return len;
}

static void message_queue(void)
{
	int queue = msgget(IPC_PRIVATE, 0600);
	struct {
		long type;
		char text[8];
	} message = { 1, "x" };

	MUST(queue);
	if (fork() == 0) {
		while (now_s() < end_s) {
			usleep(10000);
			MUST(msgsnd(queue, &message, sizeof(message.text), 0));
		}
		msgctl(queue, IPC_RMID, NULL);	/* which ends the receiver's wait */
		_exit(0);
	}
	while (next_message(queue) >= 0)
		continue;
}

static void with_threads(unsigned cnt, void *(*worker)(void *), void (*meanwhile)(void))
{
	pthread_t threads[128];

	for (unsigned i = 0; i < cnt; i++)
		pthread_create(&threads[i], NULL, worker, NULL);
	while (meanwhile && now_s() < end_s)
		meanwhile();
	if (worker == queue_worker)
		exit(0);
	for (unsigned i = 0; i < cnt; i++)
		pthread_join(threads[i], NULL);
}

/* Readers that overlap never let the writer in: glibc's rwlock prefers them. */
static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;

SITE void read_table(void)
{
	pthread_rwlock_rdlock(&table_lock);
	usleep(5000);
	pthread_rwlock_unlock(&table_lock);
}

SITE void update_table(void)
{
	pthread_rwlock_wrlock(&table_lock);
	pthread_rwlock_unlock(&table_lock);
}

static void *table_reader(void *arg)
{
	while (now_s() < end_s)
		read_table();
	return arg;
}

static void *table_writer(void *arg)
{
	usleep(20000);	/* the readers are there */
	update_table();
	return arg;
}

static void starve_writer(void)
{
	pthread_t writer;

	pthread_create(&writer, NULL, table_writer, NULL);
	with_threads(8, table_reader, NULL);
	pthread_join(writer, NULL);
}

static void change(void)
{
	usleep(20000);
	broadcast();
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	const char *problem = argv[1];
	double seconds = atof(argv[2]);
	end_s = now_s() + seconds;
	if (argc > 3)
		MUST(file = open(argv[3], O_RDWR | O_CREAT, 0600));
	if (strcmp(problem, "mutex") == 0)
		with_threads(8, audit_worker, NULL);
	else if (strcmp(problem, "pool") == 0)
		with_threads(16, pool_worker, NULL);
	else if (strcmp(problem, "broadcast") == 0)
		with_threads(100, change_worker, change);
	else if (strcmp(problem, "idle") == 0)
		with_threads(8, queue_worker, push_job);
	else if (strcmp(problem, "pipe") == 0)
		full_pipe();
	else if (strcmp(problem, "child") == 0)
		wait_for_child(seconds);
	else if (strcmp(problem, "udp") == 0)
		slow_name_server();
	else if (strcmp(problem, "yield") == 0)
		with_threads(4, spin_worker, NULL);
	else if (strcmp(problem, "queue") == 0)
		message_queue();
	else if (strcmp(problem, "rwstarve") == 0)
		starve_writer();
	while (now_s() < end_s) {
		if (strcmp(problem, "fsync") == 0)
			insert_row();
		else if (strcmp(problem, "pollloop") == 0)
			poll_for_job();
		else if (strcmp(problem, "retry") == 0)
			look_up();
		else if (strcmp(problem, "mmap") == 0)
			cold_map();
		else
			break;
	}
	return 0;
}
