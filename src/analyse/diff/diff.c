/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/diff/diff.h"

#include <math.h>
#include <string.h>

#include "analyse/diff/compare.h"
#include "analyse/diff/keys.h"
#include "analyse/diff/stats.h"

#define NS_PER_MINUTE 60e9

const char *diff_fate_name(enum diff_fate fate)
{
	switch (fate) {
	case DIFF_NEW: return "new";
	case DIFF_VANISHED: return "vanished";
	case DIFF_MOVED: return "moved";
	case DIFF_ON_BOTH: break;
	}
	return "";
}

bool diff_has_counts(const struct diff *d)
{
	return !((d->in[DIFF_BEFORE].profile->info.unknown | d->in[DIFF_AFTER].profile->info.unknown) & UNKNOWN_COUNTS);
}

double diff_quantile(const struct diff_amount *a, double share)
{
	const struct stats_durations d = { a->hist, a->whole_ns, a->max_ns };

	return stats_quantile(&d, share);
}

static double percent(double before, double by)
{
	return by == 0 ? 0 : before > 0 ? 100 * by / before : INFINITY;
}

double diff_percent(const struct diff_row *r)
{
	return percent(r->side[DIFF_BEFORE].scaled_ns, r->time.by);
}

double diff_each_percent(const struct diff_row *r)
{
	return percent(r->side[DIFF_BEFORE].each_ns, r->each.by);
}

/* Magnitude of the row's change: its time, or the time due to longer or shorter waits. */
static double weight_of(const struct diff *d, const struct diff_row *r)
{
	const struct diff_amount *a = &r->side[DIFF_AFTER];
	double time = fabs(r->time.by), each = fabs(r->each.by) * (double)a->whole_cnt * d->scale[DIFF_AFTER];

	if (!diff_row_is_real(r))
		return time;
	return fmax(r->time.is_real ? time : 0, r->each.is_real ? each : 0);
}

/* Rows are large, so their indices are sorted and each row moves once. */
struct row_order {
	const struct diff *d;
	const struct diff_row *rows;
};

static int compare_rows(gconstpointer a, gconstpointer b, gpointer data)
{
	const struct row_order *o = data;
	const struct diff_row *x = &o->rows[*(const uint32_t *)a], *y = &o->rows[*(const uint32_t *)b];
	double wx = weight_of(o->d, x), wy = weight_of(o->d, y);

	if (diff_row_is_real(x) != diff_row_is_real(y))
		return diff_row_is_real(x) ? -1 : 1;
	if (wx != wy)
		return wx > wy ? -1 : 1;
	int by_name = strcmp(x->name, y->name);
	return by_name ? by_name : (x->key > y->key) - (x->key < y->key);
}

static void put_in_order(const struct diff *d, GArray *rows)
{
	g_autofree uint32_t *order = g_new(uint32_t, rows->len + 1);
	struct diff_row *all = (struct diff_row *)(void *)rows->data;
	struct row_order o = { d, all };

	for (uint32_t i = 0; i < rows->len; i++)
		order[i] = i;
	g_qsort_with_data(order, (int)rows->len, sizeof(*order), compare_rows, &o);
	for (uint32_t i = 0; i < rows->len; i++) {
		struct diff_row first = all[i];
		uint32_t at = i;

		while (order[at] != i && order[at] != at) {
			uint32_t from = order[at];

			all[at] = all[from];
			order[at] = at;
			at = from;
		}
		if (order[at] == i && at != i) {
			all[at] = first;
			order[at] = at;
		}
	}
}

/* The side that describes the row. */
static enum diff_side told_side(const struct diff_row *r)
{
	return r->side[DIFF_AFTER].threads_cnt ? DIFF_AFTER : DIFF_BEFORE;
}

static const char *says_of(const struct diff *d, const struct tally *const tallies[DIFF_SIDES], uint32_t key,
			   const struct diff_row *r)
{
	enum diff_side side = told_side(r);
	const struct diff_side_keys *s = &d->keys->side[side];
	uint32_t wait = tallies[side]->waits[key] - 1;

	if (r->is_lost || profile_wait(s->p, wait)->state == ON_CPU_STATE ||
	    reasons_of(s->reasons, wait) == REASON_OTHER)
		return NULL;
	return reasons_says(s->reasons, wait);
}

/* Names a stack by its headline and replaces its key by its node. */
static void name_stack(const struct diff *d, const struct tally *const tallies[DIFF_SIDES], const uint32_t *was,
		       struct diff_row *r)
{
	enum diff_side side = told_side(r);
	const struct diff_side_keys *s = &d->keys->side[side];
	const struct wait *w = profile_wait(s->p, tallies[side]->waits[r->key] - 1);

