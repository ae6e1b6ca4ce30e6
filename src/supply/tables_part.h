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
 * The unwind tables' storage in the kernel (abi/space_abi.h): slabs of blocks, added as needed. Equal tables are
 * stored once, whatever their files: a hundred containers may hold copies of one library. All but slabs_new() and
 * slabs_free() may be called by any thread.
 */
struct slabs;

struct slab_table {
	uint32_t rows_block, index_block;
	uint32_t row_cnt, page_cnt;
	/* private to slabs.c */
	uint64_t hash;
	uint32_t block_cnt;
	unsigned users;
	bool is_known;
};

/* Creates the map of slabs as the BPF object declares it and sets it there: before it is loaded. */
struct slabs *slabs_new(struct bpf_map *outer, GError **error);
/* After every table was dropped. */
void slabs_free(struct slabs *s);

/* NULL: no room. */
struct slab_table *slabs_store(struct slabs *s, const struct unwind_table *t);
/* No program may be using it any more. */
void slabs_drop(struct slabs *s, struct slab_table *t);

/* Makes a map as the BPF object declares it; its descriptor, or a negative errno. */
int slabs_create_map(struct bpf_map *like, int inner_fd);

/* Free numbered blocks, allocated first-fit. */
struct extents;

struct extents *extents_new(void);
void extents_free(struct extents *e);

/* Blocks [first, first + cnt) become free; none may be free already. */
void extents_give(struct extents *e, uint32_t first, uint32_t cnt);
/* False when no free extent is long enough; cnt is not 0. */
bool extents_take(struct extents *e, uint32_t cnt, uint32_t *ret_first);

/* Number of contiguous free blocks up to `end`. */
uint32_t extents_tail(const struct extents *e, uint32_t end);
uint64_t extents_free_cnt(const struct extents *e);

/*
 * Unwind tables for code that a program makes at run time and whose runtime describes it: a JVM's code cache. There is
 * one table for each of its heaps, renewed as the program compiles. One thread may call this.
 */

/* Tables that were recently in use: a walk may still use them. */
struct retired_tables;
struct retired_tables *retired_tables_new(struct slabs *slabs);
/* Frees those that no walk can use any more; all: no program runs any more. */
void retired_tables_sweep(struct retired_tables *r, bool all);
void retired_tables_free(struct retired_tables *r);

struct made_code;

/* Does a file of this path make code at run time, of a known kind? */
bool made_code_is_by(const char *path);
struct made_code *made_code_new(struct slabs *slabs, struct retired_tables *retired, uint32_t pid);
void made_code_free(struct made_code *m);	/* NULL is fine */

/*
 * If it is due, checks whether the code has changed; true: the program's mappings are to be published. Adds to
 * *refused_cnt the number of tables without room.
 */
bool made_code_look(struct made_code *m, uint64_t *refused_cnt);
int64_t made_code_due_us(const struct made_code *m);	/* when the next check is due; m NULL: INT64_MAX */

/* Adds the heaps to a program's mappings (struct space_mapping by address), unless they overlap others. */
void made_code_add_mappings(const struct made_code *m, GArray *mappings);

/* What the kernel programs must know of a program's runtimes. */
struct runtimes {
	struct offcpu_language language;	/* version 0: none known */
	struct made_code *made;	/* NULL: no code is made at run time, or none of a known kind */
	uint32_t v8;		/* see struct space */
	bool met_speaker, met_maker, met_v8, met_context;	/* found in the mappings just read */
	int64_t pause_us, due_us;	/* an interpreter that is not ready is checked again then, at growing
					 * intervals */
	uint64_t python_key_at;	/* it is CPython: see python_has_begun(); else 0 */
	struct offcpu_context_place context;	/* valid with has_context: where its threads' traces are */
	bool has_context;
	int64_t context_due_us;	/* it may be published late, and its attributes may grow */
	unsigned context_looks;
	const struct go_labels_place *labels;	/* NULL: it has no goroutine labels; and the load bias of the file */
	uint64_t labels_bias;
};

