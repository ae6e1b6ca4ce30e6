/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BLOCK_ABI_H
#define BLOCK_ABI_H

/* What src/features/io/block.bpf.c tells of requests to block devices.  Times are CLOCK_MONOTONIC in ns. */

#ifndef __bpf__	/* there, ktypes.h has them */
#include <linux/types.h>
#endif

#define BLOCK_NAME_LEN 32
#define BLOCK_COMM_LEN 16

enum block_record { BLOCK_REC_STACK = 1, BLOCK_REC_DONE };	/* the first is a struct io_rec_stack */

/* A request that is done. */
struct block_rec_done {
	__u32 type;
	__u32 op;		/* REQ_OP_* */
	__u64 number;
	__u64 asked_ns;		/* its first page was asked for, long before it was made; 0: not known, or not long */
	__u64 start_ns, issue_ns, done_ns;	/* made; handed to the driver, 0: not seen; completed */
	__u64 bytes;
	__u64 sector;		/* of 512 bytes, where it begins on the disk */
	__u32 pid, tid;
	__u32 has_stack;	/* its record came before; 0: it was lost */
	__u32 is_kernel;	/* issued by a kernel thread */
	__u32 dirtier;		/* then: the process that last dirtied a page of the file; 0: not known */
	__u32 is_held;		/* it was held before it was made, for how long asked_ns tells */
	char comm[BLOCK_COMM_LEN];
	char dirtier_comm[BLOCK_COMM_LEN];
	char disk[BLOCK_NAME_LEN];
	char file[BLOCK_NAME_LEN];	/* of the page that it begins with; "" without */
};

enum block_count {
	BLOCK_DONE,		/* requests that began and ended while we looked */
	BLOCK_MERGED,		/* became part of another one */
	BLOCK_OPEN_AT_START,	/* ended, and had begun before */
	BLOCK_LOST_DONE,	/* ended, and the ring was full */
	BLOCK_LOST_STACK,	/* issued, and the ring was full for the stack */
	BLOCK_LOST_ROOM,	/* issued, and there was no room to follow it */
	BLOCK_UNSEEN,		/* ended, and no program was run: the next one began in the same memory */
	BLOCK_COUNTS
};

#endif
