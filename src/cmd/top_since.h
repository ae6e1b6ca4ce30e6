/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_TOP_SINCE_H
#define CMD_TOP_SINCE_H

#include "profile/profile.h"

/* The intervals of `offcpu top` since it began, as one: what one window of all that time would hold. */
struct since;

struct since *since_new(void);
void since_free(struct since *s);	/* NULL is fine; before the session */
/*
 * The next interval, right behind the one before, by session_keep_window().  False with a sentence: there are more
 * rows than memory is for, and the sum begins anew with this one.
 */
bool since_add(struct since *s, struct profile *window, GError **error);
/* The sum up to now, which stays as it is until this is called again; NULL: nothing was added. */
struct profile *since_hold(struct since *s);

#endif
