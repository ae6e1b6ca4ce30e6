/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_OBJECTS_H
#define FOLD_OBJECTS_H

#include "abi/language_abi.h"
#include "abi/object_abi.h"
#include "profile/profile.h"

/*
 * The locks that threads waited for: looked up in the process as they arrive, while it lives; what
 * kind they are of the waits' stacks tell at the end.
 */
struct fold_objects;

struct fold_objects *fold_objects_new(struct profile *profile, const char *proc_dir, const char *debug_dir);
void fold_objects_free(struct fold_objects *o);	/* NULL is fine */

/* A record of impossible size is dropped and counted. */
void fold_objects_add(struct fold_objects *o, const struct offcpu_rec_object *rec, size_t size);

/* An interpreter's lock, and where its holder stood (of OFFCPU_REC_GIL). */
void fold_objects_add_gil(struct fold_objects *o, const struct offcpu_rec_language *rec, const char *place);

/* What a wait with these stacks (nodes of the profile) and this object has for its object. */
uint32_t fold_objects_wait(struct fold_objects *o, uint64_t id, uint32_t user, uint32_t kernel);

/* See fold_forget(). */
void fold_objects_forget(struct fold_objects *o);
unsigned fold_objects_cnt(const struct fold_objects *o);

#endif
