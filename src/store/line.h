/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef STORE_LINE_H
#define STORE_LINE_H

#include "analyse/query.h"
#include "analyse/reason/reasons.h"
#include "features/requests/analysis_cells.h"
#include "profile/profile.h"
#include "store/store.h"

/*
 * The time of a window by process, service and reason.  It is small and stored with each window, so that a time line
 * of one service needs no rows.  Sums are exact; distributions of durations keep three bits.
 */

#define CELLS_GROUPS_MAX 4096	/* per window; beyond, the rows are read instead */
#define CELLS_NAME_MAX_BYTES 128	/* a longer name of a process or service: the same */

/* Waits of one reason. */
struct cell {
	uint64_t blocked_ns, idle_ns;	/* blocked_ns is without idle_ns */
	uint64_t runnable_ns, preempted_ns;
	uint64_t by_slot[PROFILE_HIST_SLOTS];	/* waits that are not idle, by duration */
};

struct cell_group {
	const char *process, *service;
	/* accounts of whole threads */
	uint64_t on_cpu_ns, runnable_ns, preempted_ns, unlisted_ns;
	struct cell *of[REASON_COUNT];	/* NULL: none */
};

/* The process and the service that a thread's time counts for. */
const char *cells_process(const struct thread *t);
const char *cells_service(const struct thread *t);

struct cells;

struct cells *cells_new(void);
void cells_free(struct cells *c);	/* NULL is fine */
/* `reasons` are those of p.  selection NULL: everything. */
void cells_add_profile(struct cells *c, const struct profile *p, const struct reasons *reasons,
		       const struct selection *selection);
/* The order is undefined. */
typedef void (*cells_fn)(void *ctx, const struct cell_group *g);
void cells_visit(const struct cells *c, cells_fn fn, void *ctx);

/* Adds a group; copies its names. */
void cells_add_group(struct cells *c, const struct cell_group *g);
/* number_of: the file's number of a name, from 1 on; 0: no more room.  False: do not store the cells. */
typedef uint64_t (*cells_number_of)(void *ctx, const char *name);
bool cells_encode(const struct cells *c, cells_number_of number_of, void *ctx, GByteArray *into);
/*
 * Calls fn for each group that `wants` accepts (NULL: all).  names: char *, at number - 1.  False: the bytes are
 * invalid; ignore what fn was given.
 */
typedef bool (*cells_wants)(void *ctx, uint64_t process, uint64_t service);
bool cells_decode(const void *bytes, size_t len_bytes, const GPtrArray *names, cells_wants wants, cells_fn fn,
		  void *ctx);

/*
 * The lines of a window: time by class, process, service and reason, so that a time line needs no rows.  Idle time
 * (docs/reasons.md) is a class of its own and in no other group.
 */

#define LINE_BY_CNT 4		/* kinds of enum store_by that are stored */
#define LINE_GROUPS_MAX 24	/* per kind and window, largest first; the rest is "" */
#define LINE_NAME_MAX_BYTES 128
#define LINE_NAMES_MAX 65536	/* per file */

struct line_sums;

struct line_sums *line_sums_new(void);
void line_sums_free(struct line_sums *s);	/* NULL is fine */
/* is_of_waits: the cells hold selected waits, so accounts of whole threads are unknown. */
void line_sums_add_cells(struct line_sums *s, const struct cells *cells, bool is_of_waits);
/* Caches which names of a file the selected part wants. */
struct line_known;
struct line_known *line_known_new(const struct store_part *part, const GPtrArray *names);
void line_known_free(struct line_known *k);	/* NULL is fine */
/* Adds the cells of that file that the part wants.  False: invalid bytes; discard s. */
bool line_sums_add_packed_cells(struct line_sums *s, const void *bytes, size_t len_bytes, struct line_known *known);
/* Calls fn for each group of that kind. */
typedef void (*line_name_fn)(void *ctx, const char *name, uint64_t ns);
void line_sums_visit(const struct line_sums *s, enum store_by by, line_name_fn fn, void *ctx);
/* name_of: the name of a number of the file, from 1 on. */
typedef const char *(*line_name_of)(void *ctx, uint64_t number);
/* False: invalid bytes; discard s. */
bool line_sums_add_bytes(struct line_sums *s, const void *bytes, size_t len_bytes, line_name_of name_of, void *ctx);
/* number_of: the file's number of a name; 0 for "". */
typedef uint64_t (*line_number_of)(void *ctx, const char *name);
void line_sums_encode(const struct line_sums *s, line_number_of number_of, void *ctx, GByteArray *into);

/* Calls fn for each group of that kind; number 0 is the rest.  False: invalid bytes. */
typedef void (*line_group_fn)(void *ctx, uint64_t number, uint64_t ns);
bool line_visit(const void *bytes, size_t len_bytes, enum store_by by, line_group_fn fn, void *ctx);

#define REQUEST_STEPS_MAX 2000

/* Reads the requests of a time range.  dir NULL: STORE_DIR_DEFAULT.  NULL on error. */
struct request_line *request_line_read(const char *dir, uint64_t from_unix_ns, uint64_t to_unix_ns, uint64_t step_ns,
				       GError **error);

/* The requests of a window, encoded (docs/history.md). */

/* number_of: the file's number of a name; 0 for "", or if there is no room.  False: do not store them. */
typedef uint64_t (*request_cells_number_of)(void *ctx, const char *name);
bool request_cells_encode(struct request_cells *c, request_cells_number_of number_of, void *ctx,
			  GByteArray *into);
/* Adds to c.  names: char *, at number - 1.  False: invalid bytes; discard c. */
bool request_cells_add_bytes(struct request_cells *c, const void *bytes, size_t len_bytes, const GPtrArray *names);

#endif
