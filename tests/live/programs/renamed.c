/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * renamed OUT US: threads that get another name after half of US:
 *   itself  naps, and names itself "chosen-itself"
 *   asleep  sleeps through, and is named "chosen-asleep" by the first thread
 *   left    naps as "chosen-left", and names itself "left"
 */
#include "truth.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <time.h>

#define NAP_US 10000

static uint64_t half_us;
static uint32_t never;

static void sleep_us(uint64_t us)
{
	struct timespec ts = { .tv_sec = (time_t)(us / 1000000), .tv_nsec = (long)(us % 1000000 * 1000) };

	sys2(SYS_nanosleep, &ts, 0);
}

SITE void nap_site(struct truth *t)
{
	for (uint64_t us = 0; us < half_us; us += NAP_US) {
		struct truth_bracket b;

		truth_begin(&b);
		sleep_us(NAP_US);
		truth_end(t, &b);
	}
}

SITE void *itself_main(void *arg)
{
	struct truth unchosen = { 0 }, after = { .kind = "chosen", .state = 'S', .chain = { "itself_main", "nap_site" } };

	truth_gate_wait();
	nap_site(&unchosen);
	prctl(PR_SET_NAME, "chosen-itself");
	nap_site(&after);
	truth_write(&after);
	return arg;
}

SITE void *asleep_main(void *arg)
{
	for (;;)
		sys4(SYS_futex, &never, FUTEX_WAIT_PRIVATE, 0, 0);
	return arg;
}

SITE void *left_main(void *arg)
{
	struct truth unchosen = { 0 }, before = { .kind = "chosen", .state = 'S', .chain = { "left_main", "nap_site" } };

	prctl(PR_SET_NAME, "chosen-left");
	truth_gate_wait();
	nap_site(&before);
	truth_write(&before);
	prctl(PR_SET_NAME, "leaving");
	prctl(PR_SET_NAME, "left");
	nap_site(&unchosen);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t itself, asleep, left;
	uint64_t named_ns;

	truth_open(truth_arg_string(argc, argv, 1));
	half_us = truth_arg(argc, argv, 2) / 2;
	if (pthread_create(&itself, NULL, itself_main, NULL) || pthread_create(&asleep, NULL, asleep_main, NULL) ||
	    pthread_create(&left, NULL, left_main, NULL))
		truth_die("pthread_create", EAGAIN);
	truth_ready(NULL, 0);
	truth_gate_open();
	sleep_us(half_us);
	pthread_setname_np(asleep, "chosen-asleep");
	named_ns = truth_now_ns();
	pthread_join(itself, NULL);
	pthread_join(left, NULL);
	truth_printf("{\"kind\":\"named\",\"wall_ns\":%llu}\n", (unsigned long long)(truth_now_ns() - named_ns));
	truth_done();
	return 0;
}
