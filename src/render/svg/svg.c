/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/svg/svg.h"

#include <inttypes.h>
#include <limits.h>

#include "base/each.h"
#include "base/module.h"
#include "render/svg/head.h"

/*
 * One <g> per frame, depth first, with its position in units of the weight in data-f ("start,total,depth"), from which
 * web/flame.js rebuilds the tree.  Tooltips are complete, so that the picture works without scripts.
 */

#define ROW_PX 18
#define CHAR_PX 7.25	/* width of a 12 px monospaced character: 0.602 em in common fonts */
#define TEXT_PAD_PX 4
#define GAP_PX 0.6	/* between neighbouring frames */
#define ELIDED_COLOUR 0xe6e9ee
#define IDLE_MAX_ROWS 14	/* as high as its text is long */

struct canvas {
	const struct tree *t;
	const struct svg_options *options;
	GString *out;
	double px_per_unit;
	double threshold;	/* in units of the weight */
	double min_width;	/* the same as a share of the whole */
	unsigned top_px, rows, max_rows;
	uint64_t *start;	/* per node: its start */
	uint32_t *size;		/* per node: number of frames in its subtree */
};

static bool is_drawn(const struct canvas *c, uint32_t i)
{
	const struct tree_node *n = tree_node(c->t, i);

	return i == 0 || ((double)n->total >= c->threshold && n->depth < c->max_rows);
}

/* Children of i that are too narrow or too deep to draw: number of frames in their subtrees, and summed weight. */
static struct svg_elided elided_below(const struct canvas *c, uint32_t i)
{
	struct svg_elided e = { 0 };

	for (uint32_t child = tree_node(c->t, i)->first_child; child != TREE_NONE;
	     child = tree_node(c->t, child)->next_sibling) {
		if (is_drawn(c, child))
			continue;
		e.frames_cnt += c->size[child];
		e.amount += tree_node(c->t, child)->total;
	}
	if (tree_node(c->t, i)->depth + 1 >= c->max_rows) {
		e.deep_frames_cnt = e.frames_cnt;
		e.deep_amount = e.amount;
	}
	return e;
}

static struct svg_elided measure_tree(struct canvas *c)
{
	struct svg_elided all = { 0 };
	const struct tree *t = c->t;

	for (uint32_t i = t->nodes->len; i-- > 0;) {
		c->size[i]++;
		if (i)
			c->size[tree_node(t, i)->parent] += c->size[i];
	}
	c->rows = 1;
	for (uint32_t i = 0; i != TREE_NONE; i = tree_next(t, i, !is_drawn(c, i))) {
		if (!is_drawn(c, i))
			continue;
		struct svg_elided below = elided_below(c, i);
		bool marker = below.amount && (double)below.amount >= c->threshold;

		ADD_MEMBERS(&all, &below, frames_cnt, amount, deep_frames_cnt, deep_amount);
		c->rows = MAX(c->rows, tree_node(t, i)->depth + 1 + marker);
	}
	all.min_width = c->min_width;
	return all;
}

static gint by_total(gconstpointer a, gconstpointer b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x < y) - (x > y);
}

/* Raises the threshold until at most max_frames are left: more are slow in every viewer. */
static void limit_frames(struct canvas *c)
{
	g_autoptr(GArray) totals = g_array_new(FALSE, FALSE, sizeof(uint64_t));
	unsigned limit = c->options->max_frames;

	for (uint32_t i = 0; i != TREE_NONE; i = tree_next(c->t, i, !is_drawn(c, i)))
		if (is_drawn(c, i))
			g_array_append_val(totals, tree_node(c->t, i)->total);
	if (!limit || totals->len <= limit)
		return;
	g_array_sort(totals, by_total);
	uint64_t first_out = g_array_index(totals, uint64_t, limit);
	c->threshold = (double)first_out * (1 + 1e-12) + 0.5;
	c->min_width = c->threshold / (double)MAX(tree_node(c->t, 0)->total, 1);
}

static void append_shares(const struct canvas *c, uint64_t amount, uint64_t parent_total)
{
	GString *out = c->out;

	svg_amount(out, c->t->weight, amount);
	g_string_append(out, ", ");
	svg_percent(out, amount, tree_node(c->t, 0)->total);
	g_string_append(out, " of all, ");
	svg_percent(out, amount, parent_total);
	g_string_append(out, " of parent");
}

