/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "store/file.h"

#include "base/order.h"
#include "store/blob.h"

#define FILES_OPEN_MAX 2000

/* The range of windows that a chosen row covers. */
struct seq_range {
	uint64_t first, last;
};

ORDER(by_first, struct seq_range, ORDER_LOW(first))

ORDER(by_seq, struct store_row, ORDER_LOW(seq))

/* `taken` is sorted and its ranges do not overlap. */
static bool is_taken(const GArray *taken, const struct store_row *row)
{
	guint low = 0, high = taken->len;

	while (low < high) {
		guint middle = low + (high - low) / 2;

		if (g_array_index(taken, struct seq_range, middle).last < row->seq)
			low = middle + 1;
		else
			high = middle;
	}
	return low < taken->len && g_array_index(taken, struct seq_range, low).first <= row->last_seq;
}

/* Chooses rows of one tier that do not overlap `taken`.  Valid rows of one tier never overlap, forged ones may. */
static void take_rows(struct store_choice *c, GArray *all, GArray *taken, enum store_tier tier, uint64_t from_ns,
		      uint64_t to_ns, bool within)
{
	g_autoptr(GArray) more = g_array_new(FALSE, FALSE, sizeof(struct seq_range));
	uint64_t last = 0;

	EACH_ROW(i, struct store_row, row, all) {
		bool is_within = row->start_unix_ns >= from_ns && store_row_end_ns(row) <= to_ns;

		if (row->in.tier != tier || (within && !is_within) || row->seq <= last || is_taken(taken, row))
			continue;
		const struct seq_range t = { row->seq, row->last_seq };

		last = row->last_seq;
		g_array_append_val(more, t);
		g_array_append_val(c->rows, *row);
		row->line = NULL;
	}
	g_array_append_vals(taken, more->data, more->len);
	g_array_sort(taken, by_first);
}

/* ---- which files to read */

struct choosing_files {
	struct store_choice *c;
	const GArray *names;
	GArray *all;		/* struct store_row */
	GArray *taken;		/* by coarser tiers */
	uint64_t from_ns, to_ns;
	bool want_lines;
};

/* The first and last window of a file; 0: it has none. */
struct file_windows {
	uint64_t first, last;
};

static bool are_all_taken(const GArray *taken, uint64_t first, uint64_t last)
{
	for (guint i = 0; i < taken->len && first <= last; i++) {
		const struct seq_range *t = &g_array_index(taken, struct seq_range, i);

		if (t->first <= first && t->last >= first)
			first = t->last + 1;
	}
	return first > last;
}

static bool read_part(struct choosing_files *r, guint i, struct file_windows *ret, GError **error)
{
	const struct store_name *name = &g_array_index(r->names, struct store_name, i);
	bool is_missing = false;

	*ret = (struct file_windows){ 0 };
	if (r->c->files->len >= FILES_OPEN_MAX)
		return store_fail(error, STORE_ERROR_TOO_MUCH, "that is more than %d files at once: ask for less time",
				  FILES_OPEN_MAX);
	struct store_file *f = store_file_open(r->c->dir, name, &is_missing, error);

	if (!f)
		return is_missing;	/* the file expired a moment ago */
	g_ptr_array_add(r->c->files, f);
	if (name->tier == TIER_HOUR && !store_file_gaps(f, r->from_ns, r->to_ns, r->c->gaps, error))
		return false;
	if (!store_file_first_seq(f, &ret->first, error) || !store_file_last_seq(f, &ret->last, error))
		return false;
	return (ret->first && ret->first <= ret->last && are_all_taken(r->taken, ret->first, ret->last)) ||
	       store_file_rows(f, r->from_ns, r->to_ns, 0, r->want_lines, r->all, error);
}

/*
 * Reads the parts of a day between `low` and `high`.  Window numbers ascend with parts.  So parts whose windows are
 * all covered by coarser tiers are not even opened: a busy host has hundreds a day.
 */
