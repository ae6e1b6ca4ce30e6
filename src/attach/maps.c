/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "attach/maps.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdint.h>

#include "abi/offcpu_abi.h"
#include "attach/error.h"
#include "attach/feature.h"
#include "offcpu.skel.h"

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

void direct_map_find(const struct bpf_program *find, __u64 *sought_at, __u64 *sought)
{
	static volatile uint64_t mark;
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	mark = (uint64_t)g_random_int() << 32 | g_random_int() | 1;
	if (!feature_supported(FEATURE_BPF_LOOP))
		return;
	*sought_at = (__u64)(uintptr_t)&mark;
	*sought = mark;
	bpf_prog_test_run_opts(bpf_program__fd(find), &opts);
}

bool visit_cpus(struct offcpu_bpf *skel)
{
	int cpus = libbpf_num_possible_cpus(), fd = bpf_program__fd(skel->progs.visit_cpu);

	for (int cpu = 0; cpu < cpus; cpu++) {
		LIBBPF_OPTS(bpf_test_run_opts, opts, .flags = BPF_F_TEST_RUN_ON_CPU, .cpu = (uint32_t)cpu);
		int err = bpf_prog_test_run_opts(fd, &opts);

		if (err && err != -ENXIO)	/* this CPU is offline */
			return false;
	}
	return cpus > 0;
}

bool map_fill(const struct bpf_map *map, const GArray *keys, GError **error)
{
	uint8_t one = 1;

	for (guint i = 0; keys && i < keys->len; i++) {
		const void *key = keys->data + (size_t)i * g_array_get_element_size((GArray *)keys);

		if (bpf_map_update_elem(bpf_map__fd(map), key, &one, BPF_ANY))
			return attach_refuse(error, -errno, "too many processes, threads or cgroups to select");
	}
	return true;
}
