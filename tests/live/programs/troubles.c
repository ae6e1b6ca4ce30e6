/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * troubles PROBLEM SECONDS TRUTH: as planted.c, with other reasons to be slow.  TRUTH gets the nanoseconds that were spent in the call that
 * waits, by the program's own clock.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SITE static __attribute__((noinline, noclone))
#define MUST(x) ((x) < 0 ? (perror(#x), exit(1)) : (void)0)
#define TIMED(x) do { uint64_t begun = now_ns(); x; atomic_fetch_add(waited_ns, now_ns() - begun); } while (0)

static _Atomic uint64_t *waited_ns;	/* of all processes */
static uint64_t end_ns;
static char lock_path[4096];

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int goes_on(void)
{
	return now_ns() < end_ns;
}

static void with_threads(unsigned cnt, void *(*worker)(void *))
{
	pthread_t threads[16];

	for (uintptr_t i = 0; i < cnt; i++)
		pthread_create(&threads[i], NULL, worker, (void *)i);
	for (unsigned i = 0; i < cnt; i++)
		pthread_join(threads[i], NULL);
}

/* Processes that take a lock on one file by turns. */
SITE void update_index(int fd)
{
	TIMED(MUST(flock(fd, LOCK_EX)));
	usleep(3000);
	MUST(flock(fd, LOCK_UN));
}

static void file_lock(void)
{
	for (int i = 0; i < 4; i++) {
		if (fork())
			continue;
		int fd = open(lock_path, O_RDWR);	/* each its own: a lock belongs to an open file */
		MUST(fd);
		while (goes_on())
			update_index(fd);
		_exit(0);
	}
	while (wait(NULL) > 0)
		continue;
}

/* Of four threads one is late at each barrier. */
static pthread_barrier_t halo;

SITE void exchange_halo(void)
{
	TIMED(pthread_barrier_wait(&halo));
}

SITE void compute_part(uintptr_t part)
{
	usleep(part == 3 ? 20000 : 100);
}

static void *part_worker(void *arg)
{
	uintptr_t part = (uintptr_t)arg;
	char name[16];

	snprintf(name, sizeof(name), "part-%d", (int)part);
	prctl(PR_SET_NAME, name);
	for (int i = 0; i < 80; i++) {
		compute_part(part);
		exchange_halo();
	}
	return NULL;
}

static void barrier(void)
{
	pthread_barrier_init(&halo, NULL, 4);
	with_threads(4, part_worker);
}

/* A queue of four places, which one indexer empties too slowly. */
static pthread_mutex_t queue_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER, not_full = PTHREAD_COND_INITIALIZER;
static int queued;

SITE void submit_document(void)
{
	pthread_mutex_lock(&queue_mutex);
	while (queued == 4)
		TIMED(pthread_cond_wait(&not_full, &queue_mutex));
	queued++;
	pthread_cond_signal(&not_empty);
	pthread_mutex_unlock(&queue_mutex);
}

SITE void next_document(void)
{
	pthread_mutex_lock(&queue_mutex);
	while (!queued)
		pthread_cond_wait(&not_empty, &queue_mutex);
	queued--;
	pthread_cond_signal(&not_full);
	pthread_mutex_unlock(&queue_mutex);
}

SITE void index_document(void)
{
	usleep(5000);
}

static void *indexer(void *arg)
{
	prctl(PR_SET_NAME, "indexer");
	for (;;) {
		next_document();
		index_document();
	}
	return arg;
}

static void *crawler(void *arg)
{
	prctl(PR_SET_NAME, "crawler");
	while (goes_on())
		submit_document();
	return arg;
}

static void full_queue(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, indexer, NULL);
	with_threads(3, crawler);
}

/* A timeout in place of a signal. */
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

SITE void look_for_change(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 2000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&queue_mutex);
	TIMED(pthread_cond_timedwait(&never, &queue_mutex, &until));
	pthread_mutex_unlock(&queue_mutex);
}

static void *looker(void *arg)
{
	while (goes_on())
		look_for_change();
	return arg;
}

