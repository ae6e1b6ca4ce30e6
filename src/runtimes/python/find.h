/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_PYTHON_FIND_H
#define SYMBOLIZE_PYTHON_FIND_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

#include "symbolize/runtime/language.h"

/*
 * The process must live.  minor: N of 3.N, 0 with LANGUAGE_NONE; hex_version as sys.hexversion, 0: not known (before
 * 3.11).
 */
struct python_look {
	enum language_state state;
	uint32_t minor;
	uint32_t hex_version;
	bool is_free_threaded;	/* its build has no GIL, */
	bool is_gil_on;		/* and uses one all the same: a module or an option wants that */
	bool has_gil_holder;	/* who holds it can be read */
	uint64_t key_at;	/* LANGUAGE_NOT_READY: what python_has_begun() is asked with, else 0 */
};
/* lines: of its mappings, as maps_parse() gives them; NULL: it is gone. */
struct python_look python_look(const char *proc_dir, uint32_t pid, const GArray *lines, struct offcpu_language *ret);

/*
 * Has the interpreter of a process begun meanwhile, so that looking again is worth it?  Many programs have CPython in
 * them and hardly ever begin it: perf, gdb, vim.
 */
bool python_has_begun(uint32_t pid, uint64_t key_at);

/* The N of "python3.N" and "libpython3.N.so.1.0"; 0: it is neither. */
uint32_t python_minor_of_file(const char *path);

#endif
