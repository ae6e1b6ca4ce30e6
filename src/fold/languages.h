/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_LANGUAGES_H
#define FOLD_LANGUAGES_H

#include "abi/language_abi.h"
#include "abi/offcpu_abi.h"
#include "profile/profile.h"
#include "profile/profile_map.h"

/*
 * A stripped interpreter's own functions have no names, and their addresses say nothing, because one function may
 * take many ways through C. So each run of them between functions of the language becomes one frame, "[python3.11]".
 */

/* A spot is the caller's representation of a frame. These functions convert one to the other. */
struct fold_spots {
	uint32_t (*frame_of)(const void *ctx, uint32_t spot);
	uint32_t (*spot_of)(void *ctx, uint32_t frame);
	void *ctx;
};

/* The interpreter's file, if the walked stack contains functions of a language. NULL: none. */
const char *fold_methods_module(const struct profile *p, const struct offcpu_rec_stack *rec, const uint32_t *frames,
				unsigned cnt);

/* module: the interpreter's file, or NULL. Merges spots and returns how many remain. */
unsigned fold_interpreter_runs(struct profile *p, const struct fold_spots *by, const char *module, uint32_t *spots,
			       unsigned cnt);

/*
 * Merges an interpreter's frames into the user stack that they were read with: each C frame that is a call of the
 * interpreter is replaced by one group of interpreter frames.
 */
struct fold_languages;

struct fold_languages *fold_languages_new(struct profile *profile);
void fold_languages_free(struct fold_languages *l);

/* A stack in fold_stacks.c: spots with their frames, innermost first. */
struct fold_stack_spots {
	uint64_t id;
	const uint32_t *spots, *frames;
	const uint32_t *sp;	/* stack position of each, as in struct offcpu_rec_stack; NULL: unknown */
	unsigned cnt;
	enum stack_end end;
};

/* A user stack has arrived. It is kept if an interpreter runs in it. */
void fold_languages_native(struct fold_languages *l, const struct fold_stack_spots *stack);

/* Frees user stacks that fn does not know any more. */
typedef bool (*fold_known_fn)(uint64_t id, void *data);
void fold_languages_forget(struct fold_languages *l, fold_known_fn is_known, void *data);
/* Maps ids and strings that are still used. Not with lines. */
void fold_languages_keep(struct fold_languages *l, struct profile_compact *c);

#define FOLD_LANGUAGE_SPOTS (OFFCPU_MAX_DEPTH + OFFCPU_LANGUAGE_DEPTH)

/*
 * Fills in the merged stack's spots and returns their number; 0: its user stack has not arrived (yet). If the two do
 * not match, the user stack is used unchanged and the mismatch is counted. Runs of unnamed interpreter functions
 * become one frame.
 */
unsigned fold_languages_merge(struct fold_languages *l, const struct offcpu_rec_language *rec,
			      const struct fold_spots *by, uint32_t *ret_spots, enum stack_end *ret_end);
void fold_languages_count_lost(struct fold_languages *l);
/* Counts an interpreter frame that has no readable name. */
void fold_languages_count_stale(struct fold_languages *l);

/*
 * Appends the stack of a GIL's holder as text, "crunch (app.py:12) < main (app.py:40)", from the innermost function
 * outside of Python's own library, if there is one. Appends nothing if no frame has a name.
 */
void fold_languages_append_holder(struct fold_languages *l, const struct offcpu_rec_language *rec, GString *s);

#endif
