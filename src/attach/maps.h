/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ATTACH_MAPS_H
#define ATTACH_MAPS_H

#include <glib.h>
#include <linux/types.h>
#include <stdbool.h>

struct bpf_map;

/* Puts the keys that are selected into a hash with values of a byte; keys: NULL is fine.  False with a sentence. */
bool map_fill(const struct bpf_map *map, const GArray *keys, GError **error);

struct bpf_map;

typedef void (*map_read_fn)(const void *key, const void *value, void *data);

/*
 * Hands over what a hash map holds, and empties it.  What a program adds to an entry just then is lost, so a map whose
 * sums have to add up is one that no program uses any more.  False: some of it could not be read, as without memory,
 * and is there still.
 */
bool map_read_out(const struct bpf_map *map, map_read_fn take, void *data);

struct bpf_program;

/*
 * Can the memory of a thread that is off CPU be read through its page tables (bpf/walk/page_view.bpf.h)?  The loaded
 * program, find_direct_map(), looks for a random number of ours.  Nothing where the kernel cannot run it.
 */
void direct_map_find(const struct bpf_program *find, __u64 *sought_at, __u64 *sought);

struct offcpu_bpf;

/*
 * Returns when every program has ended that ran at a context switch, a waking or a migration as this was
 * called.  Those run with interrupts off; here each CPU takes one.  The kernel's own way to wait, to update
 * a map of maps (1ae80cf31938), takes 10 ms, and on a machine of thousands of runnable threads as many
 * seconds: who was preempted while reading RCU's data has to get a CPU first.
 */
bool visit_cpus(struct offcpu_bpf *skel);

#endif