static void timed_condition(void)
{
	with_threads(3, looker);
}

/* Whoever reads long keeps out the writer, and the writer all others. */
static pthread_rwlock_t config = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

SITE void read_config(void)
{
	TIMED(pthread_rwlock_rdlock(&config));
	pthread_rwlock_unlock(&config);
}

SITE void dump_config(void)
{
	pthread_rwlock_rdlock(&config);
	usleep(40000);
	pthread_rwlock_unlock(&config);
	usleep(2000);
}

static void *configured(void *arg)
{
	prctl(PR_SET_NAME, arg == (void *)0 ? "dumper" : arg == (void *)1 ? "setter" : "reader");
	while (goes_on()) {
		if (arg == (void *)0) {
			dump_config();
		} else if (arg == (void *)1) {
			pthread_rwlock_wrlock(&config);
			pthread_rwlock_unlock(&config);
			usleep(1000);
		} else {
			read_config();
			usleep(200);
		}
	}
	return NULL;
}

static void slow_reader(void)
{
	with_threads(8, configured);
}

/* Two places for twelve. */
static sem_t slots;

SITE void take_slot(void)
{
	TIMED(sem_wait(&slots));
}

SITE void call_backend(void)
{
	usleep(4000);
}

SITE void handle_call(void)
{
	take_slot();
	call_backend();
	sem_post(&slots);
}

static void *caller(void *arg)
{
	while (goes_on())
		handle_call();
	return arg;
}

static void few_slots(void)
{
	sem_init(&slots, 0, 2);
	with_threads(12, caller);
}

/* A server of one connection that thinks for so long, and answers. */
static int connected(const char *server, size_t question_bytes, unsigned think_us)
{
	int listening = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	char question[128];

	MUST(bind(listening, (struct sockaddr *)&at, len));
	MUST(getsockname(listening, (struct sockaddr *)&at, &len));
	MUST(listen(listening, 1));
	if (fork()) {
		MUST(connect(fd, (struct sockaddr *)&at, len));
		return fd;
	}
	prctl(PR_SET_NAME, server);
	close(fd);	/* or the connection would outlive the client */
	fd = accept(listening, NULL, NULL);
	for (size_t have = 0;;) {
		ssize_t n = read(fd, question + have, question_bytes - have);

		if (n <= 0)
			_exit(0);
		have += (size_t)n;
		if (have < question_bytes)
			continue;
		if (think_us)
			usleep(think_us);
		MUST(write(fd, "answer", 6));
		have = 0;
	}
}

/* The header in one piece, the body in the next: TCP waits for an acknowledgement in between. */
SITE void call_rpc(int fd)
{
	char answer[8], body[100] = { 0 };

	MUST(write(fd, "head", 4));
	MUST(write(fd, body, sizeof(body)));
	TIMED(MUST(read(fd, answer, sizeof(answer))));
}

static void two_writes(void)
{
	int fd = connected("rpcserver", 104, 0);

	while (goes_on())
		call_rpc(fd);
}

SITE void ask_oracle(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char answer[8];

	MUST(write(fd, "?", 1));
	TIMED(poll(&p, 1, 5000));
	MUST(read(fd, answer, sizeof(answer)));
}

static void polled_answer(void)
{
	int fd = connected("oracle", 1, 8000);

	while (goes_on())
		ask_oracle(fd);
}

/* An event loop in which one kind of event calls what blocks. */
static int uploads[2];

SITE void handle_upload(void)
{
	char c;

	MUST(read(uploads[0], &c, 1));
	usleep(20000);
}

SITE void handle_ping(int fd)
{
	char c;

	MUST(read(fd, &c, 1));
	MUST(write(fd, &c, 1));
}

SITE void ping(int fd)
{
	char c = 'p';

	MUST(write(fd, &c, 1));
	TIMED(MUST(read(fd, &c, 1)));
}

static void *client(void *arg)
{
	prctl(PR_SET_NAME, "client");
	for (;;) {
		ping((int)(intptr_t)arg);
		usleep(500);
	}
	return NULL;
}

