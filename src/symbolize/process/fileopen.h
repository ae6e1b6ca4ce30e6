/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_FILEOPEN_H
#define SYMBOLIZE_FILEOPEN_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/opener/wire.h"
#include "symbolize/process/maps.h"

/*
 * Opens files named by other users. A process may map or rename anything. So a file is first held by an O_PATH
 * descriptor (which opens no device, fifo or socket), must be regular, and is then opened for reading through that
 * descriptor.
 *
 * These return an O_PATH descriptor of a regular file, or -1 with errno set.
 */

/* path as seen by process pid: below PROC_DIR/pid/root; absolute links stay inside. */
int file_hold_in_process(const char *proc_dir, uint32_t pid, const char *path, struct stat *ret_stat);
/* Likewise, but without symbolic links anywhere in the path. */
int file_hold_in_process_nolinks(const char *proc_dir, uint32_t pid, const char *path, struct stat *ret_stat);
/* A folder. If another process opens other users' files, only OPENER_SEMAPHORES. */
int folder_hold_in_process(const char *proc_dir, uint32_t pid, const char *path);
/* path as seen by us. */
int file_hold_here(const char *path, struct stat *ret_stat);

/*
 * The file of a line of /proc/PID/maps: through its link in map_files, which is exact but needs
 * CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN; else by its path as the process sees it, then as we see it. A path may
 * lead to another file by now, so inode and device must match. is_alive: PROC_DIR/pid still is that process; else
 * only our view of the path helps.
 */
int file_hold_line(const char *proc_dir, uint32_t pid, const struct maps_line *line, bool is_alive,
		   struct stat *ret_stat);

/*
 * Is the line's path the file's real name? The kernel appends " (deleted)" to paths of deleted files, but a file may
 * have such a name.
 */
bool file_is_at_path(const char *proc_dir, uint32_t pid, const struct maps_line *line, bool is_alive);

/* Does `path`, as the process sees it, lead to the line's file, possibly through links? */
bool file_leads_to_line(const char *proc_dir, uint32_t pid, const char *path, const struct maps_line *line);

/* Opens a held file for reading and closes held_fd; -1 with errno set, also for -1. */
int file_open_held(int held_fd);
/* Holds, checks and opens `path` as we see it. */
int file_open_here(const char *path);
/* The same of the file of a line of a living process's mappings: see file_hold_line(). */
int file_open_line(const char *proc_dir, uint32_t pid, const struct maps_line *line);


#endif
