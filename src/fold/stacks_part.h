/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_STACKS_PART_H
#define FOLD_STACKS_PART_H

#include "profile/profile.h"
#include "symbolize/symbolize.h"

/*
 * Stacks with the line of every frame and inlined functions (--inline). While recording, only the places of each
 * stack are kept. At the end debug information is read and the stacks become nodes.
 */
struct fold_lines;

struct fold_lines *fold_lines_new(struct profile *profile, struct symbolizer *symbolizer);
void fold_lines_free(struct fold_lines *l);

/* The place of a looked up address; `frame` is its frame without line. Equal places have one id. */
uint32_t fold_lines_place(struct fold_lines *l, const struct symbol *symbol, uint32_t frame);
uint32_t fold_lines_frame(const struct fold_lines *l, uint32_t place);

/* A stack's places, innermost first. */
void fold_lines_stack(struct fold_lines *l, uint64_t id, const uint32_t *places, unsigned cnt, enum stack_end end);

typedef void (*fold_lines_fn)(uint64_t id, uint32_t node, void *data);
/* Reads the debug information and calls `tell` with each stack's node. */
void fold_lines_finish(struct fold_lines *l, fold_lines_fn tell, void *data);

/*
 * Functions named by perf maps, whose addresses may hold other functions later. A stack is sent once, with the names
 * of its first occurrence. Waits at the same addresses after a change of the map, known by the slice of the sum, get
 * a variant of the stack with another id.
 */
struct fold_jit_names;

struct fold_jit_variant {
	uint64_t id;	/* of the original stack */
	uint64_t at_ns;	/* use the names of this time */
};

struct fold_jit_names *fold_jit_names_new(void);
void fold_jit_names_free(struct fold_jit_names *n);	/* NULL is fine */

/* The frame was named by its address, which was in the process at ts_ns. */
void fold_jit_names_note(struct fold_jit_names *n, uint32_t frame, uint32_t pid, uint64_t ts_ns, uint64_t addr);
/* A stack that may contain such frames; `user` is set for one merged with an interpreter's. */
void fold_jit_names_stack(struct fold_jit_names *n, uint64_t id, uint64_t ts_ns, const uint32_t *frames, unsigned cnt);
void fold_jit_names_merged(struct fold_jit_names *n, uint64_t id, uint64_t ustack);
/* Reads the maps that have changed. */
void fold_jit_names_poll(const struct fold_jit_names *n, struct symbolizer *s);
/* Reads the names again. Done periodically, because a map is gone with its process. */
void fold_jit_names_look(struct fold_jit_names *n, struct symbolizer *s, struct profile *p);

/* The id of the stack for waits at at_ns. */
uint64_t fold_jit_names_id_at(struct fold_jit_names *n, uint64_t id, uint64_t at_ns);
/* NULL: the id is not a variant. */
const struct fold_jit_variant *fold_jit_names_variant(const struct fold_jit_names *n, uint64_t id);
/* The node with the names of at_ns. */
uint32_t fold_jit_names_node(const struct fold_jit_names *n, struct profile *p, uint32_t node, uint64_t at_ns);

/* Forgets everything, after frames got other ids. */
void fold_jit_names_forget(struct fold_jit_names *n);

#endif
