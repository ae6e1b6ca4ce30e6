/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ATTACH_DIRECT_MAP_H
#define ATTACH_DIRECT_MAP_H

#include <linux/types.h>

struct bpf_program;

/*
 * Can the memory of a thread that is off CPU be read through its page tables (bpf/page_view.bpf.h)?  The loaded
 * program, find_direct_map(), looks for a random number of ours.  Nothing where the kernel cannot run it.
 */
void direct_map_find(const struct bpf_program *find, __u64 *sought_at, __u64 *sought);

#endif
