/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SUPPLY_SLABS_H
#define SUPPLY_SLABS_H

#include <bpf/libbpf.h>
#include <glib.h>
#include <stdint.h>

#include "unwind/table.h"

/*
 * The unwind tables' place in the kernel (abi/space_abi.h): slabs of blocks, added as they are
 * needed.  Equal tables are stored once, whatever files they are of: a hundred containers may
 * hold copies of one library.  All but slabs_new() and slabs_free() may be called by any thread.
 */
struct slabs;

/* A stored table. */
struct slab_table {
	uint32_t rows_block, index_block;
	uint32_t row_cnt, page_cnt;
	/* inside slabs.c */
	uint64_t hash;
	uint32_t block_cnt;
	unsigned users;
	bool is_known;
};

/* Makes the map of slabs as the BPF object declares it and lets that use it: before it is loaded. */
struct slabs *slabs_new(struct bpf_map *outer, GError **error);
/* After every table was dropped. */
void slabs_free(struct slabs *s);

/* NULL when there is no room. */
struct slab_table *slabs_store(struct slabs *s, const struct unwind_table *t);
/* No program may be walking by it any more. */
void slabs_drop(struct slabs *s, struct slab_table *t);

/* Makes a map as the BPF object declares it; its descriptor, or a negative errno. */
int slabs_create_map(struct bpf_map *like, int inner_fd);

#endif
