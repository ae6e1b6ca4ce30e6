/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_IO_BLOCK_ABI_H
#define FEATURES_IO_BLOCK_ABI_H

/* What src/features/io/block.bpf.c sends of requests to block devices. Times are CLOCK_MONOTONIC in ns. */

#ifndef __bpf__	/* BPF programs have them from ktypes.h */
#include <linux/types.h>
#endif

#define BLOCK_NAME_LEN 32
#define BLOCK_COMM_LEN 16

enum block_record { BLOCK_REC_STACK = 1, BLOCK_REC_DONE };	/* the first is struct io_rec_stack */

struct block_rec_done {
	__u32 type;
	__u32 op;		/* REQ_OP_* */
	__u64 number;
	__u64 asked_ns;		/* its first page was asked for then, long before; 0: not known, or not long before */
	__u64 start_ns, issue_ns, done_ns;	/* creation; issue to the driver, 0: not seen; completion */
	__u64 bytes;
	__u64 sector;		/* of 512 bytes, its start on the disk */
	__u32 pid, tid;
	__u32 has_stack;	/* the stack's record was sent before; 0: it was lost */
	__u32 is_kernel;	/* issued by a kernel thread */
	__u32 dirtier;		/* if so: the process that last dirtied a page of the file; 0: not known */
	__u32 is_held;		/* it was delayed before its creation; since asked_ns */
	char comm[BLOCK_COMM_LEN];
	char dirtier_comm[BLOCK_COMM_LEN];
	char disk[BLOCK_NAME_LEN];
	char file[BLOCK_NAME_LEN];	/* file of its first page; "": none */
};

enum block_count {
	BLOCK_DONE,		/* requests that began and ended in the window */
	BLOCK_MERGED,		/* merged into another one */
	BLOCK_OPEN_AT_START,	/* ended, and had begun before the window */
	BLOCK_LOST_DONE,	/* ended; no room in the ring */
	BLOCK_LOST_STACK,	/* issued; no room in the ring for the stack */
	BLOCK_LOST_ROOM,	/* issued; no room to follow it */
	BLOCK_UNSEEN,		/* its end was not reported: the next one began in the same memory */
	BLOCK_COUNTS
};

#endif
