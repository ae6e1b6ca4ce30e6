/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_TASKS_ROWS_H
#define FEATURES_TASKS_ROWS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/frame.h"
#include "profile/profile.h"

/*
 * Tasks of a runtime (goroutines, tasks of asyncio and Tokio, virtual threads of Java, greenlets) found by looks at a
 * process. They are a separate population, whose time is never added to that of threads.
 */

#define TASKS_ROWS_MAX 65536u	/* distinct rows */

enum tasks_kind { TASKS_GO, TASKS_ASYNCIO, TASKS_TOKIO, TASKS_JAVA, TASKS_GREENLET, TASKS_KINDS };
/* "goroutine", "asyncio", "tokio", "java", "greenlet", for recordings and tables. */
const char *tasks_kind_name(enum tasks_kind kind);
bool tasks_kind_parse(const char *name, enum tasks_kind *ret);

struct task_frame {
	const char *name;	/* NULL: unknown */
	const char *file;	/* NULL: unknown */
	uint32_t line;		/* 0: unknown */
};

/* A label of tasks is an outermost frame of the stack: "/order/{id}" with the file "[http.route]". */
static inline bool task_frame_is_label(const struct task_frame *f)
{
	return f->file && f->file[0] == '[';
}

/* Properties of all tasks in a row. */
struct task_row {
	const char *state;	/* "waiting", "runnable", "running", "syscall" */
	const char *reason;	/* "chan send"; NULL: none */
	const struct task_frame *frames;	/* innermost first */
	unsigned frame_cnt;
	enum stack_end end;
	struct task_frame creator;	/* where it was created; without a name: unknown */
	const char *name;	/* name of the task, if all have the same; NULL: none */
	const char *awaited_by;	/* name of the task that waits for these, likewise */
	uint64_t parent;	/* id of the task that created all of these; 0: unknown, or several */
	/* from looks */
	uint64_t seen;		/* number of times a task was seen in this state */
	double tasks;		/* mean number over the window, or the number in the only look */
	uint64_t task_ns, task_se_ns;
	/* in the current look, and in the previous one */
	double now, before;
	uint64_t before_seen;
	double squares;	/* sum of squares of differences between neighbouring looks */
	uint64_t now_seen;
	guint number;	/* index before sorting */
	guint cell;	/* index of its cell in the current look, if any */
	/* in a recording: ids of the profile; 0: none */
	uint32_t stack;
	uint32_t creator_frame;	/* + 1 */
};

/*
 * When rows were seen: one look, or several neighbouring ones that were merged. Its rows are `cell_cnt` cells from
 * `first_cell` on, by row.
 */
#define TASK_LOOKS_MAX 600u	/* if there are more, pairs are merged */
#define TASK_CELLS_MAX (1u << 18)	/* likewise */

struct task_look {
	uint64_t start_ns, period_ns;	/* CLOCK_MONOTONIC: the time that the look stands for */
	uint64_t looks;
	uint64_t stale, unreadable, no_row;	/* as in struct tasks */
	double weight;		/* maximum number of tasks that one stood for */
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
	uint64_t window_ns;	/* 0: a single look, without times */
	uint64_t looks;
	double rate_hz;		/* as asked for */
	double tasks;		/* sum over the rows */
	double looked_at_share;	/* mean share of the tasks that a look saw */
	uint64_t cpu_ns;	/* CPU time of looking */
	GArray *rows;		/* struct task_row, sorted by tasks once finished */
	/* losses */
	uint64_t stale;		/* tasks that changed during the look: rows without a stack */
	uint64_t unreadable;	/* memory that was unmapped */
	uint64_t no_row;	/* tasks without a row because of TASKS_ROWS_MAX */
	bool is_cut;		/* there are more tasks than looks can cover: tasks_most() */
	GArray *when;		/* struct task_look by time; empty: unknown */
	GArray *cells;		/* struct task_cell */
	/* private */
	uint64_t joined;	/* number of looks merged into an entry of `when` */
	GStringChunk *strings;
	GHashTable *index;	/* key: row + 1 */
	double now_weight, most_weight;	/* maximum number of tasks that one stands for: in this look, in any */
};

