/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_PERF_MAP_H
#define SYMBOLIZE_PERF_MAP_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The functions that a just-in-time compiler lists in /tmp/perf-PID.map: lines "START SIZE NAME" in hexadecimal.
 * Later lines override earlier ones that they overlap, since compilers reuse memory. The traced user owns the file:
 * links, files of other owners and invalid lines are rejected; size and number of lines are bounded.
 */
#define PERF_MAP_MAX_BYTES (64u << 20)

struct perf_map;

/* The version of a file that changes. bytes 0: none. */
struct perf_map_version {
	uint64_t bytes;
	uint64_t mtime_ns;	/* CLOCK_REALTIME */
};

/* Takes ownership of text, which must have room for a byte at text[len]. */
struct perf_map *perf_map_parse(char *text, size_t len);
void perf_map_free(struct perf_map *m);
/* The name of the function at addr, valid as long as m. NULL: none. */
const char *perf_map_find(const struct perf_map *m, uint64_t addr, uint64_t *ret_symbol_offset);
size_t perf_map_cnt(const struct perf_map *m);
/* Does `now` have another name for an address in `before`? */
bool perf_map_renames(const struct perf_map *before, const struct perf_map *now);
/* Adds the memory of m to *account until m is freed; account must outlive it. */
void perf_map_charge(struct perf_map *m, size_t *account);

/* Serializes names and addresses. NULL: not from perf_map_write(). */
void perf_map_write(const struct perf_map *m, GByteArray *into);
struct perf_map *perf_map_from_bytes(const void *bytes, size_t len);
/* For parser_start(): used by both readers below. */
bool perf_map_parse_file(int fd, const void *question, size_t question_bytes, GByteArray *into);

/*
 * Reads process pid's own file, named by its innermost pid, below its root. NULL: none, not trusted, or still the
 * known version. *ret is the version before reading, during which the file may grow.
 */
struct perf_map *perf_map_read(const char *proc_dir, uint32_t pid, struct perf_map_version known,
			       struct perf_map_version *ret);

/* Likewise for the "jit-PID.dump" that process pid has mapped from path. */
struct perf_map *perf_map_read_jitdump(const char *proc_dir, uint32_t pid, const char *path,
				       struct perf_map_version known, struct perf_map_version *ret);

/* The innermost pid and the effective uid in the text of /proc/PID/status. */
bool perf_map_parse_status(const char *status, uint32_t *ret_pid, uid_t *ret_uid);

/*
 * Converts a "jit-PID.dump", in which a just-in-time compiler writes functions with their code, to the text of a perf
 * map ("START SIZE NAME" lines, in order of time). The traced user owns the file: invalid data ends the list, records
 * and text are bounded, code is not read. NULL: not such a file. There is room for a byte at text[*ret_len]; free
 * with g_free().
 */
char *jitdump_read(int fd, size_t *ret_len);

#endif
