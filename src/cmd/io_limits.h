/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_IO_LIMITS_H
#define CMD_IO_LIMITS_H

#include <glib.h>

/*
 * What control groups allow processes (GArray of uint32_t; NULL: none) of reads and writes: a line for each limit.  What
 * a limit holds is no request to a disk yet, so the times of requests do not show it.  proc_dir: "/proc", but for tests.
 */
void io_limits_append(GString *s, const char *proc_dir, const GArray *pids);

#endif