/* Limits of the tasks in a process that looks cover. */
enum { TASKS_MOST_GO = 16 << 20, TASKS_MOST_ASYNCIO = 1 << 20, TASKS_MOST_JAVA = 1 << 20, TASKS_MOST_TOKIO = 16384 };

static inline uint64_t tasks_most(enum tasks_kind kind)
{
	return kind == TASKS_GO ? TASKS_MOST_GO : kind == TASKS_TOKIO ? TASKS_MOST_TOKIO : TASKS_MOST_ASYNCIO;
}

struct tasks *tasks_new(enum tasks_kind kind, uint32_t pid);
void tasks_free(struct tasks *t);	/* NULL is fine */
GPtrArray *tasks_list_new(void);	/* for struct tasks, which it owns */
static inline const struct task_row *tasks_get(const struct tasks *t, guint i)
{
	return &g_array_index(t->rows, struct task_row, i);
}
const char *tasks_string(struct tasks *t, const char *text);	/* NULL for NULL */

/*
 * The row of a key, which the caller computes from whatever distinguishes rows. A new row is empty and filled in by
 * the caller; its frames are freed with g_free(). NULL: too many rows.
 */
struct task_row *tasks_row(struct tasks *t, uint64_t key, bool *ret_is_new);

/* Adds a task, which stands for `weight` tasks, to the current look. */
void tasks_seen(struct tasks *t, struct task_row *row, double weight);
/* Ends the look. It stands for the period_ns that end at end_ns. */
void tasks_look_done(struct tasks *t, uint64_t end_ns, uint64_t period_ns);
/* Likewise, of a look that would have seen what the last one did, which saw all tasks. */
void tasks_look_again(struct tasks *t, uint64_t end_ns, uint64_t period_ns);
/* No more looks: computes means and errors. */
void tasks_finish(struct tasks *t);
/* Computes means from times, and sorts the rows. */
void tasks_set_means(struct tasks *t);
/* Keeps at most `max` rows; the rest is counted as no_row. */
void tasks_cut_rows(struct tasks *t, guint max);
/*
 * Keeps what lies between these instants, as if only that had been observed. A look whose period crosses an edge
 * counts in part. False: nothing is left, or the times of looks are unknown.
 */
bool tasks_cut_range(struct tasks *t, uint64_t from_ns, uint64_t to_ns);

/* Tasks in a recording: a population for each process, with frames and texts of the profile. */

#define TASKS_POPULATIONS_MAX 1024
#define TASKS_RECORDED_MAX (1u << 14)	/* limit of rows over all populations */
#define TASKS_DEPTH_MAX 256
#define TASKS_PPM 1000000	/* unit of a share */

static inline const struct tasks *profile_tasks(const struct profile *p, guint i)
{
	return g_ptr_array_index(p->tasks, i);
}

/* Adds t, the result of looks at a window, and takes ownership. Rows get stacks of the profile. Rows beyond
 * TASKS_RECORDED_MAX are left out and counted; outer frames beyond TASKS_DEPTH_MAX are cut. */
void profile_add_tasks(struct profile *p, struct tasks *t);

/* Fills in the frames of a row from its stack in the profile, and the creator's from its frame + 1. */
void tasks_take_frames(const struct profile *p, struct task_row *row);
uint32_t tasks_creator_frame(struct profile *p, const struct task_frame *creator);
/* Limits rows over all populations to TASKS_RECORDED_MAX; those with most tasks stay. */
void profile_bound_tasks(struct profile *p);

/* Checks that ids are in range and times fit; else *error says what is wrong. */
bool tasks_check(const struct profile *p, GError **error);

/* For rows.c: the list of looks, which allows to cut the window. */

/* A look for that period follows, with its cells. */
void task_looks_begin(struct tasks *t, uint64_t end_ns, uint64_t period_ns);
void task_looks_add(struct tasks *t, guint row, uint64_t seen, uint64_t task_ns);
/* Rows were sorted: row->number is the former index. */
void task_looks_renumber(struct tasks *t);
/* The last rows were removed. */
void task_looks_cut_rows(struct tasks *t);

/* Checks the order of time, that cells refer to rows, and that sums stay far below 64 bits. */
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
