/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * locks OUT ROUNDS HOLD_US FILE: of each kind of lock one thread holds it for a known time while another
 * waits for it.  The truth names the lock, its kind, how it is waited for and who held it.
 */
#include "truth.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

struct waitv {
	uint64_t value, address;
	uint32_t flags, reserved;
};
#define WAITV_32_BITS 2
#define NAME_BYTES 512
#define MARGIN_NS 500000	/* before the lock is given, for the way from the clock to the sleep */

struct scenario {
	const char *kind, *operation;
	char name[NAME_BYTES];
	void *lock;
	void (*take)(struct scenario *s);	/* by the one who lets wait */
	void (*give)(struct scenario *s);
	void (*wait)(struct scenario *s);	/* all of its sleep is for the lock */
	void (*leave)(struct scenario *s);
	bool has_holder;
	bool is_missing;	/* the kernel has no such call */
	uint32_t turn;
	int holder_tid;
	uint64_t given_ns;	/* just before the lock was given */
	uint64_t unclear_ns;	/* of the time waited: see is_clear() */
	pthread_t threads[2];
};

pthread_mutex_t global_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t static_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
	char name[24];
	pthread_mutex_t lock;
} lock_table[8] = { [5] = { .lock = PTHREAD_MUTEX_INITIALIZER } };
static pthread_mutex_t pi_mutex;
static pthread_rwlock_t read_waited_rwlock = PTHREAD_RWLOCK_INITIALIZER, write_waited_rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t global_semaphore;
static pthread_barrier_t global_barrier;
static pthread_mutex_t condition_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t global_condition = PTHREAD_COND_INITIALIZER;
static bool is_signalled;
static uint32_t waitv_words[4];
static uint64_t rounds, hold_us;

static void pause_us(uint64_t us)
{
	const struct timespec ts = { .tv_sec = (time_t)(us / 1000000), .tv_nsec = (long)(us % 1000000) * 1000 };

	sys2(SYS_nanosleep, &ts, 0);
}

static void nothing(struct scenario *s) { (void)s; }
static void mutex_lock(struct scenario *s) { pthread_mutex_lock(s->lock); }
static void mutex_unlock(struct scenario *s) { pthread_mutex_unlock(s->lock); }
static void write_lock(struct scenario *s) { pthread_rwlock_wrlock(s->lock); }
static void read_lock(struct scenario *s) { pthread_rwlock_rdlock(s->lock); }
static void rwlock_unlock(struct scenario *s) { pthread_rwlock_unlock(s->lock); }
static void semaphore_post(struct scenario *s) { sem_post(s->lock); }
static void semaphore_wait(struct scenario *s) { sem_wait(s->lock); }
static void barrier_wait(struct scenario *s) { pthread_barrier_wait(s->lock); }

static void condition_signal(struct scenario *s)
{
	pthread_mutex_lock(&condition_mutex);
	is_signalled = true;
	pthread_mutex_unlock(&condition_mutex);
	pthread_cond_signal(s->lock);
}

static void condition_wait(struct scenario *s)
{
	pthread_mutex_lock(&condition_mutex);
	while (!is_signalled)
		pthread_cond_wait(s->lock, &condition_mutex);
	is_signalled = false;
	pthread_mutex_unlock(&condition_mutex);
}

static void word_take(struct scenario *s) { __atomic_store_n((uint32_t *)s->lock, 1, __ATOMIC_RELEASE); }

static void word_give(struct scenario *s)
{
	__atomic_store_n((uint32_t *)s->lock, 0, __ATOMIC_RELEASE);
	sys3(SYS_futex, s->lock, FUTEX_WAKE, 1);
}

static void word_wait(struct scenario *s)
{
	while (__atomic_load_n((uint32_t *)s->lock, __ATOMIC_ACQUIRE))
		sys4(SYS_futex, s->lock, FUTEX_WAIT, 1, 0);
}

