/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/diff/keys.h"

#include <string.h>

#include "base/hash.h"
#include "base/order.h"

/*
 * A stack of only one side is often the same wait by another path: a function was inlined, wrapped, called from
 * elsewhere or got another template argument.  Two such stacks match if thread and kernel frames agree, and the frames
 * of the shorter one are contained in the longer one and make up most of it.  One frame in ten may differ.  The most
 * similar pairs are matched first.  If kernels differ, so do their frames: then these count like the others, and the
 * innermost user function must agree.
 *
 * A stack of only one side may also be one of both sides with frames missing: a thread is unwound by frame pointers
 * until its program's tables are read.  If it has little time compared with that stack, it counts as that one.
 *
 * The work is bounded for any recording: the heaviest stacks first, and a limited number of steps.
 */

#define MOST 0.6		/* of the longer stack's frames */
#define ALL 0.9			/* of the shorter stack's frames */
#define LITTLE 0.1		/* of the whole stack's time: maximum time with frames missing */
#define STACKS_MAX 4000		/* per side */
#define FAMILY_MAX 64		/* per side, thread name and kernel stack */
#define FRAMES_MAX 256		/* of deeper stacks the innermost frames are compared */
#define STEPS_MAX (40 * 1000 * 1000)

struct stray {
	uint32_t node;
	uint64_t ns;
	uint64_t family;	/* hash of what must agree */
	uint32_t *frames;	/* loosely spelled names of the others, sorted */
	uint32_t frames_cnt;
};

struct pair {
	uint32_t before, after;	/* indices */
	double alike;
	uint64_t ns;
};

struct matcher {
	const struct tree *t;
	uint32_t *loose;	/* by label: number of its loosely spelled name */
	bool same_kernel;
	uint64_t steps;
	bool all;
};

static uint32_t *loose_names(const struct tree *t)
{
	g_autoptr(GHashTable) names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autoptr(GString) s = g_string_new(NULL);
	uint32_t *loose = g_new(uint32_t, t->labels->len + 1);

	EACH_ROW(i, const struct tree_label, l, t->labels) {
		g_string_assign(s, l->kind == TREE_KERNEL ? "k" : l->kind == TREE_USER ? "u" : "c");
		if (l->kind == TREE_COMM)
			g_string_append(s, l->text);
		else
			diff_name_append_loose(s, l->text);
		gpointer known = g_hash_table_lookup(names, s->str);
		if (!known) {
			known = GUINT_TO_POINTER(g_hash_table_size(names) + 1);
			g_hash_table_insert(names, g_strdup(s->str), known);
		}
		loose[i] = GPOINTER_TO_UINT(known);
	}
	return loose;
}

ORDER(by_weight, struct stray, ORDER_HIGH(ns) ORDER_LOW(node))

ORDER_NUMBERS(by_number, uint32_t)

static void list_frames(const struct matcher *m, struct stray *s)
{
	GArray *frames = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	bool has_user = false;

	for (uint32_t node = s->node; node != TREE_NONE; node = tree_node(m->t, node)->parent) {
		const struct tree_label *l = tree_node_label(m->t, node);
		uint32_t loose = m->loose[tree_node(m->t, node)->label];
		bool is_leaf = l->kind == TREE_USER && !has_user;

		if (l->kind == TREE_COMM || (m->same_kernel ? l->kind == TREE_KERNEL : is_leaf))
			s->family = hash_more(s->family, loose) * HASH_MIX;
		if ((l->kind == TREE_USER || (l->kind == TREE_KERNEL && !m->same_kernel)) && frames->len < FRAMES_MAX)
			g_array_append_val(frames, loose);
		has_user = has_user || is_leaf;
	}
	g_array_sort(frames, by_number);
	s->frames_cnt = frames->len;
	s->frames = (uint32_t *)(void *)g_array_free(frames, FALSE);
}

static void stray_clear(gpointer data)
{
	g_free(((struct stray *)data)->frames);
}

/* The heaviest nodes where waits of one side end, and of the other side too, or none of these. */
static GArray *ends_of(struct matcher *m, const uint64_t *own, const uint64_t *other, bool of_both)
{
	GArray *strays = g_array_new(FALSE, FALSE, sizeof(struct stray));

	g_array_set_clear_func(strays, stray_clear);
	for (uint32_t i = 1; i < m->t->nodes->len; i++) {
		struct stray s = { .node = i, .ns = own[i] };

		if (own[i] && (other[i] != 0) == of_both)
			g_array_append_val(strays, s);
	}
	g_array_sort(strays, by_weight);
	if (strays->len > STACKS_MAX) {
		g_array_set_size(strays, STACKS_MAX);
		m->all = m->all && of_both;
	}
	for (uint32_t i = 0; i < strays->len; i++)
		list_frames(m, &g_array_index(strays, struct stray, i));
	return strays;
}

static uint32_t common_frames(struct matcher *m, const struct stray *x, const struct stray *y)
{
	uint32_t common = 0;

	m->steps += x->frames_cnt + y->frames_cnt;
	for (uint32_t i = 0, n = 0; i < x->frames_cnt && n < y->frames_cnt;) {
		uint32_t a = x->frames[i], b = y->frames[n];

		common += a == b;
		i += a <= b;
		n += a >= b;
	}
	return common;
}

