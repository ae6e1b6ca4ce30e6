/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "store/file.h"

#include "base/order.h"
#include "store/blob.h"
#include "store/short_lived.h"
#include "store/store.h"

static const char *folder_or_default(const char *dir)
{
	return dir ? dir : STORE_DIR_DEFAULT;
}

/* The range of windows in a tier's files. */
struct tier_windows {
	uint64_t first, last;	/* 0: no window */
};

static bool read_extent(const char *dir, const struct store_name *name, struct store_extent *e,
			struct tier_windows *windows, GError **error)
{
	g_autoptr(GArray) rows = store_rows_new();
	bool is_missing = false;
	struct store_file *f = store_file_open(dir, name, &is_missing, error);
	bool ok = f ? store_file_rows(f, 0, 0, 0, false, rows, error) : is_missing;

	EACH_ROW(i, const struct store_row, row, rows) {
		e->from_unix_ns = MIN(e->from_unix_ns, row->start_unix_ns);
		e->to_unix_ns = MAX(e->to_unix_ns, store_row_end_ns(row));
		if (name->tier == TIER_WINDOW) {
			windows->first = windows->first ? MIN(windows->first, row->seq) : row->seq;
			windows->last = MAX(windows->last, row->seq);
		}
	}
	store_file_close(f);
	return ok;
}

/*
 * The first file of a tier is the oldest and the last one the newest, unless the clock was set back.  Those between
 * are not opened: a busy host has hundreds a day.
 */
bool store_extent(const char *dir, struct store_extent *ret, GError **error)
{
	g_autoptr(GArray) names = store_list(folder_or_default(dir), error);
	struct tier_windows windows = { 0 };
	bool ok = names != NULL;

	*ret = (struct store_extent){ .from_unix_ns = UINT64_MAX };
	for (guint i = 0; ok && i < names->len; i++) {
		const struct store_name *name = &g_array_index(names, struct store_name, i);
		g_autofree char *path = store_path(folder_or_default(dir), name);
		bool is_edge = i == 0 || i + 1 == names->len || name[-1].tier != name->tier ||
			       name[1].tier != name->tier;

		ret->bytes += store_file_bytes(path);
		if (is_edge)
			ok = read_extent(folder_or_default(dir), name, ret, &windows, error);
	}
	if (windows.first)
		ret->windows = windows.last - windows.first + 1;
	if (ok && !ret->to_unix_ns)
		ok = store_fail(error, STORE_ERROR_EMPTY, "there is nothing in the history in '%s' yet", folder_or_default(dir));
	return ok;
}

static char *time_text(uint64_t unix_ns)
{
	g_autoptr(GDateTime) at = g_date_time_new_from_unix_local((gint64)(unix_ns / 1000000000));

	return at ? g_date_time_format(at, "%Y-%m-%d %H:%M:%S") : g_strdup("?");
}

ORDER_POINTERS(by_start, struct store_row, ORDER_LOW(start_unix_ns))

/* Clocks drift: shorter distances between windows are no gaps. */
#define GAP_MIN_NS (UINT64_C(100) * 1000 * 1000)

static void find_gaps(struct profile_history *h, const struct store_choice *c, uint64_t *ret_start_ns)
{
	g_autoptr(GPtrArray) rows = g_ptr_array_new();

	for (guint i = 0; i < c->rows->len; i++)
		g_ptr_array_add(rows, &g_array_index(c->rows, struct store_row, i));
	g_ptr_array_sort(rows, by_start);
	EACH_POINTER(i, const struct store_row, row, rows) {
		h->windows += row->last_seq - row->seq + 1;
		if (i == 0)
			*ret_start_ns = row->start_unix_ns;
		else if (row->start_unix_ns > h->to_unix_ns + GAP_MIN_NS) {
			h->gap_cnt++;
			h->gap_ns += row->start_unix_ns - h->to_unix_ns;
		}
		h->to_unix_ns = MAX(h->to_unix_ns, store_row_end_ns(row));
	}
}

