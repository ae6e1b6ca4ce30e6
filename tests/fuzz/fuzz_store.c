/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Blobs of a history: any bytes are refused, or are rows that can be added up and written again.  The input is the
 * length of the dictionary (two bytes), the dictionary, and the rows of a window, all unpacked; behind them may be a
 * time line.  Or it is the cells of a window.
 */
#include <stdlib.h>
#include <string.h>

#include "store/blob.h"
#include "store/dict.h"
#include "store/line.h"
#include "store/merge.h"
#include "store/pack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is valid comes back as it is when it is written and read once more. */
static void write_again(const struct profile *p)
{
	struct dict_writer *w = dict_writer_new(dict_new(), NULL);
	g_autoptr(GByteArray) rows = g_byte_array_new();

	dict_writer_begin(w, p);
	if (!pack_rows(w, p, rows, NULL))
		abort();
	GByteArray *piece = dict_writer_end(w);
	struct dict *d = dict_new();
	struct profile *to = profile_new();

	if (piece && !dict_decode(d, g_memdup2(piece->data, piece->len), piece->len))
		abort();
	struct dict_map *map = dict_map_new(d, to);
	struct profile *own = profile_new_rows(to);

	if (!unpack_rows(map, rows->data, rows->len, own) || own->waits->len != p->waits->len || own->threads->len != p->threads->len)
		abort();
	profile_free_rows(own);
	dict_map_free(map);
	profile_free(to);
	dict_free(d);
	if (piece)
		g_byte_array_unref(piece);
	dict_writer_free(w);
}

static void sum_up(const struct dict *d, const uint8_t *bytes, size_t size)
{
	struct merger *m = merge_new();
	struct dict_map *map = dict_map_new(d, merge_profile(m));

	dict_map_modules(map);
	for (int i = 0; i < 2; i++) {
		struct profile *rows = profile_new_rows(merge_profile(m));

		if (unpack_rows(map, bytes, size, rows))
			merge_add(m, rows, NULL);
		profile_free_rows(rows);
	}
	dict_map_free(map);
	struct profile *p = merge_end(m);

	if (p && profile_check(p, NULL))
		write_again(p);
	profile_free(p);
}

static void nothing(void *ctx, uint64_t number, uint64_t ns)
{
}

/* What cells may refer to. */
static const char *const names[] = { "app", "db.service", "lock.mutex", "disk.read", "(no service)", "cpu.queue",
				     "network.receive", "no reason", "other" };

static void add_group(void *ctx, const struct cell_group *g)
{
	cells_add_group(ctx, g);
}

static uint64_t number_of(void *ctx, const char *name)
{
	for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
		if (strcmp(names[i], name) == 0)
			return i + 1;
	return 0;
}

static struct cells *read_cells(const uint8_t *bytes, size_t size, const GPtrArray *known)
{
	struct cells *c = cells_new();

	if (cells_decode(bytes, size, known, NULL, add_group, c))
		return c;
	cells_free(c);
	return NULL;
}

static void write_cells(const uint8_t *data, size_t size)
{
	g_autoptr(GPtrArray) known = g_ptr_array_new();
	g_autoptr(GByteArray) written = g_byte_array_new(), again = g_byte_array_new();
	struct cells *c, *own;

	for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
		g_ptr_array_add(known, (gpointer)(uintptr_t)names[i]);
	c = read_cells(data, size, known);
	if (!c)
		return;
	if (!cells_encode(c, number_of, NULL, written))
		abort();
	/* sums of what is valid may be above what is */
	own = read_cells(written->data, written->len, known);
	if (own && !cells_encode(own, number_of, NULL, again))
		abort();
	cells_free(own);
	cells_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t dict_bytes = size < 2 ? 0 : MIN((size_t)(data[0] | data[1] << 8), size - 2);
	struct dict *d = dict_new();

	for (int by = 0; by < LINE_BY_CNT; by++)
		line_visit(data, size, (enum store_by)by, nothing, NULL);
	write_cells(data, size);
	if (size > 2 && dict_decode(d, g_memdup2(data + 2, dict_bytes + !dict_bytes), dict_bytes)) {
		/* copies of exactly this size: a sanitizer sees a read beyond it */
		g_autofree uint8_t *rows = g_memdup2(data + 2 + dict_bytes, size - 2 - dict_bytes);
		struct dict_writer *w;

		sum_up(d, rows, size - 2 - dict_bytes);
		w = dict_writer_new(d, NULL);
		dict_writer_free(w);
		return 0;
	}
	dict_free(d);
	return 0;
}
