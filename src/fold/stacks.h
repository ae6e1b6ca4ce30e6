/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_STACKS_H
#define FOLD_STACKS_H

#include "abi/language_abi.h"
#include "abi/offcpu_abi.h"
#include "features/traces/abi.h"
#include "profile/profile.h"
#include "profile/profile_map.h"
#include "symbolize/symbolize.h"

/* Stacks as they arrive: symbolized, merged from their parts, and stored as nodes of the profile. */
struct fold_stacks;

/* max_depth: at most this many innermost frames of a stack are kept. */
struct fold_stacks *fold_stacks_new(struct profile *profile, struct symbolizer *symbolizer, unsigned max_depth);
void fold_stacks_free(struct fold_stacks *f);	/* NULL is fine */

/* See fold_with_lines(). */
void fold_stacks_with_lines(struct fold_stacks *f);

/* A record of impossible size is dropped and counted. */
void fold_stacks_add(struct fold_stacks *f, const struct offcpu_rec_stack *rec, size_t size);
/* See fold_languages_append_holder(). */
void fold_stacks_append_holder(struct fold_stacks *f, const struct offcpu_rec_language *rec, GString *s);
/* Merges an interpreter's frames into a user stack that came before. */
void fold_stacks_add_language(struct fold_stacks *f, const struct offcpu_rec_language *rec, size_t size);
/* Adds what the thread's trace context says. */
void fold_stacks_add_context(struct fold_stacks *f, const struct offcpu_rec_context *rec, size_t size);
/* The stack of the id is its attributes. Appends the name of its route; returns the process's own name, or NULL. */
const char *fold_stacks_route(struct fold_stacks *f, const struct offcpu_rec_context *rec, size_t size,
			      GString *ret_route);
/* For the next kernel stack. */
void fold_stacks_add_path(struct fold_stacks *f, const struct offcpu_rec_sleep_path *rec, size_t size);

/* Checks whether names in perf maps have changed: see fold/stacks_part.h. */
void fold_stacks_look_at_names(struct fold_stacks *f);
/* Reads perf maps that have changed, also where no new stack arrives. */
void fold_stacks_poll_names(struct fold_stacks *f);
/* The id of the stack with the names that were valid at at_ns; mostly `id` itself. */
uint64_t fold_stacks_id_at(struct fold_stacks *f, uint64_t id, uint64_t at_ns);

/* Another window begins: trims caches. */
void fold_stacks_next_window(struct fold_stacks *f);

/* See fold_forget(). */
void fold_stacks_forget(struct fold_stacks *f);
/* Maps ids that are still used. Not with lines. */
void fold_stacks_keep(struct fold_stacks *f, struct profile_compact *c);

/* With lines, stacks get their nodes here. */
void fold_stacks_finish(struct fold_stacks *f);

uint64_t fold_stacks_cnt(const struct fold_stacks *f);
/* The node of a stack id. False: it has not arrived. */
bool fold_stacks_find(const struct fold_stacks *f, uint64_t id, uint32_t *ret_node);
/* Likewise, but 0 for id 0, and a "pending" node for what never arrived. kind: enum frame_kind. */
uint32_t fold_stacks_node(struct fold_stacks *f, uint64_t id, uint8_t kind);
/* The node of a stack that was read in user space; rec has depth and frames. space distinguishes programs of a PID. */
uint32_t fold_stacks_take(struct fold_stacks *f, struct offcpu_rec_stack *rec, uint32_t pid, uint64_t space,
			  bool is_user);

#endif
