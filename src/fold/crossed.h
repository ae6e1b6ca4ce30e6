/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_CROSSED_H
#define FOLD_CROSSED_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Rows of what crosses once, by its id: stacks, wakers, objects.  A session that is cut runs for months, and each
 * process that starts has some of its own, so rows that nobody met are forgotten.  The kernel's programs forget first:
 * they send again what they meet later (bpf/cut.bpf.h).  What a thread was just about to sum under is met at the next
 * cut, so a row stays for one turn more.
 */
struct crossed;

/* Each row begins with this one. */
struct crossed_row {
	uint64_t id;
	uint32_t turn;		/* it was last met in */
	bool is_kept;		/* it is never forgotten */
};

/* free_row: of a row. */
struct crossed *crossed_new(GDestroyNotify free_row);
void crossed_free(struct crossed *c);

/* row->id is set, and there is none of that id. */
void crossed_add(struct crossed *c, void *row);
/* NULL: there is none.  It is met by that. */
void *crossed_find(const struct crossed *c, uint64_t id);
/* The same, without meeting it. */
bool crossed_has(const struct crossed *c, uint64_t id);
guint crossed_cnt(const struct crossed *c);

/* Another turn begins: the programs have forgotten.  Those not met in this one or the one before are freed. */
void crossed_forget(struct crossed *c);

typedef void (*crossed_fn)(void *row, void *data);
void crossed_for_each(const struct crossed *c, crossed_fn fn, void *data);

#endif
