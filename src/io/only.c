/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "io/only.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "attach/error.h"

void only_configure(const struct only_parts *parts, const struct io_only *only)
{
	*parts->by_process = only->pids != NULL;
	*parts->by_cgroup = only->cgroups != NULL;
	bpf_program__set_autoload(parts->fork, only->pids && only->follow);
	bpf_program__set_autoload(parts->free, only->pids != NULL);
	if (!only->pids)
		bpf_map__set_max_entries(parts->tgids, 1);
}

static bool fill(const struct bpf_map *map, const GArray *keys, GError **error)
{
	uint8_t one = 1;

	for (guint i = 0; keys && i < keys->len; i++) {
		const void *key = keys->data + (size_t)i * g_array_get_element_size((GArray *)keys);

		if (bpf_map_update_elem(bpf_map__fd(map), key, &one, BPF_ANY)) {
			attach_set_error(error, -errno, "too many processes or cgroups to select");
			return false;
		}
	}
	return true;
}

bool only_fill(const struct only_parts *parts, const struct io_only *only, GError **error)
{
	return fill(parts->tgids, only->pids, error) && fill(parts->cgroups, only->cgroups, error);
}
