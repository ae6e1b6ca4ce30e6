/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_REASON_MATCH_H
#define ANALYSE_REASON_MATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "analyse/reason/rules.h"
#include "profile/profile.h"

/*
 * Which patterns of a set match which strings of a profile.  Each frame, module and name is evaluated once.  Most
 * patterns, plain names and prefixes, are looked up instead of tried.
 */
struct matcher;

/* Borrows both; they must not grow. */
struct matcher *matcher_new(const struct rule_set *set, const struct profile *p);
void matcher_free(struct matcher *m); /* NULL is fine */

/* Begins a question: clears all marks.  The following functions mark matching patterns. */
void matcher_begin(struct matcher *m);
void matcher_mark_path(struct matcher *m, uint32_t node); /* all frames of the stack ending there */
void matcher_mark_text(struct matcher *m, enum rule_field field, const char *text); /* NULL: none */

/* Whether all conditions of the rule, except those of order, match what was marked since matcher_begin(). */
bool matcher_agrees(const struct matcher *m, const struct rule *rule);

/* The ids of patterns that match a frame; valid until the next call. */
const uint32_t *matcher_frame(struct matcher *m, uint32_t frame, uint32_t *ret_cnt);

/*
 * A user function as spelled in rules: "ns::f" for "ns::f(int)", "pthread_cond_wait" for
 * "pthread_cond_wait@@GLIBC_2.3.2".
 */
char *matcher_plain_name(const struct frame *f); /* free with g_free(); NULL if it has no name */

/*
 * Whether the whole text matches the pattern: '*' is any bytes, '?' any single byte (not character).  The time is
 * bounded by the product of both lengths.
 */
bool glob_match(const char *pattern, const char *text, size_t text_len);

#endif
