/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "store/request_line.h"

#include "store/error.h"
#include "store/read.h"
#include "store/request_bytes.h"
#include "store/store.h"

static bool add_row(struct request_line *l, struct store_file *f, const struct store_row *row, GError **error)
{
	g_autoptr(GError) why = NULL;
	size_t bytes = 0;
	g_autofree uint8_t *packed = store_file_requests(f, row->seq, &bytes, &why);
	const GPtrArray *names = packed ? store_file_names(f, &why) : NULL;
	struct request_cells *cells;
	bool ok;

	if (why) {
		g_propagate_error(error, g_steal_pointer(&why));
		return false;
	}
	if (!packed)
		return true;
	cells = request_cells_new();
	ok = request_cells_add_bytes(cells, packed, bytes, names);
	if (ok)
		request_line_add(l, row->start_unix_ns, row->duration_ns, cells);
	request_cells_free(cells);
	return ok || store_fail(error, STORE_ERROR_DAMAGED,
				"the history is damaged: the requests of a window cannot be read");
}

struct request_line *request_line_read(const char *dir, uint64_t from_unix_ns, uint64_t to_unix_ns, uint64_t step_ns,
				       GError **error)
{
	uint64_t steps = step_ns && from_unix_ns < to_unix_ns ? (to_unix_ns - from_unix_ns + step_ns - 1) / step_ns : 0;
	struct store_choice *c;
	struct request_line *l;
	bool ok = true;

	if (!steps || steps > REQUEST_STEPS_MAX || to_unix_ns > PROFILE_NS_MAX || step_ns > PROFILE_NS_MAX) {
		store_fail(error, STORE_ERROR_TOO_MUCH, "a time line of requests has from 1 to %d steps",
			   REQUEST_STEPS_MAX);
		return NULL;
	}
	c = store_choose(dir ? dir : STORE_DIR_DEFAULT, from_unix_ns, to_unix_ns, step_ns, false, error);
	if (!c)
		return NULL;
	l = request_line_new(from_unix_ns, step_ns, (uint32_t)steps);
	for (guint i = 0; ok && i < c->rows->len; i++) {
		const struct store_row *row = &g_array_index(c->rows, struct store_row, i);

		ok = add_row(l, store_choice_file(c, row), row, error);
	}
	store_choice_free(c);
	request_line_sort(l);
	if (ok)
		return l;
	request_line_free(l);
	return NULL;
}
