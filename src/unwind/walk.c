/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "unwind/walk.h"

#include <glib.h>
#include <string.h>

void unwind_regs_set(const struct unwind_arch *arch, uint64_t ip, uint64_t sp, uint64_t bp, struct unwind_regs *ret)
{
	*ret = (struct unwind_regs){ .ip = ip };
	ret->reg[arch->sp_reg] = sp;
	ret->reg[arch->bp_reg] = bp;
	ret->known = 1u << arch->sp_reg | 1u << arch->bp_reg;
}

void unwind_regs_set_sp(const struct unwind_arch *arch, uint64_t ip, uint64_t sp, struct unwind_regs *ret)
{
	*ret = (struct unwind_regs){ .ip = ip };
	ret->reg[arch->sp_reg] = sp;
	ret->known = 1u << arch->sp_reg;
}

static enum unwind_why why_of(enum unwind_step step)
{
	switch (step) {
	case UNWIND_STEP_COMPLEX: return UNWIND_WHY_COMPLEX;
	case UNWIND_STEP_UNKNOWN_REG: return UNWIND_WHY_UNKNOWN_REG;
	case UNWIND_STEP_MEMORY: return UNWIND_WHY_MEMORY;
	case UNWIND_STEP_BACKWARDS: return UNWIND_WHY_BACKWARDS;
	default: return UNWIND_WHY_NO_INFO;
	}
}

struct walk {
	const struct unwind_source *s;
	struct unwind_regs regs;
	struct unwind_stack *stack;
	enum unwind_via via;	/* how the current frame was reached */
	unsigned to_skip;	/* candidate frames that led nowhere */
	bool has_sought;
};

/* A return address may be the first byte after a function that never returns. */
static uint64_t lookup_addr(const struct walk *w)
{
	return w->via == UNWIND_VIA_TABLE || w->via == UNWIND_VIA_FP ? w->regs.ip - 1 : w->regs.ip;
}

static void set_end(struct walk *w, enum unwind_end how, enum unwind_why why)
{
	w->stack->end = how;
	w->stack->why = why;
	w->stack->end_ip = how == UNWIND_BROKEN ? w->regs.ip : 0;
}

/* How far above its stack pointer a frame's saved frame pointer is searched. */
#define FRAME_SOUGHT_BYTES 16384
#define FRAME_RANGE (8u << 20)
#define FRAMES_TRIED 16
#define CALL_BYTES 7

/* Do the bytes before a return address end with a call? For E8 rel32 the target is returned. */
static bool ends_with_call(const uint8_t *code, int32_t *ret_rel, bool *ret_is_direct)
{
	*ret_is_direct = code[2] == 0xe8;
	if (*ret_is_direct) {
		memcpy(ret_rel, code + 3, sizeof(*ret_rel));
		return true;
	}
	return (code[5] == 0xff && (code[6] & 0xf8) == 0xd0) || (code[4] == 0xff && (code[5] & 0xf8) == 0x50) ||
	       (code[1] == 0xff && ((code[2] & 0xf8) == 0x90 || code[2] == 0x15)) ||
	       (code[0] == 0xff && (code[1] & 0xf8) == 0x90) || (code[3] == 0xff && (code[4] & 0xf8) == 0x50);
}

/* Can a call of the function around `ip` return to `ra`? Certain if the call names the function. */
static bool may_return_to(const struct walk *w, uint64_t ra, uint64_t ip, bool *ret_is_sure)
{
	struct unwind_mapping callee, caller;
	uint8_t code[CALL_BYTES] = { 0 };
	bool is_direct;
	int32_t rel;

	*ret_is_sure = false;
	if (!w->s->find(w->s->ctx, ra - 1, &caller) || !w->s->read(w->s->ctx, ra - CALL_BYTES, code, sizeof(code)) ||
	    !ends_with_call(code, &rel, &is_direct))
		return false;
	if (!is_direct)
		return true;
	uint64_t target = ra + (uint64_t)(int64_t)rel;

	if (!w->s->find(w->s->ctx, ip, &callee) || !w->s->find(w->s->ctx, target, &caller))
		return false;
	*ret_is_sure = caller.table == callee.table && target <= ip && ip - target < FRAME_SOUGHT_BYTES * 16;
	/* to the start of that function, or through a linkage table */
	return *ret_is_sure || caller.table != callee.table ||
	       (caller.table &&
		unwind_rule_cfa(unwind_table_find(caller.table, target - caller.bias)) == UNWIND_CFA_PLT);
}

/* Callers that use the register for other data save any number. */
static bool may_be_frame_pointer(uint64_t saved, uint64_t at)
{
	return saved <= 1 || (saved % 16 == 0 && saved > at && saved - at <= FRAME_RANGE);
}

