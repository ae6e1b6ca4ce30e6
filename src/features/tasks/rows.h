/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_TASKS_ROWS_H
#define FEATURES_TASKS_ROWS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/frame.h"
#include "profile/profile.h"

/*
 * Tasks of a runtime (goroutines, asyncio's tasks, Tokio's, virtual threads of Java, greenlets) as looks at a process have found them: a
 * population of its own, whose time is never added to that of threads.
 */

#define TASKS_ROWS_MAX 65536u	/* kinds of waiting that are told apart */

enum tasks_kind { TASKS_GO, TASKS_ASYNCIO, TASKS_TOKIO, TASKS_JAVA, TASKS_GREENLET, TASKS_KINDS };
/* "goroutine", "asyncio", "tokio", "java", "greenlet": as recordings and tables have it. */
const char *tasks_kind_name(enum tasks_kind kind);
bool tasks_kind_parse(const char *name, enum tasks_kind *ret);

struct task_frame {
	const char *name;	/* NULL: not known */
	const char *file;	/* NULL: not known */
	uint32_t line;		/* 0: not known */
};

/* A label of tasks is a frame, the outermost ones of the stack: "/order/{id}", its file "[http.route]". */
static inline bool task_frame_is_label(const struct task_frame *f)
{
	return f->file && f->file[0] == '[';
}

/* What tasks have in common that are told as one row. */
struct task_row {
	const char *state;	/* "waiting", "runnable", "running", "syscall" */
	const char *reason;	/* "chan send", NULL: none */
	const struct task_frame *frames;	/* innermost first */
	unsigned frame_cnt;
	enum stack_end end;
	struct task_frame creator;	/* where it was made; without a name: not known */
	const char *name;	/* of the one task, or of all; NULL: none */
	const char *awaited_by;	/* the same of tasks that wait for these */
	uint64_t parent;	/* the number of the task that made all of these; 0: not known, or several */
	/* from the looks */
	uint64_t seen;		/* how often a task was seen so */
	double tasks;		/* mean number over the window, or the number at the only look */
	uint64_t task_ns, task_se_ns;
	/* of the look that goes on, and of the one before it */
	double now, before;
	double squares;	/* of differences of task time between neighbouring looks */
	uint64_t now_seen;
	guint number;	/* before rows were sorted */
	guint cell;	/* where that of the open look may be */
	/* of a recording: the profile's own; 0: none */
	uint32_t stack;
	uint32_t creator_frame;	/* + 1 */
};

/*
 * When rows were seen: one look, or several neighbouring ones that were joined.  What they found are `cell_cnt` cells
 * from `first_cell` on, by row.
 */
#define TASK_LOOKS_MAX 600u	/* more are joined in pairs */
#define TASK_CELLS_MAX (1u << 18)	/* with more the same */

struct task_look {
	uint64_t start_ns, period_ns;	/* CLOCK_MONOTONIC: what it stands for */
	uint64_t looks;
	uint64_t stale, unreadable, no_row;	/* as below */
	double weight;		/* the most that one task stood for */
	guint first_cell, cell_cnt;
};

struct task_cell {
	uint32_t row;
	uint64_t seen, task_ns;
};

struct tasks {
	enum tasks_kind kind;
	uint32_t pid;
	const char *program, *version;	/* "shop", "go1.19.8" */
	uint64_t window_ns;	/* 0: there was one look, so no times */
	uint64_t looks;
	double rate_hz;		/* as asked for */
	double tasks;		/* as in a row: of all */
	double looked_at_share;	/* of the tasks, by looks; 1: each look saw all */
	uint64_t cpu_ns;	/* what looking cost */
	GArray *rows;		/* struct task_row, most tasks first once it is finished */
	/* what is missing */
	uint64_t stale;		/* looks at a task that changed meanwhile: they are rows without a stack */
	uint64_t unreadable;	/* memory that was gone */
	uint64_t no_row;	/* looks at tasks beyond TASKS_ROWS_MAX rows */
	bool is_cut;		/* there are more tasks than are ever looked at: see tasks_most() */
	GArray *when;		/* struct task_look, in the order of time; none: not known */
	GArray *cells;		/* struct task_cell */
	/* inside */
	uint64_t joined;	/* looks that an entry of `when` takes */
	GStringChunk *strings;
	GHashTable *index;	/* key: row + 1 */
	double now_weight, most_weight;	/* the most that one task stands for in this look, stood for in any */
};

