/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/svg/svg.h"

#include <math.h>

#include "render/text/diff.h"

/*
 * The graph has two branches: the stacks of the side that gives the width, and a separate node for those that only the
 * other side has.  Each node has the time of both sides below it, and the standard error of their difference, from the
 * table of stacks.
 */

#define GREY 0xd9dce2
#define T_OF_CHANGE 4	/* a change of fewer standard errors is drawn as unchanged */

struct mark {
	double before, after;	/* scaled, of the subtree */
	double variance;	/* of the difference */
	bool alone;		/* below `apart`: only one side has it */
};

struct picture {
	struct diff *d;
	const struct svg_diff_options *options;
	enum diff_side wide, other;
	struct tree *t;
	struct mark *source;	/* by node of the diff's tree */
	uint32_t *nodes;	/* by node of the picture: its node in the diff's tree */
	struct mark *marks;	/* by node of the picture */
	uint32_t apart;		/* node of what only the other side has; 0: none */
};

static uint64_t weight_at(const struct diff *d, enum diff_side side, uint32_t node)
{
	return g_array_index(d->weights[side], uint64_t, node);
}

static void sum_up(struct mark *marks, const struct tree *t)
{
	for (uint32_t i = t->nodes->len; i-- > 1;) {
		struct mark *parent = &marks[tree_node(t, i)->parent];

		parent->before += marks[i].before;
		parent->after += marks[i].after;
		parent->variance += marks[i].variance;
	}
}

static void measure_source(struct picture *pic)
{
	struct diff *d = pic->d;
	const struct diff_table *stacks = diff_table(d, DIFF_BY_STACK);

	pic->source = g_new0(struct mark, d->tree->nodes->len);
	for (uint32_t i = 0; i < d->tree->nodes->len; i++) {
		pic->source[i].before = d->scale[DIFF_BEFORE] * (double)weight_at(d, DIFF_BEFORE, i);
		pic->source[i].after = d->scale[DIFF_AFTER] * (double)weight_at(d, DIFF_AFTER, i);
	}
	/* Without counts noise is unknown, so every difference is drawn. */
	for (unsigned i = 0; diff_has_counts(d) && i < stacks->rows->len; i++) {
		const struct diff_row *r = &g_array_index(stacks->rows, struct diff_row, i);
		pic->source[r->key].variance += r->time.se * r->time.se;
	}
	sum_up(pic->source, d->tree);
}

/* Path of labels from a node of the diff's tree to the root, in the picture's numbers; returns its length. */
static size_t path_of(const struct picture *pic, const uint32_t *labels, uint32_t node, uint32_t *path)
{
	size_t cnt = 0;

	for (; node; node = tree_node(pic->d->tree, node)->parent)
		path[cnt++] = labels[tree_node(pic->d->tree, node)->label];
	for (size_t i = 0; i < cnt / 2; i++) {
		uint32_t swap = path[i];
		path[i] = path[cnt - 1 - i];
		path[cnt - 1 - i] = swap;
	}
	return cnt;
}

/* Maps the nodes of a path to nodes of the diff's tree. */
static void note_nodes(struct picture *pic, GArray *nodes, uint32_t at, uint32_t node)
{
	if (nodes->len < pic->t->nodes->len)
		g_array_set_size(nodes, pic->t->nodes->len);
	for (; node && !g_array_index(nodes, uint32_t, at); node = tree_node(pic->d->tree, node)->parent) {
		g_array_index(nodes, uint32_t, at) = node;
		at = tree_node(pic->t, at)->parent;
	}
}

/* Nanoseconds of the side that determines the width. */
static uint64_t width_of(const struct picture *pic, enum diff_side side, uint32_t node)
{
	uint64_t ns = weight_at(pic->d, side, node);
	double scale = pic->d->scale[pic->wide];

	if (side == pic->wide || !(scale > 0))
		return ns;
	return (uint64_t)llround(fmin((double)ns * pic->d->scale[side] / scale, (double)PROFILE_NS_MAX));
}

