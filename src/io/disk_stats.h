/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef IO_DISK_STATS_H
#define IO_DISK_STATS_H

#include <glib.h>
#include <stdint.h>

/* How many requests the kernel itself counts as done by disks that have requests: /sys/block/DISK/stat. */
struct disk_stats;

/* As of now. */
struct disk_stats *disk_stats_read(void);
/* How many there were since. */
uint64_t disk_stats_since(const struct disk_stats *d);
void disk_stats_free(struct disk_stats *d);	/* NULL is fine */

/* Reads, writes and discards of one such text; 0 where it makes no sense. */
uint64_t disk_stats_parse(const char *text);

#endif
