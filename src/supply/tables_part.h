/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SUPPLY_TABLES_PART_H
#define SUPPLY_TABLES_PART_H

#include <bpf/libbpf.h>
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi/language_abi.h"
#include "abi/space_abi.h"
#include "base/elf_file.h"
#include "features/traces/abi.h"
#include "runtimes/go/answers.h"
#include "symbolize/process/maps.h"
#include "unwind/table.h"

/*
 * The unwind tables' place in the kernel (abi/space_abi.h): slabs of blocks, added as they are
 * needed.  Equal tables are stored once, whatever files they are of: a hundred containers may
 * hold copies of one library.  All but slabs_new() and slabs_free() may be called by any thread.
 */
struct slabs;

/* A stored table. */
struct slab_table {
	uint32_t rows_block, index_block;
	uint32_t row_cnt, page_cnt;
	/* inside slabs.c */
	uint64_t hash;
	uint32_t block_cnt;
	unsigned users;
	bool is_known;
};

/* Makes the map of slabs as the BPF object declares it and lets that use it: before it is loaded. */
struct slabs *slabs_new(struct bpf_map *outer, GError **error);
/* After every table was dropped. */
void slabs_free(struct slabs *s);

/* NULL when there is no room. */
struct slab_table *slabs_store(struct slabs *s, const struct unwind_table *t);
/* No program may be walking by it any more. */
void slabs_drop(struct slabs *s, struct slab_table *t);

/* Makes a map as the BPF object declares it; its descriptor, or a negative errno. */
int slabs_create_map(struct bpf_map *like, int inner_fd);

/* What is free of a row of numbered blocks: the first place that is long enough is given out. */
struct extents;

struct extents *extents_new(void);
void extents_free(struct extents *e);

/* Blocks [first, first + cnt) are free; none of them may be so already. */
void extents_give(struct extents *e, uint32_t first, uint32_t cnt);
/* False when no free extent is as long; cnt is not 0. */
bool extents_take(struct extents *e, uint32_t cnt, uint32_t *ret_first);

/* How many blocks up to `end` are free without a gap. */
uint32_t extents_tail(const struct extents *e, uint32_t end);
uint64_t extents_free_cnt(const struct extents *e);

/*
 * Unwind tables for code that a program makes while it runs, where its runtime tells what it has made: a JVM's code
 * cache. There is one table for each heap of it, made anew as the program compiles.  One thread may call this.
 */

/* Tables that were in use until a moment ago: a walk may still go by them. */
struct retired_tables;
struct retired_tables *retired_tables_new(struct slabs *slabs);
/* Gives those back that nothing can walk by any more; all: no program is run any more. */
void retired_tables_sweep(struct retired_tables *r, bool all);
void retired_tables_free(struct retired_tables *r);

struct made_code;

/* Does code of the file of this path make more, in a way that is known? */
bool made_code_is_by(const char *path);
struct made_code *made_code_new(struct slabs *slabs, struct retired_tables *retired, uint32_t pid);
void made_code_free(struct made_code *m);	/* NULL is fine */

/*
 * Looks whether there is other code than before, if it is time to; true: the program's mappings are to be handed over.
 * Adds to *refused_cnt how many tables there was no room for.
 */
bool made_code_look(struct made_code *m, uint64_t *refused_cnt);
int64_t made_code_due_us(const struct made_code *m);	/* of the next look; m NULL: INT64_MAX */

/* Puts the heaps among a program's mappings (struct space_mapping by address), where they are in no other's way. */
void made_code_add_mappings(const struct made_code *m, GArray *mappings);

/* What runs in a program that the kernel programs have to be told of. */
struct runtimes {
	struct offcpu_language language;	/* version 0: none is known of */
	struct made_code *made;	/* NULL: no code is made at run time, or none that is known */
	uint32_t v8;		/* see struct space */
	bool met_speaker, met_maker, met_v8, met_context;	/* among the mappings just met */
	int64_t pause_us, due_us;	/* an interpreter that is not ready yet is looked for again then, and ever more seldom */
	uint64_t python_key_at;	/* it is CPython: see python_has_begun(); else 0 */
	struct offcpu_context_place context;	/* of its threads' traces, if has_context */
	bool has_context;
	int64_t context_due_us;	/* it may be published late, and its attributes become more */
	unsigned context_looks;
	const struct go_labels_place *labels;	/* NULL: it has no labels of goroutines; and what the file's addresses lack */
	uint64_t labels_bias;
};

