/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * fuse_slow DIRECTORY SECONDS: mounts a FUSE file system of its own there, in a mount namespace of its own, whose one file answers a read
 * after 500 ms, and reads that file.  The kernel's protocol is spoken at /dev/fuse: no library.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MUST(x) ((x) < 0 ? (perror(#x), exit(1)) : (void)0)
#define ANSWER_US 500000
#define FILE_NODE 2
#define FILE_BYTES 4096

static int device;

static void answer(const struct fuse_in_header *in, int error, const void *data, size_t len)
{
	char out[sizeof(struct fuse_out_header) + FILE_BYTES];
	struct fuse_out_header head = { .len = (uint32_t)(sizeof(head) + len), .error = error, .unique = in->unique };

	memcpy(out, &head, sizeof(head));
	memcpy(out + sizeof(head), data, len);
	if (write(device, out, sizeof(head) + len) < 0 && errno != ENOENT)
		exit(1);
}

static struct fuse_attr attributes(uint64_t node)
{
	return (struct fuse_attr){
		.ino = node,
		.size = node == FILE_NODE ? FILE_BYTES : 0,
		.mode = node == FILE_NODE ? S_IFREG | 0444 : S_IFDIR | 0555,
		.nlink = 1,
		.blksize = FILE_BYTES,
	};
}

static void on_request(const struct fuse_in_header *in, const char *body)
{
	static const char zeros[FILE_BYTES];
	struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION, .max_write = 65536 };
	struct fuse_entry_out entry = { .nodeid = FILE_NODE, .attr = attributes(FILE_NODE) };
	struct fuse_attr_out attr = { .attr = attributes(in->nodeid) };
	struct fuse_open_out opened = { .open_flags = FOPEN_DIRECT_IO };

	switch (in->opcode) {
	case FUSE_INIT: answer(in, 0, &init, sizeof(init)); break;
	case FUSE_LOOKUP:
		answer(in, strcmp(body, "slow") ? -ENOENT : 0, &entry, strcmp(body, "slow") ? 0 : sizeof(entry));
		break;
	case FUSE_GETATTR: answer(in, 0, &attr, sizeof(attr)); break;
	case FUSE_OPEN: answer(in, 0, &opened, sizeof(opened)); break;
	case FUSE_READ:
		usleep(ANSWER_US);
		answer(in, 0, zeros, FILE_BYTES);
		break;
	case FUSE_FORGET:
	case FUSE_INTERRUPT: break;
	default: answer(in, in->opcode == FUSE_RELEASE || in->opcode == FUSE_FLUSH ? 0 : -ENOSYS, zeros, 0);
	}
}

static void serve(void)
{
	static char request[1 << 17] __attribute__((aligned(8)));

	prctl(PR_SET_NAME, "slowfs");
	for (;;) {
		ssize_t len = read(device, request, sizeof(request) - 1);

		if (len < (ssize_t)sizeof(struct fuse_in_header)) {
			if (len < 0 && (errno == EINTR || errno == ENOENT))
				continue;
			exit(0);
		}
		request[len] = 0;
		on_request((struct fuse_in_header *)request, request + sizeof(struct fuse_in_header));
	}
}

static __attribute__((noinline, noclone)) void read_config(int file)
{
	char buffer[FILE_BYTES];

	MUST(pread(file, buffer, sizeof(buffer), 0));
}

int main(int argc, char **argv)
{
	char options[128], path[4096];
	struct timespec now, end;
	int file;
	pid_t server;

	if (argc != 3)
		return 2;
	MUST(unshare(CLONE_NEWNS));
	MUST(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	MUST(device = open("/dev/fuse", O_RDWR));
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", device);
	MUST(mount("slowfs", argv[1], "fuse", MS_NOSUID | MS_NODEV, options));
	MUST(server = fork());
	if (!server)
		serve();
	close(device);	/* so that the server's end ends the connection */
	snprintf(path, sizeof(path), "%s/slow", argv[1]);
	MUST(file = open(path, O_RDONLY));
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += atoi(argv[2]);
	do {
		read_config(file);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	return 0;
}