static void append_states(const struct canvas *c, const struct tree_node *n)
{
	const char *before = "\n";

	for (unsigned s = 0; s < TREE_STATE_COUNT; s++) {
		if (!n->states[s])
			continue;
		g_string_append_printf(c->out, "%s%s ", before, svg_state_text(s));
		svg_amount(c->out, c->t->weight, n->states[s]);
		before = ", ";
	}
}

/* "/src/queue.c:12-40": the source lines of all frames in the box. */
static void append_lines(const struct canvas *c, const struct tree_node *n)
{
	if (!n->file) {
		g_string_append(c->out, n->has_inlined ? "inlined\n" : "");
		return;
	}
	svg_escape_cut(c->out, n->file, 240);
	if (n->line_first)
		g_string_append_printf(c->out, ":%" PRIu32, n->line_first);
	if (n->line_last > n->line_first)
		g_string_append_printf(c->out, "-%" PRIu32, n->line_last);
	if (n->has_other_files)
		g_string_append(c->out, " and other files");
	if (n->has_inlined)
		g_string_append(c->out, n->has_called ? ", inlined and called" : ", inlined");
	g_string_append_c(c->out, '\n');
}

static void append_painted_lines(const struct canvas *c, uint32_t i)
{
	const struct svg_paint *paint = c->options->paint;
	g_autoptr(GString) text = g_string_new(NULL);

	paint->tooltip(paint->data, i, text);
	g_auto(GStrv) lines = g_strsplit(text->str, "\n", -1);
	for (char **line = lines; *line; line++) {
		g_string_append(c->out, line == lines ? "" : "\n");
		svg_escape(c->out, *line);
	}
}

/* "12 waits, longest 3 ms" and the states, as far as they are known. */
static void append_waits(const struct canvas *c, const struct tree_node *n)
{
	bool counts = c->t->weight != WEIGHT_COUNT && !(c->t->unknown & UNKNOWN_COUNTS);
	bool longest = !(c->t->unknown & UNKNOWN_DURATIONS);

	if (counts || longest)
		g_string_append_c(c->out, '\n');
	if (counts) {
		svg_count(c->out, n->count);
		g_string_append_printf(c->out, " %s", profile_rows_word(c->t->rows_are, n->count));
	}
	if (longest) {
		g_string_append(c->out, !counts ? "longest " : n->count == 1 ? ", " : ", longest ");
		svg_time(c->out, n->max_ns);
	}
	if (!(c->t->unknown & (UNKNOWN_STATES | UNKNOWN_PARTS)))
		append_states(c, n);
}

/* The tooltip.  flame.js reads the full name from its first line. */
static void append_title(const struct canvas *c, uint32_t i)
{
	const struct tree_node *n = tree_node(c->t, i);
	const struct tree_label *label = tree_node_label(c->t, i);
	uint64_t parent_total = i ? tree_node(c->t, n->parent)->total : n->total;

	g_string_append(c->out, "<title>");
	svg_escape(c->out, label->text);
	g_string_append_c(c->out, '\n');
	if (label->module) {
		svg_escape_cut(c->out, module_base_name(label->module), 120);
		if (label->why != FRAME_NAMED)
			g_string_append_printf(c->out, " (%s)", frame_why_text(label->why));
		g_string_append_c(c->out, '\n');
	} else if (label->why != FRAME_NAMED) {
		g_string_append_printf(c->out, "%s\n", frame_why_text(label->why));
	}
	append_lines(c, n);
	if (c->options->paint) {
		append_painted_lines(c, i);
		g_string_append(c->out, "</title>");
		return;
	}
	append_shares(c, n->total, parent_total);
	append_waits(c, n);
	g_string_append(c->out, "</title>");
}

static double row_y(const struct canvas *c, uint32_t depth)
{
	return c->top_px + (double)(c->options->inverted ? depth : c->rows - 1 - depth) * ROW_PX;
}