	r->name = plumbing_leaf(s->plumbing, w);
	r->comm = s->comms[w->thread];
	r->key = g_array_index(d->keys->stack_nodes, uint32_t, r->key);
	r->was = was[r->key];
	if (r->was)
		r->fate = DIFF_MOVED;
}

static bool is_lost_label(const struct tree_label *l)
{
	return l->why == FRAME_PENDING && l->kind != TREE_COMM;
}

/* Whether part of the row's stack was lost. */
static bool is_lost(const struct diff *d, enum diff_by by, const struct diff_row *r)
{
	if (by == DIFF_BY_LEAF)
		return strstr(r->name, "[stack lost]") != NULL;
	if (by == DIFF_BY_FUNCTION)
		return is_lost_label(&g_array_index(d->tree->labels, struct tree_label, r->key));
	for (uint32_t node = by == DIFF_BY_STACK ? r->key : 0; node; node = tree_node(d->tree, node)->parent)
		if (is_lost_label(tree_node_label(d->tree, node)))
			return true;
	return false;
}

/* Idle threads wait at one place or another, so idle rows are not tested.  A thread's total, idle or not, is. */
static bool is_idle(enum diff_by by, const struct diff_row *r)
{
	if (by == DIFF_BY_TOTAL)
		return r->key == DIFF_IDLE_KEY;
	if (by == DIFF_BY_COMM || by == DIFF_BY_PROCESS || by == DIFF_BY_STATE)
		return false;
	return r->side[DIFF_BEFORE].idle_ns + r->side[DIFF_AFTER].idle_ns >
	       (r->side[DIFF_BEFORE].off_cpu_ns + r->side[DIFF_AFTER].off_cpu_ns) / 2;
}

/* The program's functions on the path of a stack, innermost first; struct tree_label *. */
static GPtrArray *users_of(const struct diff *d, uint32_t node)
{
	GPtrArray *users = g_ptr_array_new();

	for (; node && node != TREE_NONE; node = tree_node(d->tree, node)->parent) {
		const struct tree_label *l = tree_node_label(d->tree, node);

		if (l->kind == TREE_USER)
			g_ptr_array_add(users, (gpointer)l);
	}
	return users;
}

/* Index of the first difference from the inside; if one is a prefix of the other, the end of the shorter. */
static guint first_difference(const GPtrArray *a, const GPtrArray *b)
{
	guint at = 0;

	while (at < a->len && at < b->len && a->pdata[at] == b->pdata[at])
		at++;
	return at;
}

/* Extends "nanosleep (clock_nanosleep <- nap)" by a caller: "... <- stage_one)" and "... <- stage_two)". */
static const char *name_with(const struct diff *d, const char *name, const GPtrArray *users, guint at)
{
	bool has_bracket = g_str_has_suffix(name, ")");
	size_t len = strlen(name) - (has_bracket ? 1 : 0);
	const struct tree_label *l = g_ptr_array_index(users, at),
				*before = at ? g_ptr_array_index(users, at - 1) : NULL;
	g_autofree char *inner = g_strndup(name, len);
	bool is_next = before && g_str_has_suffix(inner, before->text);
	g_autofree char *whole = g_strdup_printf("%s <- %s%s%s", inner, is_next ? "" : ".. <- ", l->text,
						 has_bracket ? ")" : "");

	return g_string_chunk_insert_const(d->keys->strings, whole);
}

#define TOLD_APART_MAX 64	/* maximum rows with the same name: nobody reads more */

/* Distinguishes rows with the same label by the first function that only one of two has. */
static void tell_apart(const struct diff *d, GArray *rows, const GArray *same)
{
	guint cnt = MIN(same->len, TOLD_APART_MAX);
	g_autoptr(GPtrArray) users = g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref);

	for (guint i = 0; i < cnt; i++)
		g_ptr_array_add(users, users_of(d, g_array_index(rows, struct diff_row,
								 g_array_index(same, uint32_t, i)).key));
	for (guint i = 0; i < cnt; i++) {
		struct diff_row *r = &g_array_index(rows, struct diff_row, g_array_index(same, uint32_t, i));
		const GPtrArray *own = g_ptr_array_index(users, i);
		guint at = 0;

		for (guint n = 0; n < cnt; n++)
			at = n == i ? at : MAX(at, first_difference(own, g_ptr_array_index(users, n)));
		if (at < own->len)
			r->name = name_with(d, r->name, own, at);
	}
}

static char *label_key(const struct diff_row *r)
{
	return g_strdup_printf("%s\n%s", r->comm, r->name);
}

