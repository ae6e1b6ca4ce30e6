/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "runtimes/go/program.h"

#include <string.h>

#include "symbolize/runtime/memory.h"

#define BATCH 256
#define STACK_FIRST_BYTES 1024	/* three of four stacks fit */
#define STACK_MORE_BYTES (64u << 10)
#define STACK_MAX_BYTES ((uint64_t)1 << 30)	/* Go's own limit on 64 bits */

/* Offsets in struct g. */
#define STACK_LO_AT 0
#define STACK_HI_AT 8
#define SCHED_SP_AT 56
#define SCHED_PC_AT 64
#define SCHED_G_AT 72
#define SCHED_LR_AT 96		/* arm64: x30 if no frame has saved it; up to Go 1.24 */
#define SCHED_LR_AT_1_25 88	/* without a word that was always 0 */

struct reader {
	const struct go_program *p;
	go_goroutine_fn fn;
	void *ctx;
	struct go_census *census;
	uint64_t addrs[BATCH];
	uint8_t before[BATCH][GO_GOROUTINE_BYTES_MAX], after[BATCH][GO_GOROUTINE_BYTES_MAX];
	bool is_read[BATCH], is_stack_read[BATCH], is_read_again[BATCH];
	uint8_t stacks[BATCH][STACK_FIRST_BYTES];
	uint8_t more[STACK_MORE_BYTES];
	uint64_t pcs[BATCH][GO_FRAMES_MAX];
	struct go_goroutine found[BATCH];
	struct go_labels labels[BATCH];
};

static uint64_t word_at(const uint8_t *g, uint32_t at)
{
	uint64_t value;

	memcpy(&value, g + at, sizeof(value));
	return value;
}

static uint32_t status_of(const struct go_layout *l, const uint8_t *g)
{
	return (uint32_t)word_at(g, l->status) & ~(uint32_t)GO_STATUS_SCAN;
}

static bool has_stack(const struct go_layout *l, const uint8_t *g)
{
	uint64_t lo = word_at(g, STACK_LO_AT), hi = word_at(g, STACK_HI_AT), sp = word_at(g, SCHED_SP_AT);
	uint32_t status = status_of(l, g);

	return status != GO_STATUS_RUNNING && status != GO_STATUS_COPYING && lo < hi && hi - lo <= STACK_MAX_BYTES &&
	       sp >= lo && sp < hi && sp % 8 == 0;
}

static int64_t step_at(const struct go_program *p, uint64_t pc, bool is_return)
{
	const struct go_code *code = go_program_code(p, pc, is_return);

	return code ? code->step : GO_STEP_UNKNOWN;
}

/* A goroutine that has not run yet is at the first instruction of its function. */
static bool is_at_begin(const struct go_program *p, uint64_t pc)
{
	const struct go_code *code = go_program_code(p, pc, false);

	return code && code->start == pc - p->bias && !code->is_returned_to;
}

/* arm64: the return address of a leaf function that saved nothing, which only the innermost one can be; 0: unknown. */
static uint64_t link_of(const struct go_program *p, const uint8_t *g)
{
	for (uint32_t at = SCHED_LR_AT; at >= SCHED_LR_AT_1_25; at -= 8)
		if (go_program_code(p, word_at(g, at), true))
			return word_at(g, at);
	return 0;
}

/*
 * Steps from a frame to its caller. The return address is above the frame on x86-64, in its lowest word on arm64, and
 * in `link` for a function without a frame there. False: it lies beyond `bytes`.
 */
static bool step_out(const struct reader *r, const uint8_t *stack, size_t bytes, int64_t step, uint64_t link,
		     uint64_t *at, uint64_t *pc)
{
	bool is_arm64 = r->p->file.machine == EM_AARCH64;

	if (is_arm64 && !step) {
		*pc = link;
		return true;
	}
	*at += is_arm64 ? 0 : (uint64_t)step;
	if (*at + 8 > bytes)
		return false;
	*pc = word_at(stack, (uint32_t)*at);
	*at += is_arm64 ? (uint64_t)step : 8;
	return true;
}

