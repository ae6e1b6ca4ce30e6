/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_HOTSPOT_FRAMES_H
#define SYMBOLIZE_HOTSPOT_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/frame.h"
#include "runtimes/java/code.h"

/*
 * Names of a JVM's code and methods, read from its memory while it lives, as they are just now: compiled code moves,
 * and what was known of a place says nothing once other code lies there.
 */
struct hotspot_names;

struct hotspot_names *hotspot_names_new(void);
void hotspot_names_free(struct hotspot_names *n);	/* NULL is fine */
/* No name is in use any more: where there are many, most of programs that are gone, all are read anew. */
void hotspot_names_next_turn(struct hotspot_names *n);

/* "com.example.Shop.pay", for as long as *n lives; NULL: no method lies there, or its process is gone. */
const char *hotspot_names_method(struct hotspot_names *n, const struct hotspot *h, uint64_t method);

/*
 * Of the code at ip, which may be a return address: the methods that run there, of which all but the last are inlined
 * in the one after, or what the JVM calls it ("StubRoutines (1)").  How many, innermost first, for as long as *n
 * lives; 0: as above.
 */
unsigned hotspot_names_code(struct hotspot_names *n, struct hotspot *h, uint64_t ip, bool is_return,
			    const char *const **ret_names);

#define HOTSPOT_INLINED_MAX 32

/*
 * The methods that run at a place in a compiled method, innermost first, the compiled one last: what the compiler
 * noted for the JVM itself.  ip: a return address or, with is_return false, where it stands.  How many; 0: nothing is
 * noted there.
 */
unsigned hotspot_inlined(const struct hotspot *h, const struct hotspot_blob *blob, uint64_t ip, bool is_return,
			 uint64_t methods[HOTSPOT_INLINED_MAX]);

/* A number as HotSpot packs it ("UNSIGNED5"), to tests: bytes used, 0: it does not end. */
unsigned hotspot_unpack(const uint8_t *bytes, size_t cnt, bool without_zero, uint32_t *ret);

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

/* A thread of a JVM that waits for a monitor (synchronized), and who has that; thread numbers as the process has them. */
struct hotspot_monitor {
	uint32_t tid, holder_tid;
};

/*
 * Appends those that two looks at the process's memory agree on: HotSpot tells debuggers where each thread's pending
 * monitor and a monitor's owner are.  Nothing where this version does not tell.  The memory is not trusted: counts are bounded, and what makes no sense is left out.
 */
void hotspot_monitors(const struct hotspot *h, GArray *ret);

/* A monitor that somebody waits for, virtual threads among them, and who has it: since JDK 24. */
struct hotspot_contended {
	uint64_t object;	/* that is locked; 0: not known */
	uint64_t owner;		/* the number of a thread, virtual or not */
};

/* Appends them; false: this version does not tell, or there are more than are looked at. */
bool hotspot_contended(const struct hotspot *h, GArray *ret);

#endif
