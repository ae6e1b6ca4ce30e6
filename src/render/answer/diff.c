/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/answer/report.h"

#include <string.h>

#include "analyse/diff/diff.h"
#include "analyse/plumbing.h"

#define ROWS_MAX 30	/* per table */
#define OBJECTS_MAX 20
/* Frames of a shortened stack. */
#define INNER_FRAMES 7
#define OUTER_FRAMES 3

/* Most important first; rows of all tables take turns. */
enum {
	RANK_FINDING = 1,
	RANK_CONDITION,
	RANK_LEADS,
	RANK_FIRST,
	RANK_SIDE,
	RANK_TOTAL,
	RANK_ROWS,
	RANK_OBJECTS = 90,
	RANK_MORE
};

struct difference {
	struct diff *d;
	const struct diff_json_options *what;
	bool is_all;
	GHashTable *ids;	/* char * -> struct row */
	struct answer *a;
};

/* A row with an id. */
struct row {
	enum diff_by by;
	const struct diff_row *row;
};

static bool is_shown(const struct tree_label *label)
{
	const char *shown;

	return label->kind != TREE_KERNEL || !plumbing_kernel_rule(label->text, &shown) || shown;
}

/* Labels of the frames, innermost first, without the thread's name. */
static GPtrArray *frames_of(const struct diff *d, uint32_t node)
{
	GPtrArray *frames = g_ptr_array_new();

	for (; node && tree_node(d->tree, node)->parent; node = tree_node(d->tree, node)->parent)
		if (is_shown(tree_node_label(d->tree, node)))
			g_ptr_array_add(frames, (gpointer)(uintptr_t)tree_node_label(d->tree, node)->text);
	return frames;
}

static void write_cut_stack(struct json *j, const struct diff *d, uint32_t node)
{
	g_autoptr(GPtrArray) frames = frames_of(d, node);
	const guint cut = frames->len > INNER_FRAMES + OUTER_FRAMES + 1 ? frames->len - INNER_FRAMES - OUTER_FRAMES : 0;

	json_member_array(j, "stack");
	for (guint i = 0; i < frames->len; i++) {
		g_autofree char *words = cut && i == INNER_FRAMES ? g_strdup_printf("... %u frames ...", cut) : NULL;

		json_string(j, words ? words : g_ptr_array_index(frames, i));
		i += words ? cut - 1 : 0;
	}
	json_array_end(j);
}

static void write_whole_stack(struct answer *a, const struct diff *d, const char *key, uint32_t node)
{
	g_autoptr(GPtrArray) frames = frames_of(d, node);

	for (guint i = 0; i < frames->len; i++) {
		json_string(answer_item(a, key), g_ptr_array_index(frames, i));
		answer_end(a, 1);
	}
}

/* Makes ids for the table's rows from what they are about. */
static void add_ids(struct difference *x, enum diff_by by)
{
	const struct diff_table *t = diff_table(x->d, by);

	EACH_ROW(i, const struct diff_row, r, t->rows) {
		g_autoptr(GPtrArray) parts = by == DIFF_BY_STACK ? frames_of(x->d, r->key) : g_ptr_array_new();
		struct row *row = g_new(struct row, 1);

		g_ptr_array_insert(parts, 0, (gpointer)(uintptr_t)diff_by_name(by));
		g_ptr_array_insert(parts, 1, (gpointer)(uintptr_t)r->name);
		g_ptr_array_insert(parts, 2, (gpointer)(uintptr_t)r->comm);
		*row = (struct row){ by, r };
		g_hash_table_insert(x->ids, answer_id(x->ids, "change", (const char *const *)parts->pdata, parts->len),
				    row);
	}
}

static const char *id_of(const struct difference *x, const struct diff_row *row)
{
	GHashTableIter iter;
	gpointer id, value;

	g_hash_table_iter_init(&iter, x->ids);
	while (g_hash_table_iter_next(&iter, &id, &value))
		if (((struct row *)value)->row == row)
			return id;
	return NULL;
}

static void write_numbers(struct json *j, const struct diff_row *r)
{
	const struct diff_amount *before = &r->side[DIFF_BEFORE], *after = &r->side[DIFF_AFTER];

	json_member_bool(j, "is_change", diff_row_is_real(r));
	diff_json_milli(j, "percent_milli", diff_percent(r));
	json_member_int(j, "before_ns", diff_json_rounded(before->scaled_ns));
	json_member_int(j, "after_ns", diff_json_rounded(after->scaled_ns));
	json_member_int(j, "se_ns", diff_json_rounded(r->time.se));
	json_member_int(j, "each_before_ns", diff_json_rounded(before->each_ns));
	json_member_int(j, "each_after_ns", diff_json_rounded(after->each_ns));
}

static void write_row(struct difference *x, const char *key, enum diff_by by, const struct diff_row *r, unsigned rank)
{
	struct json *j = answer_item(x->a, key);

	json_object_begin(j);
	JSON(j, "id", id_of(x, r), "name", r->name);
	json_member_text(j, "comm", r->comm);
	json_member_text(j, "says", r->says);
	json_member_string(j, "fate", r->fate == DIFF_ON_BOTH ? "both" : diff_fate_name(r->fate));
	write_numbers(j, r);
	if (by == DIFF_BY_STACK)
		write_cut_stack(j, x->d, r->key);
	json_object_end(j);
	answer_end(x->a, rank);
}

static const char *table_name(enum diff_by by)
{
	g_autofree char *key = g_strconcat("by_", diff_by_name(by), NULL);

	return g_intern_string(key);
}

