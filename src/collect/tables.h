/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef COLLECT_TABLES_H
#define COLLECT_TABLES_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Keeps the BPF unwinder supplied: the executable mappings of every program it asks about,
 * and one unwind table for each file among them, compiled once, by a thread of its own, and
 * shared by all processes.  A program's mappings are handed over when all its files are done,
 * so a walk is either by tables throughout or by frame pointers throughout.
 */
struct tables;

/* The maps of bpf/maps.bpf.h; the descriptors stay the caller's. */
struct tables *tables_new(int slabs_fd, int spaces_fd);
void tables_free(struct tables *t);

/*
 * The unwinder asked for the program in process pid, to be known as `space`.  is_young: it
 * may well be gone in a moment, as a compiler's helpers are; it is looked at when it is not.
 */
void tables_want(struct tables *t, uint32_t pid, uint64_t space, bool is_young);

/* What mapping events tell. */
void tables_note_mmap(struct tables *t, uint32_t pid);
void tables_note_exit(struct tables *t, uint32_t pid);
/* Some were lost: any program may have mapped more. */
void tables_note_loss(struct tables *t);

/* Hands over what is done.  True when nothing is left to do. */
bool tables_poll(struct tables *t);

/* How often mappings were handed over so far. */
uint64_t tables_published_cnt(const struct tables *t);

/* Files whose tables found no room: their code is stepped over by frame pointer. */
uint64_t tables_refused_cnt(const struct tables *t);

#endif
