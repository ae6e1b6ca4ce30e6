/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_REASON_MATCH_H
#define ANALYSE_REASON_MATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "analyse/reason/rules.h"
#include "profile/profile.h"

/*
 * Which patterns of a set agree with which strings of a profile.  Each frame, module and name is asked once; plain
 * names and names with a star at the end, which is most, are looked up instead of tried.
 */
struct matcher;

/* Borrows both, which must not grow. */
struct matcher *matcher_new(const struct rule_set *set, const struct profile *p);
void matcher_free(struct matcher *m); /* NULL is fine */

/* What is asked about: marks of the patterns that agree. */
void matcher_begin(struct matcher *m);
void matcher_mark_frame(struct matcher *m, uint32_t frame); /* kernel, or user and module */
void matcher_mark_path(struct matcher *m, uint32_t node); /* all frames of the stack that ends there */
void matcher_mark_text(struct matcher *m, enum rule_field field, const char *text); /* NULL: none */

/* Do all conditions, but those of order, agree with what was marked since matcher_begin()? */
bool matcher_agrees(const struct matcher *m, const struct rule *rule);

/* The ids of the patterns that agree with a frame; valid until another frame is asked about. */
const uint32_t *matcher_frame(struct matcher *m, uint32_t frame, uint32_t *ret_cnt);

/* As rules call a user function: "ns::f" of "ns::f(int)", "pthread_cond_wait" of "pthread_cond_wait@@GLIBC_2.3.2". */
char *matcher_plain_name(const struct frame *f); /* free with g_free(); NULL of NULL */

/*
 * Does the whole of text agree with the pattern?  '*' is any bytes, '?' any one byte.  Bytes, no characters.  The
 * time is bounded by the product of both lengths, whatever they hold.
 */
bool glob_match(const char *pattern, const char *text, size_t text_len);

#endif
