/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PUSH_FLEET_ROWS_H
#define PUSH_FLEET_ROWS_H

#include "base/cursor.h"
#include "base/refuse.h"
#include "profile/profile.h"
#include "push/http.h"

/* Internal to fleet.c: adds rows of an answer to a profile. */

/* What was read of one host. */
struct fleet_host {
	const char *name;	/* interned in the profile */
	uint64_t duration_ns;
	uint32_t cpus;
};

struct fleet_frame {
	struct frame frame;
	uint32_t id;	/* id in the profile + 1; 0: not added yet */
};

struct fleet {
	struct profile *p;
	GArray *hosts;		/* struct fleet_host */
	GHashTable *host_index;	/* name -> index + 1 */
	GHashTable *frames, *stacks, *objects, *wakers, *waits;	/* uint64_t -> index + 1 */
	/*
	 * struct fleet_frame, in arbitrary order.  Frames enter the profile when a stack names them, since stacks are
	 * sorted
	 */
	GArray *frame_rows;
	GHashTable *threads;	/* text -> index + 1 */
	GHashTable *populations;	/* text -> struct tasks */
	uint64_t lost_populations, lost_contents;
	GString *a, *b, *c, *d;	/* buffers for a row's texts */
	GString *key;
	guint windows;
};

struct fleet *fleet_new(void);
struct profile *fleet_steal(struct fleet *f);	/* frees f */
void fleet_free(struct fleet *f);	/* frees the profile too; NULL is fine */

/* Reads one row of the answer.  False on error. */
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
void fleet_end_tasks(struct fleet *f);	/* call it when all rows are read */
void fleet_end_contents(struct fleet *f);

/*
 * Append conditions: on rows of any table of windows (by day first, which selects the partitions), and on the windows
 * themselves.
 */
struct fleet_query;
void fleet_append_range(GString *sql, const struct fleet_query *q);
void fleet_append_windows(GString *sql, const struct fleet_query *q);
/* On contents: a host sends each of them once a day, so a window's contents were sent on its day or the day before. */
void fleet_append_days(GString *sql, const struct fleet_query *q);

/* Replacements for $T, $W and $C in a statement. */
struct fleet_places {
	char *tables, *windows, *contents;
};
char *fleet_fill_in(const char *sql, const struct fleet_places *places);	/* free with g_free() */

/* The parts of fleet_rows.c that fleet_stacks.c needs, too. */
/* Returns false and sets *error, unless it is set already. */
#define fleet_bad(error, ...) ((error) && *(error) ? false : refuse(error, PUSH_ERROR, PUSH_ERROR_FAILED, __VA_ARGS__))
/* overwrites ret; truncated to the limit of a profile's strings */
void fleet_text(struct cursor *c, GString *ret);
bool fleet_room(const struct fleet *f, GError **error);
void fleet_note(GHashTable *table, uint64_t id, uint32_t index);
/* Looks up contents, which are sent once a day.  Missing contents are counted as a loss and do not fail the query. */
bool fleet_content(struct fleet *f, GHashTable *table, uint64_t id, uint32_t *ret_index);

/* Reads a row's numbers one by one: EACH(TAKE, w.count, w.blocked_ns). */
#define TAKE(member) member = cursor_u64(c);

#endif
