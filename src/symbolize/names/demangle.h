/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_DEMANGLE_H
#define SYMBOLIZE_DEMANGLE_H

/*
 * The name people know for a linker's symbol name: C++ and Rust demangled, the version of
 * "memcpy@@GLIBC_2.14" and the hash of Rust's names dropped.  NULL: `name` is best as it is.
 * Names are not trusted: one that is too long, or would grow without bound, stays as it is.
 * Free with g_free.
 */
char *demangle(const char *name);

/* The part of it for Rust's names of version 0, "_R..."; NULL: `mangled` is none, or goes beyond the bounds. */
char *demangle_rust_v0(const char *mangled);

#endif
