/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* tree OUT DEPTH FAN US: a tree of short-lived processes; the leaves sleep once. */
#include "truth.h"

#include <errno.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t fan, nap_us;

SITE void leaf_site(struct truth *t)
{
	struct timespec ts = { .tv_nsec = (long)nap_us * 1000 };
	struct truth_bracket b;

	truth_begin(&b);
	sys2(SYS_nanosleep, &ts, 0);
	truth_end(t, &b);
}

SITE void tree_node(uint64_t depth)
{
	struct truth t = { .kind = "leaf", .state = 'S', .chain = { "tree_node", "tree_node", "leaf_site" } };

	if (!depth) {
		leaf_site(&t);
		truth_write(&t);
		return;
	}
	for (uint64_t i = 0; i < fan; i++) {
		int pid = fork();

		if (pid < 0)
			truth_die("fork", errno);
		if (!pid) {
			tree_node(depth - 1);
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
}

int main(int argc, char **argv)
{
	truth_open(truth_arg_string(argc, argv, 1));
	fan = truth_arg(argc, argv, 3);
	nap_us = truth_arg(argc, argv, 4);
	truth_ready(NULL, 0);
	tree_node(truth_arg(argc, argv, 2));
	truth_done();
	return 0;
}
