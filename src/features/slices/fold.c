/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/parts.h"

#include "abi/sample.h"
#include "features/slices/rows_build.h"

_Static_assert(SLICE_COUNT_Q8 == SAMPLE_ONE_Q8, "counts of cells are the kernel's");

struct fold_slices {
	struct slice_builder *builder;
	uint64_t slice_ns, start_ns;
	uint32_t now;		/* number of the kernel's current slice */
	GArray *codes;		/* uint32_t, one per row */
};

struct fold_slices *fold_slices_new(uint64_t slice_ns, uint64_t start_ns)
{
	struct fold_slices *f = g_new0(struct fold_slices, 1);

	f->builder = slice_builder_new(slice_ns);
	f->slice_ns = slice_ns;
	f->start_ns = start_ns;
	f->codes = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	return f;
}

FREES(fold_slices_free, struct fold_slices, f, slice_builder_free(f->builder); g_array_unref(f->codes))

void fold_slices_now(struct fold_slices *f, uint64_t now_ns, size_t row_cnt)
{
	uint64_t passed_ns = now_ns > f->start_ns ? now_ns - f->start_ns : 0;

	f->now = (uint32_t)(passed_ns / f->slice_ns);
	slice_builder_bound(f->builder, passed_ns, row_cnt);
}

unsigned fold_slices_shift(const struct fold_slices *f)
{
	return (unsigned)__builtin_ctzll(slice_builder_length_ns(f->builder) / f->slice_ns);
}

uint64_t fold_slices_length_ns(const struct fold_slices *f)
{
	return slice_builder_length_ns(f->builder);
}

/* Expands the kernel's short slice number: none is above the current one. */
static uint64_t slice_begin_ns(const struct fold_slices *f, const struct offcpu_wait_slot *slot)
{
	uint32_t ago = (uint16_t)(f->now - slot->slice);

	return ago > f->now ? 0 : (f->now - ago) * f->slice_ns;
}

uint64_t fold_slices_when(const struct fold_slices *f, const struct offcpu_wait_slot *slot)
{
	return slot->flags & OFFCPU_KEY_CROSSING ? slot->start_ns : f->start_ns + slice_begin_ns(f, slot);
}

static void fill_delays(const struct offcpu_wait_slot *slot, struct slice_cell *cell)
{
	cell->has_delays = slot->waker != 0;
	for (uint8_t i = 0; cell->has_delays && i < OFFCPU_WAKE_SLOTS; i++)
		if (slot->wake_hist_q8[i])
			slice_hist_add(&cell->delays, i, slot->wake_hist_q8[i]);
}

static void fill_bars(const struct offcpu_wait_slot *slot, struct slice_cell *cell)
{
	for (uint8_t i = 0; i < OFFCPU_HIST_SLOTS; i++)
		if (slot->hist_q8[offcpu_hist_place(i)])
			slice_hist_add(&cell->bars, i, slot->hist_q8[offcpu_hist_place(i)]);
}

void fold_slices_add(struct fold_slices *f, size_t row, const struct offcpu_wait_slot *slot)
{
	struct slice_cell cell;
	uint64_t begin_ns = slice_begin_ns(f, slot);

	cell.row = (uint32_t)row;
	cell.is_whole = cell.is_even = false;
	cell.is_crossing = slot->flags & OFFCPU_KEY_CROSSING && slot->start_ns >= f->start_ns;
	cell.before_ns = 0;
	cell.count_q8 = slot->count_q8;
	cell.blocked_ns = slot->blocked_ns;
	cell.runnable_ns = slot->runnable_ns;
	cell.preempted_ns = slot->preempted_ns;
	cell.max_ns = slot->max_ns;
	cell.bars.cnt = cell.delays.cnt = 0;
	fill_bars(slot, &cell);
	fill_delays(slot, &cell);
	if (cell.is_crossing)
		slice_builder_add_wait(f->builder, slot->start_ns - f->start_ns, &cell);
	else
		slice_builder_add(f->builder, begin_ns, &cell);
}

void fold_slices_tell(struct fold_slices *f, uint32_t wait, uint32_t wake)
{
	const uint32_t code = wake ? slice_code_of_wake(wake - 1) : slice_code_of_wait(wait);

	g_array_append_val(f->codes, code);
}

void fold_slices_add_open(struct fold_slices *f, const struct fold_open_wait *open, uint32_t wait, uint32_t wake)
{
	struct slice_cell cell = {
		.row = f->codes->len, .count_q8 = SLICE_COUNT_Q8, .has_delays = wake != 0,
		.blocked_ns = open->blocked_ns, .runnable_ns = open->runnable_ns,
		.preempted_ns = open->preempted_ns,
	};

	fold_slices_tell(f, wait, wake);
	cell.max_ns = slice_cell_ns(&cell);
	slice_hist_add(&cell.bars, profile_hist_slot(cell.max_ns), cell.count_q8);
	if (cell.has_delays)
		slice_hist_add(&cell.delays, profile_hist_slot(cell.runnable_ns), cell.count_q8);
	if (open->end_ns >= f->start_ns + cell.max_ns)
		slice_builder_add_wait(f->builder, open->end_ns - f->start_ns - cell.max_ns, &cell);
}

void fold_slices_add_even(struct fold_slices *f, uint32_t wait)
{
	struct slice_cell cell = { .row = f->codes->len, .is_whole = true, .is_even = true };

	fold_slices_tell(f, wait, 0);
	slice_builder_add(f->builder, 0, &cell);
}

void fold_slices_finish(struct fold_slices *f, struct profile *p)
{
	g_autoptr(GError) error = NULL;

	p->slices = slice_builder_finish(f->builder, p, (const uint32_t *)(void *)f->codes->data);
	if (slices_check(p, &error))
		return;
	/* a recording that no reader accepts would be worse */
	g_clear_pointer(&p->slices, slices_free);
	profile_add_loss(p, PROFILE_LOSS_SLICES,
			 "when the time was spent is not known: the slices of the window do not add up", 1, 0);
}
