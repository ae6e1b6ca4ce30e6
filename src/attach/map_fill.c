/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "attach/map_fill.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdint.h>

#include "attach/error.h"

bool map_fill(const struct bpf_map *map, const GArray *keys, GError **error)
{
	uint8_t one = 1;

	for (guint i = 0; keys && i < keys->len; i++) {
		const void *key = keys->data + (size_t)i * g_array_get_element_size((GArray *)keys);

		if (bpf_map_update_elem(bpf_map__fd(map), key, &one, BPF_ANY)) {
			attach_set_error(error, -errno, "too many processes, threads or cgroups to select");
			return false;
		}
	}
	return true;
}
