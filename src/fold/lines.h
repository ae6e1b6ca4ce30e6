/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_LINES_H
#define FOLD_LINES_H

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

#endif
