/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "session/chain_maps.h"

#include <bpf/libbpf.h>

#include "attach/map_read.h"
#include "offcpu.skel.h"

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

static void take_sum(const void *key, const void *sum, void *data)
{
	fold_chain_sum(data, key, sum);
}

bool chain_maps_read(struct offcpu_bpf *skel, bool second, struct fold *fold)
{
	skel->bss->chain_entries = 0;
	return map_read_out(second ? skel->maps.chains_b : skel->maps.chains_a, take_sum, fold);
}
