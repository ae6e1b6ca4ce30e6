/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/proc/cpu.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/opener/opener.h"

bool proc_cpu_read(const char *proc_dir, uint32_t pid, struct proc_cpu *ret)
{
	struct proc_cpu read = { 0 };
	uint64_t children_user, children_kernel;
	g_autofree char *text = opener_process_text(proc_dir, pid, "stat");
	/* the name before it may contain anything */
	const char *at = text ? strrchr(text, ')') : NULL;

	if (!at || sscanf(at, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
			  &read.user, &read.kernel, &children_user, &children_kernel) != 4)
		return false;
	read.children = children_user + children_kernel;
	*ret = read;
	return true;
}
