/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_OPENER_SKIPPED_H
#define BASE_OPENER_SKIPPED_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * What an opener did not answer for, by subjects as opener_subject_of_path() names them.  It is skipped for a minute,
 * and each time it is tried in vain twice as long, up to an hour.  After some processes of one user all of his are, so
 * that others keep their openers.  Not thread-safe: the channel's lock is held.
 */
struct opener_skipped;

struct opener_skipped *opener_skipped_new(void);
void opener_skipped_free(struct opener_skipped *s);
/* now_us: g_get_monotonic_time(), as below. */
bool opener_skipped_has(const struct opener_skipped *s, const char *subject, int64_t now_us);
void opener_skipped_add(struct opener_skipped *s, const char *subject, int64_t waited_us, int64_t now_us);
/* A sentence about a subject, once. */
void opener_skipped_tell(struct opener_skipped *s, const char *subject, char *sentence);
/* opener_news(), opener_last_news(). */
char *opener_skipped_news(struct opener_skipped *s);
char *opener_skipped_last_news(const struct opener_skipped *s);

#endif
