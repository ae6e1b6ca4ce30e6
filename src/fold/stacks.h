/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_STACKS_H
#define FOLD_STACKS_H

#include "abi/language_abi.h"
#include "abi/offcpu_abi.h"
#include "features/traces/abi.h"
#include "profile/profile.h"
#include "profile/profile_map.h"
#include "symbolize/symbolize.h"

/* Stacks as they arrive: symbolized, put together of their parts, and kept as nodes of the profile. */
struct fold_stacks;

/* max_depth: frames of one stack that are kept, the innermost. */
struct fold_stacks *fold_stacks_new(struct profile *profile, struct symbolizer *symbolizer, unsigned max_depth);
void fold_stacks_free(struct fold_stacks *f);	/* NULL is fine */

/* See fold_with_lines(). */
void fold_stacks_with_lines(struct fold_stacks *f);

/* A record of impossible size is dropped and counted. */
void fold_stacks_add(struct fold_stacks *f, const struct offcpu_rec_stack *rec, size_t size);
/* See fold_languages_append_holder(). */
void fold_stacks_append_holder(struct fold_stacks *f, const struct offcpu_rec_language *rec, GString *s);
/* A user stack that came before, with an interpreter's frames in it. */
void fold_stacks_add_language(struct fold_stacks *f, const struct offcpu_rec_language *rec, size_t size);
/* The same with what the thread's trace says of the wait. */
void fold_stacks_add_context(struct fold_stacks *f, const struct offcpu_rec_context *rec, size_t size);
/* The id's stack are its attributes.  What the route of such a record is called, appended.  What its process calls itself in its context, or NULL. */
const char *fold_stacks_route(struct fold_stacks *f, const struct offcpu_rec_context *rec, size_t size,
			      GString *ret_route);
/* Of the kernel stack that comes next. */
void fold_stacks_add_path(struct fold_stacks *f, const struct offcpu_rec_sleep_path *rec, size_t size);

/* Names that compilers' lists give may have changed: see fold/stacks_part.h. */
void fold_stacks_look_at_names(struct fold_stacks *f);
/* The id of that stack with the names of then, for what waited in it then.  Mostly its own. */
uint64_t fold_stacks_id_at(struct fold_stacks *f, uint64_t id, uint64_t at_ns);

/* Another window begins: what is only remembered may go where it is much. */
void fold_stacks_next_window(struct fold_stacks *f);

/* See fold_forget(). */
void fold_stacks_forget(struct fold_stacks *f);
/* Keeps what it knows.  Not with lines. */
void fold_stacks_keep(struct fold_stacks *f, struct profile_compact *c);

/* With lines only now stacks have nodes. */
void fold_stacks_finish(struct fold_stacks *f);

uint64_t fold_stacks_cnt(const struct fold_stacks *f);
/* The node of a stack id; false when it has not arrived. */
bool fold_stacks_find(const struct fold_stacks *f, uint64_t id, uint32_t *ret_node);
/* The same: 0 for the id 0, and one that says "pending" for what never arrived.  kind: enum frame_kind. */
uint32_t fold_stacks_node(struct fold_stacks *f, uint64_t id, uint8_t kind);
/*
 * The node of a stack that user space has read: of rec depth and frames are filled in.  space tells programs of a PID
 * apart.
 */
uint32_t fold_stacks_take(struct fold_stacks *f, struct offcpu_rec_stack *rec, uint32_t pid, uint64_t space,
			  bool is_user);

#endif
