/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_DEBUG_FILE_H
#define SYMBOLIZE_DEBUG_FILE_H

#include <glib.h>

#include "symbolize/elf/table.h"

/*
 * Where the separate debug file of t, which lies at path, may be: by its build-id, then by what .gnu_debuglink names
 * in the places where gdb looks.  char *, freed with the array.
 */
GPtrArray *debug_file_paths(const struct elf_table *t, const char *path, const char *debug_dir);

/*
 * Reads the file behind fd, if it is the debug file of t: of the same build-id, or, where t has none, with the
 * checksum that .gnu_debuglink tells.  NULL: it is not.
 */
struct elf_table *debug_file_read(const struct elf_table *t, int fd);

#endif
