/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_PERF_MAP_H
#define SYMBOLIZE_PERF_MAP_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The functions a just-in-time compiler lists in /tmp/perf-PID.map: lines "START SIZE NAME",
 * hexadecimal.  Later lines hide earlier ones where they overlap, since compilers reuse
 * memory.  The file is the traced user's: links, other owners' files and lines that make no
 * sense are refused, size and number of lines bounded.
 */
#define PERF_MAP_MAX_BYTES (64u << 20)

struct perf_map;

/* Takes over text, g_malloc'ed with room for a byte at text[len]. */
struct perf_map *perf_map_parse(char *text, size_t len);
void perf_map_free(struct perf_map *m);
/* The name of the function at addr, valid as long as m; NULL: none. */
const char *perf_map_find(const struct perf_map *m, uint64_t addr, uint64_t *ret_symbol_offset);
size_t perf_map_cnt(const struct perf_map *m);
/* Adds the memory of m to *account until m is freed; account must outlive it. */
void perf_map_charge(struct perf_map *m, size_t *account);

/* As bytes, of which nothing but names and places is left.  NULL: these are none that perf_map_write() made. */
void perf_map_write(const struct perf_map *m, GByteArray *into);
struct perf_map *perf_map_from_bytes(const void *bytes, size_t len);
/* For parser_start(): both readers below ask it. */
bool perf_map_parse_file(int fd, const void *question, size_t question_bytes, GByteArray *into);

/*
 * Reads process pid's own file, by its innermost pid and below its root.  NULL: none, not to
 * be trusted, or not larger than known_bytes.  *ret_bytes is then the size seen (0: none).
 */
struct perf_map *perf_map_read(const char *proc_dir, uint32_t pid, uint64_t known_bytes, uint64_t *ret_bytes);

/* The same of the "jit-PID.dump" that process pid has mapped from path. */
struct perf_map *perf_map_read_jitdump(const char *proc_dir, uint32_t pid, const char *path, uint64_t known_bytes,
				       uint64_t *ret_bytes);

/* The innermost pid and the effective uid out of the text of /proc/PID/status. */
bool perf_map_parse_status(const char *status, uint32_t *ret_pid, uid_t *ret_uid);

#endif
