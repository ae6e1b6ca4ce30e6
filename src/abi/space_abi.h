/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SPACE_ABI_H
#define SPACE_ABI_H

#include "abi/unwind_abi.h"

/*
 * How user space hands unwind tables to the BPF unwinder.  All tables share slabs of blocks;
 * a block holds rows or page-index entries.  A space is one program's executable mappings,
 * sorted by address, each pointing at its file's table.
 */

#define SPACE_BLOCK_ROWS 64
#define SPACE_BLOCK_INDEX 128
#define SPACE_SLAB_BLOCKS 2048		/* 1 MiB: 131,072 rows */
#define SPACE_SLABS_MAX 128
#define SPACE_MAPPINGS_MAX 256
#define SPACES_MAX 8192

struct unwind_block {
	union {
		struct unwind_row row[SPACE_BLOCK_ROWS];
		__u32 index[SPACE_BLOCK_INDEX];
	};
};

struct space_mapping {
	__u64 start, end;
	__u64 bias;		/* pc in the table = ip - bias */
	__u32 rows_block;	/* number of the first block with rows */
	__u32 index_block;	/* of the first block with the page index */
	__u32 page_cnt;
	__u32 pad;
};

struct space {
	__u32 cnt;
	__u32 generation;	/* of the mappings: a walk remembered under another does not count */
	struct space_mapping mapping[SPACE_MAPPINGS_MAX];
};

#endif
