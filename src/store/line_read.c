/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Time lines from the lines and cells stored with windows.  Rows are unpacked only for selections that those cannot
 * answer.
 */
#include "store/blob.h"
#include "base/order.h"
#include "store/line.h"
#include "store/file.h"
#include "store/store.h"

#define STEPS_MAX 100000
#define SERIES_MAX 200
#define TELLS_NOT "the history is damaged: the time line of a window cannot be read"

/* A group's time in one row.  It is spread over the steps only if the group is shown, as there can be very many. */
struct piece {
	const struct store_row *row;
	uint64_t ns;
};
struct group {
	const char *name;
	GArray *pieces;		/* struct piece */
	uint64_t all_ns;	/* the part within the time line */
};

struct drawing {
	struct store_line *line;
	GHashTable *by_name;	/* name -> struct group */
	uint64_t *rest;		/* per step: groups that windows or the line leave out */
	uint64_t *covered_ns;	/* per step */
	/* the row that is being added */
	const struct store_row *row;
	const struct store_part *part;	/* NULL: all */
	/* only for lines */
	const GPtrArray *names;
	struct group **of_number;	/* group of each name of that file */
};

/* The part of a row's time within [from, to), spread evenly over the row.  Adjacent parts add up exactly. */
static uint64_t share_of_piece(const struct piece *p, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t start = p->row->start_unix_ns, end = store_row_end_ns(p->row), length = MAX(end - start, 1);
	uint64_t from = MAX(from_ns, start), to = MIN(to_ns, end);

	/* the amount before `to` minus that before `from` */
	return from < to ? (uint64_t)((__uint128_t)p->ns * (to - start) / length) -
				   (uint64_t)((__uint128_t)p->ns * (from - start) / length)
			 : 0;
}

static void spread_piece(const struct store_line *l, uint64_t *into, const struct piece *p)
{
	uint64_t start = p->row->start_unix_ns;
	uint64_t at = start < l->from_unix_ns ? 0 : (start - l->from_unix_ns) / l->step_ns;

	for (uint64_t step = at; step < l->steps; step++) {
		uint64_t from = l->from_unix_ns + step * l->step_ns;

		if (from >= store_row_end_ns(p->row))
			break;
		into[step] += share_of_piece(p, from, from + l->step_ns);
	}
}

static void spread_row(const struct drawing *d, uint64_t *into, uint64_t ns)
{
	spread_piece(d->line, into, &(struct piece){ d->row, ns });
}

static void free_group(gpointer group)
{
	g_array_unref(((struct group *)group)->pieces);
	g_free(group);
}

static struct group *group_of(struct drawing *d, const char *name)
{
	struct group *g = g_hash_table_lookup(d->by_name, name);

	if (!g) {
		char *own = g_strdup(name);

		g = g_new0(struct group, 1);
		g->name = own;
		g->pieces = g_array_new(FALSE, FALSE, sizeof(struct piece));
		g_hash_table_insert(d->by_name, own, g);
	}
	return g;
}

static void add_to_group(const struct drawing *d, struct group *g, uint64_t ns)
{
	const struct store_line *l = d->line;
	const struct piece p = { d->row, ns };

	g_array_append_val(g->pieces, p);
	g->all_ns += share_of_piece(&p, l->from_unix_ns, l->from_unix_ns + l->steps * l->step_ns);
}

static void draw_group(void *ctx, uint64_t number, uint64_t ns)
{
	struct drawing *d = ctx;

	if (!ns)
		return;
	if (!number || number > d->names->len) {
		spread_row(d, d->rest, ns);
		return;
	}
	if (!d->of_number[number])
		d->of_number[number] = group_of(d, g_ptr_array_index(d->names, number - 1));
	add_to_group(d, d->of_number[number], ns);
}

static bool draw_row(struct drawing *d, const struct store_row *row, enum store_by by, GError **error)
{
	d->row = row;
	spread_row(d, d->covered_ns, row->duration_ns);
	if (row->line && line_visit(row->line, row->line_bytes, by, draw_group, d))
		return true;
	return store_fail(error, STORE_ERROR_DAMAGED, TELLS_NOT);
}