/* Lists each reason once. */
static char *reasons_of_gaps(const struct store_choice *c, uint64_t from_ns, uint64_t to_ns)
{
	g_autoptr(GPtrArray) words = g_ptr_array_new();
	bool is_new = true;

	for (guint i = 0; i < c->gaps->len && words->len < 4; i++, is_new = true) {
		const struct store_gap *gap = &g_array_index(c->gaps, struct store_gap, i);

		for (guint k = 0; k < words->len && is_new; k++)
			is_new = g_strcmp0(g_ptr_array_index(words, k), gap->why) != 0;
		if (is_new && *gap->why && gap->to_unix_ns > from_ns && gap->from_unix_ns < to_ns)
			g_ptr_array_add(words, gap->why);
	}
	g_ptr_array_add(words, NULL);
	return g_strjoinv(", ", (char **)words->pdata);
}

/* Describes the sum and its gaps in the profile's info and losses. */
static void describe_gaps(struct profile *p, const struct store_choice *c)
{
	struct profile_history *h = &p->info.history;
	uint64_t start_ns = 0;

	find_gaps(h, c, &start_ns);
	g_autofree char *why = reasons_of_gaps(c, start_ns, h->to_unix_ns);
	g_autofree char *help = g_strdup_printf("nothing was observed for %.1f s of it%s%s", (double)h->gap_ns / 1e9,
						*why ? ": " : "", why);

	p->info.start_unix_ns = start_ns;
	h->gap_why = profile_string(p, why);
	profile_add_loss(p, "gap", help, h->gap_cnt, 0);
}

static struct profile *sum_up(const struct store_choice *c, GError **error)
{
	struct merger *m = merge_new();

	EACH_ROW(i, const struct store_row, row, c->rows) {
		if (!store_file_load(store_choice_file(c, row), row->seq, m, error)) {
			merge_free(m);
			return NULL;
		}
	}
	struct profile *p = merge_end(m);

	if (p && !profile_check(p, error)) {
		g_prefix_error(error, "the history in '%s' is damaged: ", c->dir);
		profile_free(p);
		return NULL;
	}
	return p;
}

/*
 * If programs come and go all day, a range has more rows than anybody reads, nearly all of ended threads: fold those.
 */
static struct profile *fold_gone(struct profile *p, GError **error)
{
	const struct short_lived_options options = { .may_fold = true, .even_gone = true };
	struct profile *folded, *own;

	if (p->waits->len + p->on_cpu->len <= STORE_ROWS_TOLD)
		return p;
	folded = short_lived_fold(p, &options);
	if (!folded)
		return p;
	own = merge_copy(folded, error);
	if (own)
		own->info.history.is_gone_by_name = true;
	profile_free_rows(folded);
	profile_free(p);
	return own;
}

static void nothing_there(const char *dir, uint64_t from_ns, uint64_t to_ns, GError **error)
{
	g_autofree char *from = time_text(from_ns), *to = time_text(to_ns);
	struct store_extent e;

	if (!store_extent(dir, &e, error))
		return;
	g_autofree char *first = time_text(e.from_unix_ns), *last = time_text(e.to_unix_ns);

	store_fail(error, STORE_ERROR_EMPTY, "there is nothing from %s to %s: the history in '%s' goes from %s to %s",
		   from, to, dir, first, last);
}

struct profile *store_read(const char *dir, uint64_t from_unix_ns, uint64_t to_unix_ns, GError **error)
{
	struct store_choice *c =
		store_choose(folder_or_default(dir), from_unix_ns, to_unix_ns, UINT64_MAX, false, error);
	struct profile *p = NULL;

	if (c && !c->rows->len)
		nothing_there(folder_or_default(dir), from_unix_ns, to_unix_ns, error);
	else if (c)
		p = sum_up(c, error);
	if (p)
		p = fold_gone(p, error);
	if (p)
		describe_gaps(p, c);
	store_choice_free(c);
	return p;
}
