/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* sock OUT unix|tcp COUNT US: reads a socket whose other end writes every US microseconds. */
#include "truth.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int ends[2];
static uint64_t count, pause_us;

SITE void receive_site(struct truth *t)
{
	struct truth_bracket b;
	char byte;

	truth_begin(&b);
	sys3(SYS_read, ends[0], &byte, 1);
	truth_end(t, &b);
}

SITE void *reader_main(void *arg)
{
	struct truth t = { .kind = "sock", .state = 'S', .chain = { "reader_main", "receive_site" } };

	truth_gate_wait();
	for (uint64_t i = 0; i < count; i++)
		receive_site(&t);
	truth_write(&t);
	return arg;
}

SITE void *writer_main(void *arg)
{
	struct timespec ts = { .tv_nsec = (long)pause_us * 1000 };

	truth_gate_wait();
	for (uint64_t i = 0; i < count; i++) {
		sys2(SYS_nanosleep, &ts, 0);
		sys3(SYS_write, ends[1], "x", 1);
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t reader, writer;

	truth_open(truth_arg_string(argc, argv, 1));
	count = truth_arg(argc, argv, 3);
	pause_us = truth_arg(argc, argv, 4);
	if (strcmp(argv[2], "tcp") == 0)
		truth_tcp_pair(ends);
	else if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		truth_die("socketpair", errno);
	pthread_create(&reader, NULL, reader_main, NULL);
	pthread_create(&writer, NULL, writer_main, NULL);
	truth_ready(NULL, 0);
	truth_gate_open();
	pthread_join(reader, NULL);
	pthread_join(writer, NULL);
	truth_done();
	return 0;
}