static void *uploader(void *arg)
{
	prctl(PR_SET_NAME, "uploader");
	for (;;) {
		MUST(write(uploads[1], "u", 1));
		usleep(25000);
	}
	return arg;
}

static void watch(int set, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	MUST(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event));
}

static void held_up_loop(void)
{
	int set = epoll_create1(0);
	pthread_t thread;

	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, uploads));
	watch(set, uploads[0]);
	pthread_create(&thread, NULL, uploader, NULL);
	for (int i = 0; i < 4; i++) {
		int ends[2];

		MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
		watch(set, ends[0]);
		pthread_create(&thread, NULL, client, (void *)(intptr_t)ends[1]);
	}
	while (goes_on()) {
		struct epoll_event events[8];
		int cnt = epoll_wait(set, events, 8, -1);

		for (int i = 0; i < cnt; i++)
			events[i].data.fd == uploads[0] ? handle_upload() : handle_ping(events[i].data.fd);
	}
}

/*
 * One writes to a file what comes slowly: a page of its buffer is there only once another thread has filled it.  So the
 * file's lock in the kernel is held that long, off CPU, and others wait for it who write there, too.
 */
static int late_fd, notes_fd;
static char *late;

static void *fill_late(void *unused)
{
	struct uffd_msg msg;

	(void)unused;
	prctl(PR_SET_NAME, "filler");
	while (read(late_fd, &msg, sizeof(msg)) == sizeof(msg)) {
		struct uffdio_zeropage zero = { .range = { (uintptr_t)late, 4096 } };

		usleep(20000);
		ioctl(late_fd, UFFDIO_ZEROPAGE, &zero);
	}
	return NULL;
}

SITE void copy_in(void)
{
	madvise(late, 4096, MADV_DONTNEED);
	MUST(pwrite(notes_fd, late, 4096, 0));
}

static void *copy_all(void *unused)
{
	(void)unused;
	prctl(PR_SET_NAME, "copier");
	while (goes_on())
		copy_in();
	return NULL;
}

SITE void add_note(void)
{
	TIMED(MUST(pwrite(notes_fd, "x", 1, 0)));
	usleep(1000);
}

static void *add_notes(void *unused)
{
	(void)unused;
	while (goes_on())
		add_note();
	return NULL;
}

static void inode_lock(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	pthread_t filler, copier;

	notes_fd = open(lock_path, O_RDWR);
	late_fd = (int)syscall(SYS_userfaultfd, 0);
	MUST(late_fd);
	MUST(ioctl(late_fd, UFFDIO_API, &api));
	late = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register own = { .range = { (uintptr_t)late, 4096 }, .mode = UFFDIO_REGISTER_MODE_MISSING };
	MUST(ioctl(late_fd, UFFDIO_REGISTER, &own));
	pthread_create(&filler, NULL, fill_late, NULL);
	pthread_create(&copier, NULL, copy_all, NULL);
	with_threads(3, add_notes);
	pthread_join(copier, NULL);
}

static const struct {
	const char *name;
	void (*run)(void);
} problems[] = {
	{ "inode", inode_lock },
	{ "flock", file_lock }, { "barrier", barrier }, { "queue", full_queue }, { "timeout", timed_condition },
	{ "rwlock", slow_reader }, { "semaphore", few_slots }, { "nagle", two_writes }, { "ask", polled_answer },
	{ "loop", held_up_loop },
};

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	waited_ns = mmap(NULL, sizeof(*waited_ns), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	end_ns = now_ns() + (uint64_t)(atof(argv[2]) * 1e9);
	snprintf(lock_path, sizeof(lock_path), "%s.lock", argv[3]);
	close(open(lock_path, O_CREAT | O_RDWR, 0600));
	for (size_t i = 0; i < sizeof(problems) / sizeof(*problems); i++)
		if (strcmp(argv[1], problems[i].name) == 0)
			problems[i].run();
	unlink(lock_path);
	FILE *truth = fopen(argv[3], "w");
	fprintf(truth, "%llu\n", (unsigned long long)atomic_load(waited_ns));
	fclose(truth);
	_exit(0);
}