/* False: `bytes` has too little of the stack. */
static bool walk_out(struct reader *r, struct go_goroutine *g, const uint8_t *saved, const uint8_t *stack, size_t bytes,
		     uint64_t *pcs)
{
	uint64_t at = 0, pc = word_at(saved, SCHED_PC_AT),
		 link = r->p->file.machine == EM_AARCH64 ? link_of(r->p, saved) : 0;

	g->pc_cnt = 0;
	g->begins_at_pc = is_at_begin(r->p, pc);
	g->end = STACK_TRUNCATED;
	while (g->pc_cnt < GO_FRAMES_MAX) {
		int64_t step = step_at(r->p, pc, !(g->begins_at_pc && !g->pc_cnt));

		if (step < 0) {
			g->end = step == GO_STEP_END ? STACK_COMPLETE : STACK_BROKEN;
			return true;
		}
		pcs[g->pc_cnt++] = pc;
		if (!step_out(r, stack, bytes, step, g->pc_cnt == 1 ? link : 0, &at, &pc))
			return false;
	}
	return true;
}

static uint64_t labels_of(const struct go_layout *l, const uint8_t *g)
{
	return l->labels ? word_at(g, l->labels) : 0;
}

static bool is_same(const struct go_layout *l, const uint8_t *a, const uint8_t *b)
{
	return status_of(l, a) == status_of(l, b) && word_at(a, l->goid) == word_at(b, l->goid) &&
	       a[l->reason] == b[l->reason] && !memcmp(a + STACK_LO_AT, b + STACK_LO_AT, 16) &&
	       !memcmp(a + SCHED_SP_AT, b + SCHED_SP_AT, 16) && labels_of(l, a) == labels_of(l, b);
}

static void walk_one(struct reader *r, size_t i)
{
	const uint8_t *g = r->before[i];
	uint64_t sp = word_at(g, SCHED_SP_AT), room = word_at(g, STACK_HI_AT) - sp;
	struct go_goroutine *found = &r->found[i];
	size_t more = (size_t)MIN(room, STACK_MORE_BYTES);

	found->pcs = r->pcs[i];
	if (!r->is_stack_read[i]) {
		found->end = STACK_BROKEN;
		return;
	}
	if (walk_out(r, found, g, r->stacks[i], (size_t)MIN(room, STACK_FIRST_BYTES), r->pcs[i]) ||
	    more <= STACK_FIRST_BYTES)
		return;
	if (memory_read(r->p->pid, sp, r->more, more))
		walk_out(r, found, g, r->more, more, r->pcs[i]);
}

static void read_stacks(struct reader *r, size_t cnt)
{
	struct memory_piece pieces[BATCH] = { 0 };
	bool is_read[BATCH];
	size_t index[BATCH], piece_cnt = 0;

	for (size_t i = 0; i < cnt; i++) {
		r->is_stack_read[i] = false;
		if (!r->is_read[i] || !has_stack(&r->p->layout, r->before[i]))
			continue;
		uint64_t sp = word_at(r->before[i], SCHED_SP_AT), room = word_at(r->before[i], STACK_HI_AT) - sp;

		index[piece_cnt] = i;
		pieces[piece_cnt++] = (struct memory_piece){ sp, r->stacks[i], (size_t)MIN(room, STACK_FIRST_BYTES) };
	}
	memory_read_pieces(r->p->pid, pieces, piece_cnt, is_read);
	for (size_t i = 0; i < piece_cnt; i++)
		r->is_stack_read[index[i]] = is_read[i];
}

static void take_goroutine(struct reader *r, size_t i)
{
	const struct go_layout *l = &r->p->layout;
	const uint8_t *g = r->before[i];
	uint8_t reason = g[l->reason];

	r->found[i] = (struct go_goroutine){
		.goid = word_at(g, l->goid), .parent = l->has_parent ? word_at(g, l->parent) : 0,
		.creator = word_at(g, l->creator), .start = word_at(g, l->start),
		.status = (enum go_status)status_of(l, g), .end = STACK_NONE,
	};
	if (r->found[i].status == GO_STATUS_WAITING && reason < r->p->reason_cnt && reason)
		r->found[i].reason = r->p->reasons[reason];
	if (has_stack(l, g))
		walk_one(r, i);
	if (!labels_of(l, g))
		return;
	go_labels_read(r->p->pid, l->minor, labels_of(l, g), &r->labels[i]);
	r->found[i].labels = r->labels[i].cnt ? &r->labels[i] : NULL;
}

