/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_OBJECTS_H
#define ANALYSE_OBJECTS_H

#include "profile/profile.h"

/*
 * What threads waited for: files, sockets with their peers, pipes, children, locks.  Of one wait it is
 * profile_wait_object(): NULL where it was not asked for, or is not known; its kind is a word by object_kind_text().
 */

/* "socket 10.0.0.5:5432 (postgres)", "mutex queue_lock", "file /var/lib/x": in few words, not escaped. */
void object_append_label(GString *s, const struct object *o);
/* The same, without the kind where paths, addresses and pipes say themselves what they are. */
void object_append_short(GString *s, const struct object *o);

/* The same of a wait without one: "not known", of one that only queued for a CPU "run queue". */
void object_append_wait_label(GString *s, const struct profile *p, const struct wait *w);

/*
 * Puts a frame "-> 10.0.0.5:5432 (postgres)" at the leaf of each wait's stack whose object is known, of a profile with
 * objects: so pictures and other programs' formats show it.  It is a kernel frame without a module.
 */
void objects_as_frames(struct profile *p);
/* Is it such a frame?  To rules it says nothing: a stack that was lost is lost with it, too. */
bool object_is_frame(const struct frame *f);

#endif
