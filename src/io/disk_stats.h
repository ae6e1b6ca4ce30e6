/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef IO_DISK_STATS_H
#define IO_DISK_STATS_H

#include <glib.h>
#include <stdint.h>

/* How many requests the kernel itself counts as done by disks that have requests, all in all: /sys/block/DISK/stat. */
uint64_t disk_stats_sum(void);

/* Reads, writes and discards of one such text; 0 where it makes no sense. */
uint64_t disk_stats_parse(const char *text);

#endif
