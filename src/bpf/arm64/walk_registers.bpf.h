/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_ARM64_WALK_REGISTERS_BPF_H
#define BPF_ARM64_WALK_REGISTERS_BPF_H

#include "bpf/walk/pages.bpf.h"
#include "bpf/state.bpf.h"

/* For bpf/walk/unwind.bpf.h: what a walk on arm64 depends on besides instruction, stack and frame pointer. */

/* A code address without its pointer authentication signature. */
static __always_inline __u64 code_address(const struct walk_state *at, __u64 word)
{
	return word & at->more.mask;
}

/* The further registers that a walk begins with; entry: thread_state.entry. */
static __always_inline void begin_registers(struct walk_state *at, const struct pt_regs *regs, struct task_struct *task)
{
	at->more.mask = address_limit - 1;
	at->more.link = code_address(at, regs->REG_LINK);
	at->more.sp_lost = false;
	at->entry = regs->syscallno < 0 ? 0 : regs->pc;
}

/* Are the initial registers those of the cached walk? The innermost frame's return address may be in x30. */
static __always_inline bool same_registers(const struct walk_memory *m, const struct walk_state *at)
{
	return m->more.link == at->more.link;
}

static __always_inline void keep_registers(struct walk_memory *m, const struct walk_state *at)
{
	m->more.link = at->more.link;
}

/* The frame record may lie anywhere in the frame, so it does not show the frame's end. */
static __always_inline void stepped_by_frame_pointer(struct walk_state *at)
{
	at->more.link = 0;
	at->more.sp_lost = true;
}

#endif
