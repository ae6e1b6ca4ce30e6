/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXCHANGE_PERFETTO_STACKS_H
#define EXCHANGE_PERFETTO_STACKS_H

#include <glib.h>

#include "exchange/wait_event.h"

/* Stacks of single waits as Perfetto's interned data: each is told once, and its number after that. */
struct perfetto_stacks;

struct perfetto_stacks *perfetto_stacks_new(void);
void perfetto_stacks_free(struct perfetto_stacks *s);	/* NULL is fine */
/* All is to be told anew: the reader has forgotten it. */
void perfetto_stacks_clear(struct perfetto_stacks *s);
/* It is time for that: what is kept is bounded. */
bool perfetto_stacks_are_full(const struct perfetto_stacks *s);
/*
 * The number of the wait's stack; 0: it has none.  *ret_interned: a message InternedData of what is new of it, for the
 * packet that uses it first; valid until the next call.
 */
guint perfetto_stacks_find(struct perfetto_stacks *s, const struct wait_event *e, const GString **ret_interned);

#endif
