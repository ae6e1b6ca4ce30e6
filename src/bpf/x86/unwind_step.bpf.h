/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_X86_UNWIND_STEP_BPF_H
#define BPF_X86_UNWIND_STEP_BPF_H

/* For bpf/walk/unwind.bpf.h: from a frame to its caller, by x86-64's rules (abi/unwind_abi.h). */

#define CODE_BYTES 5	/* bytes of code read for a frame without a rule */

/*
 * Code without a table that does little after the callee returns: `add $n,%rsp; ret`, or just `ret`, shows where its
 * return address is. This crosses CPython's perf trampolines (3.12 and 3.13, -X perf), which keep no frame pointer.
 */
static __always_inline bool step_by_epilogue(struct user_walk *w, bool may_sleep)
{
	__u64 code = 0, at = w->at->sp, ip = 0;

	if (!read_code(w, w->at->ip, &code, CODE_BYTES, may_sleep))
		return false;
	if ((code & 0xff80ffffffULL) == 0xc300c48348ULL)
		at += code >> 24 & 0x7f;
	else if ((code & 0xff) != 0xc3)
		return false;
	if (at & 7 || !read_stack(w, at, &ip, sizeof(ip), may_sleep) || !ip)
		return false;
	note_word(w, at, 0);
	w->at->sp = at + sizeof(ip);
	w->at->ip = ip;
	return true;
}

/* A signal frame: the interrupted registers are in a ucontext. */
static __always_inline bool step_out_of_signal(struct user_walk *w, __u32 rule, bool may_sleep)
{
	__u64 at = w->at->sp + unwind_rule_offset(rule), ip, sp, bp;

	if (!read_stack(w, at + UNWIND_UCONTEXT_RIP, &ip, sizeof(ip), may_sleep) ||
	    !read_stack(w, at + UNWIND_UCONTEXT_RSP, &sp, sizeof(sp), may_sleep) ||
	    !read_stack(w, at + UNWIND_UCONTEXT_RBP, &bp, sizeof(bp), may_sleep))
		return false;
	w->at->ip = ip;
	w->at->sp = sp;
	w->at->bp = bp;
	w->at->bp_lost = false;
	w->at->exact = true;
	do_not_remember(w);
	return true;
}

/*
 * A register that is known only in the innermost frame, by its DWARF number; 0 for all but those in use: rdi holds the
 * return address in glibc's vfork(), r10 the frame's address while a function realigns its stack.
 */
static __always_inline __u64 innermost_register(const struct user_walk *w, __u32 number)
{
	if (w->at->depth != 1)
		return 0;
	return number == 5 ? w->at->more.rdi : number == 10 ? w->at->more.r10 : 0;
}

/* The return address is in a register: no frame has been made yet. */
static __always_inline bool step_by_register(struct user_walk *w, __u32 rule)
{
	__u64 ip = innermost_register(w, unwind_rule_extra(rule));

	w->at->end = OFFCPU_WALK_BROKEN;
	do_not_remember(w);
	w->at->sp += unwind_rule_packed_offset(rule);
	w->at->ip = ip;
	return ip != 0;
}

/* The canonical frame address, or 0. */
static __always_inline __u64 frame_address(struct user_walk *w, __u32 rule, bool may_sleep)
{
	__u64 base, value;

	switch (unwind_rule_cfa(rule)) {
	case UNWIND_CFA_SP:
		return w->at->sp + unwind_rule_offset(rule);
	case UNWIND_CFA_BP:
	case UNWIND_CFA_BP_SWITCH:
		note_frame_pointer(w);
		return w->at->bp_lost ? 0 : w->at->bp + unwind_rule_offset(rule);
	case UNWIND_CFA_PLT:
		return w->at->sp + unwind_rule_plt_offset(rule) +
		       ((w->at->ip & 15) >= unwind_rule_plt_from(rule) ? 8 : 0);
	case UNWIND_CFA_DEREF_SP:
	case UNWIND_CFA_DEREF_BP:
		if (unwind_rule_cfa(rule) == UNWIND_CFA_DEREF_BP) {
			note_frame_pointer(w);
			if (w->at->bp_lost)
				return 0;
		}
		base = unwind_rule_cfa(rule) == UNWIND_CFA_DEREF_SP ? w->at->sp : w->at->bp;
		if (!read_stack(w, base + unwind_rule_packed_offset(rule), &value, sizeof(value), may_sleep))
			return 0;
		note_word(w, base + unwind_rule_packed_offset(rule), WORD_IS_ADDRESS);
		return value + unwind_rule_extra(rule) * 8;
	case UNWIND_CFA_REG:
		do_not_remember(w);
		base = innermost_register(w, unwind_rule_extra(rule));
		return base ? base + unwind_rule_packed_offset(rule) : 0;
	}
	return 0;
}

/* From a frame to its caller by its rule. */
static __always_inline bool step_by_rule(struct user_walk *w, __u32 rule, bool may_sleep)
{
	__u64 cfa, saved[2], bp_at;

	w->at->end = OFFCPU_WALK_BROKEN;
	cfa = frame_address(w, rule, may_sleep);
	/* the caller's frame is above this one, or the rule or the stack is wrong */
	if ((cfa <= w->at->sp && unwind_rule_cfa(rule) != UNWIND_CFA_BP_SWITCH) || !cfa || cfa & 7)
		return false;
	/* the return address and, in nearly all frames, the frame pointer below it */
	if (!read_stack(w, cfa - sizeof(saved), saved, sizeof(saved), may_sleep))
		return false;
	switch (unwind_rule_bp(rule)) {
	case UNWIND_BP_AT_CFA:
	case UNWIND_BP_AT_BP:
		if (unwind_rule_bp(rule) == UNWIND_BP_AT_BP) {
			note_frame_pointer(w);
			if (w->at->bp_lost)
				break;
		}
		bp_at = (unwind_rule_bp(rule) == UNWIND_BP_AT_CFA ? cfa : w->at->bp) + unwind_rule_bp_offset(rule);
		if (bp_at == cfa - sizeof(saved))
			w->at->bp = saved[0];
		else if (!read_stack(w, bp_at, &w->at->bp, sizeof(w->at->bp), may_sleep))
			return false;
		w->at->bp_from = bp_at;
		w->at->bp_lost = false;
		break;
	case UNWIND_BP_LOST:
		w->at->bp_lost = true;
		break;
	}
	note_word(w, cfa - sizeof(saved[1]), 0);
	w->at->sp = cfa;
	w->at->ip = saved[1];
	return w->at->ip != 0;
}

#endif
