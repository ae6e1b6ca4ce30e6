/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_IO_STACK_ABI_H
#define FEATURES_IO_STACK_ABI_H

/* Where an operation was started: the kernel stack, and what user space needs to walk the user stack. */

#ifndef __bpf__	/* BPF programs have them from ktypes.h */
#include <linux/types.h>
#endif

#define IO_FRAMES_MAX 127
#define IO_STACK_BYTES 2048	/* of the user stack, from the stack pointer up */

/* Followed by `stack_bytes` bytes of user stack. */
struct io_rec_stack {
	__u32 type;
	__u32 frames;
	__u64 number;		/* of the request or operation, never 0 */
	__u64 code;		/* start of the program's code: changes with an exec */
	__u64 ip, sp, bp, link;	/* ip 0: no user stack; link: as in look_abi.h */
	__u32 pid, stack_bytes;
	__u64 frame[IO_FRAMES_MAX + 1];
};

#endif
