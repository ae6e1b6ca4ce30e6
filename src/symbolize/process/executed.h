/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_EXECUTED_H
#define SYMBOLIZE_EXECUTED_H

#include <stdint.h>

#include "symbolize/process/maps.h"

/*
 * One file may be several programs, told apart by the name it is executed by: redis-server is a link to
 * redis-check-rdb, and every command of busybox to busybox.  The kernel's mappings have the file's own name only.
 *
 * The path that process pid executed, if the line is of its program and has another last name; else NULL.  The
 * process itself keeps that path in its memory, so it counts only if it leads to the mapped file.
 */
char *executed_path(const char *proc_dir, uint32_t pid, const struct maps_line *line);

#endif
