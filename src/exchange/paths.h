/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXCHANGE_PATHS_H
#define EXCHANGE_PATHS_H

#include "exchange/format.h"

/* What every writer needs of a profile. */

/* The frames of a wait, outermost first, user before kernel: replaces what `frames` (of uint32_t) holds. */
void path_frames(const struct profile *p, uint32_t user, uint32_t kernel, GArray *frames);

/* The same without attributes of trace contexts, which the format has another place for: see profile/context.h. */
void path_own_frames(const struct profile *p, uint32_t user, uint32_t kernel, GArray *frames);

/* Is the wait to be written? */
static inline bool plan_has(const struct export_plan *plan, uint32_t wait)
{
	return !plan->selection || plan->selection->waits[wait];
}

/* "mutex LOCK_log (mariadbd)"; appended. */
void object_text(GString *s, const struct object *o);

/* "at the start", "at the end", "all the time": how a wait was open at the window's edges; NULL: it was not. */
const char *open_text(uint8_t wait_flags);

/* "tokio-worker-1234/1240": of a thread, appended; control characters as they are. */
void thread_text(GString *s, const struct thread *t);

/* Sentences about the profile: command line, filters, selection, losses; free with g_ptr_array_unref(). */
GPtrArray *profile_notes(const struct profile *p, const struct export_plan *plan);

#endif
