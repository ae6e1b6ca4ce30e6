/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* floor: runs floor.bpf.c until killed, and says "ready" once it is attached.  With an argument it sums waits under stacks, too. */
#include <stdio.h>
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

static int drop(void *data, void *record, size_t size)
{
	(void)data, (void)record, (void)size;
	return 0;
}

int main(int argc, char **argv)
{
	struct floor_bpf *skel = floor_bpf__open();
	struct ring_buffer *ring = NULL;

	(void)argv;
	if (skel)
		skel->rodata->with_stacks = argc > 1;
	if (skel && !floor_bpf__load(skel))
		ring = ring_buffer__new(bpf_map__fd(skel->maps.ring), drop, NULL, NULL);
	if (!ring || floor_bpf__attach(skel) || look_at_threads(skel)) {
		perror("floor");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	for (;; usleep(100000))
		ring_buffer__consume(ring);
}