static void tell_all_apart(const struct diff *d, GArray *rows)
{
	g_autoptr(GHashTable) by_label =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_array_unref);
	GHashTableIter iter;
	gpointer same;

	for (uint32_t i = 0; i < rows->len; i++) {
		char *key = label_key(&g_array_index(rows, struct diff_row, i));
		GArray *known = g_hash_table_lookup(by_label, key);

		if (!known)
			g_hash_table_insert(by_label, g_strdup(key),
					    known = g_array_new(FALSE, FALSE, sizeof(uint32_t)));
		g_array_append_val(known, i);
		g_free(key);
	}
	g_hash_table_iter_init(&iter, by_label);
	while (g_hash_table_iter_next(&iter, NULL, &same))
		if (((GArray *)same)->len > 1)
			tell_apart(d, rows, same);
}

static void take_totals(struct diff *d, const GArray *rows)
{
	EACH_ROW(i, const struct diff_row, r, rows)
		*(r->key == DIFF_IDLE_KEY ? &d->idle : &d->total) = *r;
}

uint64_t diff_all_ns(const struct diff *d, enum diff_side side)
{
	return d->total.side[side].off_cpu_ns + d->idle.side[side].off_cpu_ns;
}

static struct diff_table *make_table(struct diff *d, enum diff_by by)
{
	struct diff_table *t = g_new0(struct diff_table, 1);
	struct tally *tallies[DIFF_SIDES];
	const struct tally *known[DIFF_SIDES];

	t->by = by;
	for (unsigned side = DIFF_SIDES; side-- > 0;)
		known[side] = tallies[side] = tally_new(d->keys, side, by, d->in[side].selection, NULL);
	uint32_t keys_cnt = MAX(known[0]->keys_cnt, known[1]->keys_cnt);
	t->rows = g_array_sized_new(FALSE, FALSE, sizeof(struct diff_row), keys_cnt);
	for (uint32_t key = 0; key < keys_cnt; key++) {
		g_array_set_size(t->rows, t->rows->len + 1);
		struct diff_row *row = &g_array_index(t->rows, struct diff_row, t->rows->len - 1);

		if (!compare_key(d, NULL, known, key, by == DIFF_BY_TOTAL, row)) {
			g_array_set_size(t->rows, t->rows->len - 1);
			continue;
		}
		row->name = diff_keys_text(d->keys, by, key);
		if (by == DIFF_BY_STACK)
			name_stack(d, known, d->keys->moves->was, row);
		row->is_lost = is_lost(d, by, row);
		if (by == DIFF_BY_STACK || by == DIFF_BY_LEAF)
			row->says = says_of(d, known, key, row);
		row->is_idle = is_idle(by, row);
	}
	if (by == DIFF_BY_TOTAL)
		take_totals(d, t->rows);
	if (by == DIFF_BY_STACK)
		tell_all_apart(d, t->rows);
	compare_together(d, t->rows, &t->tested_cnt, &t->real_cnt);
	put_in_order(d, t->rows);
	for (unsigned side = 0; side < DIFF_SIDES; side++)
		tally_free(tallies[side]);
	return t;
}

const struct diff_table *diff_table(struct diff *d, enum diff_by by)
{
	if (!d->tables[by])
		d->tables[by] = make_table(d, by);
	return d->tables[by];
}

static void sum_observed(struct diff *d, enum diff_side side)
{
	const struct diff_input *in = &d->in[side];

	for (uint32_t i = 0; i < in->profile->threads->len; i++) {
		if (in->selection && !in->selection->threads[i])
			continue;
		d->observed_ns[side] += thread_observed_ns(profile_thread(in->profile, i));
		d->threads_cnt[side]++;
	}
	switch (d->options.norm) {
	case DIFF_PER_THREAD_TIME:
		d->scale[side] = d->observed_ns[side] ? NS_PER_MINUTE / (double)d->observed_ns[side] : 0;
		break;
	case DIFF_PER_REQUEST: d->scale[side] = in->requests ? 1 / (double)in->requests : 0; break;
	case DIFF_NOT_NORMALISED:
	case DIFF_WHOLE_RUNS: d->scale[side] = 1; break;
	}
}

bool diff_is_whole_run(const struct profile *p)
{
	bool has_ended = false;

	if (!profile_is_of_command(p))
		return false;
	for (uint32_t i = 0; i < p->threads->len; i++) {
		uint32_t flags = profile_thread(p, i)->flags;

		if (flags & (THREAD_OPEN_AT_START | THREAD_OPEN_AT_END))
			return false;
		has_ended = has_ended || flags & THREAD_EXITED;
	}
	return has_ended;
}

