/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/slices/rows.h"

#include "base/hash.h"
#include "base/order.h"
#include "render/html/part.h"

/*
 * Each wait row by slice and duration: rows of (wait, slice, slot of duration). A recording with many rows gets
 * longer slices, in microseconds, so that the page stays small.
 */
#define ROWS_MAX 110000
#define ROWS_EXACT 15000

struct row {
	uint32_t wait, slice;	/* wait: its number in the page */
	uint32_t slot;
	uint64_t ns[4], count_q8;	/* ns: blocked, runnable, preempted, on CPU */
};

struct gather {
	const uint32_t *number;	/* by wait: its number in the page + 1; 0: not in it */
	GArray *rows;
	guint pending;		/* rows from here on belong to a wait whose end, and so its duration, comes later */
};

/* Distributes the part's time over its durations by count and length. The last one gets the rounding remainder. */
static void split(struct gather *g, struct row row, const struct slice_part *part)
{
	const uint64_t all[3] = { part->blocked_ns, part->runnable_ns, part->preempted_ns };
	uint64_t left[3] = { all[0], all[1], all[2] };
	double weight = 0;

	for (unsigned i = 0; i < part->bar_cnt; i++)
		weight += (double)part->bars[i].count_q8 * (double)(UINT64_C(1) << part->bars[i].slot);
	for (unsigned i = 0; i < part->bar_cnt; i++) {
		double share = (double)part->bars[i].count_q8 * (double)(UINT64_C(1) << part->bars[i].slot) / weight;

		for (unsigned k = 0; k < 3; k++) {
			uint64_t ns = (uint64_t)((double)all[k] * share);

			row.ns[k] = i + 1 == part->bar_cnt ? left[k] : MIN(ns, left[k]);
			left[k] -= row.ns[k];
		}
		row.slot = part->bars[i].slot;
		row.count_q8 = part->bars[i].count_q8;
		g_array_append_val(g->rows, row);
	}
}

static void add_part(uint32_t slice, const struct slice_part *part, void *data)
{
	struct gather *g = data;
	struct row row = { .slice = slice, .ns = { part->blocked_ns, part->runnable_ns, part->preempted_ns } };

	if (!g->number[part->wait])
		return;
	row.wait = g->number[part->wait] - 1;
	if (!part->bar_cnt) {
		g_array_append_val(g->rows, row);
		return;
	}
	for (; g->pending < g->rows->len; g->pending++)
		g_array_index(g->rows, struct row, g->pending).slot = part->bars[0].slot;
	split(g, row, part);
	g->pending = g->rows->len;
}

ORDER(by_place, struct row, ORDER_LOW(wait) ORDER_LOW(slice) ORDER_LOW(slot))

/* Merges rows of the same place, in slices `factor` times as long. */
static void merge_rows(GArray *rows, uint32_t factor)
{
	guint kept = 0;

	for (guint i = 0; i < rows->len; i++)
		g_array_index(rows, struct row, i).slice /= factor;
	g_array_sort(rows, by_place);
	EACH_ROW(i, const struct row, row, rows) {
		struct row *last = kept ? &g_array_index(rows, struct row, kept - 1) : NULL;

		if (last && by_place(last, row) == 0) {
			for (unsigned k = 0; k < G_N_ELEMENTS(row->ns); k++)
				last->ns[k] += row->ns[k];
			last->count_q8 += row->count_q8;
			continue;
		}
		g_array_index(rows, struct row, kept++) = *row;
	}
	g_array_set_size(rows, kept);
}

static void write_rows(const GArray *rows, uint32_t waits_cnt, uint32_t unit_ns, GByteArray *out)
{
	g_autofree uint32_t *per_wait = g_new0(uint32_t, waits_cnt + 1);
	const struct row *all = (const struct row *)(const void *)rows->data;

	for (guint i = 0; i < rows->len; i++)
		per_wait[all[i].wait]++;
	for (uint32_t i = 0; i < waits_cnt; i++)
		bytes_put(out, per_wait[i]);
	for (guint i = 0; i < rows->len; i++)
		bytes_put(out, all[i].slice - (i && all[i - 1].wait == all[i].wait ? all[i - 1].slice : 0));
	for (guint i = 0; i < rows->len; i++)
		bytes_put(out, all[i].slot);
	for (unsigned k = 0; k < G_N_ELEMENTS(all->ns); k++)
		for (guint i = 0; i < rows->len; i++)
			bytes_put(out, (all[i].ns[k] + unit_ns / 2) / unit_ns);
	for (guint i = 0; i < rows->len; i++)
		bytes_put(out, all[i].count_q8);
}

HASH_KEY(sample, struct wait, thread, user, kernel)

/* Distributes the time of a row of samples over slices by weight. The last one gets the rounding remainder. */
static void add_on_cpu(struct gather *g, const struct profile *p)
{
	g_autoptr(GHashTable) rows = g_hash_table_new(sample_hash, sample_equal);
	g_autofree uint64_t *weight_ns = g_new0(uint64_t, p->waits->len + 1),
			    *left_ns = g_new0(uint64_t, p->waits->len + 1);
	g_autofree uint64_t *told_ns = g_new0(uint64_t, p->waits->len + 1);

	for (uint32_t i = 0; i < p->waits->len; i++)
		if (profile_wait(p, i)->state == ON_CPU_STATE && g->number[i])
			g_hash_table_insert(rows, (gpointer)profile_wait(p, i), GUINT_TO_POINTER(i + 1));
	for (unsigned pass = 0; pass < 2; pass++) {
		EACH_ROW(k, const struct on_cpu_sample, s, p->on_cpu) {
			const struct wait like = { .thread = s->thread, .user = s->user, .kernel = s->kernel };
			uint32_t i = GPOINTER_TO_UINT(g_hash_table_lookup(rows, &like));

			if (!i--)
				continue;
			if (pass == 0) {
				weight_ns[i] += s->weight_ns;
				continue;
			}
			told_ns[i] += s->weight_ns;
			uint64_t until_ns = (uint64_t)((unsigned __int128)profile_wait(p, i)->on_cpu_ns * told_ns[i] /
						       weight_ns[i]);
			const struct row row = { .wait = g->number[i] - 1,
						 .slice = s->slice,
						 .ns = { 0, 0, 0, until_ns - left_ns[i] } };

			left_ns[i] = until_ns;
			g_array_append_val(g->rows, row);
		}
	}
}

void html_slices(const struct profile *p, const uint32_t *number, uint32_t waits_cnt, GByteArray *out)
{
	struct gather g = { .number = number, .rows = g_array_new(FALSE, FALSE, sizeof(struct row)) };
	uint32_t factor = 1;

	if (!profile_has_slices(p)) {
		g_array_unref(g.rows);
		return;
	}
	profile_slices_visit(p, add_part, &g);
	if (p->info.on_cpu_as_waits)
		add_on_cpu(&g, p);
	merge_rows(g.rows, 1);
	while (g.rows->len > ROWS_MAX && profile_slice_cnt(p) / factor > 20) {
		factor *= 2;
		merge_rows(g.rows, 2);
	}
	uint32_t unit_ns = g.rows->len > ROWS_EXACT ? 1000 : 1;

	bytes_put(out, profile_slice_ns(p) * factor);
	bytes_put(out, (profile_slice_cnt(p) + factor - 1) / factor);
	bytes_put(out, unit_ns);
	bytes_put(out, g.rows->len);
	write_rows(g.rows, waits_cnt, unit_ns, out);
	g_array_unref(g.rows);
}
