/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/io/record_counts.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "attach/maps.h"

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

uint64_t io_count(const struct bpf_map *map, uint32_t what)
{
	int cpus = libbpf_num_possible_cpus();
	g_autofree uint64_t *each = g_new0(uint64_t, (size_t)MAX(cpus, 1));
	uint64_t sum = 0;

	if (bpf_map_lookup_elem(bpf_map__fd(map), &what, each))
		return 0;
	for (int i = 0; i < cpus; i++)
		sum += each[i];
	return sum;
}

void io_add_losses(struct profile *p, const struct bpf_map *map, const struct io_loss *losses, gsize cnt)
{
	for (gsize i = 0; i < cnt; i++) {
		uint64_t lost = io_count(map, losses[i].what);

		if (lost)
			profile_add_loss(p, losses[i].reason, losses[i].help, lost, 0);
	}
}
