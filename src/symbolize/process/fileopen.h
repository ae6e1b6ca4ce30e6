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
 * Opening files that other users name.  A process may map or rename what it likes, so a file
 * is first held by an O_PATH descriptor (which opens no device, fifo or socket), must be a
 * regular one, and is then opened for reading through that descriptor.
 *
 * These return an O_PATH descriptor of a regular file, or -1 with errno set.
 */

/* path as process pid sees it: below PROC_DIR/pid/root, absolute links staying inside. */
int file_hold_in_process(const char *proc_dir, uint32_t pid, const char *path, struct stat *ret_stat);
/* The same, but no component of path may be a symbolic link. */
int file_hold_in_process_nolinks(const char *proc_dir, uint32_t pid, const char *path, struct stat *ret_stat);
/* A folder; where another process opens what others have, OPENER_SEMAPHORES alone. */
int folder_hold_in_process(const char *proc_dir, uint32_t pid, const char *path);
/* path as we see it. */
int file_hold_here(const char *path, struct stat *ret_stat);

/*
 * The file of a line of /proc/PID/maps: by its link in map_files, which is exact but needs CAP_CHECKPOINT_RESTORE or
 * CAP_SYS_ADMIN; else by its path as the process sees it, else as we see it.  A path may lead to another file by now,
 * so inode and device decide.  is_alive: PROC_DIR/pid still is that process, else only our view of the path can help.
 */
int file_hold_line(const char *proc_dir, uint32_t pid, const struct maps_line *line, bool is_alive,
		   struct stat *ret_stat);

/*
 * Whether the file has the very name of the line, which may end with " (deleted)": the kernel puts that behind the
 * path of a deleted file, but a file may also be called so.
 */
bool file_is_at_path(const char *proc_dir, uint32_t pid, const struct maps_line *line, bool is_alive);

/* Whether path leads the process to the file of the line, by links or by itself. */
bool file_leads_to_line(const char *proc_dir, uint32_t pid, const char *path, const struct maps_line *line);

/* A descriptor for reading of a held file, or -1 with errno set. */
int file_open_held(int held_fd);
/* The same of path as we see it: held, looked at and opened. */
int file_open_here(const char *path);

/*
 * Reads a small file that the kernel makes up (size unknown), up to max_bytes; NULL with
 * errno set when it cannot be opened or read.  The text ends with a 0 byte.
 */
char *file_read_text(const char *path, size_t max_bytes, size_t *ret_len);
/* All len bytes from an offset on; false when they are not there or cannot be read. */
bool file_read_at(int fd, uint64_t off, void *buffer, size_t len);

#endif
