/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_MAPS_H
#define SYMBOLIZE_MAPS_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAPS_DELETED " (deleted)"	/* what the kernel puts behind the path of a file without a name */

/* One line of /proc/PID/maps. */
struct maps_line {
	uint64_t start, end, pgoff;
	uint32_t dev_major, dev_minor;
	uint64_t inode;
	bool is_exec, is_shared, is_readable;
	const char *path;	/* within the line; "" without one */
};

/* A file as mappings name it. */
struct maps_file {
	uint64_t device, inode;
};

struct maps_file maps_file_of(const struct maps_line *line);
/* For GHashTable, of what begins with a maps_file. */
guint maps_file_hash(gconstpointer p);
gboolean maps_file_equal(gconstpointer a, gconstpointer b);

/* Parses a line that ends with a 0 byte and has no newline; false when it makes no sense. */
bool maps_parse_line(const char *line, struct maps_line *ret);

/*
 * All lines of the text of a /proc/PID/maps that make sense, as struct maps_line; the paths lie in the text, which is
 * changed.  Some programs copy their code to anonymous huge pages: executable memory without a file that lies between
 * two mappings of one file, just where that file's bytes are missing, counts as the file's.
 */
GArray *maps_parse(char *text);

/* Where /proc/PID/exe leads: the program's own path; NULL. */
char *program_path(const char *proc_dir, uint32_t pid);

/*
 * One file may be several programs, told apart by the name it is executed by: redis-server is a link to
 * redis-check-rdb, and every command of busybox to busybox.  The kernel's mappings have the file's own name only.
 *
 * The path that process pid executed, if the line is of its program and has another last name; else NULL.  program:
 * program_path().  The
 * process itself keeps that path in its memory, so it counts only if it leads to the mapped file.
 */
char *executed_path(const char *proc_dir, uint32_t pid, const char *program, const struct maps_line *line);

/*
 * A process lives on when its first thread exits before the others.  /proc/PID/maps is empty from then on;
 * what the process has mapped is told by the directories of the threads that live.
 */

/* A living thread of a process whose first thread has exited; 0: the first thread lives, or none does. */
uint32_t living_thread(const char *proc_dir, uint32_t pid);

/* The text of /proc/PID/maps, of a living thread's if need be; NULL or empty when the process is gone. */
char *living_maps(const char *proc_dir, uint32_t pid, size_t max_bytes);

#endif
