/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "store/small_rows.h"

static const char *name_of(void *ctx, uint64_t number)
{
	const GPtrArray *names = ctx;

	return number <= names->len ? g_ptr_array_index(names, number - 1) : NULL;
}

static void add_group(void *ctx, const struct cell_group *g)
{
	cells_add_group(ctx, g);
}

static void add_cells(struct store_file *f, uint64_t seq, const GPtrArray *names, struct cells **cells)
{
	size_t bytes = 0;
	g_autofree uint8_t *packed = *cells ? store_file_cells(f, seq, &bytes, NULL) : NULL;

	if (!packed || !cells_decode(packed, bytes, names, NULL, add_group, *cells))
		g_clear_pointer(cells, cells_free);
}

static void add_requests(struct store_file *f, uint64_t seq, const GPtrArray *names, struct request_cells **requests)
{
	size_t bytes = 0;
	g_autofree uint8_t *packed = store_file_requests(f, seq, &bytes, NULL);

	if (packed && !*requests)
		*requests = request_cells_new();
	if (packed)
		request_cells_add_bytes(*requests, packed, bytes, names);
}

bool small_rows_add(struct small_rows *sums, struct store_file *f, const struct store_row *row, const GPtrArray *names)
{
	add_cells(f, row->seq, names, &sums->cells);
	add_requests(f, row->seq, names, &sums->requests);
	return line_sums_add_bytes(sums->line, row->line, row->line_bytes, name_of, (void *)(uintptr_t)names);
}

void small_rows_free(struct small_rows *sums)
{
	line_sums_free(sums->line);
	cells_free(sums->cells);
	request_cells_free(sums->requests);
}
