/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RUNTIMES_PYTHON_FIND_H
#define RUNTIMES_PYTHON_FIND_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

#include "symbolize/runtime/language.h"

/*
 * The process must be alive. minor: N of 3.N, 0 with LANGUAGE_NONE; hex_version: sys.hexversion, 0: unknown (before
 * 3.11).
 */
struct python_look {
	enum language_state state;
	uint32_t minor;
	uint32_t hex_version;
	bool is_free_threaded;	/* built without a GIL */
	bool is_gil_on;		/* but a module or an option enabled it */
	bool has_gil_holder;	/* its holder can be read */
	uint64_t key_at;	/* with LANGUAGE_NOT_READY: for python_has_begun(), else 0 */
};
/* lines: its mappings from maps_parse(). NULL: it is gone. */
struct python_look python_look(const char *proc_dir, uint32_t pid, const GArray *lines, struct offcpu_language *ret);

/*
 * Has the interpreter started since, so that python_look() is worth a retry? Many programs embed CPython and rarely
 * start it: perf, gdb, vim.
 */
bool python_has_begun(uint32_t pid, uint64_t key_at);

/* The N of "python3.N" or "libpython3.N.so.1.0". 0: neither. */
uint32_t python_minor_of_file(const char *path);

#endif
