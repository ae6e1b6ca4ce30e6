/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_WALK_URETPROBE_BPF_H
#define BPF_WALK_URETPROBE_BPF_H

#include "bpf/maps.bpf.h"
#include "bpf/walk/regs.bpf.h"

/*
 * A uretprobe replaces a function's return address by a trampoline's. The kernel keeps the true one in a list of the
 * thread, innermost first, with the stack address where it was. A function that was left by longjmp() stays in the
 * list until another probed one is called; its stack address is below all that the walk has still to visit.
 */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct return_instance {
	unsigned long stack;
	unsigned long orig_ret_vaddr;
	struct return_instance *next;
};

struct uprobe_task {
	struct return_instance *return_instances;
};

struct task_struct___uprobes {
	struct uprobe_task *utask;
};

struct xol_area {
	unsigned long vaddr;
};

struct uprobes_state {
	struct xol_area *xol_area;
};

struct mm_struct___uprobes {
	struct uprobes_state uprobes_state;
};

#pragma clang attribute pop

#define RETURN_INSTANCES 64	/* the kernel's MAX_URETPROBE_DEPTH */

/*
 * Reads the kernel pointer at that address into at->returns: the walk's callers leave no room on the stack
 * (bpf/walk/rules.bpf.h).
 */
static __always_inline bool follow(struct walk_state *at, __u64 addr)
{
	return !bpf_probe_read_kernel(&at->returns, sizeof(at->returns), (const void *)addr) && at->returns;
}

#define FIELD_AT(base, type, field) ((__u64)(base) + bpf_core_field_offset(type, field))

/* The address of the program's trampoline; 0: it has none. */
static __always_inline __u64 trampoline_of(struct walk_state *at)
{
	if (!follow(at, FIELD_AT(at->task, struct task_struct, mm)) ||
	    !follow(at, FIELD_AT(at->returns, struct mm_struct___uprobes, uprobes_state.xol_area)) ||
	    !follow(at, FIELD_AT(at->returns, struct xol_area, vaddr)))
		return 0;
	return at->returns;
}

/*
 * at->ip was just read as a return address, at->sp is right above it. If it is the trampoline's, one function of the
 * list is examined: its true address replaces at->ip, or the walk's next step tries again. So the verifier checks no
 * loop here. Callers have the same order in the list as on the stack, so none is examined twice. False: it is not the
 * trampoline, or the list has no such function. A global function that calls none.
 */
__noinline int step_over_uretprobe(struct walk_state *at)
{
	if (!at || !bpf_core_field_exists(struct task_struct___uprobes, utask) ||
	    !bpf_core_field_exists(struct mm_struct___uprobes, uprobes_state) || trampoline_of(at) != at->ip)
		return false;
	if (at->instance) {
		if (!follow(at, FIELD_AT(at->instance, struct return_instance, next)))
			return false;
	} else if (!follow(at, FIELD_AT(at->task, struct task_struct___uprobes, utask)) ||
		   !follow(at, FIELD_AT(at->returns, struct uprobe_task, return_instances))) {
		return false;
	}
	at->instance = at->returns;
	if (!follow(at, FIELD_AT(at->instance, struct return_instance, stack)) || at->returns > at->sp)
		return false;
	if (at->returns == at->sp - RETURN_POPS) {
		if (!follow(at, FIELD_AT(at->instance, struct return_instance, orig_ret_vaddr)))
			return false;
		at->ip = at->returns;
	}
	return true;
}

#endif
