/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_LIMITS_H
#define FOLD_LIMITS_H

#include "profile/limits.h"

/*
 * What held threads up from outside, as the window has just ended: CPUs that they may not use, their control group's
 * quota, disk and memory limits, peers that are stopped or have few connections.  Of processes that are still there, and only where the
 * profile's waits make it worth a look.
 */
#define LIMITS_PROCESSES_MAX 32	/* whose control groups are looked at: those that waited longest */
#define LIMITS_THREADS_MAX 200	/* whose CPUs are */
#define LIMITS_PEERS_MAX 1024
#define LIMITS_BACKLOGS_MAX 64	/* processes whose listening sockets are looked at */
#define LIMITS_POOLS_MAX 8	/* processes whose connections are counted: those that are waited for longest */

/* proc_dir: "/proc", but for tests; its self/mounts tells where control groups are. */
void limits_look(struct profile *p, const char *proc_dir);

#endif
