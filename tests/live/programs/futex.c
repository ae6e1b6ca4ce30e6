/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* futex OUT WAITERS ROUNDS HOLD_US: one thread holds a lock for a known time while the others wait for it. */
#include "truth.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/* 0 free, 1 held, 2 held and waited for */
static uint32_t lock_word;
static bool finished;
static uint64_t rounds, hold_us;

static uint32_t exchange(uint32_t value)
{
	return __atomic_exchange_n(&lock_word, value, __ATOMIC_ACQ_REL);
}

SITE void lock_site(struct truth *t)
{
	uint32_t expected = 0;

	if (__atomic_compare_exchange_n(&lock_word, &expected, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return;
	while (exchange(2)) {
		struct truth_bracket b;

		truth_begin(&b);
		sys4(SYS_futex, &lock_word, FUTEX_WAIT_PRIVATE, 2, 0);
		truth_end(t, &b);
	}
}

static void unlock(void)
{
	if (exchange(0) == 2)
		sys3(SYS_futex, &lock_word, FUTEX_WAKE_PRIVATE, 1);
}

SITE void pause_site(uint64_t us)
{
	struct timespec ts = { .tv_nsec = (long)us * 1000 };

	sys2(SYS_nanosleep, &ts, 0);
}

SITE void hold_site(struct truth *t)
{
	struct timespec ts = { .tv_nsec = (long)hold_us * 1000 };
	struct truth_bracket b;

	truth_begin(&b);
	sys2(SYS_nanosleep, &ts, 0);
	truth_end(t, &b);
}

SITE void holder_loop(struct truth *hold, struct truth *wait)
{
	for (uint64_t i = 0; i < rounds; i++) {
		lock_site(wait);
		hold_site(hold);
		unlock();
		pause_site(1500);
	}
}

SITE void *holder_main(void *arg)
{
	struct truth hold = { .kind = "hold", .state = 'S', .chain = { "holder_main", "holder_loop", "hold_site" } };
	struct truth wait = { .kind = "futex", .state = 'S', .chain = { "holder_main", "holder_loop", "lock_site" } };

	truth_gate_wait();
	holder_loop(&hold, &wait);
	__atomic_store_n(&finished, true, __ATOMIC_RELEASE);
	truth_write(&hold);
	truth_write(&wait);
	return arg;
}

SITE void waiter_loop(struct truth *t)
{
	while (!__atomic_load_n(&finished, __ATOMIC_ACQUIRE)) {
		lock_site(t);
		unlock();
		pause_site(300);
	}
}

SITE void *waiter_main(void *arg)
{
	struct truth t = { .kind = "futex", .state = 'S', .chain = { "waiter_main", "waiter_loop", "lock_site" } };

	truth_gate_wait();
	waiter_loop(&t);
	truth_write(&t);
	return arg;
}

int main(int argc, char **argv)
{
	uint64_t waiters = truth_arg(argc, argv, 2);
	pthread_t *threads = calloc(waiters + 1, sizeof(*threads));

	rounds = truth_arg(argc, argv, 3);
	hold_us = truth_arg(argc, argv, 4);
	truth_open(truth_arg_string(argc, argv, 1));
	for (uint64_t i = 0; i <= waiters; i++)
		pthread_create(&threads[i], NULL, i ? waiter_main : holder_main, NULL);
	truth_ready(NULL, 0);
	truth_gate_open();
	for (uint64_t i = 0; i <= waiters; i++)
		pthread_join(threads[i], NULL);
	truth_done();
	free(threads);
	return 0;
}
