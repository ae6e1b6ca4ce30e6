/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_X86_REGS_BPF_H
#define BPF_X86_REGS_BPF_H

/* Registers of a thread's user mode on x86-64. */

#define REG_FIRST di	/* first argument of a kernel function */
#define REG_RESULT ax	/* result of a function */
#define REG_IP ip
#define REG_SP sp
#define REG_BP bp
#define REG_GOROUTINE r14	/* in Go code, from 1.17 on: src/cmd/compile/abi-internal.md */
#define REG_GO_FIRST ax		/* first argument there */
#define REG_GO_THIRD cx

static __always_inline bool is_32_bit(const struct pt_regs *regs)
{
	return regs->cs == X86_USER32_CS;
}

static __always_inline __u32 call_number(const struct pt_regs *regs)
{
	return regs->orig_ax;
}

/* The nth argument, from 1. */
static __always_inline __u64 argument(const struct pt_regs *regs, __u32 n)
{
	switch (n) {
	case 1:
		return regs->di;
	case 2:
		return regs->si;
	case 3:
		return regs->dx;
	case 4:
		return regs->r10;
	default:
		return regs->r8;
	}
}

#define NR_FUTEX 202
#define NR32_FUTEX 240
#define NR32_FUTEX_TIME64 422

static __always_inline void syscall_of(const struct pt_regs *regs, struct syscall *ret)
{
	ret->nr = regs->orig_ax;
	if (is_32_bit(regs)) {
		if (ret->nr == NR32_FUTEX || ret->nr == NR32_FUTEX_TIME64)
			ret->nr = NR_FUTEX;
		else if (ret->nr == NR_FUTEX)
			ret->nr = 0;
		ret->first = regs->bx;
		ret->second = regs->cx;
		ret->third = regs->dx;
		ret->fourth = regs->si;
		return;
	}
	ret->first = regs->di;
	ret->second = regs->si;
	ret->third = regs->dx;
	ret->fourth = regs->r10;
}

/* Of a thread that is off CPU: its saved kernel stack pointer. */
static __always_inline __u64 resting_sp(const struct task_struct *task)
{
	return task->thread.sp;
}

/* Where the kernel's walk of that thread begins. */
static __always_inline __u64 kernel_walk_start(const struct task_struct *task)
{
	return resting_sp(task);
}

static __always_inline __u64 thread_pointer(const struct task_struct *task)
{
	return task->thread.fsbase;
}

/* A call leaves its return address on the stack. */
#define LINK_OF(ctx) 0ULL
#define READ_LINK(regs) 0ULL

#define RETURN_POPS 8ULL	/* bytes that a return pops */

/* At the entry of a function. */
static __always_inline bool return_address(const struct pt_regs *ctx, __u64 *ret)
{
	return !bpf_probe_read_user(ret, sizeof(*ret), (void *)ctx->sp);
}

/* As perf passes it: registers, the event's period and address. */
struct oncpu_context {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
	__u64 sample_period, addr;
};

static __always_inline bool ran_in_user_mode(const struct oncpu_context *ctx)
{
	return ctx->cs & 3;
}

#endif