/* Writes what changed, and how many other rows there are: most are noise. */
static void write_table(struct difference *x, enum diff_by by)
{
	const struct diff_table *t = diff_table(x->d, by);
	const char *key = table_name(by);
	const guint most = x->what->top ? x->what->top : ROWS_MAX, told = x->is_all ? t->rows->len : t->real_cnt;

	for (guint i = 0; i < MIN(told, most); i++)
		write_row(x, key, by, &g_array_index(t->rows, struct diff_row, i),
			  i ? RANK_ROWS + MIN(i, RANK_OBJECTS) : RANK_FIRST);
	if (told > most)
		answer_left_out(x->a, key, told - most);
}

static void write_side(struct difference *x, const char *key, enum diff_side side)
{
	const struct diff_input *in = &x->d->in[side];
	struct json *j = answer_member(x->a, key);

	json_object_begin(j);
	json_member_string(j, "recording", in->name);
	if (in->filters && *in->filters)
		json_member_string(j, "filters", in->filters);
	JSON(j, "host", in->profile->info.host, "kernel", in->profile->info.kernel);
	JSON(j, "start_unix_ns", in->profile->info.start_unix_ns, "duration_ns", in->profile->info.duration_ns);
	JSON(j, "threads", x->d->threads_cnt[side], "observed_ns", x->d->observed_ns[side]);
	json_member_bool(j, "is_sampled", profile_is_sampled(in->profile));
	json_object_end(j);
	answer_end(x->a, RANK_SIDE);
}

static void write_total(struct difference *x, const char *key, const struct diff_row *r)
{
	struct json *j = answer_member(x->a, key);

	json_object_begin(j);
	write_numbers(j, r);
	json_object_end(j);
	answer_end(x->a, RANK_TOTAL);
}

static void write_objects(struct difference *x, const char *key, const GArray *rows,
			  void (*one)(struct json *j, const GArray *rows, guint at))
{
	for (guint i = 0; rows && i < MIN(rows->len, OBJECTS_MAX); i++) {
		struct json *j = answer_item(x->a, key);

		json_object_begin(j);
		one(j, rows, i);
		json_object_end(j);
		answer_end(x->a, RANK_OBJECTS);
	}
	if (rows && rows->len > OBJECTS_MAX)
		answer_left_out(x->a, key, rows->len - OBJECTS_MAX);
}

static void write_summary(struct difference *x)
{
	g_autoptr(GArray) requests = diff_requests(x->d), tasks = diff_tasks(x->d);

	answer_member_text(x->a, "finding", x->what->finding, RANK_FINDING);
	answer_member_text(x->a, "scaled_per", diff_json_norm(x->d), RANK_FINDING);
	for (unsigned i = 0; i < x->what->conditions_cnt; i++) {
		diff_json_condition(answer_item(x->a, "conditions"), x->what->conditions[i], &x->what->results[i]);
		answer_end(x->a, RANK_CONDITION);
	}
	write_side(x, "before", DIFF_BEFORE);
	write_side(x, "after", DIFF_AFTER);
	write_total(x, "total", &x->d->total);
	write_total(x, "idle", &x->d->idle);
	for (unsigned i = 0; i < x->what->tables_cnt; i++)
		write_table(x, x->what->tables[i]);
	write_objects(x, "requests", requests, diff_json_request);
	write_objects(x, "tasks", tasks, diff_json_task);
	answer_leads(x->a, RANK_LEADS, RANK_MORE);
}

static void write_all(struct difference *x, const struct row *row)
{
	struct json *j = answer_members(x->a);

	json_object_begin(j);
	JSON(j, "by", diff_by_name(row->by), "says", row->row->says, "scaled_per", diff_json_norm(x->d));
	diff_json_row(j, row->row);
	json_object_end(j);
	answer_members_end(x->a, 1);
	if (row->by != DIFF_BY_STACK)
		return;
	write_whole_stack(x->a, x->d, "stack", row->row->key);
	if (row->row->was)
		write_whole_stack(x->a, x->d, "stack_before", row->row->was);
}

/* A table of the summary, whose name is also an id: then all rows are written.  False: not a table. */
static bool write_whole_table(struct difference *x, const char *id)
{
	for (unsigned i = 0; i < x->what->tables_cnt; i++) {
		const enum diff_by by = x->what->tables[i];
		const struct diff_table *t = diff_table(x->d, by);

		if (strcmp(table_name(by), id) != 0)
			continue;
		answer_member_text(x->a, "scaled_per", diff_json_norm(x->d), RANK_FINDING);
		for (guint n = 0; n < t->rows->len; n++)
			write_row(x, table_name(by), by, &g_array_index(t->rows, struct diff_row, n), RANK_ROWS);
		return true;
	}
	return false;
}

bool answer_diff(GString *out, struct diff *d, const struct diff_json_options *what, bool is_all,
		 const struct answer_options *options, GError **error)
{
	struct difference x = { .d = d, .what = what, .is_all = is_all,
				.ids = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
				.a = answer_new("diff", options) };
	const struct row *row;
	bool is_done = false;

	for (unsigned i = 0; i < what->tables_cnt; i++)
		add_ids(&x, what->tables[i]);
	row = options->id ? g_hash_table_lookup(x.ids, options->id) : NULL;
	if (options->id && !row && !write_whole_table(&x, options->id)) {
		g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
			    "--id \"%s\": no row of these tables has that id; --json=summary lists ids", options->id);
	} else {
		if (row)
			write_all(&x, row);
		else if (!options->id)
			write_summary(&x);
		is_done = answer_write(out, x.a, error);
	}
	answer_free(x.a);
	g_hash_table_unref(x.ids);
	return is_done;
}
