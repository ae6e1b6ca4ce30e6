/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * floor: runs floor.bpf.c until killed, and says "ready" once it is attached.
 * floor stacks: the same, and it sums waits under stacks.
 * floor storage: the same as the first, but it only finds the threads' memory.
 * floor walk: goes over all threads by a task iterator whose program looks each one up, prints the ns of CPU time that this took the
 * kernel, without the program's own (0 where the kernel's BPF statistics are off), and ends.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "floor.skel.h"

static int look_at_threads(struct floor_bpf *skel)
{
	char byte;
	int fd = bpf_iter_create(bpf_link__fd(skel->links.floor_thread));

	if (fd < 0)
		return -1;
	while (read(fd, &byte, 1) > 0)
		;
	return close(fd);
}

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t iterator_ns(struct floor_bpf *skel)
{
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);

	return bpf_obj_get_info_by_fd(bpf_program__fd(skel->progs.floor_thread), &info, &len) ? 0 : info.run_time_ns;
}

/* The first walk makes each thread's account, so the second one is timed. */
static int time_walk(struct floor_bpf *skel)
{
	uint64_t began_ns, began_bpf_ns;

	if (look_at_threads(skel))
		return -1;
	began_bpf_ns = iterator_ns(skel);
	began_ns = cpu_ns();
	if (look_at_threads(skel))
		return -1;
	printf("%llu\n", (unsigned long long)(cpu_ns() - began_ns - (iterator_ns(skel) - began_bpf_ns)));
	return 0;
}

static int drop(void *data, void *record, size_t size)
{
	(void)data, (void)record, (void)size;
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	struct floor_bpf *skel = floor_bpf__open();
	struct ring_buffer *ring = NULL;

	if (skel) {
		skel->rodata->with_stacks = strcmp(what, "stacks") == 0;
		skel->rodata->only_finds = strcmp(what, "storage") == 0;
	}
	if (skel && !floor_bpf__load(skel))
		ring = ring_buffer__new(bpf_map__fd(skel->maps.ring), drop, NULL, NULL);
	if (!ring || floor_bpf__attach(skel) || (strcmp(what, "walk") == 0 ? time_walk(skel) : look_at_threads(skel))) {
		perror("floor");
		return 1;
	}
	if (strcmp(what, "walk") == 0)
		return 0;
	puts("ready");
	fflush(stdout);
	for (;; usleep(100000))
		ring_buffer__consume(ring);
}
