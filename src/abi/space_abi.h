/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SPACE_ABI_H
#define SPACE_ABI_H

#include "abi/unwind_abi.h"

/*
 * How user space passes unwind tables to the BPF unwinder. All tables share slabs of blocks; a block holds rows or
 * page-index entries. A space is one program's executable mappings, sorted by address. Each points to its file's
 * table.
 *
 * A program with more mappings than a space holds has them in parts. Each part is a space of its own, under a key that
 * only the program's main space knows. The main space lists the parts instead, with the first and last address of
 * each. Linux allows a process 65,530 mappings unless vm.max_map_count is raised; the parts hold a few more.
 */

#define SPACE_BLOCK_ROWS 64
#define SPACE_BLOCK_INDEX 128
#define SPACE_SLAB_BLOCKS 2048		/* 1 MiB: 131,072 rows */
#define SPACE_SLABS_MAX 128
#define SPACE_MAPPINGS_MAX 256
#define SPACE_PARTED_MAX (SPACE_MAPPINGS_MAX * SPACE_MAPPINGS_MAX)
#define SPACES_MAX 8192		/* including parts */

struct unwind_block {
	union {
		struct unwind_row row[SPACE_BLOCK_ROWS];
		__u32 index[SPACE_BLOCK_INDEX];
	};
};

struct space_mapping {
	__u64 start, end;
	union {
		__u64 bias;	/* pc in the table = ip - bias */
		__u64 part_key;	/* in `spaces` */
	};
	__u32 rows_block;	/* number of the first block of rows */
	__u32 index_block;	/* of the first block of the page index */
	__u32 page_cnt;
	__u32 is_part;
};

/*
 * A program that user space has not examined is walked by the kernel's own list of its mappings. A file's table is
 * then found by the file's identity in /proc/PID/maps. It is valid while size and time of the file are unchanged. Only
 * for files whose executable parts all have the same offset from their place in the file.
 */
#define FILE_TABLES_MAX 4096

struct file_table_key {
	__u64 inode;
	__u32 device;	/* as the kernel has it: major << 20 | minor */
	__u32 pad;
};

struct file_table {
	__u64 bytes, changed_ns;
	__u64 shift;	/* bias = start of the mapping - its offset in the file + shift */
	__u32 rows_block, index_block, page_cnt, pad;
};

enum space_speaks {
	SPACE_HAS_LANGUAGE = 1 << 0,	/* runs an interpreter: it is in `languages`, too */
	SPACE_HAS_CONTEXT = 1 << 1,	/* its threads have trace contexts: in `contexts` */
};

struct space {
	__u32 cnt;
	__u32 generation;	/* of the mappings: walks cached under another one are invalid */
	__u32 speaks;		/* enum space_speaks */
	__u32 v8;		/* for a program with V8: unwind_v8_offsets(); else 0 */
	__u64 read_ns;		/* when the mappings were read, CLOCK_MONOTONIC */
	struct space_mapping mapping[SPACE_MAPPINGS_MAX];
};

#endif
