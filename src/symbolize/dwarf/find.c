/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/dwarf/find.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/order.h"

#define NO_UNIT UINT32_MAX
#define HEAD_BYTES ((size_t)1024)	/* enough of a unit for its first entry, which has its addresses */
#define DEPTH_MAX 4096
#define RANGE_STEPS 4	/* cost of a search among the addresses, and of each one found */

/* A function, or a call inlined into the previous step, that covers the place. */
struct step {
	uint64_t die_off, call_file;
	uint32_t call_line, depth;
	bool has_call_file;
};

/* State of looking up a place. */
struct query {
	struct dwarf_place *place;
	uint64_t addr;
	uint32_t unit;		/* index */
	uint64_t width;		/* size of the unit's range with the place: the narrowest wins */
	GArray *steps;		/* struct step, outermost first; NULL: none so far */
	uint64_t file;
	uint32_t line;
	bool has_line;
};

struct finder {
	struct dwarf_image *im;
	struct dwarf_names *names;
	GStringChunk *strings;
	struct query *queries;	/* those of one unit, or all, by address */
	size_t cnt;
	uint32_t unit;
	bool has_split, has_damage;
	/* current unit */
	struct dwarf_die die;	/* current entry */
	unsigned depth;
	struct dwarf_lines *lines;
	GHashTable *paths;	/* file number -> const char *, NULL for none */
};

