/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_TOKIO_PROGRAM_H
#define SYMBOLIZE_TOKIO_PROGRAM_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "symbolize/elf/table.h"
#include "symbolize/symbolize.h"

/*
 * The tasks of Tokio in a living process of a Rust program, seen from outside.  A task begins with words that Tokio
 * lays out as C does: its state, a link, a table of functions, and the number of the list that it is in.  The table,
 * found by the functions' names, tells what kind of task it is, and where in it its neighbours in that list are noted.
 * Where lists begin is told by no symbol: a task is found by the address of its table, it leads to its runtime, and
 * there the two ends of a list are sought.  What makes no list from one end to the other, back and forth, is none.
 * Neither file nor memory is trusted.
 */

#define TOKIO_TASKS_MAX 16384	/* of a look; more are cut */

struct tokio_program {
	uint32_t pid;
	char *path;	/* of the file, as the process names it */
	GHashTable *kinds;	/* struct tokio_kind, by the address of its table */
	uint64_t kinds_from, kinds_to;
	GArray *places;	/* struct tokio_place: where lists begin */
	uint64_t links_at;	/* where in a task's end its neighbours are */
	bool has_links_at;
	uint64_t listed;	/* by the last look */
	uint32_t reads_left;	/* of its memory, in this look: hostile programs end there */
};

/* Memory that the ends of lists lie in. */
struct tokio_place {
	uint64_t from, bytes;
};

/* Tasks of one future. */
struct tokio_kind {
	uint64_t table, poll, schedule;	/* and two of its functions */
	uint32_t end_at, scheduler_at;	/* in a task */
	char *name;	/* the future's type; NULL: not known */
	char *file;	/* where it stands in the sources; NULL: not known */
	uint32_t line;
	bool has_several_places;	/* that is one of them: its own, or of what it awaits */
};

enum tokio_task_state {
	TOKIO_WAITS,
	TOKIO_READY,	/* woken, and not polled yet */
	TOKIO_RUNS,
	TOKIO_DONE,	/* about to go */
};

struct tokio_task {
	uint64_t addr;
	const struct tokio_kind *kind;
	enum tokio_task_state state;
};

/* False: it is no such program, or has no task yet. */
bool tokio_program_open(struct tokio_program *p, const char *proc_dir, uint32_t pid);
void tokio_program_close(struct tokio_program *p);

/*
 * All tasks as struct tokio_task.  *ret_is_cut: some lists changed while they were read, or were too long.  False: the
 * process is gone.
 */
bool tokio_program_read(struct tokio_program *p, GArray *ret, bool *ret_is_cut);

/* For that: the type of the future in the name of a function of Tokio's, demangled; NULL: none.  Free with g_free(). */
char *tokio_future_name(const char *function);
/* The first type of a list of them, from behind its bracket on; NULL where it is only a letter.  Free with g_free(). */
char *tokio_first_argument(const char *at);

/*
 * Where in the sources a task's future stands, without debug information and however symbols are mangled.  Each async
 * function and block panics where it is polled once more after its end, and says its own file and line there: these
 * bytes are in every program.  They are found in what polls the task, along its direct calls.
 */

struct tokio_place_search {
	uint32_t pid;
	const struct elf_table *table;
	uint64_t bias;
	bool (*may_read)(void *ctx, unsigned cnt);	/* counts what is read of the process */
	void *ctx;
};

struct tokio_source_place {
	char *file;	/* "src/shop.rs"; to be freed */
	uint32_t line;
	bool is_one_of_several;	/* what it awaits is inlined into it, and may be what is found */
};

/* False: nothing is found.  poll: address of the function that polls the task. */
bool tokio_place_find(const struct tokio_place_search *s, uint64_t poll, struct tokio_source_place *ret);

/*
 * Where a compiler has put a future's own code into a function of Tokio's that polls it, the frame is named by the
 * future, with its line.  addr: what symbol is found for, by its file; strings: where its texts go.
 */
void tokio_place_of_frame(struct symbol *symbol, uint32_t pid, uint64_t addr, GStringChunk *strings);

#endif
