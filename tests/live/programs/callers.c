/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * callers OUT ROUNDS: a thread is woken by one function that has two callers, three times by the one and once by the
 * other, which takes three times as long: each ends half of the sleeping.
 */
#include "truth.h"

#include <pthread.h>
#include <unistd.h>

#define SHORT_US 40

static int link_[2];
static uint64_t rounds;

SITE void spin_us(uint64_t us)
{
	uint64_t until = truth_now_ns() + us * 1000;

	while (truth_now_ns() < until)
		;
}

SITE void pass(uint64_t us, const char *by)
{
	spin_us(us);
	sys3(SYS_write, link_[1], by, 1);
}

SITE void call_short(void)
{
	pass(SHORT_US, "s");
}

SITE void call_long(void)
{
	pass(3 * SHORT_US, "l");
}

SITE void *calls_main(void *arg)
{
	truth_gate_wait();
	for (uint64_t i = 0; i < rounds; i++)
		if (i % 4)
			call_short();
		else
			call_long();
	return arg;
}

SITE void read_site(struct truth *of_short, struct truth *of_long)
{
	struct truth_bracket b;
	char by;

	truth_begin(&b);
	sys3(SYS_read, link_[0], &by, 1);
	truth_end(by == 's' ? of_short : of_long, &b);
}

int main(int argc, char **argv)
{
	struct truth of_short = { .kind = "short", .state = 'S', .chain = { "main", "read_site" } },
		     of_long = { .kind = "long", .state = 'S', .chain = { "main", "read_site" } };
	pthread_t thread;

	truth_open(truth_arg_string(argc, argv, 1));
	rounds = truth_arg(argc, argv, 2);
	if (pipe(link_))
		truth_die("pipe", 0);
	pthread_create(&thread, NULL, calls_main, NULL);
	truth_ready(NULL, 0);
	truth_gate_open();
	for (uint64_t i = 0; i < rounds; i++)
		read_site(&of_short, &of_long);
	pthread_join(thread, NULL);
	truth_write(&of_short);
	truth_write(&of_long);
	truth_done();
	return 0;
}
