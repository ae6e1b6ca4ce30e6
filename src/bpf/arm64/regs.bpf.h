/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_ARM64_REGS_BPF_H
#define BPF_ARM64_REGS_BPF_H

/* Registers of a thread's user mode on arm64. */

#define REG_FIRST regs[0]	/* first argument of a kernel function */
#define REG_RESULT regs[0]	/* result of a function */
#define REG_IP pc
#define REG_SP sp
#define REG_BP regs[29]
#define REG_LINK regs[30]
#define REG_GOROUTINE regs[28]	/* in code that Go compiled: src/cmd/compile/abi-internal.md */
#define REG_GO_FIRST regs[0]	/* first argument in Go code */
#define REG_GO_THIRD regs[2]

static __always_inline bool is_32_bit(const struct pt_regs *regs)
{
	return regs->pstate & PSR_MODE32_BIT;
}

static __always_inline __u32 call_number(const struct pt_regs *regs)
{
	return regs->syscallno;
}

/* The nth argument, from 1. */
static __always_inline __u64 argument(const struct pt_regs *regs, __u32 n)
{
	switch (n) {
	case 1:
		return regs->orig_x0;
	case 2:
		return regs->regs[1];
	case 3:
		return regs->regs[2];
	case 4:
		return regs->regs[3];
	default:
		return regs->regs[4];
	}
}

#define NR_FUTEX 98
#define NR32_FUTEX 240
#define NR32_FUTEX_TIME64 422

static __always_inline void syscall_of(const struct pt_regs *regs, struct syscall *ret)
{
	ret->nr = (__u64)regs->syscallno;
	if (is_32_bit(regs)) {
		if (ret->nr == NR32_FUTEX || ret->nr == NR32_FUTEX_TIME64)
			ret->nr = NR_FUTEX;
		else if (ret->nr == NR_FUTEX)
			ret->nr = 0;
	}
	ret->first = regs->orig_x0;
	ret->second = regs->regs[1];
	ret->third = regs->regs[2];
	ret->fourth = regs->regs[3];
}

/* Of a thread that is off CPU: its saved kernel stack pointer. */
static __always_inline __u64 resting_sp(const struct task_struct *task)
{
	return task->thread.cpu_context.sp;
}

/* Where the kernel's walk of that thread begins: the innermost frame record. */
static __always_inline __u64 kernel_walk_start(const struct task_struct *task)
{
	return task->thread.cpu_context.fp;
}

static __always_inline __u64 thread_pointer(const struct task_struct *task)
{
	return task->thread.uw.tp_value;
}

/* The return address of a call, in a program's context and in registers saved by the kernel. */
#define LINK_OF(ctx) ((ctx)->REG_LINK)
#define READ_LINK(regs) BPF_CORE_READ(regs, REG_LINK)

#define RETURN_POPS 0ULL	/* bytes that a return pops: none, the address is in x30 */

/* At the entry of a function. */
static __always_inline bool return_address(const struct pt_regs *ctx, __u64 *ret)
{
	*ret = ctx->REG_LINK;
	return true;
}

/* As perf passes it: registers, the event's period and address. */
struct oncpu_context {
	unsigned long regs[31], sp, pc, pstate;
	__u64 sample_period, addr;
};

static __always_inline bool ran_in_user_mode(const struct oncpu_context *ctx)
{
	return !(ctx->pstate & 0xf);
}

#endif
