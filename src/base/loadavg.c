/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/proc_status.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

bool loadavg_threads(unsigned *ret_runnable, unsigned *ret_all)
{
	char text[96] = { 0 };
	int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	bool ok;

	if (fd < 0)
		return false;
	/* proc(5): three averages, runnable/all, the last pid */
	ok = read(fd, text, sizeof(text) - 1) > 0 && sscanf(text, "%*s %*s %*s %u/%u", ret_runnable, ret_all) == 2;
	close(fd);
	return ok;
}
