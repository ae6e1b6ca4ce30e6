/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SUPPLY_TABLES_H
#define SUPPLY_TABLES_H

#include <bpf/libbpf.h>
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "symbolize/process/maps.h"

/*
 * Keeps the BPF unwinder supplied: the executable mappings of every program it asks about,
 * and one unwind table for each file among them.  A program's mappings are handed over when all
 * its files are done.  Until then the unwinder goes by the kernel's list of them, and by the tables of those files that
 * are done (bpf/walk/mapped.bpf.h).
 *
 * All work is done by threads of its own; whoever calls this only leaves word.  So tables do not
 * wait for stacks to be named.
 */
struct tables;

/*
 * Makes the three maps as the BPF object declares them and lets that use them: before it is loaded.
 * hurries: for a few processes, whose tables should not wait behind a busy machine's work.
 */
struct tables *tables_new(struct bpf_map *slabs, struct bpf_map *spaces, struct bpf_map *file_tables, bool hurries,
			  GError **error);
void tables_free(struct tables *t);
/*
 * The programs look tables up again when this changes; it is there once they are loaded.  languages_fd, contexts_fd:
 * the maps of the programs that have an interpreter, and trace contexts.
 */
void tables_tell(struct tables *t, volatile uint32_t *epoch, int languages_fd, int contexts_fd);

/* The files that a process or thread has mapped now will be wanted; 0: those of all processes. */
void tables_foresee(struct tables *t, uint32_t pid);
/* The same of what a command, as a shell would find it, begins with. */
void tables_foresee_command(struct tables *t, const char *name);

/*
 * The unwinder asked for the program in process pid, to be known as `space`.  files: struct maps_file, all that it
 * has mapped, taken over: where the unwinder has the tables of all, the program is looked at only if it lives on.
 * NULL: at once, for its files are not known, or tables_are_not_all() of one.
 */
void tables_want(struct tables *t, uint32_t pid, uint64_t space, GArray *files);
/* Of a program with a file of this path the unwinder wants more than tables: an interpreter's frames, or its code. */
bool tables_are_not_all(const char *path);

/* What mapping events tell. */
void tables_note_mmap(struct tables *t, uint32_t pid);
void tables_note_exit(struct tables *t, uint32_t pid);
/*
 * A process mapped this file, and may be gone by now: its table is made for the next that does.  By one thread at a
 * time; a file that was told of a moment ago costs a look-up.
 */
void tables_note_file(struct tables *t, uint32_t pid, const struct maps_line *line);
/* Some were lost: any program may have mapped more. */
void tables_note_loss(struct tables *t);

/* Nothing is left to do now. */
bool tables_idle(const struct tables *t);

/* How often mappings were handed over so far. */
uint64_t tables_published_cnt(const struct tables *t);

/*
 * How often there was no room: for the table of a file, or for a program's mappings.  Their code is stepped over by
 * frame pointer.
 */
uint64_t tables_refused_cnt(const struct tables *t);

/* Calls for each process that had more than SPACE_PARTED_MAX executable mappings, with how many were left out. */
typedef void (*tables_crowded_fn)(uint32_t pid, uint32_t left_out, void *data);
void tables_for_each_crowded(struct tables *t, tables_crowded_fn fn, void *data);

/* The kernel's memory of each thread (bpf/threads.bpf.h): one table to begin with, more as threads grow in number. */
struct offcpu_bpf;
struct thread_table;

/*
 * Makes the first table, for so many threads that there are and for those that will be born, and says in the
 * configuration how long it is; before the programs are loaded.  NULL with error: there is no room for it.
 */
struct thread_table *thread_table_new(struct offcpu_bpf *skel, unsigned threads, GError **error);
void thread_table_free(struct thread_table *t);	/* NULL is fine */

/* Waits until the first table is in its place; before the programs are attached.  0 or a negative error. */
int thread_table_ready(struct thread_table *t);

/* Sees to it that there will be one table more than the threads need; now and then.  It never waits. */
void thread_table_grow(struct thread_table *t);

#endif