static void waitv_take(struct scenario *s)
{
	(void)s;
	waitv_words[0] = 1;
	__atomic_store_n(&waitv_words[2], 1, __ATOMIC_RELEASE);
}

static void waitv_give(struct scenario *s)
{
	(void)s;
	__atomic_store_n(&waitv_words[2], 0, __ATOMIC_RELEASE);
	sys3(SYS_futex, &waitv_words[2], FUTEX_WAKE_PRIVATE, 1);
}

static void waitv_wait(struct scenario *s)
{
	struct waitv waiters[2] = {
		{ .value = 1, .address = (uint64_t)(uintptr_t)&waitv_words[0], .flags = WAITV_32_BITS | FUTEX_PRIVATE_FLAG },
		{ .value = 1, .address = (uint64_t)(uintptr_t)&waitv_words[2], .flags = WAITV_32_BITS | FUTEX_PRIVATE_FLAG },
	};

	while (__atomic_load_n(&waitv_words[2], __ATOMIC_ACQUIRE))
		if (sys6(SYS_futex_waitv, (long)waiters, 2, 0, 0, 0, 0) == -38) {
			s->is_missing = true;
			pause_us(hold_us);
		}
}

static void turn_set(struct scenario *s, uint32_t turn)
{
	__atomic_store_n(&s->turn, turn, __ATOMIC_RELEASE);
	sys3(SYS_futex, &s->turn, FUTEX_WAKE_PRIVATE, 1);
}

SITE void await(struct scenario *s, uint32_t turn)
{
	uint32_t now;

	while ((now = __atomic_load_n(&s->turn, __ATOMIC_ACQUIRE)) != turn)
		sys4(SYS_futex, &s->turn, FUTEX_WAIT_PRIVATE, now, 0);
}

static void *holder_main(void *arg)
{
	struct scenario *s = arg;

	s->holder_tid = truth_gettid();
	truth_gate_wait();
	for (uint32_t i = 0; i < rounds; i++) {
		s->take(s);
		turn_set(s, 2 * i + 1);
		pause_us(hold_us);
		__atomic_store_n(&s->given_ns, truth_now_ns(), __ATOMIC_RELEASE);
		s->give(s);
		await(s, 2 * i + 2);
	}
	return NULL;
}

/*
 * Whether a wait was what its story says: one sleep, that began while the lock was held, with nothing
 * before or after it.  Who is preempted on the way comes while the holder is letting go, when the lock
 * names nobody, or waits for something else as well: a condition variable's mutex, a lock of the
 * kernel's where those are something to sleep on (PREEMPT_RT).
 */
static bool is_clear(const struct scenario *s, const struct truth_bracket *b, uint64_t slept, uint64_t yielded)
{
	return slept == 1 && !yielded && b->wall_ns + MARGIN_NS < __atomic_load_n(&s->given_ns, __ATOMIC_ACQUIRE);
}

SITE void wait_site(struct scenario *s, struct truth *t)
{
	const uint64_t slept = t->slept, yielded = t->yielded, wall_ns = t->wall_ns;
	struct truth_bracket b;

	truth_begin(&b);
	s->wait(s);
	truth_end(t, &b);
	if (!is_clear(s, &b, t->slept - slept, t->yielded - yielded))
		s->unclear_ns += t->wall_ns - wall_ns;
}

static void write_truth(const struct scenario *s, const struct truth *t, const char *name, int holder)
{
	truth_printf("{\"kind\":\"lock\",\"pid\":%d,\"tid\":%d,\"name\":\"%s\",\"lock\":\"%s\",\"operation\":\"%s\",\"holder\":%d,"
		     "\"has_holder\":%s,\"calls\":%lu,\"slept\":%lu,\"wall_ns\":%lu,\"cpu_ns\":%lu,\"unclear_ns\":%lu}\n",
		     (int)getpid(), truth_gettid(), name, s->kind, s->operation, holder, s->has_holder ? "true" : "false",
		     t->calls, t->slept, t->wall_ns, t->cpu_ns, s->unclear_ns);
}

