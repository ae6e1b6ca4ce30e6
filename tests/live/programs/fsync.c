/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* fsync OUT FILE COUNT: writes fresh data to FILE and forces it to the disk. */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static struct truth t = { .kind = "fsync", .state = 'D', .chain = { "main", "sync_run", "sync_site" } };

SITE void sync_site(int fd)
{
	struct truth_bracket b;

	truth_begin(&b);
	sys1(SYS_fsync, fd);
	truth_end(&t, &b);
}

SITE void sync_run(int fd, uint64_t count)
{
	char block[16384];

	for (uint64_t i = 0; i < count; i++) {
		memset(block, (int)('a' + i % 26), sizeof(block));
		if (pwrite(fd, block, sizeof(block), (off_t)(i * sizeof(block))) != sizeof(block))
			truth_die("pwrite", errno);
		sync_site(fd);
	}
}

int main(int argc, char **argv)
{
	const char *path = truth_arg_string(argc, argv, 2);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0)
		truth_die(path, errno);
	truth_open(truth_arg_string(argc, argv, 1));
	truth_ready(NULL, 0);
	sync_run(fd, truth_arg(argc, argv, 3));
	truth_write(&t);
	truth_done();
	close(fd);
	unlink(path);
	return 0;
}