/* Share of the longer stack's frames that are the shorter one's; 0 if too many differ. */
static double likeness(struct matcher *m, const struct stray *x, const struct stray *y)
{
	uint32_t longer = MAX(x->frames_cnt, y->frames_cnt), shorter = MIN(x->frames_cnt, y->frames_cnt);

	if (!longer)
		return 1;
	if ((double)shorter < MOST * (double)longer)
		return 0;
	double common = common_frames(m, x, y);
	return common < ALL * (double)shorter ? 0 : common / (double)longer;
}

ORDER(by_likeness, struct pair, ORDER_HIGH(alike) ORDER_HIGH(ns) ORDER_LOW(before) ORDER_LOW(after))

/* Indices of stacks by family, heaviest first. */
static GHashTable *by_family(struct matcher *m, const GArray *strays)
{
	GHashTable *families = g_hash_table_new_full(hash_u64, g_int64_equal, NULL, (GDestroyNotify)g_array_unref);

	EACH_ROW(i, struct stray, s, strays) {
		GArray *family = g_hash_table_lookup(families, &s->family);

		if (!family) {
			family = g_array_new(FALSE, FALSE, sizeof(uint32_t));
			g_hash_table_insert(families, &s->family, family);
		}
		if (family->len < FAMILY_MAX)
			g_array_append_val(family, i);
		else
			m->all = false;
	}
	return families;
}

static GArray *alike_pairs(struct matcher *m, const GArray *before, const GArray *after)
{
	GArray *pairs = g_array_new(FALSE, FALSE, sizeof(struct pair));
	g_autoptr(GHashTable) families = by_family(m, after);

	EACH_ROW(i, const struct stray, x, before) {
		const GArray *family = g_hash_table_lookup(families, &x->family);

		for (uint32_t n = 0; family && n < family->len; n++) {
			uint32_t at = g_array_index(family, uint32_t, n);
			const struct stray *y = &g_array_index(after, struct stray, at);

			if (m->steps > STEPS_MAX) {
				m->all = false;
				return pairs;
			}
			struct pair pair = {
				.before = i, .after = at, .alike = likeness(m, x, y), .ns = MIN(x->ns, y->ns)
			};
			if (pair.alike >= MOST * ALL)
				g_array_append_val(pairs, pair);
		}
	}
	return pairs;
}

/* Matches stacks of two lists that moved. */
static void pair_off(struct matcher *m, const GArray *old, const GArray *new, struct diff_moves *moves)
{
	g_autoptr(GArray) pairs = alike_pairs(m, old, new);

	g_array_sort(pairs, by_likeness);
	EACH_ROW(i, const struct pair, pair, pairs) {
		uint32_t from = g_array_index(old, struct stray, pair->before).node;
		uint32_t to = g_array_index(new, struct stray, pair->after).node;

		if (moves->to[DIFF_BEFORE][from] || moves->was[to])
			continue;
		moves->to[DIFF_BEFORE][from] = to;
		moves->was[to] = from;
	}
}

/* The stack of both sides that contains x with the fewest missing frames; NULL: none. */
static const struct stray *whole_of(struct matcher *m, const struct stray *x, const GArray *wholes,
				    const GArray *family)
{
	const struct stray *best = NULL;

	for (uint32_t n = 0; family && x->frames_cnt && n < family->len && m->steps <= STEPS_MAX; n++) {
		const struct stray *y = &g_array_index(wholes, struct stray, g_array_index(family, uint32_t, n));

		if (y->frames_cnt > x->frames_cnt && (!best || y->frames_cnt < best->frames_cnt) &&
		    (double)x->ns <= LITTLE * (double)y->ns && common_frames(m, x, y) == x->frames_cnt)
			best = y;
	}
	return best;
}

static void move_incomplete(struct matcher *m, const GArray *strays, const GArray *wholes, const uint32_t *was,
			    uint32_t *to)
{
	bool all = m->all;
	g_autoptr(GHashTable) families = by_family(m, wholes);

	m->all = all;	/* stacks skipped here do not make the result incomplete */
	EACH_ROW(i, const struct stray, x, strays) {
		if (to[x->node] || was[x->node])
			continue;
		const struct stray *whole = whole_of(m, x, wholes, g_hash_table_lookup(families, &x->family));
		to[x->node] = whole ? whole->node : 0;
	}
}

struct diff_moves *diff_moves_new(const struct tree *t, const uint64_t *const weights[DIFF_SIDES], bool same_kernel)
{
	struct diff_moves *moves = g_new0(struct diff_moves, 1);
	g_autofree uint32_t *loose = loose_names(t);
	struct matcher m = { .t = t, .loose = loose, .same_kernel = same_kernel, .all = true };
	const uint64_t *before = weights[DIFF_BEFORE], *after = weights[DIFF_AFTER];
	g_autoptr(GArray) old = ends_of(&m, before, after, false), new = ends_of(&m, after, before, false);

	moves->was = g_new0(uint32_t, t->nodes->len + 1);
	for (unsigned side = 0; side < DIFF_SIDES; side++)
		moves->to[side] = g_new0(uint32_t, t->nodes->len + 1);
	pair_off(&m, old, new, moves);
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		g_autoptr(GArray) wholes = ends_of(&m, weights[side], weights[!side], true);

		move_incomplete(&m, side == DIFF_BEFORE ? old : new, wholes, moves->was, moves->to[side]);
	}
	moves->all = m.all;
	return moves;
}

void diff_moves_free(struct diff_moves *moves)
{
	if (!moves)
		return;
	for (unsigned side = 0; side < DIFF_SIDES; side++)
		g_free(moves->to[side]);
	g_free(moves->was);
	g_free(moves);
}
