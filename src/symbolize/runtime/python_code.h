/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_PYTHON_CODE_H
#define SYMBOLIZE_PYTHON_CODE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Names of the code objects of CPython programs, read from their memory while they live.  What is read is not trusted:
 * sizes are bounded, and an object that is no code object any more is not named.
 */
struct python_code;

struct python_code *python_code_new(void);
void python_code_free(struct python_code *p);	/* NULL is fine */

struct python_frame {
	const char *name, *file;	/* for as long as the python_code lives */
	uint32_t first_line;		/* of the function */
	uint32_t line;			/* 0: it has none there */
};

/* Where the code object lies; `space` tells one program that had this pid from another. */
struct python_place {
	uint32_t version;	/* of struct offcpu_language */
	uint32_t pid;
	uint64_t space;
	uint64_t code, code_type, instr;
};

/* False: the process is gone, or another object lies there by now. */
bool python_code_name(struct python_code *p, const struct python_place *place, struct python_frame *ret);

#endif
