/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_RUBY_CODE_H
#define SYMBOLIZE_RUBY_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

#include "symbolize/runtime/language.h"

/*
 * Ruby's methods and blocks (CRuby 3.0 to 3.4): how a process's frames are found, and what they are called.  What is
 * read is not trusted: sizes are bounded, and what is no instruction sequence any more is not named.
 */

/* The function of C that executes Ruby's instructions: its bounds, as addresses in its file. */
struct ruby_executor {
	uint64_t start, end;
};

struct ruby_code;

struct ruby_code *ruby_code_new(void);
void ruby_code_free(struct ruby_code *r);	/* NULL is fine */
/* False: the process is gone, or another object lies there by now. */
bool ruby_code_name(struct ruby_code *r, const struct language_place *place, struct language_frame *ret);

/* What executes an instruction sequence, where that has no symbol.  False: not known. */
bool ruby_code_executor(struct ruby_code *r, const struct language_place *place, struct ruby_executor *ret);

/* What is known of a process as a Ruby program. */
enum ruby_state {
	RUBY_NONE,		/* it has no file of an interpreter, or is gone */
	RUBY_READABLE,
	/* the interpreter's file cannot be opened, or does not tell where a thread keeps its frames */
	RUBY_NO_SYMBOLS,
	RUBY_OTHER_VERSION,
	RUBY_NO_LIBC,		/* it is neither glibc nor musl */
	RUBY_NOT_READY,
};
/* Of a frame; 0: the version is not known. */
uint32_t ruby_frame_bytes(uint32_t version);
/* lines: of its mappings, as maps_parse() gives them; NULL: it is gone. */
enum ruby_state ruby_look(const char *proc_dir, uint32_t pid, const GArray *lines, struct offcpu_language *ret);

/* By the address of what executes one instruction.  The process must live.  False: not known. */
bool ruby_executor_find(uint32_t pid, uint64_t handler, struct ruby_executor *ret);

#endif
