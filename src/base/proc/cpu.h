/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_PROC_CPU_H
#define BASE_PROC_CPU_H

#include <stdbool.h>
#include <stdint.h>

/* CPU time of a process since its start, in kernel ticks (sysconf(_SC_CLK_TCK) a second), from /proc/PID/stat. */
struct proc_cpu {
	uint64_t user, kernel;
	uint64_t children;	/* user and system time of children that have ended and were waited for */
};
/* False: it has ended, and *ret is unchanged. */
bool proc_cpu_read(const char *proc_dir, uint32_t pid, struct proc_cpu *ret);

#endif
