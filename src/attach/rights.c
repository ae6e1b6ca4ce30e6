/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "attach/feature.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/opener/opener.h"
#include "symbolize/process/fileopen.h"
#include "symbolize/process/maps.h"

static int close_opened(int fd)
{
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* The kernel protects a non-dumpable process like those of other users. */
static pid_t start_guarded(void)
{
	int ready[2];
	pid_t pid;
	char byte;

	if (pipe2(ready, O_CLOEXEC))
		return -1;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_DUMPABLE, 0);
		if (write(ready[1], "", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	close(ready[1]);
	if (pid > 0 && read(ready[0], &byte, 1) < 0)
		g_debug("the guarded process did not start");
	close(ready[0]);
	return pid;
}

int rights_try_others_maps(void)
{
	pid_t pid = start_guarded();
	struct stat st;
	int err;

	if (pid < 0)
		return -errno;
	g_autofree char *maps = g_strdup_printf("/proc/%d/maps", pid), *root = g_strdup_printf("/proc/%d/root", pid);

	err = close_opened(opener_open(maps, 0));
	if (!err)	/* Linux 6.16 and later show the mappings with CAP_PERFMON, but not the files */
		err = opener_stat(root, &st) ? 0 : -errno;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return err;
}

int rights_try_others_files(void)
{
	int fd = memfd_create("closed", MFD_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	/* as executables begin */
	err = write(fd, ELFMAG, SELFMAG) != SELFMAG || fchmod(fd, 0) ? -errno : close_opened(opener_read_held(fd));
	close(fd);
	return err;
}

int rights_try_map_files(void)
{
	size_t len;
	g_autofree char *text = opener_text("/proc/self/maps", 65536, &len);

	for (char *line = text, *next; line && (next = strchr(line, '\n')); line = next) {
		struct maps_line m;

		*next++ = '\0';
		if (!maps_parse_line(line, &m) || !m.inode)
			continue;
		g_autofree char *link = g_strdup_printf("/proc/%d/map_files/%" G_GINT64_MODIFIER "x-%"
							G_GINT64_MODIFIER "x", (int)getpid(), m.start, m.end);

		return close_opened(opener_hold(NULL, link, 0, 0));
	}
	return -ENOENT;
}