static void *waiter_main(void *arg)
{
	struct scenario *s = arg;
	struct truth t = { .kind = "lock", .state = 'S' };

	truth_gate_wait();
	for (uint32_t i = 0; i < rounds; i++) {
		await(s, 2 * i + 1);
		wait_site(s, &t);
		s->leave(s);
		turn_set(s, 2 * i + 2);
	}
	if (!s->is_missing)
		write_truth(s, &t, s->name, s->holder_tid);
	return NULL;
}

static void *short_main(void *arg)
{
	struct scenario *s = arg;

	s->holder_tid = truth_gettid();
	turn_set(s, 1);
	pause_us(10 * hold_us);
	s->given_ns = truth_now_ns();
	return NULL;
}

/* Waits for the end of a thread: its name is the thread's. */
static void *joiner_main(void *arg)
{
	struct scenario s = { .kind = "join", .operation = "FUTEX_WAIT_BITSET", .has_holder = true };
	struct truth t = { .kind = "lock", .state = 'S' };
	struct truth_bracket b;
	pthread_t thread;

	truth_gate_wait();
	pthread_create(&thread, NULL, short_main, &s);
	await(&s, 1);
	truth_begin(&b);
	pthread_join(thread, NULL);
	truth_end(&t, &b);
	s.unclear_ns = is_clear(&s, &b, t.slept, t.yielded) ? 0 : t.wall_ns;
	snprintf(s.name, sizeof(s.name), "thread %d", s.holder_tid);
	write_truth(&s, &t, s.name, s.holder_tid);
	return arg;
}

static void *map(const char *path, size_t bytes)
{
	int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
	void *at;

	if (path && (fd < 0 || ftruncate(fd, (off_t)bytes)))
		truth_die(path, fd);
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (path ? 0 : MAP_ANONYMOUS), fd, 0);
	if (at == MAP_FAILED)
		truth_die("mmap", -12);
	if (path)
		close(fd);
	return at;
}

static uint64_t inode_at(const void *at)
{
	char line[512];
	uint64_t inode = 0;
	FILE *f = fopen("/proc/self/maps", "re");

	while (f && fgets(line, sizeof(line), f)) {
		unsigned long start, end, number;

		if (sscanf(line, "%lx-%lx %*s %*s %*s %lu", &start, &end, &number) == 3 && start <= (unsigned long)at &&
		    (unsigned long)at < end)
			inode = number;
	}
	if (f)
		fclose(f);
	return inode;
}

#define MUTEX(what, waits, at) { .kind = "mutex", .operation = waits, .name = what, .lock = at, .take = mutex_lock, \
				 .give = mutex_unlock, .wait = mutex_lock, .leave = mutex_unlock, .has_holder = true }

