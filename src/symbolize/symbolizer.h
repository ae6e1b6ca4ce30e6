/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_SYMBOLIZER_H
#define SYMBOLIZE_SYMBOLIZER_H

#include <stddef.h>

/* For tests: a symbolizer that looks elsewhere than in /proc, /proc/kallsyms and /usr/lib/debug. */
struct symbolizer;
struct symbolizer *symbolizer_new_at(const char *proc_dir, const char *kallsyms_path, const char *debug_dir);
/* What the symbols of files take. */
size_t symbolizer_table_bytes(const struct symbolizer *s);

#endif
