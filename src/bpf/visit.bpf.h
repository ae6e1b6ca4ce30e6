/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_VISIT_BPF_H
#define BPF_VISIT_BPF_H

#include "bpf/ktypes.h"

#include <bpf/bpf_helpers.h>

/*
 * Run on a CPU by user space: when it has, a handle_switch() that ran there before has ended.  A raw_tp; its section says that it is
 * loaded before all others, as it is included: what is loaded apart from them waits for that (attach/apart.h).
 */
SEC("maps_made")
int visit_cpu(void *ctx)
{
	return 0;
}

#endif
