/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "io/only.h"

#include <bpf/libbpf.h>

#include "attach/map_fill.h"

void only_configure(const struct only_parts *parts, const struct io_only *only)
{
	*parts->by_process = only->pids != NULL;
	*parts->by_cgroup = only->cgroups != NULL;
	bpf_program__set_autoload(parts->fork, only->pids && only->follow);
	bpf_program__set_autoload(parts->free, only->pids != NULL);
	if (!only->pids)
		bpf_map__set_max_entries(parts->tgids, 1);
}

bool only_fill(const struct only_parts *parts, const struct io_only *only, GError **error)
{
	return map_fill(parts->tgids, only->pids, error) && map_fill(parts->cgroups, only->cgroups, error);
}
