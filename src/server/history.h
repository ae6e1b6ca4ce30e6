/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SERVER_HISTORY_H
#define SERVER_HISTORY_H

#include "server/ask.h"
#include "server/ranges.h"

/*
 * The store of `offcpu agent` as a page, as JSON and for the viewers of others: what `offcpu serve` serves
 * (docs/serve.md). Every request is bounded: in the range of time, in steps and rows, in bytes, and in how many heavy
 * ones run at once.
 */

#define HISTORY_WORKERS 8	/* threads that answer */
#define HISTORY_HEAVY_MAX 2	/* of these that read ranges at one time */
#define HISTORY_WAITING_MAX 4	/* of these that wait for their turn; the rest stays for what is quick */

struct history;

/* dir NULL: the store's own folder. */
struct history *history_new(const char *dir);
void history_free(struct history *h);	/* NULL is fine */

const char *history_dir_of(const struct history *h);

/* What the history holds; false with a sentence: there is none. */
bool history_extent(const struct history *h, struct store_extent *ret, GError **error);

/* A part of the history, and what of it is asked for. */
struct history_part {
	struct ask_range range;
	struct ask_filter filter;
	const char *incident;	/* its folder, which is read in place of the history; NULL: the history */
	/* What is read: */
	const struct profile *profile;
	struct profile *own;	/* the same, where nobody else has it */
	struct selection *selection;
	char *text;	/* of the filter */
};
/* Within a turn, for history_part_clear() whatever comes of it.  False with a sentence and a status. */
bool history_part_read(struct history *h, struct history_part *part, enum range_form form, GError **error);
void history_part_clear(struct history *h, struct history_part *part);

extern const struct route history_routes[];	/* their ctx is the history */
extern const gsize history_routes_cnt;

/*
 * A turn for what reads a range, for at most a while; false with SERVER_UNAVAILABLE.  history_leave() gives it back.
 */
bool history_enter(struct history *h, GError **error);
void history_leave(struct history *h);

#endif
