/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "walk.h"

#include <glib.h>

void unwind_regs_set(const struct unwind_arch *arch, uint64_t ip, uint64_t sp, uint64_t bp, struct unwind_regs *ret)
{
	*ret = (struct unwind_regs){ .ip = ip };
	ret->reg[arch->sp_reg] = sp;
	ret->reg[arch->bp_reg] = bp;
	ret->known = 1u << arch->sp_reg | 1u << arch->bp_reg;
}

static enum unwind_why why_of(enum unwind_step step)
{
	switch (step) {
	case UNWIND_STEP_COMPLEX:
		return UNWIND_WHY_COMPLEX;
	case UNWIND_STEP_UNKNOWN_REG:
		return UNWIND_WHY_UNKNOWN_REG;
	case UNWIND_STEP_MEMORY:
		return UNWIND_WHY_MEMORY;
	case UNWIND_STEP_BACKWARDS:
		return UNWIND_WHY_BACKWARDS;
	default:
		return UNWIND_WHY_NO_INFO;
	}
}

struct walk {
	const struct unwind_source *s;
	struct unwind_regs regs;
	struct unwind_stack *stack;
	enum unwind_via via;	/* of the frame that regs stand for */
};

/* A return address may be the first byte after a function that never returns. */
static uint64_t lookup_addr(const struct walk *w)
{
	return w->via == UNWIND_VIA_TABLE || w->via == UNWIND_VIA_FP ? w->regs.ip - 1 : w->regs.ip;
}

static void end(struct walk *w, enum unwind_end how, enum unwind_why why)
{
	w->stack->end = how;
	w->stack->why = why;
	w->stack->end_ip = how == UNWIND_BROKEN ? w->regs.ip : 0;
}

/*
 * By the frame pointer where there are no rules: in JIT code, and in files built without, of
 * which many keep the frame pointer.  What it yields there is checked by the next look-up.
 */
static enum unwind_step step(struct walk *w, const struct unwind_mapping *m)
{
	const struct unwind_source *s = w->s;
	enum unwind_step step = UNWIND_STEP_NO_INFO;

	if (m->table)
		step = unwind_step(unwind_table_find(m->table, lookup_addr(w) - m->bias), &w->regs, s->read, s->ctx);
	w->via = step == UNWIND_STEP_SIGNAL ? UNWIND_VIA_SIGNAL : UNWIND_VIA_TABLE;
	if (step != UNWIND_STEP_NO_INFO)
		return step;
	step = unwind_step_fp(&w->regs, s->read, s->ctx);
	w->via = UNWIND_VIA_FP;
	w->stack->guess_cnt += m->table && step == UNWIND_STEP_OK;
	return step == UNWIND_STEP_OK || step == UNWIND_STEP_END ? step : UNWIND_STEP_NO_INFO;
}

void unwind_walk(const struct unwind_source *s, const struct unwind_regs *regs, struct unwind_stack *ret)
{
	struct walk w = { .s = s, .regs = *regs, .stack = ret, .via = UNWIND_VIA_REGS };
	uint32_t max = MIN(s->max_depth, OFFCPU_MAX_DEPTH);

	ret->depth = 0;
	ret->guess_cnt = 0;
	for (;;) {
		struct unwind_mapping m;
		enum unwind_step done;

		if (!s->find(s->ctx, lookup_addr(&w), &m)) {
			end(&w, UNWIND_BROKEN, UNWIND_WHY_NOT_MAPPED);
			return;
		}
		if (ret->depth >= max) {
			end(&w, UNWIND_TRUNCATED, UNWIND_WHY_NONE);
			return;
		}
		ret->ip[ret->depth] = w.regs.ip;
		ret->via[ret->depth++] = (uint8_t)w.via;
		done = step(&w, &m);
		if (done == UNWIND_STEP_END) {
			end(&w, UNWIND_COMPLETE, UNWIND_WHY_NONE);
			return;
		}
		if (done != UNWIND_STEP_OK && done != UNWIND_STEP_SIGNAL) {
			end(&w, UNWIND_BROKEN, why_of(done));
			return;
		}
	}
}

const char *unwind_why_text(enum unwind_why why)
{
	switch (why) {
	case UNWIND_WHY_NOT_MAPPED:
		return "an address in no executable mapping";
	case UNWIND_WHY_NO_INFO:
		return "no call frame information and no frame pointer";
	case UNWIND_WHY_COMPLEX:
		return "a rule too complex";
	case UNWIND_WHY_UNKNOWN_REG:
		return "a rule by a register that is not known";
	case UNWIND_WHY_MEMORY:
		return "the stack could not be read";
	case UNWIND_WHY_BACKWARDS:
		return "a stack that runs backwards";
	default:
		return "";
	}
}
