/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef STORE_LINE_H
#define STORE_LINE_H

#include "analyse/query.h"
#include "analyse/reason/reasons.h"
#include "features/requests/analysis_cells.h"
#include "profile/profile.h"
#include "store/store.h"

/*
 * The time of a window by process, service and reason: small enough to be kept with each window, so that a time line of
 * one service unpacks no rows.  Sums of cells are exact; how long waits were is told in proportions of three bits.
 */

#define CELLS_GROUPS_MAX 4096	/* of a window; with more its rows are unpacked */
#define CELLS_NAME_MAX_BYTES 128	/* a process or service with a longer name: the same */

/* Waits of one reason. */
struct cell {
	uint64_t blocked_ns, idle_ns;	/* idle_ns is not in blocked_ns */
	uint64_t runnable_ns, preempted_ns;
	uint64_t by_slot[PROFILE_HIST_SLOTS];	/* of waits that are not idle, by how long each was */
};

struct cell_group {
	const char *process, *service;
	/* accounts of whole threads */
	uint64_t on_cpu_ns, runnable_ns, preempted_ns, unlisted_ns;
	struct cell *of[REASON_COUNT];	/* NULL: none */
};

/* What stands for the name of a thread's process, and of its service. */
const char *cells_process(const struct thread *t);
const char *cells_service(const struct thread *t);

struct cells;

struct cells *cells_new(void);
void cells_free(struct cells *c);	/* NULL is fine */
/* reasons: of p.  selection NULL: everything. */
void cells_add_profile(struct cells *c, const struct profile *p, const struct reasons *reasons,
		       const struct selection *selection);
/* In no order. */
typedef void (*cells_fn)(void *ctx, const struct cell_group *g);
void cells_visit(const struct cells *c, cells_fn fn, void *ctx);

/* Adds a group, whose names are copied. */
void cells_add_group(struct cells *c, const struct cell_group *g);
/* number_of: of a text, as the file has it, from 1 on; 0: it takes no more.  False: they are not to be kept. */
typedef uint64_t (*cells_number_of)(void *ctx, const char *name);
bool cells_encode(const struct cells *c, cells_number_of number_of, void *ctx, GByteArray *into);
/*
 * Of each group of the bytes that `wants` has (NULL: all).  names: char *, by number - 1.  False: they are none, and
 * what was told is of no use.
 */
typedef bool (*cells_wants)(void *ctx, uint64_t process, uint64_t service);
bool cells_decode(const void *bytes, size_t len_bytes, const GPtrArray *names, cells_wants wants, cells_fn fn,
		  void *ctx);

/*
 * What a time line needs of a window, so that nobody unpacks it: time by class, process, service and reason.  Idle
 * time (docs/reasons.md) is a class of its own, and in no other group.
 */

#define LINE_BY_CNT 4		/* of enum store_by: those that are kept */
#define LINE_GROUPS_MAX 24	/* of each kind and window, largest first; what is left is "" */
#define LINE_NAME_MAX_BYTES 128
#define LINE_NAMES_MAX 65536	/* of a file */

struct line_sums;

struct line_sums *line_sums_new(void);
void line_sums_free(struct line_sums *s);	/* NULL is fine */
/* is_of_waits: of single waits of threads, whose accounts tell nothing then. */
void line_sums_add_cells(struct line_sums *s, const struct cells *cells, bool is_of_waits);
/* What a part has of the names of a file, which is asked once of each. */
struct line_known;
struct line_known *line_known_new(const struct store_part *part, const GPtrArray *names);
void line_known_free(struct line_known *k);	/* NULL is fine */
/* Cells of that file, those that the part wants.  False: they are none; what was added is of no use. */
bool line_sums_add_packed_cells(struct line_sums *s, const void *bytes, size_t len_bytes, struct line_known *known);
/* Calls fn with each group that was added. */
typedef void (*line_name_fn)(void *ctx, const char *name, uint64_t ns);
void line_sums_visit(const struct line_sums *s, enum store_by by, line_name_fn fn, void *ctx);
/* name_of: the text of a number of the file, from 1 on. */
typedef const char *(*line_name_of)(void *ctx, uint64_t number);
/* False: the bytes are none; what was added is of no use. */
bool line_sums_add_bytes(struct line_sums *s, const void *bytes, size_t len_bytes, line_name_of name_of, void *ctx);
/* number_of: of a text, as the file has it; 0 for "". */
typedef uint64_t (*line_number_of)(void *ctx, const char *name);
void line_sums_encode(const struct line_sums *s, line_number_of number_of, void *ctx, GByteArray *into);

/* Calls fn with each group of that kind in the bytes; number 0 is what is left.  False: they are none. */
typedef void (*line_group_fn)(void *ctx, uint64_t number, uint64_t ns);
bool line_visit(const void *bytes, size_t len_bytes, enum store_by by, line_group_fn fn, void *ctx);

#define REQUEST_STEPS_MAX 2000

/* Of a history.  dir NULL: STORE_DIR_DEFAULT.  NULL with one sentence. */
struct request_line *request_line_read(const char *dir, uint64_t from_unix_ns, uint64_t to_unix_ns, uint64_t step_ns,
				       GError **error);

/* The requests of a window as bytes (docs/history.md). */

/* number_of: of a text, as the file has it; 0 for "", or where there is no room.  False: that cannot be kept. */
typedef uint64_t (*request_cells_number_of)(void *ctx, const char *name);
bool request_cells_encode(struct request_cells *c, request_cells_number_of number_of, void *ctx,
			  GByteArray *into);
/* Adds to c.  names: char *, by number - 1.  False: the bytes are none; what was added is of no use. */
bool request_cells_add_bytes(struct request_cells *c, const void *bytes, size_t len_bytes, const GPtrArray *names);

#endif
