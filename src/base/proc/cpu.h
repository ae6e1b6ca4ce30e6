/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_PROC_CPU_H
#define BASE_PROC_CPU_H

#include <stdbool.h>
#include <stdint.h>

/* CPU time of a process since it began, in ticks of the kernel (sysconf(_SC_CLK_TCK) a second), as /proc/PID/stat has it. */
struct proc_cpu {
	uint64_t user, kernel;
	uint64_t children;	/* of those that have ended, and that it has waited for, in both */
};
/* False: it is gone, and *ret stays. */
bool proc_cpu_read(const char *proc_dir, uint32_t pid, struct proc_cpu *ret);

#endif
