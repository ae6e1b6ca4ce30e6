/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_VISIT_CPU_BPF_H
#define BPF_VISIT_CPU_BPF_H

#include "bpf/maps.bpf.h"

/* See cut.bpf.h. */
static __always_inline void forget_shared_walks(struct scratch *scratch)
{
	for (int i = 0; scratch && i < SHARED_WALKS; i++)
		scratch->shared_walks[i].one.walk.id = scratch->shared_walks[i].other.walk.id = 0;
}

/* Run on a CPU by user space: afterwards every handle_switch() that ran there before has ended. */
SEC("raw_tp")
int visit_cpu(void *ctx)
{
	if (forgets_crossed) {
		forget_shared_walks(my_scratch());
		forget_shared_walks(bpf_map_lookup_elem(&iter_scratch, (const void *)&small_keys[0]));
	}
	return 0;
}

#endif
