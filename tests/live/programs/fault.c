/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* fault OUT FILE PAGES: touches PAGES pages, far apart, of a mapped file that is not in the page cache. */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define STRIDE_BYTES (256 * 1024)	/* beyond any read-around */

static struct truth t = { .kind = "fault", .state = 'D', .chain = { "main", "fault_run", "touch_site" } };

SITE void touch_site(const volatile char *page)
{
	struct truth_bracket b;

	truth_begin(&b);
	(void)*page;
	truth_end(&t, &b);
}

SITE void fault_run(const char *map, uint64_t pages)
{
	for (uint64_t i = 0; i < pages; i++)
		touch_site(map + i * STRIDE_BYTES);
}

static const char *cold_map(const char *path, uint64_t pages)
{
	static char block[STRIDE_BYTES];
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0)
		truth_die(path, errno);
	memset(block, 'x', sizeof(block));
	for (uint64_t i = 0; i < pages; i++)
		if (write(fd, block, sizeof(block)) != sizeof(block))
			truth_die(path, errno);
	if (fsync(fd))
		truth_die("fsync", errno);
	int err = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	if (err)
		truth_die("posix_fadvise", err);
	char *map = mmap(NULL, pages * STRIDE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		truth_die("mmap", errno);
	madvise(map, pages * STRIDE_BYTES, MADV_RANDOM);
	close(fd);
	unlink(path);
	return map;
}

int main(int argc, char **argv)
{
	uint64_t pages = truth_arg(argc, argv, 3);
	const char *map = cold_map(truth_arg_string(argc, argv, 2), pages);

	truth_open(truth_arg_string(argc, argv, 1));
	truth_ready(NULL, 0);
	fault_run(map, pages);
	truth_write(&t);
	truth_done();
	return 0;
}
