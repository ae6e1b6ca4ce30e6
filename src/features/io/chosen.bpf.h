/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which processes `offcpu io` selects. */
#ifndef FEATURES_IO_CHOSEN_BPF_H
#define FEATURES_IO_CHOSEN_BPF_H

#include "bpf/ktypes.h"

#include <bpf/bpf_helpers.h>

#include "bpf/cgroups.bpf.h"

const volatile bool by_process, by_cgroup;

MAP_FLAGS(only_tgids, HASH, __u32, __u8, 65536, BPF_F_NO_PREALLOC);

static __always_inline bool is_wanted(struct task_struct *task)
{
	__u32 tgid = task->tgid;

	return (!by_process || bpf_map_lookup_elem(&only_tgids, &tgid)) && (!by_cgroup || in_cgroups(task));
}

/* Loaded with --follow: struct task_struct *parent, *child. */
SEC("tp_btf/sched_process_fork")
int only_fork(__u64 *ctx)
{
	struct task_struct *parent = (struct task_struct *)ctx[0], *child = (struct task_struct *)ctx[1];
	__u32 of_parent = parent->tgid, tgid = child->tgid;
	__u8 one = 1;

	if (of_parent != tgid && bpf_map_lookup_elem(&only_tgids, &of_parent))
		bpf_map_update_elem(&only_tgids, &tgid, &one, BPF_ANY);
	return 0;
}

/* Its number may be reused soon. */
SEC("tp_btf/sched_process_free")
int only_free(__u64 *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[0];
	__u32 tgid = task->tgid;

	if (task->pid == task->tgid)
		bpf_map_delete_elem(&only_tgids, &tgid);
	return 0;
}

#endif
