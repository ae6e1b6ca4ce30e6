/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_PLUMBING_TABLES_H
#define ANALYSE_PLUMBING_TABLES_H

#include <glib.h>
#include <stdbool.h>

/* The tables behind plumbing.h, asked by name.  Clone marks (.isra.0) never matter. */

/* True when a rule knows the kernel function; *ret_shown is NULL for plumbing. */
bool plumbing_kernel_rule(const char *name, const char **ret_shown);
/* True of functions that every waking, or every interrupt, passes through: they tell nothing of who wakes. */
bool plumbing_is_waking(const char *name);
/* True of functions that take the CPU from a thread which could go on. */
bool plumbing_is_preemption(const char *name);
/* How the kernel was entered, if the function tells: "page fault", ...; or NULL. */
const char *plumbing_entry_rule(const char *name);
/* "read" of __x64_sys_read, or NULL; free with g_free(). */
char *plumbing_syscall_name(const char *name);
/* Without clone marks; free with g_free(). */
char *plumbing_plain_name(const char *name);
/* `base`: the file's name without folders; NULL is none. */
bool plumbing_runtime_file(const char *base);
/* Whether a demangled name is one of the C++ or Rust standard library: std::, core::, alloc::, ... */
bool plumbing_runtime_name(const char *name);

#endif
