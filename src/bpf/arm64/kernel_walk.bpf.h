/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_ARM64_KERNEL_WALK_BPF_H
#define BPF_ARM64_KERNEL_WALK_BPF_H

#include "bpf/walk/remember.bpf.h"

/* On arm64 the kernel's own walk, a chain of frame records, is repeated each time: it is not cached. */
static __always_inline __u64 known_kernel_stack(struct thread_state *st, struct scratch *scratch, __u64 fp)
{
	return 0;
}

static __always_inline void remember_kernel_walk(const struct thread_state *st, struct scratch *scratch, __u64 fp)
{
}

static __always_inline void fetch_stack_early(const struct task_struct *task)
{
}

/* The scheduler's frames, for bpf/walk/sleep_path.bpf.h. */

#define SLEEP_PATH_STEPS OFFCPU_SLEEP_PATH_MAX

/* An address of kernel code, whose upper bits may hold a pointer authentication signature. */
static __always_inline __u64 kernel_code(__u64 word)
{
	__u64 limit = address_limit < 1ULL << 48 ? address_limit : 1ULL << 48;

	return word | ~(limit - 1);
}

/* The function called just before a return address: bl, with 26 bits of distance in words. */
static __always_inline __u64 callee_of(__u64 word)
{
	__u32 call;

	if (bpf_probe_read_kernel(&call, sizeof(call), (void *)(word - sizeof(call))) || call >> 26 != 0x25)
		return 0;
	return word - sizeof(call) + (__s64)((__s32)(call << 6) >> 4);
}

/* The next frame's record: false if it cannot be read. */
static __always_inline bool sleep_path_word(__u64 *fp, __u32 i, __u64 *ret_word)
{
	__u64 record[2];

	if (*fp & 7 || bpf_probe_read_kernel(record, sizeof(record), (void *)*fp))
		return false;
	*fp = record[0];
	*ret_word = kernel_code(record[1]);
	return true;
}

#endif
