/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/slices/rows_build.h"
#include "base/order.h"

#include <string.h>

/*
 * The builder's memory limit: cells may take BYTES_A_ROW for each row, because a recording's rows take more, and at
 * least BYTES_MIN. A row has at most one sum and one crossing wait in a slice, so doubling the length always ends:
 * one slice is enough.
 */
#define BYTES_MIN (8u << 20)
#define BYTES_A_ROW 64

struct slice_builder {
	uint64_t length_ns;
	GPtrArray *cells;	/* GByteArray or NULL: unmerged cells */
	uint64_t bytes;
	uint64_t bytes_after_merge;
};

static void free_bytes(gpointer bytes)
{
	if (bytes)
		g_byte_array_unref(bytes);
}

struct slice_builder *slice_builder_new(uint64_t length_ns)
{
	struct slice_builder *b = g_new0(struct slice_builder, 1);

	b->length_ns = MAX(length_ns, 1);
	b->cells = g_ptr_array_new_with_free_func(free_bytes);
	return b;
}

FREES(slice_builder_free, struct slice_builder, b, g_ptr_array_unref(b->cells))

uint64_t slice_builder_length_ns(const struct slice_builder *b)
{
	return b->length_ns;
}

static GByteArray *bytes_of(GPtrArray *cells, uint32_t slice)
{
	if (slice >= cells->len)
		g_ptr_array_set_size(cells, (gint)slice + 1);
	if (!cells->pdata[slice])
		cells->pdata[slice] = g_byte_array_new();
	return cells->pdata[slice];
}

static void put_cell(struct slice_builder *b, uint32_t slice, const struct slice_cell *cell)
{
	GByteArray *bytes = bytes_of(b->cells, slice);
	guint before = bytes->len;

	slice_cell_put(bytes, 0, cell);
	b->bytes += bytes->len - before;
}

/* The position of a cell among the bytes of many. */
struct place {
	uint32_t row, at;
};

ORDER(by_row, struct place, ORDER_LOW(row) ORDER_LOW(at))

/* The cells in the order of their rows' codes, without those left out. */
static GArray *sorted_places(const GByteArray *bytes, const uint32_t *codes)
{
	GArray *places = g_array_new(FALSE, FALSE, sizeof(struct place));
	struct cursor from = cursor_of(bytes->data, bytes->len);
	struct slice_cell cell;

	while (cursor_left(&from)) {
		struct place place = { .at = (uint32_t)(from.at - bytes->data) };

		if (!slice_cell_get(&from, 0, &cell))
			break;
		place.row = codes ? codes[cell.row] : cell.row;
		if (place.row != SLICE_NO_CODE)
			g_array_append_val(places, place);
	}
	g_array_sort(places, by_row);
	return places;
}

typedef void (*merged_fn)(const struct slice_cell *cell, void *data);

/* Calls fn with the cells of a slice in the order of their codes. Sums of a row are merged. */
static void for_each_merged(const GByteArray *bytes, const uint32_t *codes, merged_fn fn, void *data)
{
	g_autoptr(GArray) places = sorted_places(bytes, codes);
	struct slice_cell sum, cell;
	bool has_sum = false;

	EACH_ROW(i, const struct place, place, places) {
		struct cursor from = { .at = bytes->data + place->at, .end = bytes->data + bytes->len };

		slice_cell_get(&from, 0, &cell);
		cell.row = place->row;
		if (has_sum && sum.row != cell.row) {
			fn(&sum, data);
			has_sum = false;
		}
		if (cell.is_crossing || cell.is_even) {
			fn(&cell, data);
		} else if (has_sum) {
			slice_cell_add(&sum, &cell);
		} else {
			sum = cell;
			has_sum = true;
		}
	}
	if (has_sum)
		fn(&sum, data);
}

static void put_alone(const struct slice_cell *cell, void *data)
{
	slice_cell_put(data, 0, cell);
}

/* Merges sums that came in several parts, as when the kernel's tables are swapped. */
static void merge_all(struct slice_builder *b)
{
	b->bytes = 0;
	EACH_POINTER(i, GByteArray, bytes, b->cells) {
		if (!bytes)
			continue;
		GByteArray *merged = g_byte_array_sized_new(bytes->len);

		for_each_merged(bytes, NULL, put_alone, merged);
		g_byte_array_unref(bytes);
		b->cells->pdata[i] = merged;
		b->bytes += merged->len;
	}
}

/* A crossing wait that began in the slice (from begin_ns on) becomes a sum. */
static void place_wait(struct slice_cell *wait, uint64_t start_ns, uint64_t begin_ns)
{
	wait->is_crossing = start_ns < begin_ns;
	wait->before_ns = wait->is_crossing ? begin_ns - start_ns : 0;
}

