/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_HOTSPOT_FRAMES_H
#define SYMBOLIZE_HOTSPOT_FRAMES_H

#include "base/frame.h"
#include "symbolize/runtime/hotspot_names.h"

/* Java frames of a copy of a stack: of a thread's own, or of a chunk on the heap that a virtual thread left there. */

#define JAVA_FRAMES_MAX 128

struct java_stack {
	const uint8_t *bytes;	/* from sp - 16 on: what a call leaves below it */
	size_t cnt;
	uint64_t sp, end;	/* where the innermost frame begins; beyond the outermost one */
	uint64_t pc, fp;	/* of the innermost frame of a thread's own stack */
	bool is_chunk;		/* frame pointers in it are relative */
};

struct java_frames {
	const char *names[JAVA_FRAMES_MAX];	/* innermost first, until java_code_check() */
	bool is_synchronized[JAVA_FRAMES_MAX];	/* the method holds a monitor as long as it runs */
	unsigned cnt;
	bool is_at_barrier;	/* the next one is in the thread's chunk */
	unsigned entered;	/* so many frames are within a call from native code or the JVM; 0: none */
	enum stack_end end;	/* complete: out to where virtual threads begin */
};

/* What is known of code. */
struct java_code;
struct java_code *java_code_new(struct hotspot *h);	/* borrows it */
void java_code_free(struct java_code *c);	/* NULL is fine */
/* Forgets where other code, or another method, has taken the place since: before the stacks of each look. */
void java_code_check(struct java_code *c);

/* Appends the frames of one stack, or of one chunk; begin with zeros. */
void java_frames_add(struct java_frames *f, struct java_code *code, const struct java_stack *s);

#endif