static void draw_name(void *ctx, const char *name, uint64_t ns)
{
	struct drawing *d = ctx;

	if (*name)
		add_to_group(d, group_of(d, name), ns);
	else
		spread_row(d, d->rest, ns);
}

static void draw_sums(struct drawing *d, struct line_sums *sums, enum store_by by)
{
	line_sums_visit(sums, by, draw_name, d);
	line_sums_free(sums);
}

static bool draw_selection(struct drawing *d, struct profile *p, struct reasons_base *base, enum store_by by,
			   GError **error)
{
	struct selection *selection = d->part->select(d->part->ctx, p, error);

	if (!selection)
		return false;
	struct reasons *reasons = reasons_new_on(base, p);
	struct line_sums *sums = line_sums_new();
	struct cells *cells = cells_new();

	cells_add_profile(cells, p, reasons, selection);
	line_sums_add_cells(sums, cells, selection->by_stack);
	draw_sums(d, sums, by);
	cells_free(cells);
	reasons_free(reasons);
	selection_free(selection);
	return true;
}

/* Rows that are read together share a profile, so that rules are matched once per stack. */
#define TOGETHER 64
#define TOGETHER_WAITS 100000	/* an hour of a busy host has tens of thousands */

static void free_rows(gpointer rows)
{
	profile_free_rows(rows);
}

/* rows: struct store_row *.  Adds a batch that starts at *next. */
static bool draw_together(struct drawing *d, const struct store_choice *c, const GPtrArray *rows, guint *next,
			  enum store_by by, GError **error)
{
	const guint first = *next;
	uint64_t waits = 0;
	struct profile *with = profile_new();
	g_autoptr(GPtrArray) read = g_ptr_array_new_with_free_func(free_rows);
	struct reasons_base *base = NULL;
	bool ok = true;

	for (; *next < rows->len && read->len < TOGETHER && waits < TOGETHER_WAITS && ok; (*next)++) {
		const struct store_row *row = g_ptr_array_index(rows, *next);
		struct profile *p = store_file_read(store_choice_file(c, row), row->seq, with, error);

		ok = p && profile_check(p, error);
		if (p)
			g_ptr_array_add(read, p);
		waits += p ? p->waits->len : 0;
	}
	if (ok)
		base = reasons_base_new(with, NULL);
	for (guint i = 0; i < read->len && ok; i++) {
		d->row = g_ptr_array_index(rows, first + i);
		ok = draw_selection(d, g_ptr_array_index(read, i), base, by, error);
	}
	reasons_base_free(base);
	g_ptr_array_set_size(read, 0);
	for (guint i = 0; i < c->files->len; i++)
		store_file_leave(g_ptr_array_index(c->files, i));
	profile_free(with);
	return ok;
}

/* What is wanted of a file.  Consecutive rows are usually in the same file. */
struct wanted_names {
	struct store_file *file;
	struct line_known *known;
};

/* *ret_has false: the row has no cells. */
static bool draw_cells(struct drawing *d, struct store_file *f, struct wanted_names *w, enum store_by by, bool *ret_has,
		       GError **error)
{
	g_autoptr(GError) why = NULL;
	size_t bytes = 0;
	g_autofree uint8_t *cells = store_file_cells(f, d->row->seq, &bytes, &why);
	const GPtrArray *names = cells ? store_file_names(f, &why) : NULL;

	*ret_has = cells != NULL;
	if (why) {
		g_propagate_error(error, g_steal_pointer(&why));
		return false;
	}
	if (!cells)
		return true;
	if (w->file != f) {
		line_known_free(w->known);
		w->known = line_known_new(d->part, names);
		w->file = f;
	}
	struct line_sums *sums = line_sums_new();

	if (!line_sums_add_packed_cells(sums, cells, bytes, w->known)) {
		line_sums_free(sums);
		return store_fail(error, STORE_ERROR_DAMAGED, TELLS_NOT);
	}
	draw_sums(d, sums, by);
	return true;
}

