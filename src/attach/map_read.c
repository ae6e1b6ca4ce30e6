/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "attach/map_read.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <glib.h>

#define BATCH 512

bool map_read_out(const struct bpf_map *map, map_read_fn take, void *data)
{
	const size_t key_bytes = bpf_map__key_size(map), value_bytes = bpf_map__value_size(map);
	g_autofree char *keys = g_malloc_n(BATCH, key_bytes), *values = g_malloc_n(BATCH, value_bytes);
	LIBBPF_OPTS(bpf_map_batch_opts, opts);
	uint32_t token = 0, cnt;
	void *in = NULL;
	int err;

	do {
		cnt = BATCH;
		err = bpf_map_lookup_and_delete_batch(bpf_map__fd(map), in, &token, keys, values, &cnt, &opts);
		if (err && err != -ENOENT)	/* that was the last batch */
			break;
		for (uint32_t i = 0; i < cnt; i++)
			take(keys + i * key_bytes, values + i * value_bytes, data);
		in = &token;
	} while (!err);
	return err == -ENOENT;
}
