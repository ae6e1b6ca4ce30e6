/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/chain_maps.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <glib.h>

#include "offcpu.skel.h"

#define BATCH 256

void chain_maps_size(struct offcpu_bpf *skel, bool wanted)
{
	if (wanted)
		return;
	bpf_map__set_max_entries(skel->maps.chains_a, 1);
	bpf_map__set_max_entries(skel->maps.chains_b, 1);
}

bool chain_maps_fill(const struct offcpu_bpf *skel)
{
	return skel->rodata->cfg.chain_depth && skel->bss->chain_entries > bpf_map__max_entries(skel->maps.chains_a) / 4;
}

static void read_out(int map_fd, struct fold *fold)
{
	g_autofree struct offcpu_wait_key *keys = g_new(struct offcpu_wait_key, BATCH);
	g_autofree struct offcpu_chain_sum *sums = g_new(struct offcpu_chain_sum, BATCH);
	LIBBPF_OPTS(bpf_map_batch_opts, opts);
	uint32_t token = 0, cnt;
	void *in = NULL;
	int err;

	do {
		cnt = BATCH;
		err = bpf_map_lookup_and_delete_batch(map_fd, in, &token, keys, sums, &cnt, &opts);
		if (err && err != -ENOENT)
			return;
		for (uint32_t i = 0; i < cnt; i++)
			fold_chain_sum(fold, &keys[i], &sums[i]);
		in = &token;
	} while (!err);
}

void chain_maps_read(struct offcpu_bpf *skel, bool second, struct fold *fold)
{
	skel->bss->chain_entries = 0;
	read_out(bpf_map__fd(second ? skel->maps.chains_b : skel->maps.chains_a), fold);
}