/* Moves the cells of slice i into the slice that begins with slice `begin` and has this length. */
static void move_cells(struct slice_builder *b, const GPtrArray *cells, guint i, guint into, guint begin)
{
	const GByteArray *bytes = cells->pdata[i];
	struct cursor from = { 0 };
	struct slice_cell cell;

	if (bytes)
		from = cursor_of(bytes->data, bytes->len);
	while (cursor_left(&from) && slice_cell_get(&from, 0, &cell)) {
		if (cell.is_crossing)
			place_wait(&cell, i * b->length_ns - cell.before_ns, begin * b->length_ns);
		put_cell(b, into, &cell);
	}
}

static void double_length(struct slice_builder *b)
{
	GPtrArray *old = b->cells;

	b->cells = g_ptr_array_new_with_free_func(free_bytes);
	b->bytes = 0;
	for (guint i = 0; i < old->len; i++)
		move_cells(b, old, i, i / 2, i / 2 * 2);
	b->length_ns *= 2;
	g_ptr_array_unref(old);
	merge_all(b);
}

uint32_t slices_cnt_of(uint64_t window_ns, uint64_t length_ns)
{
	uint64_t cnt = MIN(window_ns / length_ns + (window_ns % length_ns != 0), UINT32_MAX);

	return cnt == SLICES_MAX + 1 ? SLICES_MAX : (uint32_t)cnt;
}

static void make_room(struct slice_builder *b, uint64_t at_ns)
{
	while (slices_cnt_of(at_ns, b->length_ns) > SLICES_MAX)
		double_length(b);
}

void slice_builder_add(struct slice_builder *b, uint64_t at_ns, struct slice_cell *cell)
{
	make_room(b, at_ns);
	cell->is_crossing = false;
	put_cell(b, (uint32_t)(at_ns / b->length_ns), cell);
}

void slice_builder_add_wait(struct slice_builder *b, uint64_t start_ns, struct slice_cell *wait)
{
	uint64_t end_ns = start_ns + wait->max_ns;

	make_room(b, end_ns);
	uint32_t slice = (uint32_t)(end_ns / b->length_ns);

	place_wait(wait, start_ns, slice * b->length_ns);
	put_cell(b, slice, wait);
}

void slice_builder_bound(struct slice_builder *b, uint64_t window_ns, uint64_t row_cnt)
{
	const uint64_t bound = BYTES_MIN + BYTES_A_ROW * row_cnt;

	while (slices_cnt_of(window_ns, b->length_ns) > SLICES_MAX)
		double_length(b);
	if (b->bytes <= bound || b->bytes <= b->bytes_after_merge * 2)
		return;
	merge_all(b);
	while (b->bytes > bound / 2 && b->cells->len > 1)
		double_length(b);
	b->bytes_after_merge = b->bytes > bound / 2 ? b->bytes : 0;
}

/* The three times of a wait row: the sum of its cells so far, and of all. */
struct fit {
	uint64_t cells_ns[3], all_ns[3];
	uint64_t cells_q8, all_q8;	/* likewise of counts, if waits were sampled */
	bool has_begun;
};

struct finishing {
	const struct profile *p;
	struct fit *fits;	/* one per wait; NULL: nothing was scaled */
	GByteArray *into;
	uint32_t last;
};

static void times_of_wait(const struct wait *w, uint64_t *ret_ns)
{
	ret_ns[0] = w->blocked_ns;
	ret_ns[1] = w->runnable_ns;
	ret_ns[2] = w->preempted_ns;
}

static void sum_up(const struct slice_cell *cell, void *data)
{
	const struct finishing *f = data;
	uint32_t wait = slice_wait_of_code(f->p, cell->row);
	uint64_t *ns = f->fits[wait].all_ns;

	if (cell->is_even)
		times_of_wait(profile_wait(f->p, wait), ns);
	f->fits[wait].all_q8 += cell->count_q8;
	ns[0] += cell->blocked_ns;
	ns[1] += cell->runnable_ns;
	ns[2] += cell->preempted_ns;
}

static uint64_t part_of(uint64_t of, uint64_t part, uint64_t all)
{
	return all ? (uint64_t)((unsigned __int128)of * part / all) : 0;
}

static uint64_t sum_of(const uint64_t *ns)
{
	return ns[0] + ns[1] + ns[2];
}

/* The part of the row's time in one class in the cells so far. If no cell has this class, by their total time. */
static uint64_t part_so_far(const struct fit *fit, int class, uint64_t row_ns)
{
	if (fit->all_ns[class])
		return part_of(row_ns, fit->cells_ns[class], fit->all_ns[class]);
	if (sum_of(fit->all_ns))
		return part_of(row_ns, sum_of(fit->cells_ns), sum_of(fit->all_ns));
	return fit->has_begun ? row_ns : 0;
}

/* Scales cells as the row was scaled. Cumulative sums are rounded, so the cells add up to the row. */
static void scale(const struct finishing *f, struct slice_cell *cell)
{
	uint32_t wait = slice_wait_of_code(f->p, cell->row);
	struct fit *fit = &f->fits[wait];
	struct fit next = *fit;
	uint64_t row_ns[3], *const cell_ns[3] = { &cell->blocked_ns, &cell->runnable_ns, &cell->preempted_ns };

	times_of_wait(profile_wait(f->p, wait), row_ns);
	next.has_begun = true;
	for (int i = 0; i < 3; i++)
		next.cells_ns[i] += *cell_ns[i];
	for (int i = 0; i < 3; i++)
		*cell_ns[i] = part_so_far(&next, i, row_ns[i]) - part_so_far(fit, i, row_ns[i]);
	*fit = next;
}

