/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RUNTIMES_TOKIO_PROGRAM_H
#define RUNTIMES_TOKIO_PROGRAM_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "symbolize/elf/table.h"
#include "symbolize/symbolize.h"

/*
 * The tasks of Tokio in a live Rust process, read from outside. A task begins with words in C layout: its state, a
 * link, a vtable, and the id of its list. The vtable, found by the names of its functions, shows the kind of task and
 * the offset of the list's links. No symbol shows where lists begin: a task is found by its vtable's address, it
 * leads to its runtime, and there the two ends of a list are searched. A list counts only if it can be walked from
 * one end to the other with consistent links. Neither file nor memory is trusted.
 */

#define TOKIO_TASKS_MAX 16384	/* per look; more are cut */

struct tokio_program {
	uint32_t pid;
	char *path;	/* of the file, as seen by the process */
	GHashTable *kinds;	/* struct tokio_kind, by its vtable's address */
	uint64_t kinds_from, kinds_to;
	GArray *places;	/* struct tokio_place: the ends of lists */
	uint64_t links_at;	/* offset of the links in a task's trailer */
	bool has_links_at;
	uint64_t listed;	/* tasks in the last look */
	uint32_t reads_left;	/* remaining reads in this look, which limits hostile programs */
};

/* Memory that contains the ends of lists. */
struct tokio_place {
	uint64_t from, bytes;
};

/* Tasks of the same future. */
struct tokio_kind {
	uint64_t table, poll, schedule;	/* addresses of the vtable and of two of its functions */
	uint32_t end_at, scheduler_at;	/* offsets in a task */
	char *name;	/* the future's type; NULL: unknown */
	char *file;	/* its source file; NULL: unknown */
	uint32_t line;
	bool has_several_places;	/* the position is its own, or that of a future it awaits */
};

enum tokio_task_state {
	TOKIO_WAITS,
	TOKIO_READY,	/* woken but not polled yet */
	TOKIO_RUNS,
	TOKIO_DONE,	/* about to be freed */
};

struct tokio_task {
	uint64_t addr;
	const struct tokio_kind *kind;
	enum tokio_task_state state;
};

/* lines: the process's mappings (struct maps_line). False: not such a program. Close it in either case. */
bool tokio_program_open(struct tokio_program *p, const char *proc_dir, uint32_t pid, const GArray *lines);
/* Has it tasks by now? The first ones are searched for. */
bool tokio_program_is_ready(struct tokio_program *p, const GArray *lines);
void tokio_program_close(struct tokio_program *p);

/*
 * All tasks, as struct tokio_task. *ret_is_cut: some lists changed while being read, or were too long. False: the
 * process is gone.
 */
bool tokio_program_read(struct tokio_program *p, GArray *ret, bool *ret_is_cut);

/* Part of it: the future's type from the demangled name of a Tokio function. NULL: none. Free with g_free(). */
char *tokio_future_name(const char *function);
/* The first type of a list that starts after its bracket. NULL: just a letter. Free with g_free(). */
char *tokio_first_argument(const char *at);

/*
 * Finds the source position of a task's future without debug information, with any mangling. Each async function or
 * block panics if it is polled after completion, with its own file and line, so every program contains these. They
 * are found in the function that polls the task, by following direct calls.
 */

struct tokio_place_search {
	uint32_t pid;
	const struct elf_table *table;
	uint64_t bias;
	bool (*may_read)(void *ctx, unsigned cnt);	/* limits what is read of the process */
	void *ctx;
};

struct tokio_source_place {
	char *file;	/* "src/shop.rs"; the caller frees it */
	uint32_t line;
	bool is_one_of_several;	/* awaited futures are inlined, and the position may be theirs */
};

/* False: nothing found. poll: address of the function that polls the task. */
bool tokio_place_find(const struct tokio_place_search *s, uint64_t poll, struct tokio_source_place *ret);

/*
 * If a future's own code was inlined into a Tokio function that polls it, names the frame after the future, with its
 * line. addr: the address of `symbol`, which was found by its file; strings: receives the texts.
 */
void tokio_place_of_frame(struct symbol *symbol, uint32_t pid, uint64_t addr, GStringChunk *strings);

#endif
