/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_TRACES_FOLD_H
#define FEATURES_TRACES_FOLD_H

#include "features/traces/abi.h"
#include "profile/profile.h"

/*
 * What threads' trace contexts say becomes frames: of a stack with such attributes these are the outermost ones, so
 * what groups, draws and hands on stacks does so by route, too.  All of it is the program's to write.
 */
struct fold_contexts;

struct fold_contexts *fold_contexts_new(struct profile *profile, const char *proc_dir);
void fold_contexts_free(struct fold_contexts *c);	/* NULL is fine */

/* The record is checked.  False: it is none that could be sent. */
bool fold_contexts_is_sound(const struct offcpu_rec_context *rec, size_t size);

#define FOLD_CONTEXT_FRAMES 8	/* of one stack, at most */
#define FOLD_CONTEXT_VALUES_MAX 1000	/* of one program's attributes; all others are "[others]" */

/*
 * The frames of the attributes that rows are told apart by, outermost first; how many.  An attribute whose number the
 * process does not explain is left out, and counted.
 */
unsigned fold_contexts_frames(struct fold_contexts *c, const struct offcpu_rec_context *rec, uint32_t *ret_frames);
/* As its process calls itself; NULL: it does not say.  Valid until the next record. */
const char *fold_contexts_service(struct fold_contexts *c, const struct offcpu_rec_context *rec);

/* For which traces the longest waits were, until the rows of these are there. */
struct fold_traces;

struct fold_traces *fold_traces_new(void);
void fold_traces_free(struct fold_traces *t);	/* NULL is fine */

/* A record of impossible size is dropped; false then. */
bool fold_traces_add(struct fold_traces *t, const struct offcpu_rec_trace *rec, size_t size);
/* The sum of that key became this row of waits. */
void fold_traces_tell(struct fold_traces *t, struct profile *p, const struct offcpu_wait_key *key, uint32_t wait);
/* An id in hexadecimal digits, up to 16 bytes; the profile's. */
const char *fold_trace_text(struct profile *p, const uint8_t *bytes, size_t cnt);
/* The window is over. */
void fold_traces_finish(struct fold_traces *t, struct profile *p);

#endif