/* Its files are met anew. */
void runtimes_begin(struct runtimes *r);
void runtimes_meet(struct runtimes *r, const struct maps_line *line);
/* Looks for what was not found so far. */
void runtimes_look(struct runtimes *r, uint32_t pid, struct slabs *slabs, struct retired_tables *retired);
/* A file of its that lies at `bias` knows where labels of goroutines are. */
void runtimes_meet_labels(struct runtimes *r, const struct go_labels_place *labels, uint64_t bias);
/* Where the threads' trace contexts are, or these labels; false: nowhere, or not yet. */
bool runtimes_context(const struct runtimes *r, uint32_t pid, struct offcpu_context_place *ret);
/* When to look whether an interpreter is ready by now, or a context is there; INT64_MAX: never. */
int64_t runtimes_due_us(const struct runtimes *r);
/* Looks for what is due; true when there is news, which has to be handed over then. */
bool runtimes_look_again(struct runtimes *r, uint32_t pid);

/* What of a program's mappings lies in the kernel, where the BPF unwinder reads it. */
struct handover {
	uint64_t space;		/* the program's key */
	uint32_t generation, part_cnt;
	uint64_t read_ns;	/* as in struct space */
	uint32_t speaks;	/* enum space_speaks */
	uint32_t v8;
	bool is_there;
};

/*
 * Hands a program's mappings over, at most SPACE_PARTED_MAX, sorted by address.  They take the place of those of an
 * earlier generation.  False when the kernel has no room for them: the earlier ones stay.
 */
bool handover_put(struct handover *h, int spaces_fd, const struct space_mapping *mappings, uint32_t cnt,
		  uint32_t generation);
void handover_withdraw(struct handover *h, int spaces_fd);

/*
 * The files that processes have mapped, and one unwind table for each, compiled by threads of
 * its own and put into the slabs.  Those nobody maps any more are forgotten after a while.
 * One thread at a time may call this.
 */
struct table_files;

enum table_file_state {
	TABLE_FILE_QUEUED,
	TABLE_FILE_READY,
	TABLE_FILE_WITHOUT,	/* it has no unwind table, or none that could be read */
	TABLE_FILE_REFUSED,	/* the slabs had no room for it */
	TABLE_FILE_RETRY,	/* the same, and there is room again */
};

/* A file, as it was when mapped. */
struct table_file_key {
	uint64_t device, inode, bytes;
	int64_t mtime_s, mtime_ns;
};

struct table_file {
	enum table_file_state state;
	struct slab_table *table;	/* when ready */
	uint64_t base;			/* of the table: lowest virtual address */
	struct elf_segment *segments;
	size_t segment_cnt;
	struct go_labels_place labels;	/* of a Go program's threads */
	/* inside table_files.c */
	struct table_file_key key;
	unsigned users, told_cnt;	/* the second: of the first, entries in the kernel's map */
	int64_t unused_us;
	enum table_file_state result;	/* the builder's until it is handed over */
	int fd;
};

/* Told by a builder's thread: table_files_built() is due. */
typedef void (*table_files_fn)(struct table_file *file, void *data);

/*
 * kernel_fd: the map by which programs find a file's table (struct file_table).  hurries: the builders should
 * not wait behind a busy machine's work.
 */
struct table_files *table_files_new(struct slabs *slabs, int kernel_fd, bool hurries, table_files_fn on_built,
				    void *data);
/* False when a builder still works on a large file: then nothing is freed, and slabs and data must stay. */
bool table_files_free(struct table_files *tf);

/* The file of a mapping of a process, queued to be built if it is new; NULL: there is none. */
struct table_file *table_files_of_mapping(struct table_files *tf, uint32_t pid, const struct maps_line *line);
/* A command's executable and what interprets that, before it is executed. */
void table_files_foresee(struct table_files *tf, const char *path);
/* The kernel's programs have all that there is to be had of that file. */
bool table_files_suffice(const struct table_files *tf, const struct maps_file *id);
void table_files_built(struct table_files *tf, struct table_file *file);
/* Builds that have not been reported by on_built. */
unsigned table_files_building(const struct table_files *tf);

/* How often the kernel's map was changed: the programs are to look it up again before a table that left it is dropped. */
unsigned table_files_changed_cnt(const struct table_files *tf);

/* A file is kept as long as it has users. */
void table_file_use(struct table_file *file);
void table_file_unuse(struct table_file *file);

/*
 * Forgets files that have long had no users, and sooner when there was no room for others.
 * True when there is room again: mappings of files to RETRY should be read anew.
 */
bool table_files_sweep(struct table_files *tf);

/* How often there was no room. */
uint64_t table_files_refused_cnt(const struct table_files *tf);

/* Lets the calling thread hurry. */
void table_files_hurry(void);

#endif
