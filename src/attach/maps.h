/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ATTACH_MAPS_H
#define ATTACH_MAPS_H

#include <glib.h>
#include <linux/types.h>
#include <stdbool.h>

struct bpf_map;

/* Puts the selected keys into a hash map with one-byte values; keys may be NULL. False with a sentence. */
bool map_fill(const struct bpf_map *map, const GArray *keys, GError **error);

struct bpf_map;

typedef void (*map_read_fn)(const void *key, const void *value, void *data);

/*
 * Passes on the entries of a hash map, and empties it. What a program adds to an entry meanwhile is lost, so where
 * sums must be exact no program may use the map any more. False: some could not be read, for example without memory,
 * and are still there.
 */
bool map_read_out(const struct bpf_map *map, map_read_fn take, void *data);

struct bpf_program;

/*
 * Can the memory of a thread that is off CPU be read through its page tables (bpf/walk/page_view.bpf.h)? The loaded
 * program find_direct_map() searches for a random number of ours. Does nothing if the kernel cannot run it.
 */
void direct_map_find(const struct bpf_program *find, __u64 *sought_at, __u64 *sought);

struct offcpu_bpf;

/*
 * Returns when all programs have ended that were running at a context switch, a waking or a migration. Those run with
 * interrupts off, and here each CPU takes an interrupt. The kernel's own way, updating a map of maps (1ae80cf31938),
 * takes 10 ms, and many seconds on a machine of thousands of runnable threads, since a thread that is preempted in an
 * RCU read section has to get a CPU first.
 */
bool visit_cpus(struct offcpu_bpf *skel);

#endif
