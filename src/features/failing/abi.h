/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_FAILING_ABI_H
#define FEATURES_FAILING_ABI_H

/* Which system calls on files fail in threads that mostly sleep. */

#ifndef __bpf__	/* BPF programs have them from ktypes.h */
#include <linux/types.h>
#endif

#define FAILING_CALLS_END 512	/* system calls have smaller numbers */
#define FAILING_NAME_BYTES 96	/* with the zero byte; longer paths are cut */
#define FAILING_THREADS_MAX 64
#define FAILING_KEYS_MAX 256	/* different failures; more are not counted */

struct failing_key {
	__u32 tid;
	__u16 nr, error;	/* the call's number, and a positive errno */
	char name[FAILING_NAME_BYTES];	/* a path as it was passed, or the name of a descriptor's file */
};

/* A call's arguments that name its file, numbered from 1; 0: it has none. */
struct failing_call {
	__u8 path, fd;
	__u8 is_lock;
	__u8 is_fcntl;	/* only commands that lock */
};

#endif