static void append_box(const struct canvas *c, uint64_t start, uint64_t amount, uint32_t depth, uint32_t colour,
		       const char *text)
{
	double x = SVG_PAD_PX + (double)start * c->px_per_unit, width = (double)amount * c->px_per_unit;
	double y = row_y(c, depth);
	int cells = (int)((width - 2 * TEXT_PAD_PX) / CHAR_PX);

	g_string_append(c->out, "<rect x=\"");
	svg_px(c->out, x);
	g_string_append(c->out, "\" y=\"");
	svg_px(c->out, y);
	g_string_append(c->out, "\" width=\"");
	svg_px(c->out, MAX(width - GAP_PX, 0.3));
	g_string_append_printf(c->out, "\" height=\"%d\" fill=\"#%06x\"/>", ROW_PX - 1, colour);
	if (cells >= 3) {
		g_string_append(c->out, "<text x=\"");
		svg_px(c->out, x + TEXT_PAD_PX);
		g_string_append(c->out, "\" y=\"");
		svg_px(c->out, y + 12.5);
		g_string_append(c->out, "\">");
		svg_escape_cut(c->out, text, (unsigned)cells);
		g_string_append(c->out, "</text>");
	}
}

static void append_frame(const struct canvas *c, uint32_t i)
{
	const struct tree_node *n = tree_node(c->t, i);
	const struct tree_label *label = tree_node_label(c->t, i);
	const struct svg_paint *paint = c->options->paint;

	g_autoptr(GString) text = g_string_new(NULL);

	g_string_append_printf(c->out, "<g class=\"f\" data-f=\"%" PRIu64 ",%" PRIu64 ",%u\"", c->start[i], n->total,
			       n->depth);
	if (paint)
		paint->sign(paint->data, i, text);
	if (text->len) {	/* flame.js sets the text again */
		g_string_append(c->out, " data-sign=\"");
		svg_escape(c->out, text->str);
		g_string_append_c(c->out, '"');
	}
	g_string_append_c(c->out, '>');
	g_string_append(text, label->text);
	append_title(c, i);
	append_box(c, c->start[i], n->total, n->depth,
		   paint ? paint->colour(paint->data, i) : palette_colour(c->options->palette, label, n), text->str);
	g_string_append(c->out, "</g>\n");
}

/* How many frames lie deeper, and the leaf with most of their time: it says what the thread waits for. */
static char *deep_text(const struct canvas *c, uint32_t parent, const struct svg_elided *e)
{
	uint32_t leaf = parent;

	for (uint32_t child = tree_node(c->t, leaf)->first_child; child != TREE_NONE;
	     child = tree_node(c->t, leaf)->first_child) {
		for (leaf = child; child != TREE_NONE; child = tree_node(c->t, child)->next_sibling)
			if (tree_node(c->t, child)->total > tree_node(c->t, leaf)->total)
				leaf = child;
	}
	return g_strdup_printf("%" PRIu64 " deeper, to %s", e->deep_frames_cnt, tree_node_label(c->t, leaf)->text);
}

/* Draws children that are left out as one grey box, if they are wide enough together. */
static void append_elided(const struct canvas *c, uint32_t parent, uint64_t start, const struct svg_elided *e)
{
	const struct tree_node *n = tree_node(c->t, parent);
	bool deep = e->deep_frames_cnt != 0;
	g_autofree char *text = deep ? deep_text(c, parent, e) : g_strdup_printf("%" PRIu64 " more", e->frames_cnt);

	g_string_append_printf(c->out, "<g class=\"f e\" data-f=\"%" PRIu64 ",%" PRIu64 ",%u\"><title>", start,
			       e->amount, n->depth + 1);
	svg_escape(c->out, text);
	g_string_append_c(c->out, '\n');
	if (deep) {
		g_string_append_printf(
			c->out, "frames deeper than %u: all of them are in the page that \"flame -o x.html\" makes\n",
			c->max_rows);
	} else {
		g_string_append(c->out, e->frames_cnt == 1 ? "a frame narrower than " : "frames, each narrower than ");
		svg_percent(c->out, (uint64_t)(c->min_width * 1e9), 1000000000);
		g_string_append(c->out, " of the graph\n");
	}
	append_shares(c, e->amount, n->total);
	g_string_append(c->out, "</title>");
	append_box(c, start, e->amount, n->depth + 1, ELIDED_COLOUR, text);
	g_string_append(c->out, "</g>\n");
}

