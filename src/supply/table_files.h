/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SUPPLY_TABLE_FILES_H
#define SUPPLY_TABLE_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/elf_file.h"
#include "supply/slabs.h"
#include "symbolize/process/maps.h"

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
