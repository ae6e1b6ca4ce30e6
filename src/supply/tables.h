/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SUPPLY_TABLES_H
#define SUPPLY_TABLES_H

#include <bpf/libbpf.h>
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "symbolize/process/maps.h"

/*
 * Supplies the BPF unwinder with the executable mappings of every program that it asks for, and with one unwind table
 * for each of their files. A program's mappings are published when all its files are done. Until then the unwinder
 * uses the kernel's list of them, and the tables that are done (bpf/walk/mapped.bpf.h).
 *
 * Threads of its own do all work; callers only send messages. So tables do not wait for stacks to be named.
 */
struct tables;

/*
 * Creates the three maps as the BPF object declares them and sets them there: before it is loaded. hurries: for a few
 * processes, whose tables should not wait for other work on a busy machine.
 */
struct tables *tables_new(struct bpf_map *slabs, struct bpf_map *spaces, struct bpf_map *file_tables, bool hurries,
			  GError **error);
void tables_free(struct tables *t);
/*
 * epoch: changed to make the programs look tables up again; it exists once they are loaded. languages_fd, contexts_fd:
 * the maps of programs that have an interpreter, or trace contexts.
 */
void tables_tell(struct tables *t, volatile uint32_t *epoch, int languages_fd, int contexts_fd);

/* Prefetches tables for the files that a process or thread has mapped now; 0: all processes. */
void tables_prefetch(struct tables *t, uint32_t pid);
/* The same for the program of a command, found as a shell would. */
void tables_prefetch_command(struct tables *t, const char *name);

/*
 * The unwinder asked for the program in process pid, as `space`. files: struct maps_file, all that it has mapped,
 * taken over. If the unwinder has all their tables, the program is read only if it lives on. NULL: read it at once,
 * because its files are not known, or tables_are_not_all() is true for one.
 */
void tables_want(struct tables *t, uint32_t pid, uint64_t space, GArray *files);
/* For a file of this path the unwinder needs more than tables: an interpreter's frames, or code made at run time. */
bool tables_are_not_all(const char *path);

void tables_note_mmap(struct tables *t, uint32_t pid);
void tables_note_exit(struct tables *t, uint32_t pid);
/*
 * A process mapped this file, and may have ended by now: its table is made for the next such process. One thread at a
 * time; for a file noted just before it costs a look-up.
 */
void tables_note_file(struct tables *t, uint32_t pid, const struct maps_line *line);
/* Events were lost: any program may have mapped more. */
void tables_note_loss(struct tables *t);

/* Nothing is left to do now. */
bool tables_idle(const struct tables *t);

/* How often mappings were published so far. */
uint64_t tables_published_cnt(const struct tables *t);

/* How often there was no room for a file's table, or a program's mappings. Their code is walked by frame pointer. */
uint64_t tables_refused_cnt(const struct tables *t);

/* Calls for each process with more than SPACE_PARTED_MAX executable mappings, with the number left out. */
typedef void (*tables_crowded_fn)(uint32_t pid, uint32_t left_out, void *data);
void tables_for_each_crowded(struct tables *t, tables_crowded_fn fn, void *data);

/* The kernel's memory of each thread (bpf/threads.bpf.h): one table at first, more as the number of threads grows. */
struct offcpu_bpf;
struct thread_table;

/*
 * Makes the first table, for the given number of existing threads and those that will be born, and stores its length
 * in the configuration; before the programs are loaded. NULL with error: there is no room for it.
 */
struct thread_table *thread_table_new(struct offcpu_bpf *skel, unsigned threads, GError **error);
void thread_table_free(struct thread_table *t);	/* NULL is fine */

/* Waits until the first table is in place; call it before the programs are attached. 0 or a negative error. */
int thread_table_ready(struct thread_table *t);

/* Keeps one more table than the threads need; call it at intervals. It never waits. */
void thread_table_grow(struct thread_table *t);

#endif
