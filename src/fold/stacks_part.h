/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_STACKS_PART_H
#define FOLD_STACKS_PART_H

#include "profile/profile.h"
#include "symbolize/symbolize.h"

/*
 * Stacks with the line of every frame and the functions inlined there (--inline).  While
 * recording, only the places of each stack are kept; at the end debug information is read and
 * the stacks become nodes.
 */
struct fold_lines;

struct fold_lines *fold_lines_new(struct profile *profile, struct symbolizer *symbolizer);
void fold_lines_free(struct fold_lines *l);

/* The place of a looked up address, whose frame without line is `frame`; equal ones are one. */
uint32_t fold_lines_place(struct fold_lines *l, const struct symbol *symbol, uint32_t frame);
uint32_t fold_lines_frame(const struct fold_lines *l, uint32_t place);

/* A stack, innermost first. */
void fold_lines_stack(struct fold_lines *l, uint64_t id, const uint32_t *places, unsigned cnt, enum stack_end end);

typedef void (*fold_lines_fn)(uint64_t id, uint32_t node, void *data);
/* Reads the debug information and tells every stack's node. */
void fold_lines_finish(struct fold_lines *l, fold_lines_fn tell, void *data);

/*
 * Functions that a compiler's list named, and that may lie where another one lies later.  A stack crosses once, as its
 * addresses are met first, and has the names of then; what waited at the same addresses after the list changed, by the
 * slice of the sum, has a variant of the stack, of another id.
 */
struct fold_jit_names;

struct fold_jit_variant {
	uint64_t id;	/* of the stack as it crossed */
	uint64_t at_ns;	/* with the names of then */
};

struct fold_jit_names *fold_jit_names_new(void);
void fold_jit_names_free(struct fold_jit_names *n);	/* NULL is fine */

/* The frame was named by its address, which the process had at ts_ns. */
void fold_jit_names_note(struct fold_jit_names *n, uint32_t frame, uint32_t pid, uint64_t ts_ns, uint64_t addr);
/* A stack that may have such frames; one that is put together of another one and an interpreter's. */
void fold_jit_names_stack(struct fold_jit_names *n, uint64_t id, uint64_t ts_ns, const uint32_t *frames, unsigned cnt);
void fold_jit_names_merged(struct fold_jit_names *n, uint64_t id, uint64_t ustack);
/* What lies there now?  Now and then, as a list is gone with its process. */
void fold_jit_names_look(struct fold_jit_names *n, struct symbolizer *s, struct profile *p);

/* The id for what waited at at_ns in the stack. */
uint64_t fold_jit_names_id_at(struct fold_jit_names *n, uint64_t id, uint64_t at_ns);
/* NULL: the id is a stack's own. */
const struct fold_jit_variant *fold_jit_names_variant(const struct fold_jit_names *n, uint64_t id);
/* The node with the names of at_ns. */
uint32_t fold_jit_names_node(const struct fold_jit_names *n, struct profile *p, uint32_t node, uint64_t at_ns);

/* Forgets all: frames have other ids. */
void fold_jit_names_forget(struct fold_jit_names *n);

#endif