/* Adds the rows whose lines or cells suffice.  *ret_rows: those that must be unpacked, struct store_row *. */
static bool draw_told(struct drawing *d, const struct store_choice *c, enum store_by by, GPtrArray *ret_rows,
		      GError **error)
{
	struct wanted_names wanted = { 0 };
	bool ok = true;

	for (guint i = 0; i < c->rows->len && ok; i++) {
		bool has_cells = false;

		d->row = &g_array_index(c->rows, struct store_row, i);
		spread_row(d, d->covered_ns, d->row->duration_ns);
		if (!d->part->needs_rows)
			ok = draw_cells(d, store_choice_file(c, d->row), &wanted, by, &has_cells, error);
		if (!has_cells)
			g_ptr_array_add(ret_rows, (gpointer)(uintptr_t)d->row);
		if (ok && ret_rows->len > STORE_PART_ROWS_MAX)
			ok = store_fail(error, STORE_ERROR_TOO_MUCH, "that is more time than can be told%s",
					d->part->needs_rows ? " of a thread or frame: ask for less of it, or only for a "
							      "process, service or reason"
							    : ": ask for less of it");
	}
	line_known_free(wanted.known);
	return ok;
}

static bool draw_part(struct drawing *d, const struct store_choice *c, enum store_by by, GError **error)
{
	g_autoptr(GPtrArray) rows = g_ptr_array_new();
	bool ok = draw_told(d, c, by, rows, error);

	for (guint next = 0; next < rows->len && ok;)
		ok = draw_together(d, c, rows, &next, by, error);
	return ok;
}

static bool draw_file(struct drawing *d, const struct store_choice *c, struct store_file *f, enum store_by by,
		      GError **error)
{
	bool ok = (d->names = store_file_names(f, error)) != NULL;

	if (!ok)
		return false;
	d->of_number = g_new0(struct group *, d->names->len + 1);
	for (guint i = 0; i < c->rows->len && ok; i++) {
		const struct store_row *row = &g_array_index(c->rows, struct store_row, i);

		if (store_name_compare(&row->in, store_file_name(f)) == 0)
			ok = draw_row(d, row, by, error);
	}
	g_free(d->of_number);
	return ok;
}

ORDER_POINTERS(largest_first, struct group, ORDER_HIGH(all_ns) ORDER_TEXT(name))

static void add_series(struct store_line *l, const char *name, uint64_t *ns)
{
	const struct store_series s = { g_strdup(name), ns };

	g_array_append_val(l->series, s);
}

static bool is_any(const uint64_t *ns, uint32_t steps)
{
	for (uint32_t i = 0; i < steps; i++)
		if (ns[i])
			return true;
	return false;
}

/* Makes a series of each of the largest groups, and one of all others. */
static void make_series(struct drawing *d, unsigned series_max)
{
	g_autoptr(GPtrArray) groups = g_ptr_array_new();
	const uint32_t steps = d->line->steps;

	EACH_VALUE(void, group, d->by_name)
		g_ptr_array_add(groups, group);
	g_ptr_array_sort(groups, largest_first);
	EACH_POINTER(i, const struct group, g, groups) {
		uint64_t *into = i < series_max ? g_new0(uint64_t, steps) : d->rest;

		for (guint k = 0; k < g->pieces->len; k++)
			spread_piece(d->line, into, &g_array_index(g->pieces, struct piece, k));
		if (i < series_max)
			add_series(d->line, g->name, into);
	}
	if (is_any(d->rest, steps))
		add_series(d->line, STORE_SERIES_OTHERS, d->rest);
	else
		g_free(d->rest);
}

static struct store_line *line_new(uint64_t from_ns, uint64_t step_ns, uint32_t steps)
{
	struct store_line *l = g_new0(struct store_line, 1);

	l->from_unix_ns = from_ns;
	l->step_ns = step_ns;
	l->steps = steps;
	l->series = g_array_new(FALSE, FALSE, sizeof(struct store_series));
	l->is_gap = g_new0(uint8_t, steps);
	return l;
}

