/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SERVER_HISTORY_H
#define SERVER_HISTORY_H

#include "server/ask.h"
#include "server/ranges.h"

/*
 * The store of `offcpu agent` as a page, as JSON and for other viewers: what `offcpu serve` serves (docs/serve.md).
 * Every request is bounded: time range, steps, rows, bytes, and the number of heavy requests at once.
 */

#define HISTORY_WORKERS 8	/* threads that answer */
#define HISTORY_HEAVY_MAX 2	/* of these, threads that may read ranges at a time */
/* of these, threads that may wait for their turn; the others stay free for quick requests */
#define HISTORY_WAITING_MAX 4

struct history;

/* dir NULL: the default folder of the store. */
struct history *history_new(const char *dir);
void history_free(struct history *h);	/* NULL is fine */

const char *history_dir_of(const struct history *h);

/* What the history holds; false on error: it is empty. */
bool history_extent(const struct history *h, struct store_extent *ret, GError **error);

/* A part of the history and how it is filtered. */
struct history_part {
	struct ask_range range;
	struct ask_filter filter;
	const char *incident;	/* folder of an incident to read instead of the history; NULL: the history */
	/* The result: */
	const struct profile *profile;
	struct profile *own;	/* the same, if not shared */
	struct selection *selection;
	char *text;	/* description of the filter */
};
/* Call it within a turn, and always call history_part_clear() afterwards.  False on error, with a status. */
bool history_part_read(struct history *h, struct history_part *part, enum range_form form, GError **error);
void history_part_clear(struct history *h, struct history_part *part);

extern const struct route history_routes[];	/* their ctx is the struct history */
extern const gsize history_routes_cnt;

/*
 * Waits for a turn to read a range, for a limited time; false with SERVER_UNAVAILABLE.  history_leave() gives the turn
 * back.
 */
bool history_enter(struct history *h, GError **error);
void history_leave(struct history *h);

#endif