/* Scales the number of waits likewise, and their histogram in proportion. */
static void scale_count(const struct finishing *f, struct slice_cell *cell)
{
	uint32_t wait = slice_wait_of_code(f->p, cell->row);
	struct fit *fit = &f->fits[wait];
	const uint64_t row_q8 = profile_wait(f->p, wait)->count * SLICE_COUNT_Q8, was_q8 = cell->count_q8;
	uint64_t before = part_of(row_q8, fit->cells_q8, fit->all_q8), bars_q8 = 0;

	fit->cells_q8 += was_q8;
	cell->count_q8 = part_of(row_q8, fit->cells_q8, fit->all_q8) - before;
	for (unsigned i = 0; i < cell->bars.cnt; i++) {
		uint64_t below = part_of(cell->count_q8, bars_q8, was_q8);

		bars_q8 = MIN(bars_q8 + cell->bars.bar[i].count_q8, was_q8);
		cell->bars.bar[i].count_q8 = part_of(cell->count_q8, bars_q8, was_q8) - below;
	}
}

static bool is_whole(const struct profile *p, const struct slice_cell *cell)
{
	const struct wait *w = profile_wait(p, slice_wait_of_code(p, cell->row));
	uint64_t sum_q8 = 0;

	if (cell->row % 2 || cell->is_crossing || cell->count_q8 != w->count * SLICE_COUNT_Q8)
		return false;
	for (unsigned i = 0; i < cell->bars.cnt; i++) {
		if (cell->bars.bar[i].count_q8 != (uint64_t)w->hist[cell->bars.bar[i].slot] * SLICE_COUNT_Q8)
			return false;
		sum_q8 += cell->bars.bar[i].count_q8;
	}
	return sum_q8 == cell->count_q8 && cell->blocked_ns == w->blocked_ns && cell->runnable_ns == w->runnable_ns &&
	       cell->preempted_ns == w->preempted_ns;
}

static void put_final(const struct slice_cell *cell, void *data)
{
	struct finishing *f = data;
	struct slice_cell own = *cell;

	if (f->fits && !own.is_even) {
		scale(f, &own);
		if (profile_is_sampled(f->p))
			scale_count(f, &own);
	}
	own.has_delays = own.row % 2;
	own.is_whole = own.is_even || is_whole(f->p, &own);
	slice_cell_put(f->into, f->last, &own);
	f->last = own.row;
}

static bool needs_fit(const struct finishing *f)
{
	if (profile_is_sampled(f->p))
		return true;
	for (guint i = 0; i < f->p->waits->len; i++) {
		uint64_t row_ns[3];

		times_of_wait(profile_wait(f->p, i), row_ns);
		if (memcmp(row_ns, f->fits[i].all_ns, sizeof(row_ns)) != 0)
			return true;
	}
	return false;
}

/* A wait that ends with the window ends in the last slice, not in one after it. */
static void close_window(struct slice_builder *b, uint32_t cnt)
{
	for (guint i = cnt; cnt && i < b->cells->len; i++)
		move_cells(b, b->cells, i, cnt - 1, cnt - 1);
	if (b->cells->len > cnt)
		g_ptr_array_set_size(b->cells, (gint)cnt);
}

struct slices *slice_builder_finish(struct slice_builder *b, const struct profile *p, const uint32_t *codes)
{
	struct finishing f = { .p = p, .fits = g_new0(struct fit, (gsize)p->waits->len + 1) };

	while (slices_cnt_of(p->info.duration_ns, b->length_ns) > SLICES_MAX)
		double_length(b);
	close_window(b, slices_cnt_of(p->info.duration_ns, b->length_ns));
	for (guint i = 0; i < b->cells->len; i++)
		if (b->cells->pdata[i])
			for_each_merged(b->cells->pdata[i], codes, sum_up, &f);
	if (!needs_fit(&f))
		g_clear_pointer(&f.fits, g_free);
	struct slices *s = slices_new(b->length_ns, slices_cnt_of(p->info.duration_ns, b->length_ns));

	for (guint i = 0; i < MIN(b->cells->len, s->cells->len); i++) {
		if (!b->cells->pdata[i])
			continue;
		f.into = g_byte_array_new();
		f.last = 0;
		for_each_merged(b->cells->pdata[i], codes, put_final, &f);
		s->cells->pdata[i] = f.into;
	}
	g_free(f.fits);
	return s;
}

struct slices *slices_new(uint64_t length_ns, uint32_t cnt)
{
	struct slices *s = g_new0(struct slices, 1);

	s->length_ns = length_ns;
	s->cells = g_ptr_array_new_with_free_func(free_bytes);
	g_ptr_array_set_size(s->cells, (gint)cnt);
	return s;
}

FREES(slices_free, struct slices, s, g_ptr_array_unref(s->cells))
