/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PUSH_FLEET_ROWS_H
#define PUSH_FLEET_ROWS_H

#include "base/cursor.h"
#include "base/refuse.h"
#include "profile/profile.h"
#include "push/http.h"

/* Inside of fleet.c: rows of an answer into a profile. */

/* What of one host was found. */
struct fleet_host {
	const char *name;	/* the profile's */
	uint64_t duration_ns;
	uint32_t cpus;
};

struct fleet_frame {
	struct frame frame;
	uint32_t id;	/* the profile's, + 1; 0: not yet */
};

struct fleet {
	struct profile *p;
	GArray *hosts;		/* struct fleet_host */
	GHashTable *host_index;	/* name -> index + 1 */
	GHashTable *frames, *stacks, *objects, *wakers, *waits;	/* uint64_t -> index + 1 */
	/* struct fleet_frame: in no order, so they become the profile's as stacks, which are in one, name them */
	GArray *frame_rows;
	GHashTable *threads;	/* text -> index + 1 */
	GHashTable *populations;	/* text -> struct tasks */
	uint64_t lost_populations, lost_contents;
	GString *a, *b, *c, *d;	/* texts of a row */
	GString *key;
	guint windows;
};

struct fleet *fleet_new(void);
struct profile *fleet_steal(struct fleet *f);	/* frees f */
void fleet_free(struct fleet *f);	/* with the profile; NULL is fine */

/* Takes one row off the answer.  False with one sentence. */
typedef bool (*fleet_row_fn)(struct fleet *f, struct cursor *c, GError **error);
bool fleet_window_row(struct fleet *f, struct cursor *c, GError **error);
bool fleet_frame_row(struct fleet *f, struct cursor *c, GError **error);
bool fleet_stack_row(struct fleet *f, struct cursor *c, GError **error);
bool fleet_object_row(struct fleet *f, struct cursor *c, GError **error);
bool fleet_waker_row(struct fleet *f, struct cursor *c, GError **error);
bool fleet_thread_row(struct fleet *f, struct cursor *c, GError **error);
bool fleet_state_row(struct fleet *f, struct cursor *c, GError **error);
bool fleet_wait_row(struct fleet *f, struct cursor *c, GError **error);
bool fleet_wake_row(struct fleet *f, struct cursor *c, GError **error);
bool fleet_on_cpu_row(struct fleet *f, struct cursor *c, GError **error);
bool fleet_population_row(struct fleet *f, struct cursor *c, GError **error);
bool fleet_task_row(struct fleet *f, struct cursor *c, GError **error);
bool fleet_tcp_row(struct fleet *f, struct cursor *c, GError **error);
bool fleet_connection_row(struct fleet *f, struct cursor *c, GError **error);
bool fleet_loss_row(struct fleet *f, struct cursor *c, GError **error);
void fleet_end_tasks(struct fleet *f);	/* all rows are read */
void fleet_end_contents(struct fleet *f);

/*
 * Conditions: of rows of any table of windows, by day first, which is what finds their parts of the tables; and of the
 * windows themselves.
 */
struct fleet_query;
void fleet_append_range(GString *sql, const struct fleet_query *q);
void fleet_append_windows(GString *sql, const struct fleet_query *q);
/* Of contents: a host sends each of them once a day, so those of a window are of its day or of the one before. */
void fleet_append_days(GString *sql, const struct fleet_query *q);

/* What stands in a statement in place of $T, $W and $C. */
struct fleet_places {
	char *tables, *windows, *contents;
};
char *fleet_fill_in(const char *sql, const struct fleet_places *places);	/* for g_free() */

/* The parts of fleet_rows.c that fleet_stacks.c needs, too. */
/* False with a sentence, but for the first one that was said. */
#define fleet_bad(error, ...) ((error) && *(error) ? false : refuse(error, PUSH_ERROR, PUSH_ERROR_FAILED, __VA_ARGS__))
void fleet_text(struct cursor *c, GString *ret);	/* replaced; cut at what a profile's string may be */
bool fleet_room(const struct fleet *f, GError **error);
void fleet_note(GHashTable *table, uint64_t id, uint32_t index);
/* What is sent once a day: is it there?  What is not is counted, for it must not cost the rest of the report. */
bool fleet_content(struct fleet *f, GHashTable *table, uint64_t id, uint32_t *ret_index);

/* Numbers of a row in turn: EACH(TAKE, w.count, w.blocked_ns). */
#define TAKE(member) member = cursor_u64(c);

#endif
