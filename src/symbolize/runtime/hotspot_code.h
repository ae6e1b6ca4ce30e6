/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_HOTSPOT_CODE_H
#define SYMBOLIZE_HOTSPOT_CODE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "symbolize/process/maps.h"
#include "symbolize/runtime/hotspot_layout.h"

/*
 * The code cache of a JVM (HotSpot, x86-64) while it lives: heaps of blocks, each with a "code blob", which is a
 * compiled method, a stub, or the interpreter.  The process changes it meanwhile, and it is not trusted: what makes no
 * sense is left out, and sizes, pointers and counts are bounded.
 */

#define HOTSPOT_HEAPS_MAX 8

struct hotspot_heap {
	uint64_t low, high;	/* of the blocks; more may be committed later */
	uint64_t segmap;	/* a byte for each segment: 0 where a block begins, else how far to go back */
	unsigned shift;		/* a segment's size */
};

struct hotspot {
	uint32_t pid;
	struct hotspot_layout layout;
	struct hotspot_heap heaps[HOTSPOT_HEAPS_MAX];	/* by address */
	unsigned heap_cnt;
	uint64_t interpreter, interpreter_end;	/* its code; 0: not made yet */
	uint64_t call_stub;	/* an address in the stub by which C++ calls Java */
};

/* Is the file of this path a JVM? */
bool hotspot_is_file(const char *path);
/*
 * Looks for libjvm.so among the process's mappings (struct maps_line), and at its tables.  False: there is none, or it
 * is not ready or not known.
 */
bool hotspot_open(struct hotspot *h, const char *proc_dir, uint32_t pid, const GArray *lines);
/* Reads where the heaps are now. */
bool hotspot_read_heaps(struct hotspot *h);

enum hotspot_kind {
	HOTSPOT_KIND_CODE,		/* frame_bytes tells */
	HOTSPOT_KIND_INTERPRETER,
	HOTSPOT_KIND_CALL_STUB,	/* keeps a frame pointer; so may others that have no frame_bytes */
};

struct hotspot_blob {
	enum hotspot_kind kind;
	uint64_t at;		/* address of the blob itself */
	uint64_t code, code_end;
	uint32_t frame_bytes;	/* from the stack pointer to the caller's; 0: not told */
	uint32_t complete;	/* from there in the code on the frame is whole */
	uint64_t name;		/* address of the text that says what it is */
	uint64_t method;	/* what lies where a compiled method has its Method, */
	uint32_t compile_id;	/* and its number, which no other has */
};

/* All blobs of a heap by address; false where the heap cannot be read, or `fn` gave false. */
typedef bool (*hotspot_blob_fn)(void *ctx, const struct hotspot_blob *blob);
bool hotspot_for_each_blob(const struct hotspot *h, const struct hotspot_heap *heap, hotspot_blob_fn fn, void *ctx);

/*
 * A hash of where blocks begin and end: with another one there is other code.  With the same one other code of the
 * same size may lie somewhere.  Takes a hundredth of the time that reading all blobs takes.
 */
uint64_t hotspot_blocks_hash(const struct hotspot *h);

/* The blob whose code addr is in. */
bool hotspot_find_blob(struct hotspot *h, uint64_t addr, struct hotspot_blob *ret);

#endif
