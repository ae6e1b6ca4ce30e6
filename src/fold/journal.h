/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_JOURNAL_H
#define FOLD_JOURNAL_H

#include "profile/profile.h"

/* Does a wait with that kernel stack go on until a commit is over?  Who wants a file (has_file) on disk waits for that. */
bool fold_journal_is_awaited(const struct profile *profile, uint32_t kernel, bool has_file);

/* The journal, as index + 1, that the thread which ended such a wait commits; 0: it is none of JBD2's. */
uint32_t fold_journal_object(struct profile *profile, const struct waker *waker);

#endif
