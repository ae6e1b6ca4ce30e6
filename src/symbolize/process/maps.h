/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_MAPS_H
#define SYMBOLIZE_MAPS_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAPS_TEXT_MAX (64u << 20)	/* of /proc/PID/maps: as many lines as there may be mappings, of 1,000 characters each */
#define MAPS_DELETED " (deleted)"	/* the kernel's suffix for the path of a deleted file */

/* One line of /proc/PID/maps. */
struct maps_line {
	uint64_t start, end, pgoff;
	uint32_t dev_major, dev_minor;
	uint64_t inode;
	bool is_exec, is_shared, is_readable;
	const char *path;	/* points into the line; "" if none */
};

/* Identifies a file in mappings. */
struct maps_file {
	uint64_t device, inode;
};

struct maps_file maps_file_of(const struct maps_line *line);
/* For a GHashTable of structs that begin with a maps_file. */
guint maps_file_hash(gconstpointer p);
gboolean maps_file_equal(gconstpointer a, gconstpointer b);

/* Parses a NUL-terminated line without newline. False: invalid. */
bool maps_parse_line(const char *line, struct maps_line *ret);

/* All valid lines of a /proc/PID/maps as struct maps_line; paths point into the text, which is changed. */
GArray *maps_lines(char *text);
/*
 * Likewise. Some programs copy their code to anonymous huge pages. So executable memory without a file, between two
 * mappings of a file and exactly where that file's bytes are missing, counts as the file's.
 */
GArray *maps_parse(char *text);

/* The target of /proc/PID/exe, which is the program's own path; or NULL. */
char *program_path(const char *proc_dir, uint32_t pid);

/*
 * A file may be several programs, distinguished by the name they are executed by: redis-server is a link to
 * redis-check-rdb, and all commands of busybox are one file. Mappings have only the file's own name.
 *
 * The path that process pid executed, if the line is of its program and the last part of the path differs; else NULL.
 * program: program_path(). The path is in memory that the process can change, so it counts only if it leads to the
 * mapped file.
 */
char *executed_path(const char *proc_dir, uint32_t pid, const char *program, const struct maps_line *line);

/*
 * A process continues if its first thread exits before the others. /proc/PID/maps is empty then, but those of the
 * remaining threads show the mappings.
 */

/* A live thread of a process whose first thread has exited. 0: the first thread lives, or none does. */
uint32_t living_thread(const char *proc_dir, uint32_t pid);

/* The text of /proc/PID/maps, or that of a remaining thread. Empty, or NULL with errno: the process is gone. */
char *living_maps(const char *proc_dir, uint32_t pid, size_t max_bytes);

#endif
