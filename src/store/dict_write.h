/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef STORE_DICT_WRITE_H
#define STORE_DICT_WRITE_H

#include "store/dict.h"

/* A dictionary that grows: what is in it is found by its content. */
struct dict_writer;

/*
 * Goes on with one that was read, and takes it.  NULL with a sentence: it says something twice, and so is none of
 * ours.
 */
struct dict_writer *dict_writer_new(struct dict *from, GError **error);
void dict_writer_free(struct dict_writer *w);	/* NULL is fine */
const struct dict *dict_writer_dict(const struct dict_writer *w);

/* The profile that numbers are asked for from now on; it must stay as it is until dict_writer_end(). */
void dict_writer_begin(struct dict_writer *w, const struct profile *p);
uint32_t dict_writer_node(struct dict_writer *w, uint32_t node);
uint32_t dict_writer_waker(struct dict_writer *w, uint32_t waker);
uint32_t dict_writer_object(struct dict_writer *w, uint32_t object);	/* both with 1 added */
uint32_t dict_writer_string(struct dict_writer *w, const char *s);	/* with 1 added; 0: NULL */
uint32_t dict_writer_thread(struct dict_writer *w, const struct thread *t);
/* thread: of the dictionary, the rest of the profile. */
uint32_t dict_writer_key(struct dict_writer *w, uint32_t thread, uint32_t user, uint32_t kernel, uint32_t object,
			 uint8_t state, uint8_t flags);
/* What is new, as a piece; NULL: nothing is.  Free with g_byte_array_unref(). */
GByteArray *dict_writer_end(struct dict_writer *w);

#endif
