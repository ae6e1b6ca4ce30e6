/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_EVENT_NAMES_H
#define CMD_EVENT_NAMES_H

#include "abi/offcpu_abi.h"
#include "base/frame.h"
#include "profile/profile.h"

/* Names single waits in the words of a report: "futex_wait (pthread_cond_wait <- do_work)". */
struct event_names;

/*
 * Puts up to `max` frames of the stack into ret_frames, the innermost first, and returns how many; 0 when the stack
 * has not arrived.  They are valid until the next call.
 */
typedef unsigned (*event_stack_fn)(uint64_t id, const struct frame **ret_frames, unsigned max, void *data);

struct event_names *event_names_new(event_stack_fn stack, void *data);
void event_names_free(struct event_names *n);	/* NULL is fine */

/* Valid until the next call; not escaped. */
const char *event_name(struct event_names *n, const struct offcpu_rec_event *e);

#endif
