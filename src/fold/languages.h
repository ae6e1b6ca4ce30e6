/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_LANGUAGES_H
#define FOLD_LANGUAGES_H

#include "abi/language_abi.h"
#include "abi/offcpu_abi.h"
#include "profile/profile.h"
#include "profile/profile_map.h"

/*
 * A stripped interpreter's own functions have no names, and between functions of the language their addresses tell
 * nothing: one of these functions may have many ways through C.  So each run of them is one frame, "[python3.11]".
 */

/* Spots are what the caller keeps of frames: these tell the frame of one, and make one of a frame. */
struct fold_spots {
	uint32_t (*frame_of)(const void *ctx, uint32_t spot);
	uint32_t (*spot_of)(void *ctx, uint32_t frame);
	void *ctx;
};

/* The interpreter's file, where a stack as it was walked has functions of a language; NULL: it has none. */
const char *fold_methods_module(const struct profile *p, const struct offcpu_rec_stack *rec, const uint32_t *frames,
				unsigned cnt);

/* module: the interpreter's file, or NULL.  Spots become fewer, and how many is returned. */
unsigned fold_interpreter_runs(struct profile *p, const struct fold_spots *by, const char *module, uint32_t *spots,
			       unsigned cnt);

/*
 * Puts an interpreter's frames into the user stacks that they were read with: each call of the interpreter is one
 * frame of C, whose place the frames of its group take.
 */
struct fold_languages;

struct fold_languages *fold_languages_new(struct profile *profile);
void fold_languages_free(struct fold_languages *l);

/* A stack as fold_stacks.c has it: spots, innermost first, with their frames. */
struct fold_stack_spots {
	uint64_t id;
	const uint32_t *spots, *frames;
	const uint32_t *sp;	/* where each begins on the stack, as struct offcpu_rec_stack; NULL: not known */
	unsigned cnt;
	enum stack_end end;
};

/* A user stack has arrived; it is kept if an interpreter runs in it. */
void fold_languages_native(struct fold_languages *l, const struct fold_stack_spots *stack);

/* Forgets user stacks that are not known any more. */
typedef bool (*fold_known_fn)(uint64_t id, void *data);
void fold_languages_forget(struct fold_languages *l, fold_known_fn is_known, void *data);
/* Keeps the others.  Not with lines. */
void fold_languages_keep(struct fold_languages *l, struct profile_compact *c);

#define FOLD_LANGUAGE_SPOTS (OFFCPU_MAX_DEPTH + OFFCPU_LANGUAGE_DEPTH)

/*
 * The merged stack's spots; how many, 0: its user stack is not known (yet).  Where the two do not fit together the
 * user stack is what it is, and that is counted.  Runs of the interpreter's functions without names are one frame.
 */
unsigned fold_languages_merge(struct fold_languages *l, const struct offcpu_rec_language *rec,
			      const struct fold_spots *by, uint32_t *ret_spots, enum stack_end *ret_end);
void fold_languages_count_lost(struct fold_languages *l);
/* An interpreter's frame has no name. */
void fold_languages_count_stale(struct fold_languages *l);

/*
 * Where the holder of a GIL stood, in words: "crunch (app.py:12) < main (app.py:40)", from the innermost function on
 * that is none of Python's own library, if there is one.  Appends; nothing where no frame could be named.
 */
void fold_languages_append_holder(struct fold_languages *l, const struct offcpu_rec_language *rec, GString *s);

#endif