static void read_again(struct reader *r, size_t cnt)
{
	const struct go_layout *l = &r->p->layout;
	struct memory_piece pieces[BATCH] = { 0 };

	for (size_t i = 0; i < cnt; i++)
		pieces[i] = (struct memory_piece){ r->addrs[i], r->after[i], l->labels ? l->bytes : l->reason + 8 };
	memory_read_pieces(r->p->pid, pieces, cnt, r->is_read_again);
	for (size_t i = 0; i < cnt; i++)
		if (r->is_read[i] && (!r->is_read_again[i] || !is_same(l, r->before[i], r->after[i]))) {
			r->found[i].is_stale = true;
			r->found[i].pc_cnt = 0;
			r->found[i].labels = NULL;
		}
}

static bool is_alive(const struct go_program *p, const uint8_t *g, uint64_t addr)
{
	uint32_t status = status_of(&p->layout, g);

	return status != GO_STATUS_IDLE && status != GO_STATUS_DEAD && status <= GO_STATUS_LEAKED &&
	       word_at(g, SCHED_G_AT) == addr;
}

static void read_batch(struct reader *r, size_t cnt)
{
	const struct go_layout *l = &r->p->layout;
	struct memory_piece pieces[BATCH] = { 0 };

	for (size_t i = 0; i < cnt; i++)
		pieces[i] = (struct memory_piece){ r->addrs[i], r->before[i], l->bytes };
	memory_read_pieces(r->p->pid, pieces, cnt, r->is_read);
	for (size_t i = 0; i < cnt; i++) {
		r->census->looked_at++;
		r->census->unreadable += !r->is_read[i];
		r->is_read[i] = r->is_read[i] && is_alive(r->p, r->before[i], r->addrs[i]);
	}
	read_stacks(r, cnt);
	for (size_t i = 0; i < cnt; i++)
		if (r->is_read[i])
			take_goroutine(r, i);
	read_again(r, cnt);
	for (size_t i = 0; i < cnt; i++)
		if (r->is_read[i])
			r->fn(r->ctx, &r->found[i]);
}

/* Reads the addresses of a batch of the list. */
static bool read_addresses(struct reader *r, uint64_t list, uint64_t from, uint64_t stride, size_t cnt)
{
	struct memory_piece pieces[BATCH] = { 0 };
	bool is_read[BATCH];

	if (stride == 1)
		return memory_read(r->p->pid, list + 8 * from, r->addrs, 8 * cnt);
	for (size_t i = 0; i < cnt; i++)
		pieces[i] = (struct memory_piece){ list + 8 * (from + i * stride), &r->addrs[i], 8 };
	memory_read_pieces(r->p->pid, pieces, cnt, is_read);
	for (size_t i = 0; i < cnt; i++)
		if (!is_read[i])
			return false;
	return true;
}

/*
 * The number of entries of a slice (address, length, capacity) that will be read. Looks are spread by it, so invalid
 * lists count as empty.
 */
static uint64_t listed_in(const uint64_t slice[3])
{
	return MIN(MIN(slice[1], slice[2]), GO_GOROUTINES_MAX);
}

uint64_t go_goroutines_listed(const struct go_program *p)
{
	uint64_t slice[3];

	return memory_read(p->pid, p->goroutines, slice, sizeof(slice)) ? listed_in(slice) : 0;
}

bool go_goroutines_read(const struct go_program *p, uint64_t first, uint64_t stride, go_goroutine_fn fn, void *ctx,
			struct go_census *ret)
{
	struct reader *r;
	uint64_t slice[3];
	bool is_read = true;

	*ret = (struct go_census){ 0 };
	if (!memory_read(p->pid, p->goroutines, slice, sizeof(slice)) || !slice[0] || !stride)
		return false;
	ret->is_cut = slice[1] > GO_GOROUTINES_MAX || slice[1] > slice[2];
	ret->listed = listed_in(slice);
	r = g_new(struct reader, 1);
	r->p = p;
	r->fn = fn;
	r->ctx = ctx;
	r->census = ret;
	for (uint64_t at = first; at < ret->listed && is_read;) {
		size_t cnt = (size_t)MIN((ret->listed - at + stride - 1) / stride, BATCH);

		is_read = read_addresses(r, slice[0], at, stride, cnt);
		if (is_read)
			read_batch(r, cnt);
		at += cnt * stride;
	}
	g_free(r);
	return is_read;
}
