/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Is a task in one of the selected control groups, or below one of them? */
#ifndef BPF_CGROUPS_BPF_H
#define BPF_CGROUPS_BPF_H

#include "bpf/ktypes.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "abi/offcpu_abi.h"
#include "bpf/map.bpf.h"

MAP(filter_cgroups, HASH, __u64, __u8, 256);

static __always_inline bool in_cgroups(struct task_struct *task)
{
	struct cgroup *cgrp = BPF_CORE_READ(task, cgroups, dfl_cgrp);
	int level = BPF_CORE_READ(cgrp, level);

	for (int i = 0; i < OFFCPU_ANCESTRY; i++) {
		__u64 id = 0;

		if (i > level)
			break;
		if (bpf_core_field_exists(cgrp->ancestors)) {
			struct cgroup *ancestor = NULL;

			bpf_core_read(&ancestor, sizeof(ancestor), &cgrp->ancestors[i]);
			id = BPF_CORE_READ(ancestor, kn, id);
		} else {
			struct cgroup___old *old = (void *)cgrp;

			bpf_core_read(&id, sizeof(id), &old->ancestor_ids[i]);
		}
		if (bpf_map_lookup_elem(&filter_cgroups, &id))
			return true;
	}
	return false;
}

#endif