/* The first query at or above `addr`. */
static size_t first_at(const struct finder *f, uint64_t addr)
{
	size_t low = 0, high = f->cnt;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (f->queries[middle].addr < addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Calls fn for each query in [low, high) within the budget. */
static void for_each_query(struct finder *f, uint64_t low, uint64_t high,
			   void (*fn)(struct finder *f, struct query *q, uint64_t width))
{
	if (!dwarf_spend(f->im, RANGE_STEPS))
		return;
	for (size_t i = first_at(f, low); i < f->cnt && f->queries[i].addr < high; i++) {
		if (!dwarf_spend(f->im, RANGE_STEPS))
			return;
		fn(f, &f->queries[i], high - low);
	}
}

static void claim_query(struct finder *f, struct query *q, uint64_t width)
{
	if (q->unit != NO_UNIT && q->width <= width)
		return;
	q->unit = f->unit;
	q->width = width;
}

static void claim_queries(uint64_t low, uint64_t high, void *data)
{
	for_each_query(data, low, high, claim_query);
}

/* Assigns addresses to units by each unit's first entry. */
static void assign_units(struct finder *f)
{
	const GArray *units = dwarf_names_units(f->names);

	for (f->unit = 0; f->unit < units->len && !dwarf_is_spent(f->im); f->unit++) {
		const struct dwarf_unit_head *h = &g_array_index(units, struct dwarf_unit_head, f->unit);
		struct dwarf_unit *u;

		if (h->type != DW_UT_compile && h->type != DW_UT_skeleton)
			continue;
		u = dwarf_unit_load(f->im, h, HEAD_BYTES);
		if (!u)
			f->has_damage = true;
		else if (u->root.tag == DW_TAG_compile_unit || u->root.tag == DW_TAG_skeleton_unit)
			dwarf_die_ranges(u, &u->root, claim_queries, f);
		dwarf_unit_free(u);
	}
}

static void add_step(struct query *q, const struct dwarf_die *d, unsigned depth)
{
	const struct dwarf_value *line = &d->kept[KEPT_CALL_LINE], *file = &d->kept[KEPT_CALL_FILE];
	struct step s = { d->off, file->u, (uint32_t)MIN(line->u, UINT32_MAX), depth, file->form != 0 };

	if (!q->steps)
		q->steps = g_array_new(FALSE, FALSE, sizeof(struct step));
	if (d->tag == DW_TAG_subprogram)
		g_array_set_size(q->steps, 0);
	/* overlapping siblings, which compilers never produce: the last one wins */
	while (q->steps->len && g_array_index(q->steps, struct step, q->steps->len - 1).depth >= depth)
		g_array_set_size(q->steps, q->steps->len - 1);
	if (d->tag == DW_TAG_subprogram ? !q->steps->len : q->steps->len && q->steps->len < DWARF_INLINE_MAX)
		g_array_append_val(q->steps, s);
}

static void cover_query(struct finder *f, struct query *q, uint64_t width)
{
	add_step(q, &f->die, f->depth);
}

/* The current entry covers [low, high): adds a step to the queries there. */
static void add_steps(uint64_t low, uint64_t high, void *data)
{
	for_each_query(data, low, high, cover_query);
}

/* Visits all entries of the unit in order, without recursion. */
static void scan_entries(struct finder *f, const struct dwarf_unit *u)
{
	struct cursor c = dwarf_unit_cursor(u, u->head.off + u->head.header_bytes);

	f->depth = 0;
	while (cursor_left(&c)) {
		if (!dwarf_die_read_function(u, &c, &f->die)) {
			f->has_damage = true;
			return;
		}
		if (!f->die.tag) {
			if (f->depth-- <= 1)
				return;
			continue;
		}
		if (f->die.tag == DW_TAG_subprogram || f->die.tag == DW_TAG_inlined_subroutine)
			dwarf_die_ranges(u, &f->die, add_steps, f);
		f->depth += f->die.has_children;
		if (f->depth > DEPTH_MAX) {
			f->has_damage = true;
			return;
		}
	}
}

static void take_row(uint64_t low, uint64_t high, uint64_t file, uint32_t line, void *data)
{
	struct finder *f = data;

	for (size_t i = first_at(f, low); i < f->cnt && f->queries[i].addr < high; i++) {
		struct query *q = &f->queries[i];

		if (q->has_line || !dwarf_spend(f->im, 1))
			continue;
		q->has_line = true;
		q->file = file;
		q->line = line;
	}
}

static const char *path_of(struct finder *f, uint64_t file)
{
	g_autofree char *made = NULL;
	gpointer path;

	if (!f->lines)
		return NULL;
	if (g_hash_table_lookup_extended(f->paths, &file, NULL, &path))
		return path;
	made = dwarf_lines_path(f->lines, file);
	path = made ? g_string_chunk_insert_const(f->strings, made) : NULL;
	g_hash_table_insert(f->paths, g_memdup2(&file, sizeof(file)), path);
	return path;
}

static const char *name_at(struct finder *f, const struct dwarf_unit *u, uint64_t off)
{
	struct cursor c = dwarf_unit_cursor(u, off);
	struct dwarf_die d;

	return dwarf_die_read(u, &c, &d) && d.tag ? dwarf_names_of(f->names, u, &d) : NULL;
}

/* Turns steps into frames, in reverse order: a frame's line is that of the call to the next inner one. */
static void answer_query(struct finder *f, const struct dwarf_unit *u, struct query *q)
{
	unsigned step_cnt = q->steps ? q->steps->len : 0;
	uint64_t file = q->file;
	uint32_t line = q->line;
	bool has_file = q->has_line;

	if (!step_cnt && !q->has_line)
		return;
	q->place->frame_cnt = MAX(step_cnt, 1);
	q->place->frames = g_new0(struct dwarf_frame, q->place->frame_cnt);
	for (unsigned i = 0; i < q->place->frame_cnt; i++) {
		const struct step *s = step_cnt ? &g_array_index(q->steps, struct step, step_cnt - 1 - i) : NULL;
		struct dwarf_frame *frame = &q->place->frames[i];

		frame->file = has_file ? path_of(f, file) : NULL;
		frame->line = frame->file ? line : 0;
		if (!s)
			return;
		frame->name = name_at(f, u, s->die_off);
		has_file = s->has_call_file;
		file = s->call_file;
		line = s->call_line;
	}
}

/* Answers the queries of one unit, which are f->queries now. */
static void search_unit(struct finder *f, const struct dwarf_unit_head *head)
{
	struct dwarf_unit *u = dwarf_unit_load(f->im, head, SIZE_MAX);

	if (!u) {
		f->has_damage = true;
		return;
	}
	if (u->root.kept[KEPT_DWO_NAME].form)
		f->has_split = true;
	f->paths = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, NULL);
	f->lines = dwarf_lines_read(u);
	scan_entries(f, u);
	if (f->lines)
		dwarf_lines_run(f->lines, take_row, f);
	for (size_t i = 0; i < f->cnt; i++) {
		answer_query(f, u, &f->queries[i]);
		g_clear_pointer(&f->queries[i].steps, g_array_unref);
	}
	dwarf_lines_free(f->lines);
	g_hash_table_unref(f->paths);
	dwarf_unit_free(u);
}

ORDER(by_address, struct query, ORDER_LOW(addr))

ORDER(by_unit, struct query, ORDER_LOW(unit) ORDER_LOW(addr))

static bool say_what_was_missed(const struct finder *f, GError **error)
{
	if (dwarf_is_spent(f->im))
		g_set_error(error, DWARF_ERROR, DWARF_MISSED_TOO_MUCH, "its debug information is too much to read");
	else if (f->has_damage)
		g_set_error(error, DWARF_ERROR, DWARF_MISSED_DAMAGED, "its debug information is damaged");
	else if (f->has_split)
		g_set_error(error, DWARF_ERROR, DWARF_MISSED_SPLIT,
			    "its debug information is in other files (.dwo), which are not read");
	else if (dwarf_image_alt_path(f->im) && !dwarf_image_alt(f->im))
		g_set_error(error, DWARF_ERROR, DWARF_MISSED_ALT,
			    "part of its debug information is in %s, which is not there", dwarf_image_alt_path(f->im));
	else
		return true;
	return false;
}

bool dwarf_find(struct dwarf_image *im, struct dwarf_place *places, size_t cnt, GStringChunk *strings, GError **error)
{
	g_autofree struct query *queries = g_new0(struct query, cnt + 1);
	struct finder f = { .im = im, .strings = strings, .queries = queries, .cnt = cnt };
	const GArray *units;
	size_t next;

	for (size_t i = 0; i < cnt; i++)
		queries[i] = (struct query){ .place = &places[i], .addr = places[i].addr, .unit = NO_UNIT };
	qsort(queries, cnt, sizeof(*queries), by_address);
	f.names = dwarf_names_new(im, strings);
	units = dwarf_names_units(f.names);
	assign_units(&f);
	qsort(queries, cnt, sizeof(*queries), by_unit);
	for (size_t i = 0; i < cnt && queries[i].unit != NO_UNIT; i = next) {
		for (next = i; next < cnt && queries[next].unit == queries[i].unit; next++)
			;
		f.queries = &queries[i];
		f.cnt = next - i;
		search_unit(&f, &g_array_index(units, struct dwarf_unit_head, queries[i].unit));
	}
	dwarf_names_free(f.names);
	return say_what_was_missed(&f, error);
}
