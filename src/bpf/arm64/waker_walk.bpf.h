/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_ARM64_WAKER_WALK_BPF_H
#define BPF_ARM64_WAKER_WALK_BPF_H

static __always_inline __u64 waker_kernel_stack(void *ctx, struct kernel_memory *m, struct kernel_memory *shared,
						struct scratch *scratch, struct irq_note *note, __u64 now)
{
	long n = bpf_get_stack(ctx, scratch->stack.ip, sizeof(scratch->stack.ip), 0);
	__u32 depth = n <= 0 ? 0 : (__u32)n / sizeof(__u64);
	__u64 id;

	if (!depth || depth > OFFCPU_MAX_DEPTH)
		return 0;
	scratch->stack.end = depth >= OFFCPU_MAX_DEPTH ? OFFCPU_WALK_CUT : OFFCPU_WALK_COMPLETE;
	id = stack_hash(&scratch->stack, depth, 0);
	stack_cross(&scratch->stack, id, depth, NULL, false, now);
	return id;
}

#endif