/* So many tasks of a process are looked at. */
enum { TASKS_MOST_GO = 16 << 20, TASKS_MOST_ASYNCIO = 1 << 20, TASKS_MOST_JAVA = 1 << 20, TASKS_MOST_TOKIO = 16384 };

static inline uint64_t tasks_most(enum tasks_kind kind)
{
	return kind == TASKS_GO ? TASKS_MOST_GO : kind == TASKS_TOKIO ? TASKS_MOST_TOKIO : TASKS_MOST_ASYNCIO;
}

struct tasks *tasks_new(enum tasks_kind kind, uint32_t pid);
void tasks_free(struct tasks *t);	/* NULL is fine */
GPtrArray *tasks_list_new(void);	/* struct tasks, which it frees */
static inline const struct task_row *tasks_get(const struct tasks *t, guint i)
{
	return &g_array_index(t->rows, struct task_row, i);
}
const char *tasks_string(struct tasks *t, const char *text);	/* NULL stays NULL */

/*
 * The row of a key, which the caller makes of whatever tells its tasks from others.  A new one is empty, and the
 * caller's to fill in; its frames are freed with g_free().  NULL: there are too many.
 */
struct task_row *tasks_row(struct tasks *t, uint64_t key, bool *ret_is_new);

/* One task of the look that goes on, which stands for `weight` of them. */
void tasks_seen(struct tasks *t, struct task_row *row, double weight);
/* The look is over; it stands for the period_ns that end at end_ns. */
void tasks_look_done(struct tasks *t, uint64_t end_ns, uint64_t period_ns);
/* No more looks: makes means and errors. */
void tasks_finish(struct tasks *t);
/* Means, of times that are known; rows are sorted. */
void tasks_set_means(struct tasks *t);
/* As many as fit beside others; what is left out is told as no_row. */
void tasks_cut_rows(struct tasks *t, guint max);
/*
 * What of it lies between these instants, as if only that had been looked at; a look whose period crosses an edge
 * counts with its part.  False: nothing does, or it is not known when.
 */
bool tasks_cut_range(struct tasks *t, uint64_t from_ns, uint64_t to_ns);

/* Tasks in a recording: a population a process, whose frames and texts are the profile's. */

#define TASKS_POPULATIONS_MAX 1024
#define TASKS_RECORDED_MAX (1u << 14)	/* rows of all populations together */
#define TASKS_DEPTH_MAX 256
#define TASKS_PPM 1000000	/* of a share that is kept as a number */

static inline const struct tasks *profile_tasks(const struct profile *p, guint i)
{
	return g_ptr_array_index(p->tasks, i);
}

/* Takes t over, with looks at a window.  Its rows get stacks of the profile; rows beyond TASKS_RECORDED_MAX are
 * left out and counted; outer frames beyond TASKS_DEPTH_MAX are cut. */
void profile_add_tasks(struct profile *p, struct tasks *t);

/* Of a row that has a stack of the profile, the frames of that; of its creator the frame in the profile + 1. */
void tasks_take_frames(const struct profile *p, struct task_row *row);
uint32_t tasks_creator_frame(struct profile *p, const struct task_frame *creator);
/* Rows of all populations together are no more than TASKS_RECORDED_MAX, those of most tasks of each. */
void profile_bound_tasks(struct profile *p);

/* Ids in range, and times that fit; else *error says what is wrong. */
bool tasks_check(const struct profile *p, GError **error);

/* Inside of tasks.c: the list of looks, by which a part of the window is told. */

/* A look of that period follows, and what it found. */
void task_looks_begin(struct tasks *t, uint64_t end_ns, uint64_t period_ns);
void task_looks_add(struct tasks *t, guint row, uint64_t seen, uint64_t task_ns);
/* Rows have been sorted: row->number is where each one was. */
void task_looks_renumber(struct tasks *t);
/* The last rows are gone. */
void task_looks_cut_rows(struct tasks *t);

/* In the order of time, with cells of rows that there are, and sums far below 64 bits. */
bool task_looks_check(const struct tasks *t);

static inline const struct task_look *task_looks_get(const struct tasks *t, guint i)
{
	return &g_array_index(t->when, struct task_look, i);
}
static inline const struct task_cell *task_looks_cell(const struct tasks *t, guint i)
{
	return &g_array_index(t->cells, struct task_cell, i);
}

#endif
