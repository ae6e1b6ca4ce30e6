/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "store/read.h"

#include <string.h>

#include "store/error.h"

#define FILES_OPEN_MAX 2000

/* Windows that are chosen already. */
struct taken {
	uint64_t first, last;
};

static int by_first(gconstpointer a, gconstpointer b)
{
	const struct taken *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

static int by_seq(gconstpointer a, gconstpointer b)
{
	const struct store_row *x = a, *y = b;

	return (x->seq > y->seq) - (x->seq < y->seq);
}

/* taken is sorted, and no two of them overlap. */
static bool is_taken(const GArray *taken, const struct store_row *row)
{
	guint low = 0, high = taken->len;

	while (low < high) {
		guint middle = low + (high - low) / 2;

		if (g_array_index(taken, struct taken, middle).last < row->seq)
			low = middle + 1;
		else
			high = middle;
	}
	return low < taken->len && g_array_index(taken, struct taken, low).first <= row->last_seq;
}

/*
 * Of that tier, those that do not overlap what is taken; rows of one tier do not overlap one another, but forged ones
 * may.
 */
static void take_rows(struct store_choice *c, GArray *all, GArray *taken, enum store_tier tier, uint64_t from_ns,
		      uint64_t to_ns, bool within)
{
	g_autoptr(GArray) more = g_array_new(FALSE, FALSE, sizeof(struct taken));
	uint64_t last = 0;

	for (guint i = 0; i < all->len; i++) {
		struct store_row *row = &g_array_index(all, struct store_row, i);
		bool is_within = row->start_unix_ns >= from_ns && store_row_end_ns(row) <= to_ns;

		if (row->in.tier != tier || (within && !is_within) || row->seq <= last || is_taken(taken, row))
			continue;
		const struct taken t = { row->seq, row->last_seq };

		last = row->last_seq;
		g_array_append_val(more, t);
		g_array_append_val(c->rows, *row);
		row->line = NULL;
	}
	g_array_append_vals(taken, more->data, more->len);
	g_array_sort(taken, by_first);
}

static void choose(struct store_choice *c, GArray *all, uint64_t from_ns, uint64_t to_ns, uint64_t step_ns)
{
	g_autoptr(GArray) taken = g_array_new(FALSE, FALSE, sizeof(struct taken));

	g_array_sort(all, by_seq);
	for (int tier = TIER_HOUR; tier > TIER_WINDOW; tier--)
		if (tier_step_ns((enum store_tier)tier) <= step_ns)
			take_rows(c, all, taken, (enum store_tier)tier, from_ns, to_ns, true);
	for (int tier = TIER_WINDOW; tier < TIER_CNT; tier++)
		take_rows(c, all, taken, (enum store_tier)tier, from_ns, to_ns, false);
	g_array_sort(c->rows, by_seq);
}

static bool read_file(struct store_choice *c, const struct store_name *name, uint64_t from_ns, uint64_t to_ns,
		      bool want_lines, GArray *all, GError **error)
{
	bool is_missing = false;
	struct store_file *f = store_file_open(c->dir, name, &is_missing, error);

	if (!f)
		return is_missing;	/* its time was over just now */
	g_ptr_array_add(c->files, f);
	return store_file_rows(f, from_ns, to_ns, 0, want_lines, all, error) &&
	       (name->tier != TIER_HOUR || store_file_gaps(f, from_ns, to_ns, c->gaps, error));
}

static void close_file(gpointer f)
{
	store_file_close(f);
}

struct store_choice *store_choose(const char *dir, uint64_t from_unix_ns, uint64_t to_unix_ns, uint64_t step_ns,
				  bool want_lines, GError **error)
{
	const int64_t first_day = store_day_of(from_unix_ns) - 1, last_day = store_day_of(to_unix_ns);
	g_autoptr(GArray) names = store_list(dir, error);
	bool ok = true;

	if (!names)
		return NULL;
	struct store_choice *c = g_new0(struct store_choice, 1);
	g_autoptr(GArray) all = store_rows_new();

	c->dir = g_strdup(dir);
	c->rows = store_rows_new();
	c->gaps = store_gaps_new();
	c->files = g_ptr_array_new_with_free_func(close_file);
	for (guint i = 0; i < names->len && ok; i++) {
		const struct store_name *name = &g_array_index(names, struct store_name, i);

		if (name->day < first_day || name->day > last_day)
			continue;
		ok = c->files->len < FILES_OPEN_MAX
			     ? read_file(c, name, from_unix_ns, to_unix_ns, want_lines, all, error)
			     : store_fail(error, STORE_ERROR_TOO_MUCH,
					  "that is more than %d files at once: ask for less time", FILES_OPEN_MAX);
	}
	if (!ok) {
		store_choice_free(c);
		return NULL;
	}
	choose(c, all, from_unix_ns, to_unix_ns, step_ns);
	return c;
}

void store_choice_free(struct store_choice *c)
{
	if (!c)
		return;
	g_array_unref(c->rows);
	g_array_unref(c->gaps);
	g_ptr_array_unref(c->files);
	g_free(c->dir);
	g_free(c);
}

struct store_file *store_choice_file(const struct store_choice *c, const struct store_row *row)
{
	for (guint i = 0; i < c->files->len; i++) {
		struct store_file *f = g_ptr_array_index(c->files, i);

		if (store_name_compare(store_file_name(f), &row->in) == 0)
			return f;
	}
	return NULL;
}
