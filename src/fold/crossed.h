/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_CROSSED_H
#define FOLD_CROSSED_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Rows of what the kernel sends once, by id: stacks, wakers, objects. A session with windows runs for months, and
 * each new process adds rows, so unused rows are freed. The kernel programs forget first and send again what they
 * meet later (bpf/cut.bpf.h). An id that a thread was about to use when they forgot appears at the next cut, so a row
 * stays for one more turn.
 */
struct crossed;

/* Each row begins with this. */
struct crossed_row {
	uint64_t id;
	uint32_t turn;		/* turn of its last use */
	bool is_kept;		/* never free it */
};

/* free_row frees a row. */
struct crossed *crossed_new(GDestroyNotify free_row);
void crossed_free(struct crossed *c);

/* row->id is set and new. */
void crossed_add(struct crossed *c, void *row);
/* NULL: none. Counts as a use of the row. */
void *crossed_find(const struct crossed *c, uint64_t id);
/* Does not count as a use. */
bool crossed_has(const struct crossed *c, uint64_t id);
guint crossed_cnt(const struct crossed *c);

/* Begins another turn, once the kernel programs have forgotten. Frees rows unused in the last two turns. */
void crossed_forget(struct crossed *c);

typedef void (*crossed_fn)(void *row, void *data);
void crossed_for_each(const struct crossed *c, crossed_fn fn, void *data);

#endif