static bool read_between(struct choosing_files *r, guint low, const struct file_windows *of_low, guint high,
			 const struct file_windows *of_high, GError **error)
{
	guint middle = low + (high - low) / 2;
	struct file_windows part;

	if (high - low < 2 || (of_low->first && of_low->last < of_high->first &&
			       are_all_taken(r->taken, of_low->last + 1, of_high->first - 1)))
		return true;
	return read_part(r, middle, &part, error) && read_between(r, low, of_low, middle, &part, error) &&
	       read_between(r, middle, &part, high, of_high, error);
}

static bool read_day(struct choosing_files *r, guint first, guint last, GError **error)
{
	struct file_windows of_first, of_last;

	if (!read_part(r, first, &of_first, error))
		return false;
	if (first == last)
		return true;
	return read_part(r, last, &of_last, error) && read_between(r, first, &of_first, last, &of_last, error);
}

static bool is_same_day(const struct store_name *a, const struct store_name *b)
{
	return a->tier == b->tier && a->day == b->day;
}

/* Starts with the coarsest tier whose steps are short enough.  Finer tiers only fill in the rest. */
static bool choose_rows(struct choosing_files *r, uint64_t step_ns, GError **error)
{
	const int64_t first_day = store_day_of(r->from_ns) - 1, last_day = store_day_of(r->to_ns);
	const struct store_name *names = (const struct store_name *)(const void *)r->names->data;

	for (int tier = TIER_HOUR; tier >= TIER_WINDOW; tier--) {
		for (guint i = 0, next; i < r->names->len; i = next) {
			for (next = i + 1; next < r->names->len && is_same_day(&names[i], &names[next]);)
				next++;
			if (names[i].tier == (enum store_tier)tier && names[i].day >= first_day &&
			    names[i].day <= last_day && !read_day(r, i, next - 1, error))
				return false;
		}
		g_array_sort(r->all, by_seq);
		if (tier > TIER_WINDOW && tier_step_ns((enum store_tier)tier) <= step_ns)
			take_rows(r->c, r->all, r->taken, (enum store_tier)tier, r->from_ns, r->to_ns, true);
	}
	for (int tier = TIER_WINDOW; tier < TIER_CNT; tier++)
		take_rows(r->c, r->all, r->taken, (enum store_tier)tier, r->from_ns, r->to_ns, false);
	g_array_sort(r->c->rows, by_seq);
	return true;
}

static void close_file(gpointer f)
{
	store_file_close(f);
}

struct store_choice *store_choose(const char *dir, uint64_t from_unix_ns, uint64_t to_unix_ns, uint64_t step_ns,
				  bool want_lines, GError **error)
{
	g_autoptr(GArray) names = store_list(dir, error);

	if (!names)
		return NULL;
	struct store_choice *c = g_new0(struct store_choice, 1);
	g_autoptr(GArray) all = store_rows_new(), taken = g_array_new(FALSE, FALSE, sizeof(struct seq_range));
	struct choosing_files reading = {
		.c = c,
		.names = names,
		.all = all,
		.taken = taken,
		.from_ns = from_unix_ns,
		.to_ns = to_unix_ns,
		.want_lines = want_lines,
	};

	c->dir = g_strdup(dir);
	c->rows = store_rows_new();
	c->gaps = store_gaps_new();
	c->files = g_ptr_array_new_with_free_func(close_file);
	if (choose_rows(&reading, step_ns, error))
		return c;
	store_choice_free(c);
	return NULL;
}

FREES(store_choice_free, struct store_choice, c, g_array_unref(c->rows); g_array_unref(c->gaps);
      g_ptr_array_unref(c->files); g_free(c->dir))

struct store_file *store_choice_file(const struct store_choice *c, const struct store_row *row)
{
	EACH_POINTER(i, struct store_file, f, c->files)
		if (store_name_compare(store_file_name(f), &row->in) == 0)
			return f;
	return NULL;
}