int main(int argc, char **argv)
{
	pthread_mutex_t stack_mutex = PTHREAD_MUTEX_INITIALIZER, *heap_mutex = malloc(sizeof(*heap_mutex));
	const char *path = truth_arg_string(argc, argv, 4);
	char *file = map(path, 8192);
	uint32_t *anonymous = map(NULL, 4096);
	pthread_mutexattr_t pi, shared;
	pthread_t joiner;
	struct scenario all[] = {
		MUTEX("global_mutex", "FUTEX_WAIT", &global_mutex),
		MUTEX("static_mutex", "FUTEX_WAIT", &static_mutex),
		MUTEX("", "FUTEX_WAIT", &lock_table[5].lock),
		MUTEX("", "FUTEX_WAIT", heap_mutex),
		MUTEX("", "FUTEX_WAIT", &stack_mutex),
		MUTEX("", "FUTEX_WAIT", file + 4096 + 64),
		MUTEX("pi_mutex", "FUTEX_LOCK_PI FUTEX_LOCK_PI2", &pi_mutex),
		{ .kind = "rwlock", .operation = "FUTEX_WAIT_BITSET", .name = "read_waited_rwlock", .lock = &read_waited_rwlock,
		  .take = write_lock, .give = rwlock_unlock, .wait = read_lock, .leave = rwlock_unlock, .has_holder = true },
		{ .kind = "rwlock", .operation = "FUTEX_WAIT_BITSET", .name = "write_waited_rwlock",
		  .lock = &write_waited_rwlock, .take = write_lock, .give = rwlock_unlock, .wait = write_lock,
		  .leave = rwlock_unlock, .has_holder = true },
		{ .kind = "semaphore", .operation = "FUTEX_WAIT_BITSET", .name = "global_semaphore", .lock = &global_semaphore,
		  .take = nothing, .give = semaphore_post, .wait = semaphore_wait, .leave = nothing },
		{ .kind = "barrier", .operation = "FUTEX_WAIT", .name = "global_barrier", .lock = &global_barrier,
		  .take = nothing, .give = barrier_wait, .wait = barrier_wait, .leave = nothing },
		{ .kind = "condition variable", .operation = "FUTEX_WAIT_BITSET", .name = "global_condition",
		  .lock = &global_condition, .take = nothing, .give = condition_signal, .wait = condition_wait,
		  .leave = nothing },
		{ .kind = "futex", .operation = "FUTEX_WAIT", .lock = file + 32, .take = word_take, .give = word_give,
		  .wait = word_wait, .leave = nothing },
		{ .kind = "futex", .operation = "FUTEX_WAIT", .lock = anonymous + 4, .take = word_take, .give = word_give,
		  .wait = word_wait, .leave = nothing },
		{ .kind = "futex", .operation = "futex_waitv", .name = "waitv_words, waitv_words+0x8", .take = waitv_take,
		  .give = waitv_give, .wait = waitv_wait, .leave = nothing },
	};
	const size_t cnt = sizeof(all) / sizeof(all[0]);

	rounds = truth_arg(argc, argv, 2);
	hold_us = truth_arg(argc, argv, 3);
	truth_open(truth_arg_string(argc, argv, 1));
	pthread_mutex_init(heap_mutex, NULL);
	pthread_mutexattr_init(&pi);
	pthread_mutexattr_setprotocol(&pi, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&pi_mutex, &pi);
	pthread_mutexattr_init(&shared);
	pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init((pthread_mutex_t *)(void *)(file + 4096 + 64), &shared);
	sem_init(&global_semaphore, 0, 0);
	pthread_barrier_init(&global_barrier, NULL, 2);
	snprintf(all[2].name, NAME_BYTES, "lock_table+0x%lx", (unsigned long)((char *)&lock_table[5].lock - (char *)lock_table));
	snprintf(all[3].name, NAME_BYTES, "heap 0x%lx", (unsigned long)heap_mutex);
	snprintf(all[4].name, NAME_BYTES, "stack of thread %d, 0x%lx", (int)getpid(), (unsigned long)&stack_mutex);
	snprintf(all[5].name, NAME_BYTES, "%s+0x1040", path);
	snprintf(all[12].name, NAME_BYTES, "%s+0x20", path);
	snprintf(all[13].name, NAME_BYTES, "shared memory %lu+0x10", inode_at(anonymous));
	for (size_t i = 0; i < cnt; i++) {
		pthread_create(&all[i].threads[0], NULL, holder_main, &all[i]);
		pthread_create(&all[i].threads[1], NULL, waiter_main, &all[i]);
	}
	pthread_create(&joiner, NULL, joiner_main, NULL);
	truth_ready(NULL, 0);
	truth_gate_open();
	for (size_t i = 0; i < cnt; i++) {
		pthread_join(all[i].threads[0], NULL);
		pthread_join(all[i].threads[1], NULL);
	}
	pthread_join(joiner, NULL);
	truth_done();
	free(heap_mutex);
	return 0;
}