/*
 * A frame whose rule needs an unknown frame pointer. It is above sp: a saved frame pointer, and an address after a
 * call of this function; or after a call of anything, if the saved pointer points further up. Remains of earlier calls
 * look the same, but a walk from there is unlikely to reach the thread's start: unwind_walk() takes the first one that
 * does.
 */
static bool find_frame(struct walk *w)
{
	const struct unwind_arch *arch = w->s->arch;
	uint64_t sp = w->regs.reg[arch->sp_reg], pair[2];

	w->has_sought = true;
	for (uint64_t at = sp; at < sp + FRAME_SOUGHT_BYTES && at >= sp; at += 8) {
		bool is_sure;

		if (at % 16)	/* the ABI aligns stacks at calls */
			continue;
		if (!w->s->read(w->s->ctx, at, pair, sizeof(pair)))
			return false;
		if (!may_return_to(w, pair[1], w->regs.ip, &is_sure) ||
		    (!is_sure && !may_be_frame_pointer(pair[0], at)))
			continue;
		if (w->to_skip) {
			w->to_skip--;
			continue;
		}
		w->regs.reg[arch->bp_reg] = at;
		w->regs.known |= 1u << arch->bp_reg;
		w->stack->guess_cnt++;
		return true;
	}
	return false;
}

/* The usual frame: `push %rbp; mov %rsp,%rbp`. */
static bool is_plain_frame(uint32_t rule)
{
	return unwind_rule_cfa(rule) == UNWIND_CFA_BP && unwind_rule_offset(rule) == 16;
}

/*
 * By frame pointer where there are no rules: in JIT code, and in files without tables, many of which keep the frame
 * pointer. The next look-up checks the result.
 */
static enum unwind_step step(struct walk *w, const struct unwind_mapping *m)
{
	const struct unwind_source *s = w->s;
	enum unwind_step step = UNWIND_STEP_NO_INFO;

	if (m->table) {
		uint32_t rule = unwind_table_find(m->table, lookup_addr(w) - m->bias);

		step = s->arch->step(rule, &w->regs, s->read, s->ctx);
		if (step == UNWIND_STEP_UNKNOWN_REG && s->finds_frames && s->arch->finds_frames &&
		    is_plain_frame(rule) && find_frame(w))
			step = s->arch->step(rule, &w->regs, s->read, s->ctx);
	}
	w->via = step == UNWIND_STEP_SIGNAL ? UNWIND_VIA_SIGNAL : UNWIND_VIA_TABLE;
	if (step != UNWIND_STEP_NO_INFO)
		return step;
	step = s->arch->step_fp(&w->regs, s->read, s->ctx);
	w->via = step == UNWIND_STEP_SIGNAL ? UNWIND_VIA_SIGNAL : UNWIND_VIA_FP;
	w->stack->guess_cnt += m->table && step == UNWIND_STEP_OK;
	return step == UNWIND_STEP_OK || step == UNWIND_STEP_SIGNAL || step == UNWIND_STEP_END ? step
											       : UNWIND_STEP_NO_INFO;
}

static void walk_all(struct walk *w)
{
	struct unwind_stack *ret = w->stack;
	uint32_t max = MIN(w->s->max_depth, OFFCPU_MAX_DEPTH);

	ret->depth = 0;
	ret->guess_cnt = 0;
	for (;;) {
		struct unwind_mapping m;
		enum unwind_step done;

		if (!w->s->find(w->s->ctx, lookup_addr(w), &m)) {
			set_end(w, UNWIND_BROKEN, UNWIND_WHY_NOT_MAPPED);
			return;
		}
		if (ret->depth >= max) {
			set_end(w, UNWIND_TRUNCATED, UNWIND_WHY_NONE);
			return;
		}
		ret->ip[ret->depth] = w->regs.ip;
		ret->via[ret->depth++] = (uint8_t)w->via;
		done = step(w, &m);
		if (done == UNWIND_STEP_END) {
			set_end(w, UNWIND_COMPLETE, UNWIND_WHY_NONE);
			return;
		}
		if (done != UNWIND_STEP_OK && done != UNWIND_STEP_SIGNAL) {
			set_end(w, UNWIND_BROKEN, why_of(done));
			return;
		}
	}
}

void unwind_walk(const struct unwind_source *s, const struct unwind_regs *regs, struct unwind_stack *ret)
{
	struct walk w = { .s = s, .regs = *regs, .stack = ret, .via = UNWIND_VIA_REGS };

	walk_all(&w);
	for (unsigned i = 1; i < FRAMES_TRIED && w.has_sought && ret->end == UNWIND_BROKEN; i++) {
		struct unwind_stack other;
		struct walk again = { .s = s, .regs = *regs, .stack = &other, .via = UNWIND_VIA_REGS, .to_skip = i };

		other.end = UNWIND_BROKEN;
		other.depth = 0;
		walk_all(&again);
		if (again.to_skip)
			return;
		if (other.end != UNWIND_BROKEN || other.depth > ret->depth)
			*ret = other;
	}
}
