/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_DEMANGLE_H
#define SYMBOLIZE_DEMANGLE_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A readable name for a symbol: C++ and Rust demangled, without the version of "memcpy@@GLIBC_2.14" and the hash of
 * Rust names. NULL: use `name` itself. Names are not trusted: one that is too long, or could expand without bound,
 * stays unchanged. Free with g_free().
 */
char *demangle(const char *name);

/* Part of it, for Rust's v0 names, "_R...". NULL: no such name, or beyond the limits. */
char *demangle_rust_v0(const char *mangled);

/*
 * Reads the parts of a Rust symbol name and writes text, both bounded; demangle_rust.c has the grammar. After a
 * failure the input appears to have ended and nothing more is written, so callers need not check every step.
 */
struct rust {
	const char *start, *p, *end;	/* after "_R", where references count from */
	GString *out;
	unsigned depth, steps;
	unsigned silent;	/* above 0: parse without output */
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
/* Recursive parts begin with rust_enter(), which limits depth and steps, and end with rust_leave(). */
bool rust_enter(struct rust *r);
void rust_leave(struct rust *r);

/* The next character; 0 at the end, which is a failure. */
char rust_next(struct rust *r);
bool rust_eat(struct rust *r, char c);
/* "_" is 0, "0_" is 1, "Z_" is 62, "10_" is 63. */
uint64_t rust_read_base62(struct rust *r);
/* Likewise after a tag, plus 1; 0 without the tag. */
uint64_t rust_read_tagged_base62(struct rust *r, char tag);
void rust_read_identifier(struct rust *r, struct rust_identifier *ret);

void rust_print_len(struct rust *r, const char *text, size_t len);
void rust_print(struct rust *r, const char *text);
void rust_print_char(struct rust *r, gunichar c);
void rust_print_number(struct rust *r, uint64_t n);
void rust_print_identifier(struct rust *r, const struct rust_identifier *id);

#endif
