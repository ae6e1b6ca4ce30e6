/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * disk OUT FILE read|sync MEGABYTES COUNT: reads FILE in one piece past the page cache, or writes fresh data to it and forces
 * that to the disk, so much that it takes milliseconds; with the program's readings around each call (events.h).
 */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "events.h"

static char *block;
static size_t bytes;

SITE void disk_site(struct event_log *log, int fd, bool is_read, uint64_t round)
{
	struct event *e = event_begin(log, EVENT_SLEEP, 0);
	long done = is_read ? sys4(SYS_pread64, fd, block, bytes, 0) : sys1(SYS_fsync, fd);

	event_end(log, e, round);
	if (done != (is_read ? (long)bytes : 0))
		truth_die(is_read ? "pread" : "fsync", is_read && done >= 0 ? EIO : done);
}

static void write_block(int fd, uint64_t round)
{
	memset(block, (int)('a' + round % 26), bytes);
	if (pwrite(fd, block, bytes, (off_t)(round * bytes)) != (ssize_t)bytes)
		truth_die("pwrite", errno);
}

int main(int argc, char **argv)
{
	const char *path = truth_arg_string(argc, argv, 2);
	bool is_read = strcmp(truth_arg_string(argc, argv, 3), "read") == 0;
	uint64_t cnt = truth_arg(argc, argv, 5);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | (is_read ? O_DIRECT : 0), 0600);
	struct event_log *log = events_new(cnt);

	bytes = truth_arg(argc, argv, 4) << 20;
	block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fd < 0 || block == MAP_FAILED)
		truth_die(path, errno);
	truth_open(truth_arg_string(argc, argv, 1));
	events_mine(log);
	if (is_read)
		write_block(fd, 0);
	truth_ready(NULL, 0);
	for (uint64_t i = 0; i < cnt; i++) {
		if (!is_read)
			write_block(fd, i);
		disk_site(log, fd, is_read, i);
	}
	events_write(log, "disk", "disk_site", NULL, NULL);
	unlink(path);
	truth_done();
	close(fd);
	return 0;
}
