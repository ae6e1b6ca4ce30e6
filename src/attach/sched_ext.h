/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ATTACH_SCHED_EXT_H
#define ATTACH_SCHED_EXT_H

#include <stdint.h>

#define SCHED_EXT_ROOT "/sys/kernel/sched_ext"

/* Linux 6.12, f0e1a0643a59: a BPF program may be the scheduler. Its name, owned by the caller; NULL: none. */
char *sched_ext_name(const char *root);

/* Number of such schedulers started since boot; 0 where the kernel cannot have one. */
uint64_t sched_ext_begun(const char *root);

#endif
