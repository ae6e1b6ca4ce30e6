/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_FRAME_H
#define BASE_FRAME_H

/* Words about frames and stacks that the symbolizer and the model share. */

/* Why a frame has no name. */
enum frame_why {
	FRAME_NAMED = 0,
	FRAME_NO_SYMBOLS,	/* the file has no symbol that covers the address */
	FRAME_NOT_MAPPED,	/* no mapping of the process contained the address */
	FRAME_PROCESS_GONE,	/* it ended before its mappings could be read, or /proc hides it (hidepid) */
	FRAME_NO_FILE,		/* the mapped file could not be opened or is no valid ELF file */
	FRAME_PENDING,		/* the stack did not reach user space (ring buffer full) */
	FRAME_WHY_COUNT
};
/* A short text for people: "no symbols in file". */
const char *frame_why_text(enum frame_why why);

/* How a stack ended (docs/semantics.md, "Stack quality"). */
enum stack_end {
	STACK_NONE = 0,		/* no user stack: a kernel thread, or not captured */
	STACK_COMPLETE,
	STACK_TRUNCATED,
	STACK_BROKEN,
	STACK_PENDING,
	STACK_END_COUNT
};
/* One word: "complete". */
const char *stack_end_text(enum stack_end end);

#endif