static bool draw_line(struct drawing *d, const struct store_choice *c, enum store_by by, GError **error)
{
	if (d->part && !draw_part(d, c, by, error))
		return false;
	for (guint i = 0; i < c->files->len && !d->part; i++)
		if (!draw_file(d, c, g_ptr_array_index(c->files, i), by, error))
			return false;
	for (uint32_t i = 0; i < d->line->steps; i++)
		d->line->is_gap[i] = d->covered_ns[i] < d->line->step_ns / 2;
	return true;
}

struct line_options {
	const char *dir;
	uint64_t from_unix_ns, to_unix_ns, step_ns;
	uint32_t steps;
	enum store_by by;
	unsigned series_max;
	const struct store_part *part;
};

/* Uses rows of at most row_ns. */
static struct store_line *read_of(const struct line_options *a, uint64_t row_ns, GError **error)
{
	struct store_choice *c = store_choose(a->dir, a->from_unix_ns, a->to_unix_ns, row_ns, !a->part, error);

	if (!c)
		return NULL;
	struct drawing d = {
		.line = line_new(a->from_unix_ns, a->step_ns, a->steps),
		.by_name = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_group),
		.rest = g_new0(uint64_t, a->steps),
		.covered_ns = g_new0(uint64_t, a->steps),
		.part = a->part,
	};
	bool ok = draw_line(&d, c, a->by, error);

	if (ok)
		make_series(&d, MIN(a->series_max, SERIES_MAX));
	else
		g_free(d.rest);
	g_hash_table_unref(d.by_name);
	g_free(d.covered_ns);
	store_choice_free(c);
	if (ok)
		return d.line;
	store_line_free(d.line);
	return NULL;
}

struct store_line *store_line_read_part(const char *dir, uint64_t from_unix_ns, uint64_t to_unix_ns, uint64_t step_ns,
					enum store_by by, unsigned series_max, const struct store_part *part,
					GError **error)
{
	uint64_t steps = step_ns && from_unix_ns < to_unix_ns ? (to_unix_ns - from_unix_ns + step_ns - 1) / step_ns : 0;

	if (!steps || steps > STEPS_MAX || to_unix_ns > PROFILE_NS_MAX || step_ns > PROFILE_NS_MAX) {
		store_fail(error, STORE_ERROR_TOO_MUCH, "a time line has from 1 to %d steps", STEPS_MAX);
		return NULL;
	}
	const struct line_options a = { dir ? dir : STORE_DIR_DEFAULT, from_unix_ns, to_unix_ns, step_ns,
					(uint32_t)steps, by, series_max, part };
	uint64_t row_ns = step_ns;

	/* If too many rows had to be unpacked, retries with a coarser tier. */
	for (int tier = TIER_MINUTE;;) {
		g_autoptr(GError) why = NULL;
		struct store_line *line = read_of(&a, row_ns, &why);

		while (tier < TIER_CNT && tier_step_ns((enum store_tier)tier) <= row_ns)
			tier++;
		if (line || !part || tier == TIER_CNT || !g_error_matches(why, STORE_ERROR, STORE_ERROR_TOO_MUCH)) {
			if (why)
				g_propagate_error(error, g_steal_pointer(&why));
			return line;
		}
		row_ns = tier_step_ns((enum store_tier)tier);
	}
}

struct store_line *store_line_read(const char *dir, uint64_t from_unix_ns, uint64_t to_unix_ns, uint64_t step_ns,
				   enum store_by by, unsigned series_max, GError **error)
{
	return store_line_read_part(dir, from_unix_ns, to_unix_ns, step_ns, by, series_max, NULL, error);
}

void store_line_free(struct store_line *l)
{
	if (!l)
		return;
	for (guint i = 0; i < l->series->len; i++) {
		g_free(g_array_index(l->series, struct store_series, i).name);
		g_free(g_array_index(l->series, struct store_series, i).ns);
	}
	g_array_unref(l->series);
	g_free(l->is_gap);
	g_free(l);
}
