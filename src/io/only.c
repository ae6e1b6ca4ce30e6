/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "io/only.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "attach/error.h"

void only_configure(const struct only_parts *parts, const struct io_only *only)
{
	bool is_of_some = only->pids && only->pids->len;

	*parts->is_of_some = is_of_some;
	bpf_program__set_autoload(parts->fork, is_of_some && only->follow);
	bpf_program__set_autoload(parts->free, is_of_some);
	if (!is_of_some)
		bpf_map__set_max_entries(parts->tgids, 1);
}

bool only_fill(const struct bpf_map *tgids, const struct io_only *only, GError **error)
{
	for (guint i = 0; only->pids && i < only->pids->len; i++) {
		uint32_t pid = g_array_index(only->pids, uint32_t, i);
		uint8_t one = 1;

		if (bpf_map_update_elem(bpf_map__fd(tgids), &pid, &one, BPF_ANY)) {
			attach_set_error(error, -errno, "take note of the processes of -p");
			return false;
		}
	}
	return true;
}
