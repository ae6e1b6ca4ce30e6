/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_ARM64_UNWIND_STEP_BPF_H
#define BPF_ARM64_UNWIND_STEP_BPF_H

/* For bpf/walk/unwind.bpf.h: from a frame to its caller, by arm64's rules (abi/unwind_abi.h). */

/* A signal frame: the interrupted registers are in a ucontext at sp + offset. */
static __always_inline bool step_out_of_context(struct user_walk *w, __u64 at, bool may_sleep)
{
	__u64 pair[2], sp, ip;

	/* x29 and x30, sp and pc are adjacent, at multiples of 8 */
	if (!read_stack(w, at + UNWIND_ARM64_UCONTEXT_X29, pair, sizeof(pair), may_sleep) ||
	    !read_stack(w, at + UNWIND_ARM64_UCONTEXT_SP, &sp, sizeof(sp), may_sleep) ||
	    !read_stack(w, at + UNWIND_ARM64_UCONTEXT_PC, &ip, sizeof(ip), may_sleep))
		return false;
	w->at->bp = pair[0];
	w->at->more.link = code_address(w->at, pair[1]);
	w->at->sp = sp;
	w->at->ip = code_address(w->at, ip);
	w->at->more.sp_lost = w->at->bp_lost = false;
	w->at->exact = true;
	do_not_remember(w);
	return w->at->ip != 0;
}

static __always_inline bool step_out_of_signal(struct user_walk *w, __u32 rule, bool may_sleep)
{
	return !w->at->more.sp_lost && step_out_of_context(w, w->at->sp + unwind_rule_offset(rule), may_sleep);
}

#define SIGNAL_RETURN 0xd4000001d2801168ULL	/* mov x8, #139 (rt_sigreturn); svc #0 */

/*
 * A signal handler returns to code without rules, in the vDSO or in musl. The kernel leaves them out because unwinders
 * recognise the code itself (arch/arm64/kernel/vdso/sigreturn.S).
 */
static __always_inline bool step_by_epilogue(struct user_walk *w, bool may_sleep)
{
	__u64 code = 0;

	if (w->at->more.sp_lost || !read_code(w, w->at->ip, &code, sizeof(code), may_sleep) || code != SIGNAL_RETURN)
		return false;
	w->at->end = OFFCPU_WALK_BROKEN;
	return step_out_of_context(w, w->at->sp + UNWIND_ARM64_SIGNAL_FRAME, may_sleep);
}

/* arm64 has no such rules. */
static __always_inline bool step_by_register(struct user_walk *w, __u32 rule)
{
	w->at->end = OFFCPU_WALK_BROKEN;
	return false;
}

/*
 * Base register of the frame address; 0: not known. If the walk came by frame pointer, sp follows from the frame
 * record, which x29 then points to.
 */
static __always_inline __u64 frame_base(struct user_walk *w, __u32 rule)
{
	__s32 record = unwind_rule_bp_offset(rule);
	bool by_sp = unwind_rule_cfa(rule) == UNWIND_CFA_SP;

	if (by_sp && !w->at->more.sp_lost)
		return w->at->sp;
	note_frame_pointer(w);
	if (w->at->bp_lost || w->at->bp & 7)
		return 0;
	if (!by_sp)
		return w->at->bp;
	if (unwind_rule_bp(rule) != UNWIND_ARM64_RECORD || w->at->bp < w->at->sp || w->at->bp - w->at->sp > FRAME_RANGE)
		return 0;
	return w->at->bp - (record < 0 ? unwind_rule_offset(rule) + record : record);
}

/*
 * The frame has saved nothing: the return address is in x30, which is known only in the innermost frame and in one
 * that a signal interrupted.
 */
static __always_inline bool step_by_link(struct user_walk *w, __u64 cfa)
{
	__u64 ip = w->at->more.link;

	if (cfa < w->at->sp)
		return false;
	w->at->more.link = 0;
	w->at->sp = cfa;
	w->at->ip = ip;
	return ip != 0;
}

/* From a frame to its caller by its rule. */
static __always_inline bool step_by_rule(struct user_walk *w, __u32 rule, bool may_sleep)
{
	__u32 kind = unwind_rule_cfa(rule), how = unwind_rule_bp(rule);
	__s32 offset = unwind_rule_bp_offset(rule);
	__u64 base, cfa, saved[2];

	w->at->end = OFFCPU_WALK_BROKEN;
	if (kind != UNWIND_CFA_SP && kind != UNWIND_CFA_BP && kind != UNWIND_CFA_BP_SWITCH)
		return false;
	base = frame_base(w, rule);
	if (!base)
		return false;
	cfa = base + unwind_rule_offset(rule);
	if (cfa & 7)
		return false;
	if (how == UNWIND_ARM64_LINK)
		return step_by_link(w, cfa);
	/* the caller's frame is above this one, or the rule or the stack is wrong */
	if (cfa <= w->at->sp && kind != UNWIND_CFA_BP_SWITCH)
		return false;
	base = (offset < 0 ? cfa : base) + offset;
	if (how == UNWIND_ARM64_RECORD) {
		if (!read_stack(w, base, saved, sizeof(saved), may_sleep))
			return false;
		w->at->bp = saved[0];
		w->at->bp_from = base;
		w->at->bp_lost = false;
		base += sizeof(saved[0]);
	} else {
		if (!read_stack(w, base, &saved[1], sizeof(saved[1]), may_sleep))
			return false;
		w->at->bp_lost |= how == UNWIND_ARM64_RETURN_LOST;
	}
	note_word(w, base, 0);
	w->at->more.link = 0;
	w->at->more.sp_lost = false;
	w->at->sp = cfa;
	w->at->ip = code_address(w->at, saved[1]);
	return w->at->ip != 0;
}

#endif
