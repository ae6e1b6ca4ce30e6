/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_LANGUAGE_H
#define SYMBOLIZE_LANGUAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/language_abi.h"

/* What is known of an interpreter's functions, whichever it is. */

struct language_frame {
	const char *name, *file;	/* for as long as lives what gave them */
	uint32_t first_line;		/* of the function */
	uint32_t line;			/* 0: it has none there */
};

/* Where the code object lies; `space` tells one program that had this pid from another. */
struct language_place {
	uint32_t version;	/* of struct offcpu_language */
	uint32_t pid;
	uint64_t space;
	uint64_t code, code_type, instr;
	uint32_t hashes;	/* PHP: see struct offcpu_language_frame */
	bool is_outermost;
};

/* What tables of code are kept by. */
struct language_key {
	uint64_t space, code;
};

unsigned language_key_hash(const void *key);
int language_key_equal(const void *a, const void *b);

/* Is the file one whose program may have an interpreter that is known of? */
bool language_is_of_file(const char *path);

/*
 * Which interpreter runs in a process, and where does it keep its frames?  The process must live.  False: none, an
 * unknown version, or it is not ready yet.
 */
struct language_early {
	bool is_early;		/* it is not ready yet */
	uint64_t python_key_at;	/* and that is CPython, alone: for python_has_begun(), else 0 */
};
bool language_find(const char *proc_dir, uint32_t pid, struct offcpu_language *ret, struct language_early *ret_early);

#endif
