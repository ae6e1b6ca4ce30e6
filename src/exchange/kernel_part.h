/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXCHANGE_KERNEL_PART_H
#define EXCHANGE_KERNEL_PART_H

#include <glib.h>
#include <stdbool.h>

#include "profile/profile.h"

/* Only the kernel's scheduler stands innermost like that. */
bool kernel_part_is_scheduler(const char *name);

/* Does the thread stop there: is the scheduler innermost in that stack of the kernel's? */
bool kernel_part_stops(const struct profile *p, uint32_t kernel);

/*
 * bcc's tools draw no line between user and kernel frames unless they are asked to.  `names` are a stack's, outermost
 * first.  The index of the first one that is the kernel's, where that was entered; or the number of them.  A sleeper's
 * stack ends in the scheduler, a waker's need not.
 */
guint kernel_part_begins(const GPtrArray *names, bool is_waker);

#endif