static void append_frames(const struct canvas *c)
{
	const struct tree *t = c->t;

	g_string_append(c->out, "<g class=\"frames\">\n");
	for (uint32_t i = 0; i != TREE_NONE; i = tree_next(t, i, !is_drawn(c, i))) {
		if (!is_drawn(c, i))
			continue;
		uint64_t at = c->start[i];
		struct svg_elided below = elided_below(c, i);

		append_frame(c, i);
		for (uint32_t child = tree_node(t, i)->first_child; child != TREE_NONE;
		     child = tree_node(t, child)->next_sibling) {
			if (!is_drawn(c, child))
				continue;
			c->start[child] = at;
			at += tree_node(t, child)->total;
		}
		if (below.amount && (double)below.amount >= c->threshold)
			append_elided(c, i, at, &below);
	}
	g_string_append(c->out, "</g>\n");
}

static unsigned idle_px(const struct svg_options *o)
{
	return o->idle ? SVG_IDLE_PX : 0;
}

/* Beside the root and the frames on it. */
static void append_idle(const struct canvas *c)
{
	const struct svg_options *o = c->options;
	unsigned rows = MIN(c->rows, IDLE_MAX_ROWS);

	svg_idle_append(c->out, o->idle, c->t->weight, o->width_px - SVG_PAD_PX - SVG_IDLE_PX,
			row_y(c, o->inverted ? 0 : rows - 1), rows * ROW_PX);
}

static void append_document(struct canvas *c, const struct svg_head *head)
{
	const struct svg_options *o = c->options;
	unsigned bottom_px = c->top_px + c->rows * ROW_PX;
	unsigned height_px = bottom_px + head->foot_height_px;

	g_string_append_printf(
		c->out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"offcpu\" width=\"%u\" height=\"%u\" "
		"viewBox=\"0 0 %u %u\" style=\"background:%s\" role=\"graphics-document\" data-unit=\"%s\" data-inverted=\"%d\" "
		"data-top=\"%u\" data-rows=\"%u\" data-row=\"%d\" data-pad=\"%d\" data-beside=\"%u\">\n<title>",
		o->width_px, height_px, o->width_px, height_px, palette_background(o->palette),
		c->t->weight == WEIGHT_COUNT ? "waits" : "ns", o->inverted, c->top_px, c->rows, ROW_PX, SVG_PAD_PX,
		idle_px(o));
	svg_escape(c->out, head->title);
	g_string_append_printf(c->out, "</title>\n<style><![CDATA[\n%s]]></style>\n", web_flame_css);
	g_string_append_printf(c->out, "<rect class=\"bg\" width=\"100%%\" height=\"100%%\" fill=\"%s\"/>\n",
			       palette_background(o->palette));
	append_frames(c);
	if (o->idle)
		append_idle(c);
	svg_foot_append(head, bottom_px, c->out);
	svg_head_append(head, o, c->out);
	g_string_append_printf(c->out, "<script><![CDATA[\n%s]]></script>\n</svg>\n", web_flame_js);
}

static void append_svg(const struct profile *p, const struct tree *t, const struct svg_options *options, GString *out,
		       struct svg_elided *ret_elided)
{
	uint64_t total = tree_node(t, 0)->total;
	g_autofree uint64_t *start = g_new0(uint64_t, t->nodes->len);
	g_autofree uint32_t *size = g_new0(uint32_t, t->nodes->len);
	struct canvas c = {
		.t = t, .options = options, .out = out, .start = start, .size = size,
		.px_per_unit = (options->width_px - 2.0 * SVG_PAD_PX - idle_px(options)) / (double)MAX(total, 1),
		.threshold = options->min_width * (double)total, .min_width = options->min_width,
		.max_rows = options->max_rows ? options->max_rows : UINT_MAX,
	};
	limit_frames(&c);
	struct svg_elided elided = measure_tree(&c);
	struct svg_head *head = svg_head_new(p, t, options, &elided);

	c.top_px = head->height_px;
	append_document(&c, head);
	svg_head_free(head);
	if (ret_elided)
		*ret_elided = elided;
}

void svg_flame(const struct profile *p, const struct tree *t, const struct svg_options *options, GString *out,
	       struct svg_elided *ret_elided)
{
	g_string_append(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	append_svg(p, t, options, out, ret_elided);
}
