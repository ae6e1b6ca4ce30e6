/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_ON_CPU_H
#define FOLD_ON_CPU_H

#include "abi/oncpu_abi.h"
#include "fold/stacks.h"

/* Samples of threads on CPU, until it is known who these were and how long the window's slices are. */
struct fold_on_cpu;

struct fold_on_cpu *fold_on_cpu_new(void);
void fold_on_cpu_free(struct fold_on_cpu *o);
/* Samples of slices of slice_ns each; those of the recording are of length_ns by now, 0: it has none. */
void fold_on_cpu_add(struct fold_on_cpu *o, const struct oncpu_key *key, const struct oncpu_sum *sum, uint64_t slice_ns,
		     uint64_t length_ns);
size_t fold_on_cpu_cnt(const struct fold_on_cpu *o);
/* threads: by thread number, index + 1.  length_ns, slice_cnt: the recording's slices; 0: it has none. */
void fold_on_cpu_finish(struct fold_on_cpu *o, struct fold_stacks *stacks, GHashTable *threads, struct profile *p,
			uint64_t length_ns, uint32_t slice_cnt);

#endif
