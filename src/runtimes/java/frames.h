/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RUNTIMES_JAVA_FRAMES_H
#define RUNTIMES_JAVA_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/frame.h"
#include "runtimes/java/code.h"

/*
 * Names of a JVM's code and methods, read from its memory while it lives. Compiled code moves, so cached names are
 * checked against the current contents.
 */
struct hotspot_names;

struct hotspot_names *hotspot_names_new(void);
void hotspot_names_free(struct hotspot_names *n);	/* NULL is fine */
/* All returned names become invalid: trims the cache if it is large, mostly of ended programs. */
void hotspot_names_next_turn(struct hotspot_names *n);

/* "com.example.Shop.pay", valid as long as *n. NULL: no method there, or the process is gone. */
const char *hotspot_names_method(struct hotspot_names *n, const struct hotspot *h, uint64_t method);

/*
 * Names of the code at ip, which may be a return address: the methods there, each but the last inlined in the next,
 * or the JVM's name of it ("StubRoutines (1)"). Returns how many, innermost first, valid as long as *n; 0: as above.
 */
unsigned hotspot_names_code(struct hotspot_names *n, struct hotspot *h, uint64_t ip, bool is_return,
			    const char *const **ret_names);

#define HOTSPOT_INLINED_MAX 32

/*
 * The methods at a place in a compiled method, innermost first, the compiled one last, as the compiler recorded them.
 * ip: a return address or, without is_return, the current instruction. Returns how many; 0: nothing is recorded
 * there.
 */
unsigned hotspot_inlined(const struct hotspot *h, const struct hotspot_blob *blob, uint64_t ip, bool is_return,
			 uint64_t methods[HOTSPOT_INLINED_MAX]);

/* Decodes a number in HotSpot's UNSIGNED5 format, for tests: returns the bytes used; 0: it is incomplete. */
unsigned hotspot_unpack(const uint8_t *bytes, size_t cnt, bool without_zero, uint32_t *ret);

/* Java frames from a copy of a stack: a thread's own, or a chunk on the heap that a virtual thread left. */

#define JAVA_FRAMES_MAX 128

struct java_stack {
	const uint8_t *bytes;	/* from sp - 16 on, because a call saves words below sp */
	size_t cnt;
	uint64_t sp, end;	/* begin of the innermost frame; end of the outermost one */
	uint64_t pc, fp;	/* of the innermost frame, if it is a thread's own stack */
	bool is_chunk;		/* its frame pointers are relative */
};

struct java_frames {
	const char *names[JAVA_FRAMES_MAX];	/* innermost first; valid until java_code_check() */
	bool is_synchronized[JAVA_FRAMES_MAX];	/* the method holds a monitor while it runs */
	unsigned cnt;
	bool is_at_barrier;	/* the next frame is in the thread's chunk */
	unsigned entered;	/* number of frames within a call from native code or the JVM; 0: none */
	enum stack_end end;	/* complete: walked to where virtual threads begin */
};

/* A cache of code. */
struct java_code;
struct java_code *java_code_new(struct hotspot *h);	/* borrows it */
void java_code_free(struct java_code *c);	/* NULL is fine */
/* Removes entries whose code or method was replaced. Call it before the stacks of each look. */
void java_code_check(struct java_code *c);

/* Appends the frames of a stack or chunk; *f must be zeroed at first. */
void java_frames_add(struct java_frames *f, struct java_code *code, const struct java_stack *s);

/* A thread of a JVM that waits for a monitor (synchronized), and the owner; thread ids as in the process. */
struct hotspot_monitor {
	uint32_t tid, holder_tid;
};

/*
 * Appends those that two readings of the process's memory agree on: HotSpot publishes each thread's pending monitor,
 * and a monitor's owner. Nothing if this version does not. The memory is not trusted: counts are bounded, and invalid
 * data is skipped.
 */
void hotspot_monitors(const struct hotspot *h, GArray *ret);

/* A monitor with waiters, including virtual threads, and its owner: since JDK 24. */
struct hotspot_contended {
	uint64_t object;	/* the locked object; 0: unknown */
	uint64_t owner;		/* id of a platform or virtual thread */
};

/* Appends them. False: not in this version, or too many. */
bool hotspot_contended(const struct hotspot *h, GArray *ret);

#endif