/* Before its mappings are read. */
void runtimes_begin(struct runtimes *r);
void runtimes_meet(struct runtimes *r, const struct maps_line *line);
/* Looks for what was not found so far. */
void runtimes_look(struct runtimes *r, uint32_t pid, struct slabs *slabs, struct retired_tables *retired);
/* A file of the program, loaded at `bias`, has goroutine labels at these places. */
void runtimes_meet_labels(struct runtimes *r, const struct go_labels_place *labels, uint64_t bias);
/* Where the threads' trace contexts are, or these labels; false: nowhere, or not yet. */
bool runtimes_context(const struct runtimes *r, uint32_t pid, struct offcpu_context_place *ret);
/* When to check again for an interpreter that was not ready, or a context; INT64_MAX: never. */
int64_t runtimes_due_us(const struct runtimes *r);
/* Checks what is due; true when something has changed and must be published. */
bool runtimes_look_again(struct runtimes *r, uint32_t pid);

/* What the kernel has of a program's mappings, for the BPF unwinder. */
struct handover {
	uint64_t space;		/* the program's key */
	uint32_t generation, part_cnt;
	uint64_t read_ns;	/* as in struct space */
	uint32_t speaks;	/* enum space_speaks */
	uint32_t v8;
	bool is_there;
};

/*
 * Publishes a program's mappings, at most SPACE_PARTED_MAX, sorted by address. They replace those of an earlier
 * generation. False when the kernel has no room for them: the earlier ones stay.
 */
bool handover_put(struct handover *h, int spaces_fd, const struct space_mapping *mappings, uint32_t cnt,
		  uint32_t generation);
void handover_withdraw(struct handover *h, int spaces_fd);

/*
 * The files that processes have mapped, and one unwind table for each, compiled by threads of its own and put into the
 * slabs. Files that no process maps any more are forgotten after a while. One thread at a time may call this.
 */
struct table_files;

enum table_file_state {
	TABLE_FILE_QUEUED,
	TABLE_FILE_READY,
	TABLE_FILE_WITHOUT,	/* it has no unwind table, or an unreadable one */
	TABLE_FILE_REFUSED,	/* the slabs had no room for it */
	TABLE_FILE_RETRY,	/* refused before, and there is room again */
};

/* Identifies a file, as it was when mapped. */
struct table_file_key {
	uint64_t device, inode, bytes;
	int64_t mtime_s, mtime_ns;
};

struct table_file {
	enum table_file_state state;
	struct slab_table *table;	/* once ready */
	uint64_t base;			/* of the table: lowest virtual address */
	struct elf_segment *segments;
	size_t segment_cnt;
	struct go_labels_place labels;	/* of goroutine labels, in a Go program */
	/* private to table_files.c */
	struct table_file_key key;
	unsigned users, published_cnt;	/* published_cnt: number of entries in the kernel's map */
	int64_t unused_us;
	enum table_file_state result;	/* owned by the builder until it has finished */
	int fd;
};

/* Called in a builder's thread: table_files_built() is due. */
typedef void (*table_files_fn)(struct table_file *file, void *data);

/*
 * kernel_fd: the map in which programs find a file's table (struct file_table). hurries: the builders should not wait
 * for other work on a busy machine.
 */
struct table_files *table_files_new(struct slabs *slabs, int kernel_fd, bool hurries, table_files_fn on_built,
				    void *data);
/* False when a builder still works on a large file: then nothing is freed, and slabs and data must stay. */
bool table_files_free(struct table_files *tf);

/* The file of a process's mapping, queued to be built if it is new; NULL: none. */
struct table_file *table_files_of_mapping(struct table_files *tf, uint32_t pid, const struct maps_line *line);
/* Prefetches for a command's executable and its interpreter, before it is executed. */
void table_files_prefetch(struct table_files *tf, const char *path);
/* Do the kernel's programs have all that exists for that file? */
bool table_files_suffice(const struct table_files *tf, const struct maps_file *id);
void table_files_built(struct table_files *tf, struct table_file *file);
/* Builds for which on_built was not called yet. */
unsigned table_files_building(const struct table_files *tf);

/* Number of changes of the kernel's map: the programs must look it up again before a removed table is dropped. */
unsigned table_files_changed_cnt(const struct table_files *tf);

/* A file is kept while it has users. */
void table_file_use(struct table_file *file);
void table_file_unuse(struct table_file *file);

/*
 * Forgets files that have long had no users, and sooner if there was no room for others. True when there is room
 * again: mappings of files to RETRY should be read again.
 */
bool table_files_sweep(struct table_files *tf);

/* How often there was no room. */
uint64_t table_files_refused_cnt(const struct table_files *tf);

/* Raises the calling thread's priority. */
void table_files_hurry(void);

#endif
