/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ATTACH_SCHED_EXT_H
#define ATTACH_SCHED_EXT_H

#include <stdint.h>

#define SCHED_EXT_ROOT "/sys/kernel/sched_ext"

/* Linux 6.12, f0e1a0643a59: a BPF program may decide who gets a CPU.  Its name, the caller's; NULL: none does. */
char *sched_ext_name(const char *root);

/* How many have begun since the machine did; 0 where the kernel cannot have one. */
uint64_t sched_ext_begun(const char *root);

#endif
