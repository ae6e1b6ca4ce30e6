/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_TRACES_FOLD_H
#define FEATURES_TRACES_FOLD_H

#include "features/traces/abi.h"
#include "profile/profile.h"

/*
 * Turns the trace contexts of threads into frames. They become the outermost frames of a stack, so all code that
 * groups or draws stacks also does so by route. The traced program controls all of the contents.
 */
struct fold_contexts;

struct fold_contexts *fold_contexts_new(struct profile *profile, const char *proc_dir);
void fold_contexts_free(struct fold_contexts *c);	/* NULL is fine */

/* Checks a record from the ring buffer. False: malformed. */
bool fold_contexts_is_sound(const struct offcpu_rec_context *rec, size_t size);

#define FOLD_CONTEXT_FRAMES 8	/* max per stack */
#define FOLD_CONTEXT_VALUES_MAX 1000	/* max distinct values per program; others become "[others]" */

/*
 * Fills in the frames of the attributes that distinguish rows, outermost first, and returns their number. Attributes
 * whose number the process does not explain are omitted and counted.
 */
unsigned fold_contexts_frames(struct fold_contexts *c, const struct offcpu_rec_context *rec, uint32_t *ret_frames);
/* The service name that the process publishes, or NULL. Valid until the next record. */
const char *fold_contexts_service(struct fold_contexts *c, const struct offcpu_rec_context *rec);

/* The traces of the longest waits, kept until the rows of these waits exist. */
struct fold_traces;

struct fold_traces *fold_traces_new(void);
void fold_traces_free(struct fold_traces *t);	/* NULL is fine */

/* False: the record has an impossible size and is dropped. */
bool fold_traces_add(struct fold_traces *t, const struct offcpu_rec_trace *rec, size_t size);
/* The sum of that key has become row `wait`: adds the trace of its longest wait. */
void fold_traces_tell(struct fold_traces *t, struct profile *p, const struct offcpu_wait_key *key, uint32_t wait);
/* An id of up to 16 bytes as hexadecimal digits; owned by the profile. */
const char *fold_trace_text(struct profile *p, const uint8_t *bytes, size_t cnt);
/* Called at the end of the window. */
void fold_traces_finish(struct fold_traces *t, struct profile *p);

#endif