static void build_tree(struct picture *pic)
{
	const struct diff *d = pic->d;
	g_autofree uint32_t *labels = g_new(uint32_t, d->tree->labels->len + 1);
	g_autofree uint32_t *path = g_new(uint32_t, TREE_MAX_DEPTH + 2);
	GArray *nodes = g_array_new(FALSE, TRUE, sizeof(uint32_t));
	uint32_t apart = 0;

	pic->t = tree_new(WEIGHT_OFF_CPU, false);
	for (uint32_t i = 0; i < d->tree->labels->len; i++)
		labels[i] = tree_label(pic->t, &g_array_index(d->tree->labels, struct tree_label, i));
	/* The label sorts after all names. */
	path[0] = tree_label(pic->t, &(struct tree_label){ .text = pic->options->negated ? "\u2205 only in AFTER"
											: "\u2205 only in BEFORE",
							   .kind = TREE_COMM });
	for (uint32_t i = 1; i < d->tree->nodes->len; i++) {
		bool is_wide = weight_at(d, pic->wide, i) != 0;
		struct tree_event event = { .count = 0 };

		if (!is_wide && !weight_at(d, pic->other, i))
			continue;
		event.states[TREE_STATE_SLEEPING] = width_of(pic, is_wide ? pic->wide : pic->other, i);
		size_t cnt = path_of(pic, labels, i, path + 1);
		uint32_t at = tree_add(pic->t, is_wide ? path + 1 : path, NULL, is_wide ? cnt : cnt + 1, &event);
		note_nodes(pic, nodes, at, i);
		for (uint32_t n = at; !is_wide && !apart; n = tree_node(pic->t, n)->parent)
			apart = tree_node(pic->t, n)->parent == 0 ? n : 0;
	}
	if (nodes->len < pic->t->nodes->len)
		g_array_set_size(nodes, pic->t->nodes->len);
	pic->apart = apart;
	pic->nodes = (uint32_t *)(void *)g_array_free(nodes, FALSE);
	tree_finish(pic->t);
}

/* Below `apart` a node has the time of the other side alone, elsewhere that of both sides. */
static void mark_nodes(struct picture *pic)
{
	const uint32_t cnt = pic->t->nodes->len;
	const double scale = pic->d->scale[pic->wide];

	pic->marks = g_new0(struct mark, cnt);
	pic->marks[0] = pic->source[0];
	for (uint32_t i = 1; i < cnt; i++) {
		const struct tree_node *n = tree_node(pic->t, i);

		pic->marks[i].alone = i == pic->apart || pic->marks[n->parent].alone;
		if (!pic->marks[i].alone) {
			pic->marks[i] = pic->source[pic->nodes[i]];
			continue;
		}
		double scaled = (double)n->total * (scale > 0 ? scale : 1);
		*(pic->options->negated ? &pic->marks[i].after : &pic->marks[i].before) = scaled;
	}
}

static double share_of_change(const struct mark *m)
{
	double most = fmax(m->before, m->after);

	if (m->alone)
		return m->after > m->before ? 1 : -1;
	if (!(most > 0) || fabs(m->after - m->before) <= T_OF_CHANGE * sqrt(m->variance))
		return 0;
	return (m->after - m->before) / most;
}

/* Between white and the full colour; text on it keeps a contrast of 5:1. */
static uint32_t tint(uint32_t full, double share)
{
	double strength = 0.25 + 0.75 * fmin(1, sqrt(fabs(share)));
	uint32_t colour = 0;

	for (unsigned shift = 0; shift <= 16; shift += 8) {
		double channel = (double)(full >> shift & 0xff);
		colour |= (uint32_t)lround(255 + (channel - 255) * strength) << shift;
	}
	return colour;
}

#define ORANGE 0xf28c28
#define BLUE 0x6aa5e6

static uint32_t colour(const void *data, uint32_t node)
{
	const struct picture *pic = data;
	double share = share_of_change(&pic->marks[node]);

	return share == 0 ? GREY : tint(share > 0 ? ORANGE : BLUE, share);
}

