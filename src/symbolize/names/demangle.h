/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_DEMANGLE_H
#define SYMBOLIZE_DEMANGLE_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The name people know for a linker's symbol name: C++ and Rust demangled, the version of
 * "memcpy@@GLIBC_2.14" and the hash of Rust's names dropped.  NULL: `name` is best as it is.
 * Names are not trusted: one that is too long, or would grow without bound, stays as it is.
 * Free with g_free.
 */
char *demangle(const char *name);

/* The part of it for Rust's names of version 0, "_R..."; NULL: `mangled` is none, or goes beyond the bounds. */
char *demangle_rust_v0(const char *mangled);

/*
 * The words of Rust's symbol names and the place where their meaning is written, both
 * bounded; demangle_rust.c knows the grammar.  After a failure the name reads as ended and
 * nothing more is written, so that callers need not look at every step.
 */
struct rust {
	const char *start, *p, *end;	/* behind "_R", where references count from */
	GString *out;
	unsigned depth, steps;
	unsigned silent;	/* above 0: what is read is not shown */
	uint64_t bound_lifetimes;
	bool failed;
};

struct rust_identifier {
	const char *text;
	size_t len;
	bool is_punycode;
	uint64_t disambiguator;
};

void rust_fail(struct rust *r);
/* Every part that may hold another one begins with rust_enter(), which bounds them, and ends with rust_leave(). */
bool rust_enter(struct rust *r);
void rust_leave(struct rust *r);

/* The next letter, 0 at the end, which is a failure. */
char rust_next(struct rust *r);
bool rust_eat(struct rust *r, char c);
/* "_" is 0, "0_" is 1, "Z_" is 62, "10_" is 63. */
uint64_t rust_read_base62(struct rust *r);
/* The same behind a tag, and 1 more; 0 without the tag. */
uint64_t rust_read_tagged_base62(struct rust *r, char tag);
void rust_read_identifier(struct rust *r, struct rust_identifier *ret);

void rust_print_len(struct rust *r, const char *text, size_t len);
void rust_print(struct rust *r, const char *text);
void rust_print_char(struct rust *r, gunichar c);
void rust_print_number(struct rust *r, uint64_t n);
void rust_print_identifier(struct rust *r, const struct rust_identifier *id);

#endif