/* 1 unless both sides have the same selection: groups selected separately may be of any size. */
static double by_window(const struct diff *d)
{
	const struct diff_input *x = &d->in[DIFF_BEFORE], *y = &d->in[DIFF_AFTER];
	const struct profile_info *before = &x->profile->info, *after = &y->profile->info;

	if (d->options.norm != DIFF_PER_THREAD_TIME ||
	    strcmp(x->filters ? x->filters : "", y->filters ? y->filters : "") != 0 || before->imported ||
	    after->imported || before->history.windows || after->history.windows || !after->duration_ns ||
	    !(d->scale[DIFF_AFTER] > 0))
		return 1;
	return (double)before->duration_ns / (double)after->duration_ns * d->scale[DIFF_BEFORE] / d->scale[DIFF_AFTER];
}

/* By node of the tree: time of the side's waits that end there. */
static GArray *weights_of(const struct diff *d, enum diff_side side)
{
	const struct diff_input *in = &d->in[side];
	GArray *weights = g_array_sized_new(FALSE, TRUE, sizeof(uint64_t), d->tree->nodes->len);

	g_array_set_size(weights, d->tree->nodes->len);
	for (uint32_t i = 0; i < in->profile->waits->len; i++)
		if (!in->selection || in->selection->waits[i])
			g_array_index(weights, uint64_t, d->keys->side[side].paths[i]) +=
				wait_or_on_cpu_ns(profile_wait(in->profile, i));
	return weights;
}

static void sum_lost(struct diff *d, enum diff_side side)
{
	const struct tree *t = d->tree;
	g_autofree bool *lost = g_new0(bool, t->nodes->len);

	for (uint32_t i = 1; i < t->nodes->len; i++) {
		lost[i] = lost[tree_node(t, i)->parent] || is_lost_label(tree_node_label(t, i));
		d->lost_ns[side] += lost[i] ? g_array_index(d->weights[side], uint64_t, i) : 0;
	}
}

/* Moves stacks of BEFORE that took another path to where they are in AFTER, and incomplete stacks to complete ones. */
static void move_stacks(struct diff *d)
{
	const uint64_t *const weights[DIFF_SIDES] = { (const uint64_t *)(void *)d->weights[DIFF_BEFORE]->data,
						      (const uint64_t *)(void *)d->weights[DIFF_AFTER]->data };
	const char *before = d->in[DIFF_BEFORE].profile->info.kernel, *after = d->in[DIFF_AFTER].profile->info.kernel;
	bool same_kernel = g_strcmp0(before, after) == 0;

	d->keys->moves = diff_moves_new(d->tree, weights, same_kernel);
	d->has_unmatched = !d->keys->moves->all;
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		struct diff_side_keys *s = &d->keys->side[side];
		const uint32_t *to = d->keys->moves->to[side];

		for (uint32_t i = 0; i < s->p->waits->len; i++)
			s->paths[i] = to[s->paths[i]] ? to[s->paths[i]] : s->paths[i];
		g_array_unref(d->weights[side]);
		d->weights[side] = weights_of(d, side);
	}
}

struct diff *diff_new(const struct diff_input *before, const struct diff_input *after,
		      const struct diff_options *options)
{
	struct diff *d = g_new0(struct diff, 1);

	d->in[DIFF_BEFORE] = *before;
	d->in[DIFF_AFTER] = *after;
	d->options = *options;
	d->keys = diff_keys_new(before->profile, after->profile);
	d->keys->are_whole_runs = options->norm == DIFF_WHOLE_RUNS;
	d->tree = d->keys->tree;
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		sum_observed(d, side);
		d->weights[side] = weights_of(d, side);
		sum_lost(d, side);
	}
	d->by_window = by_window(d);
	move_stacks(d);
	for (unsigned side = 0; side < DIFF_SIDES; side++)
		diff_keys_note_idle(d->keys, side, d->in[side].selection);
	d->total.name = "total";
	d->idle.name = "idle";
	take_totals(d, diff_table(d, DIFF_BY_TOTAL)->rows);
	return d;
}

void diff_free(struct diff *d)
{
	if (!d)
		return;
	for (unsigned i = 0; i < DIFF_BY_COUNT; i++) {
		if (d->tables[i]) {
			g_array_unref(d->tables[i]->rows);
			g_free(d->tables[i]);
		}
	}
	for (unsigned side = 0; side < DIFF_SIDES; side++)
		g_array_unref(d->weights[side]);
	diff_keys_free(d->keys);
	g_free(d);
}
