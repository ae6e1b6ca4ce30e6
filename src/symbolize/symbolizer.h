/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_SYMBOLIZER_H
#define SYMBOLIZE_SYMBOLIZER_H

/* For tests: a symbolizer that looks elsewhere than in /proc, /proc/kallsyms and /usr/lib/debug. */
struct symbolizer;
struct symbolizer *symbolizer_new_at(const char *proc_dir, const char *kallsyms_path, const char *debug_dir);

#endif
