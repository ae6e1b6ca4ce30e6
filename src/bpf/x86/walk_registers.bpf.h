/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_X86_WALK_REGISTERS_BPF_H
#define BPF_X86_WALK_REGISTERS_BPF_H

#include "bpf/state.bpf.h"

/* For bpf/walk/unwind.bpf.h: what a walk on x86-64 depends on besides instruction, stack and frame pointer. */

/* The further registers that a walk begins with; entry: thread_state.entry. */
static __always_inline void begin_registers(struct walk_state *at, const struct pt_regs *regs, struct task_struct *task)
{
	at->more.rdi = regs->di;
	at->more.r10 = regs->r10;
	at->entry = (__s64)regs->orig_ax < 0 ? 0 : regs->ip;
}


/* Does the walk begin with the same registers as the cached one? */
static __always_inline bool same_registers(const struct walk_memory *m, const struct walk_state *at)
{
	return true;
}

static __always_inline void keep_registers(struct walk_memory *m, const struct walk_state *at)
{
}

/* A word as a code address. */
static __always_inline __u64 code_address(const struct walk_state *at, __u64 word)
{
	return word;
}

static __always_inline void stepped_by_frame_pointer(struct walk_state *at)
{
}

#endif
