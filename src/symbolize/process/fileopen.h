/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_FILEOPEN_H
#define SYMBOLIZE_FILEOPEN_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

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
/* The very file mapped at [start, end) of pid, be it deleted or renamed. */
int file_hold_mapped(const char *proc_dir, uint32_t pid, uint64_t start, uint64_t end, struct stat *ret_stat);
/* path as we see it. */
int file_hold_here(const char *path, struct stat *ret_stat);

/*
 * Whether a file's numbers in stat may be others than those of its mapping, for one of the two is a device
 * without hardware (major 0): btrfs and overlayfs show one number in stat and another in mappings.
 */
bool file_numbers_may_differ(const struct stat *st, uint32_t mapped_dev_major);

/* A descriptor for reading of a held file, or -1 with errno set. */
int file_open_held(int held_fd);

/*
 * Reads a small file that the kernel makes up (size unknown), up to max_bytes; NULL with
 * errno set when it cannot be opened or read.  The text ends with a 0 byte.
 */
char *file_read_text(const char *path, size_t max_bytes, size_t *ret_len);
/* The same of an open descriptor. */
char *file_read_fd(int fd, size_t max_bytes, size_t *ret_len);
/* All len bytes from an offset on; false when they are not there or cannot be read. */
bool file_read_at(int fd, uint64_t off, void *buffer, size_t len);

#endif
