/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* churn OUT THREADS BATCH US [NAPS]: threads that are born, sleep once or so many times, and die. */
#include "truth.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct life {
	int tid;
	uint64_t wall_ns;
};

static uint64_t nap_us, naps = 1;

SITE void born_site(struct life *life)
{
	struct timespec ts = { .tv_nsec = (long)nap_us * 1000 };
	uint64_t begin_ns = truth_now_ns();

	sys2(SYS_nanosleep, &ts, 0);
	life->wall_ns += truth_now_ns() - begin_ns;
}

SITE void *born_main(void *arg)
{
	struct life *life = arg;

	life->tid = truth_gettid();
	for (uint64_t i = 0; i < naps; i++)
		born_site(life);
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t total = truth_arg(argc, argv, 2), batch = truth_arg(argc, argv, 3);
	struct life *lives = calloc(total, sizeof(*lives));
	pthread_t *threads = calloc(batch, sizeof(*threads));

	nap_us = truth_arg(argc, argv, 4);
	if (argc > 5)
		naps = truth_arg(argc, argv, 5);
	truth_open(truth_arg_string(argc, argv, 1));
	truth_ready(NULL, 0);
	for (uint64_t done = 0; done < total; done += batch) {
		uint64_t cnt = total - done < batch ? total - done : batch;

		for (uint64_t i = 0; i < cnt; i++)
			if (pthread_create(&threads[i], NULL, born_main, &lives[done + i]))
				truth_die("pthread_create", 0);
		for (uint64_t i = 0; i < cnt; i++)
			pthread_join(threads[i], NULL);
	}
	for (uint64_t i = 0; i < total; i++)
		truth_printf("{\"kind\":\"life\",\"pid\":%d,\"tid\":%d,\"wall_ns\":%lu}\n", (int)getpid(), lives[i].tid,
			     lives[i].wall_ns);
	truth_done();
	free(lives);
	free(threads);
	return 0;
}