static void append_share(GString *out, const struct mark *m)
{
	if (m->before > 0 && m->after > 0)
		diff_text_percent(out, 100 * (m->after - m->before) / m->before);
	else
		g_string_append(out, m->after > 0 ? "+ new" : "\u2212 gone");
}

static void append_sign(const void *data, uint32_t node, GString *out)
{
	const struct picture *pic = data;
	const struct mark *m = &pic->marks[node];

	if (share_of_change(m) != 0) {
		append_share(out, m);
		g_string_append_c(out, ' ');
	}
}

static void append_scaled(GString *out, const struct diff *d, double ns)
{
	svg_time(out, (uint64_t)llround(fmin(fmax(ns, 0), (double)PROFILE_NS_MAX)));
	g_string_append(out, diff_text_unit(d));
}

static void tooltip(const void *data, uint32_t node, GString *out)
{
	const struct picture *pic = data;
	const struct mark *m = &pic->marks[node];
	double by = m->after - m->before;

	g_string_append(out, "before ");
	append_scaled(out, pic->d, m->before);
	g_string_append(out, ", after ");
	append_scaled(out, pic->d, m->after);
	g_string_append(out, by < 0 ? "\nchange \u2212" : "\nchange +");
	append_scaled(out, pic->d, fabs(by));
	g_string_append(out, ", ");
	append_share(out, m);
	if (share_of_change(m) == 0 && by != 0)
		g_string_append(out, ", within the noise");
}

static void draw_picture(GString *out, struct picture *pic)
{
	const struct svg_diff_options *o = pic->options;
	const char *only = o->negated ? "only in AFTER: beside the others, as wide as it is" :
					"only in BEFORE: beside the others, as wide as it was";
	const struct svg_key keys[] = {
		{ tint(ORANGE, 0.1), "+ a little more" },	 { tint(ORANGE, 1), "+ much more, or new" },
		{ GREY, "the same, or noise" },		 { tint(BLUE, 0.1), "\u2212 a little less" },
		{ tint(BLUE, 1), "\u2212 much less, or gone" },
	};
	g_autoptr(GString) before = g_string_new("BEFORE is "), after = g_string_new("AFTER is ");

	diff_text_side(before, pic->d, DIFF_BEFORE);
	diff_text_side(after, pic->d, DIFF_AFTER);
	const char *subtitle[] = { o->finding, before->str, after->str, NULL };
	const char *foot[] = { o->negated ? "as wide as BEFORE" : "as wide as AFTER", pic->apart ? only : NULL, NULL };
	const struct svg_paint paint = {
		.colour = colour, .sign = append_sign, .tooltip = tooltip, .data = pic, .legend = keys,
		.legend_cnt = G_N_ELEMENTS(keys), .subtitle = subtitle, .foot = foot,
	};
	const struct svg_options options = {
		.title = o->title ? o->title : o->negated ? "What changed from BEFORE to AFTER, as wide as BEFORE" :
							    "What changed from BEFORE to AFTER, as wide as AFTER",
		.width_px = o->width_px, .min_width = o->min_width, .max_frames = SVG_MAX_FRAMES,
		.max_rows = SVG_MAX_ROWS, .palette = PALETTE_STATE, .inverted = o->inverted, .paint = &paint,
	};

	svg_flame(NULL, pic->t, &options, out, NULL);
}

bool svg_diff(GString *out, struct diff *d, const struct svg_diff_options *options)
{
	struct picture pic = {
		.d = d, .options = options, .wide = options->negated ? DIFF_BEFORE : DIFF_AFTER,
		.other = options->negated ? DIFF_AFTER : DIFF_BEFORE,
	};

	measure_source(&pic);
	build_tree(&pic);
	mark_nodes(&pic);
	bool has_time = tree_node(pic.t, 0)->total != 0;
	if (has_time)
		draw_picture(out, &pic);
	tree_free(pic.t);
	g_free(pic.source);
	g_free(pic.nodes);
	g_free(pic.marks);
	return has_time;
}
