/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_IO_STACK_ABI_H
#define FEATURES_IO_STACK_ABI_H

/* Where something was asked for: the kernel stack, and what it takes to walk the user stack in user space. */

#ifndef __bpf__	/* there, ktypes.h has them */
#include <linux/types.h>
#endif

#define IO_FRAMES_MAX 127
#define IO_STACK_BYTES 2048	/* of the user stack, from its pointer on */

/* In front of `stack_bytes` bytes of user stack. */
struct io_rec_stack {
	__u32 type;
	__u32 frames;
	__u64 number;		/* of the request or operation, never 0 */
	__u64 code;		/* where the program begins: another one after an exec */
	__u64 ip, sp, bp, link;	/* ip 0: no user stack; link: as in look_abi.h */
	__u32 pid, stack_bytes;
	__u64 frame[IO_FRAMES_MAX + 1];
};

#endif
