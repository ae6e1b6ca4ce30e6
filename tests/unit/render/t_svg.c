/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <locale.h>
#include <math.h>
#include <string.h>

#include "../../web/fixture.h"
#include "analyse/accounts.h"
#include "render/svg/svg.h"

/* ---- a reader of the documents, by GLib's XML parser */

struct box {
	uint64_t start, total;
	unsigned depth;
	double x, y, width;
	uint32_t colour;
	bool elided;
	char *title;	/* whole tooltip */
	char *text;	/* what is written on it, or NULL */
};

struct document {
	GPtrArray *boxes;	/* struct box */
	GString *words;		/* all text of head and foot */
	struct box *in_box;
	double view_width, view_height;
	bool in_title, in_text;
};

static void box_free(gpointer v)
{
	struct box *b = v;

	g_free(b->title);
	g_free(b->text);
	g_free(b);
}

static const char *attribute(const char **names, const char **values, const char *name)
{
	for (; *names; names++, values++)
		if (strcmp(*names, name) == 0)
			return *values;
	return NULL;
}

static void on_start(GMarkupParseContext *context, const char *element, const char **names, const char **values,
		     gpointer data, GError **error)
{
	struct document *d = data;
	const char *place = attribute(names, values, "data-f"), *class = attribute(names, values, "class");

	if (strcmp(element, "svg") == 0) {
		g_auto(GStrv) view = g_strsplit(attribute(names, values, "viewBox"), " ", 4);
		d->view_width = g_ascii_strtod(view[2], NULL);
		d->view_height = g_ascii_strtod(view[3], NULL);
	} else if (place) {
		g_auto(GStrv) parts = g_strsplit(place, ",", 3);
		struct box *b = g_new0(struct box, 1);

		b->start = g_ascii_strtoull(parts[0], NULL, 10);
		b->total = g_ascii_strtoull(parts[1], NULL, 10);
		b->depth = (unsigned)g_ascii_strtoull(parts[2], NULL, 10);
		b->elided = strcmp(class, "f e") == 0;
		d->in_box = b;
		g_ptr_array_add(d->boxes, b);
	} else if (strcmp(element, "rect") == 0 && d->in_box) {
		d->in_box->x = g_ascii_strtod(attribute(names, values, "x"), NULL);
		d->in_box->y = g_ascii_strtod(attribute(names, values, "y"), NULL);
		d->in_box->width = g_ascii_strtod(attribute(names, values, "width"), NULL);
		d->in_box->colour = (uint32_t)g_ascii_strtoull(attribute(names, values, "fill") + 1, NULL, 16);
	}
	d->in_title = strcmp(element, "title") == 0;
	d->in_text = strcmp(element, "text") == 0;
}

static void on_end(GMarkupParseContext *context, const char *element, gpointer data, GError **error)
{
	struct document *d = data;

	if (strcmp(element, "g") == 0)
		d->in_box = NULL;
	d->in_title = d->in_text = false;
}

static void on_text(GMarkupParseContext *context, const char *text, gsize len, gpointer data, GError **error)
{
	struct document *d = data;
	char **where = d->in_box && d->in_title ? &d->in_box->title : d->in_box && d->in_text ? &d->in_box->text : NULL;

	if (where) {
		g_assert_null(*where);
		*where = g_strndup(text, len);
	} else if (d->in_text) {
		g_string_append_len(d->words, text, (gssize)len);
		g_string_append_c(d->words, '\n');
	}
}

static struct document *parse(const GString *svg)
{
	static const GMarkupParser parser = { .start_element = on_start, .end_element = on_end, .text = on_text };
	struct document *d = g_new0(struct document, 1);
	g_autoptr(GError) error = NULL;

	d->boxes = g_ptr_array_new_with_free_func(box_free);
	d->words = g_string_new(NULL);
	g_assert_true(g_utf8_validate(svg->str, (gssize)svg->len, NULL));
	GMarkupParseContext *context = g_markup_parse_context_new(&parser, G_MARKUP_TREAT_CDATA_AS_TEXT, d, NULL);
	if (g_markup_parse_context_parse(context, svg->str, (gssize)svg->len, &error))
		g_markup_parse_context_end_parse(context, &error);
	g_assert_no_error(error);
	g_markup_parse_context_free(context);
	return d;
}

static void document_free(struct document *d)
{
	g_ptr_array_unref(d->boxes);
	g_string_free(d->words, TRUE);
	g_free(d);
}

static struct box *box_at(const struct document *d, unsigned i)
{
	return g_ptr_array_index(d->boxes, i);
}

static const struct box *box_named(const struct document *d, const char *name)
{
	for (unsigned i = 0; i < d->boxes->len; i++) {
		g_auto(GStrv) lines = g_strsplit(box_at(d, i)->title, "\n", 2);
		if (strcmp(lines[0], name) == 0)
			return box_at(d, i);
	}
	return NULL;
}

static const struct svg_options usual = { .width_px = 1200, .min_width = 0.001 };

static struct document *draw(const struct profile *p, const struct tree_options *tree, const struct svg_options *svg,
			     struct svg_elided *ret_elided)
{
	g_autoptr(GString) out = g_string_new(NULL);
	struct tree *t = tree_from_profile(p, tree);

	svg_flame(p, t, svg, out, ret_elided);
	tree_free(t);
	return parse(out);
}

/* ---- tests */

/* Children lie inside their parent, one row away, side by side; what they leave is self time and what is elided. */
static void check_places(const struct document *d, bool inverted)
{
	const struct box *path[256];

	g_assert_cmpuint(d->boxes->len, >, 10);
	for (unsigned i = 0; i < d->boxes->len; i++) {
		const struct box *b = box_at(d, i);
		g_assert_cmpuint(b->depth, <, G_N_ELEMENTS(path));
		path[b->depth] = b;
		g_assert_cmpfloat(b->x + b->width, <=, d->view_width);
		g_assert_cmpfloat(b->y + 17, <=, d->view_height);
		if (!b->depth)
			continue;
		const struct box *parent = path[b->depth - 1];
		g_assert_cmpuint(b->start, >=, parent->start);
		g_assert_cmpuint(b->start + b->total, <=, parent->start + parent->total);
		g_assert_cmpfloat(b->y, ==, parent->y + (inverted ? 18 : -18));
	}
	for (unsigned i = 0; i < d->boxes->len; i++) {
		for (unsigned k = i + 1; k < d->boxes->len; k++) {
			const struct box *a = box_at(d, i), *b = box_at(d, k);
			if (a->depth == b->depth)
				g_assert_true(a->start + a->total <= b->start || b->start + b->total <= a->start);
		}
	}
	g_assert_cmpfloat(fabs(path[0]->width - (d->view_width - 20)), <, 1);
}

static void test_places(void)
{
	struct profile *p = fixture_server();

	for (unsigned variant = 0; variant < 4; variant++) {
		struct svg_options o = usual;
		o.inverted = variant & 1;
		o.width_px = variant & 2 ? 500 : 1200;
		struct document *d = draw(p, &(struct tree_options){ 0 }, &o, NULL);
		check_places(d, o.inverted);
		document_free(d);
	}
	profile_free(p);
}

/* Every node is drawn or counted: drawn boxes and the elided ones make up the tree. */
static void test_elision(void)
{
	struct profile *p = fixture_server();
	struct tree *t = tree_from_profile(p, &(struct tree_options){ 0 });
	static const double shares[] = { 0, 0.001, 0.02, 0.3 };
	uint64_t total = tree_node(t, 0)->total;

	for (unsigned i = 0; i < G_N_ELEMENTS(shares); i++) {
		struct svg_options o = usual;
		struct svg_elided elided;
		unsigned drawn = 0;
		uint64_t missing = 0;

		o.min_width = shares[i];
		struct document *d = draw(p, &(struct tree_options){ 0 }, &o, &elided);
		for (unsigned k = 0; k < d->boxes->len; k++) {
			drawn += !box_at(d, k)->elided;
			g_assert_true((double)box_at(d, k)->total >= shares[i] * (double)total);
		}
		g_assert_cmpuint(drawn + elided.frames_cnt, ==, t->nodes->len);
		for (uint32_t n = 1; n < t->nodes->len; n++) {
			const struct tree_node *node = tree_node(t, n);
			double least = shares[i] * (double)total;
			if ((double)node->total < least && (double)tree_node(t, node->parent)->total >= least)
				missing += node->total;
		}
		g_assert_cmpuint(elided.amount, ==, missing);
		if (elided.frames_cnt) {
			g_autoptr(GString) figure = g_string_new(" left out, ");
			svg_time(figure, elided.amount);
			g_assert_nonnull(strstr(d->words->str, figure->str));
		} else {
			g_assert_nonnull(strstr(d->words->str, "every frame drawn"));
		}
		document_free(d);
	}
	tree_free(t);
	profile_free(p);
}

static void test_hostile(void)
{
	static const char *const names[] = {
		"<&\"'>]]>", "<script>alert(1)</script>", "]]><x/>", "&amp", "&#0", "\"onload=\"x\"", "a\\x0ab\\x01\\x7f\\x09c",
		"\\u202ereversed\\u202c", "__proto__", "%s%n%d",
	};
	struct profile *p = fixture_hostile();
	g_autoptr(GString) html = g_string_new(NULL);
	struct svg_options o = usual;

	o.title = "</title><script>x</script>]]>";
	o.subtitle = "a\x01\xff<b>";
	o.selection_text = "<i>";
	struct document *d = draw(p, &(struct tree_options){ .by_thread = false }, &o, NULL);
	check_places(d, false);
	for (unsigned i = 0; i < G_N_ELEMENTS(names); i++)
		g_assert_nonnull(box_named(d, names[i]));
	for (unsigned i = 0; i < d->boxes->len; i++)
		for (const char *c = box_at(d, i)->title; *c; c++)
			g_assert_true((uint8_t)*c >= 0x20 || *c == '\n');
	g_assert_nonnull(strstr(d->words->str, "</title><script>x</script>]]>"));
	document_free(d);

	struct tree *t = tree_from_profile(p, &(struct tree_options){ 0 });
	svg_flame(p, t, &o, html, NULL);
	g_assert_null(strstr(html->str, "<script>alert"));
	g_assert_null(strstr(html->str, "<script>x"));
	g_assert_null(strstr(html->str, "<b>"));
	tree_free(t);
	profile_free(p);
}

/* No more frames than asked for, no deeper ones, and all that is left out is counted and said. */
static void test_limits(void)
{
	struct profile *p = fixture_server();
	struct tree *t = tree_from_profile(p, &(struct tree_options){ 0 });
	struct svg_options o = usual;
	struct svg_elided elided;

	o.max_frames = 40;
	o.max_rows = 9;
	struct document *d = draw(p, &(struct tree_options){ 0 }, &o, &elided);
	unsigned drawn = 0, deeper = 0;
	for (unsigned i = 0; i < d->boxes->len; i++) {
		drawn += !box_at(d, i)->elided;
		deeper += strstr(box_at(d, i)->title, " deeper, to ") != NULL;
		g_assert_cmpuint(box_at(d, i)->depth, <=, 9);
	}
	g_assert_cmpuint(drawn, <=, 40);
	g_assert_cmpuint(drawn, >, 10);
	g_assert_cmpuint(deeper, >, 0);
	g_assert_cmpuint(drawn + elided.frames_cnt, ==, t->nodes->len);
	g_assert_cmpuint(elided.deep_frames_cnt, >, 0);
	g_assert_cmpuint(elided.deep_frames_cnt, <, elided.frames_cnt);
	g_assert_cmpfloat(elided.min_width, >, o.min_width);
	g_assert_nonnull(strstr(d->words->str, "frames deeper than 9: "));
	g_assert_nonnull(strstr(d->words->str, " left out, "));
	document_free(d);
	tree_free(t);
	profile_free(p);
}

/* A written label is the name, or its beginning with a mark, and fits its box. */
static void test_labels(void)
{
	struct profile *p = fixture_server();
	struct document *d = draw(p, &(struct tree_options){ 0 }, &usual, NULL);
	unsigned cut = 0, whole = 0;

	for (unsigned i = 0; i < d->boxes->len; i++) {
		const struct box *b = box_at(d, i);
		if (!b->text)
			continue;
		g_assert_cmpfloat(svg_cells(b->text) * 7.2, <=, b->width);
		if (g_str_has_suffix(b->text, "…")) {
			g_assert_cmpint(strncmp(b->text, b->title, strlen(b->text) - strlen("…")), ==, 0);
			cut++;
		} else {
			g_assert_cmpint(strncmp(b->text, b->title, strlen(b->text)), ==, 0);
			g_assert_cmpint(b->title[strlen(b->text)], ==, '\n');
			whole++;
		}
	}
	g_assert_cmpuint(cut, >, 5);
	g_assert_cmpuint(whole, >, 20);
	document_free(d);
	profile_free(p);
}

static void test_tooltip(void)
{
	struct profile *p = profile_new();
	uint32_t a = fixture_thread(p, 7, 7, "app", "app");

	fixture_wait(p, a, 'S', "main;lock@/lib/libx.so.1", 1200, 1500000000, 250000000, 0);
	fixture_wait(p, a, 'D', "main;?1f00@/lib/libx.so.1", 1, 250000000, 0, 0);
	fixture_settle(p);
	struct document *d = draw(p, &(struct tree_options){ 0 }, &usual, NULL);
	g_assert_cmpstr(box_named(d, "lock")->title, ==,
			"lock\nlibx.so.1\n1.75 s, 87.5% of all, 87.5% of parent\n1,200 waits, longest 2.92 ms\n"
			"sleeping 1.50 s, waiting for a CPU 250 ms");
	g_assert_cmpstr(box_named(d, "libx.so.1+0x1f00")->title, ==,
			"libx.so.1+0x1f00\nlibx.so.1 (no symbols in file)\n250 ms, 12.5% of all, 12.5% of parent\n"
			"1 wait, 250 ms\nuninterruptible 250 ms");
	document_free(d);
	d = draw(p, &(struct tree_options){ .weight = WEIGHT_COUNT }, &usual, NULL);
	g_assert_true(g_str_has_prefix(box_named(d, "lock")->title, "lock\nlibx.so.1\n1,200 waits, 99.9% of all"));
	document_free(d);
	profile_free(p);
}

static double luminance(uint32_t rgb)
{
	double sum = 0;
	static const double share[] = { 0.0722, 0.7152, 0.2126 };

	for (unsigned i = 0; i < 3; i++) {
		double c = (rgb >> 8 * i & 255) / 255.0;
		sum += share[i] * (c <= 0.03928 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
	}
	return sum;
}

/* Stable, apart for user and kernel, and readable under the ink. */
static void test_palette(void)
{
	double ink = luminance(0x10151f);

	g_assert_cmpstr(PALETTE_INK, ==, "#10151f");
	for (enum palette palette = 0; palette < PALETTE_CNT; palette++) {
		for (unsigned i = 0; i < 6000; i++) {
			g_autofree char *name = g_strdup_printf("f%u", i / 12);
			struct tree_label label = { .text = name, .kind = i % 12 < 6 ? TREE_USER : TREE_KERNEL };
			struct tree_node node = { .states = { 0 } };

			node.states[i % 6] = 1;
			uint32_t colour = palette_colour(palette, &label, &node);
			g_assert_cmpfloat((luminance(colour) + 0.05) / (ink + 0.05), >=, 5);
			g_assert_cmphex(colour, ==, palette_colour(palette, &label, &node));
			label.kind = TREE_USER;
			uint32_t user = palette_colour(palette, &label, &node);
			label.kind = TREE_KERNEL;
			g_assert_cmphex(user, !=, palette_colour(palette, &label, &node));
		}
	}
}

/* The same function has one colour, wherever it stands and in whatever graph. */
static void test_stable_colours(void)
{
	struct profile *p = fixture_server();
	struct document *a = draw(p, &(struct tree_options){ 0 }, &usual, NULL);
	struct document *b = draw(p, &(struct tree_options){ .reverse = true, .by_thread = true }, &usual, NULL);
	unsigned same = 0;

	for (unsigned i = 0; i < a->boxes->len; i++) {
		g_auto(GStrv) lines = g_strsplit(box_at(a, i)->title, "\n", 3);
		const struct box *other = box_named(b, lines[0]);
		g_auto(GStrv) other_lines = other ? g_strsplit(other->title, "\n", 3) : NULL;
		if (!other || box_at(a, i)->elided || strcmp(lines[1], other_lines[1]) != 0)
			continue;
		g_assert_cmphex(box_at(a, i)->colour, ==, other->colour);
		same++;
	}
	g_assert_cmpuint(same, >, 50);
	document_free(a);
	document_free(b);
	profile_free(p);
}

/* Wakers' frames are aqua, the sleeper's are blue, delimiters grey. */
static void test_chain(void)
{
	struct profile *p = profile_new();
	struct tree *t = tree_new(WEIGHT_OFF_CPU, false);
	struct tree_event e = { .states = { 100 }, .count = 1, .max_ns = 100 };
	g_autoptr(GString) out = g_string_new(NULL);
	struct svg_options o = usual;
	uint32_t path[] = {
		tree_label(t, &(struct tree_label){ .text = "read", .kind = TREE_USER }),
		tree_label(t, &(struct tree_label){ .text = "-", .kind = TREE_DELIMITER }),
		tree_label(t, &(struct tree_label){ .text = "read", .kind = TREE_USER, .waker = true }),
	};

	tree_add(t, path, NULL, 3, &e);
	tree_finish(t);
	o.palette = PALETTE_CHAIN;
	svg_flame(p, t, &o, out, NULL);
	struct document *d = parse(out);
	uint32_t blue = box_at(d, 1)->colour, grey = box_at(d, 2)->colour, aqua = box_at(d, 3)->colour;
	g_assert_cmpuint(blue & 0xff, >, blue >> 8 & 0xff);
	g_assert_cmpuint(aqua >> 8 & 0xff, >, aqua & 0xff);
	g_assert_cmphex(grey & 0xff, ==, grey >> 16);
	g_assert_nonnull(strstr(d->words->str, "waker, user"));
	document_free(d);
	tree_free(t);
	profile_free(p);
}

static void test_state_legend(void)
{
	struct profile *p = fixture_server();
	struct svg_options o = usual;

	o.palette = PALETTE_STATE;
	struct document *d = draw(p, &(struct tree_options){ 0 }, &o, NULL);
	static const char *const words[] = { "sleeping ", "uninterruptible ", "stopped ", "idle or parked ",
					     "waiting for a CPU ", "preempted " };
	for (unsigned i = 0; i < G_N_ELEMENTS(words); i++)
		g_assert_nonnull(strstr(d->words->str, words[i]));
	document_free(d);
	profile_free(p);
}

static void test_words(void)
{
	struct profile *p = fixture_server();
	struct document *d = draw(p, &(struct tree_options){ 0 }, &usual, NULL);

	g_assert_nonnull(strstr(d->words->str, "Off-CPU time by stack\n"));
	g_assert_nonnull(strstr(d->words->str, "db1 · 2026-09-21 14:13:20 UTC, 5.00 s window · 12 threads · "));
	g_assert_nonnull(strstr(d->words->str, "Coverage: 100% of the off-CPU time is in stacks"));
	g_assert_nonnull(strstr(d->words->str, "12 details lost"));
	g_assert_nonnull(strstr(d->words->str, "% broken"));
	document_free(d);
	profile_free(p);
}

static void test_empty(void)
{
	struct profile *p = profile_new();
	struct document *d = draw(p, &(struct tree_options){ 0 }, &usual, NULL);

	g_assert_cmpuint(d->boxes->len, ==, 1);
	document_free(d);
	profile_free(p);
}

static void test_numbers(void)
{
	static const struct { uint64_t ns; const char *text; } times[] = {
		{ 0, "0 ns" }, { 999, "999 ns" }, { 1000, "1.00 µs" }, { 12345, "12.3 µs" }, { 123456, "123 µs" },
		{ 99999999, "100 ms" }, { 1500000000, "1.50 s" }, { 119900000000, "120 s" },
		{ 125000000000, "2 min 05 s" }, { UINT64_C(7260000000000), "2 h 01 min" },
	};
	g_autoptr(GString) s = g_string_new(NULL);

	for (unsigned i = 0; i < G_N_ELEMENTS(times); i++) {
		g_string_truncate(s, 0);
		svg_time(s, times[i].ns);
		g_assert_cmpstr(s->str, ==, times[i].text);
	}
	g_string_truncate(s, 0);
	svg_count(s, 1234567);
	g_string_append_c(s, ' ');
	svg_percent(s, 1, 10000);
	g_string_append_c(s, ' ');
	svg_percent(s, 1, 3);
	g_string_append_c(s, ' ');
	svg_px(s, -0.501);
	g_assert_cmpstr(s->str, ==, "1,234,567 0.01% 33.3% -0.5");
	g_string_truncate(s, 0);
	svg_escape_cut(s, "日本語の名", 7);
	g_assert_cmpstr(s->str, ==, "日本語…");
}

int main(int argc, char **argv)
{
	setlocale(LC_ALL, "");
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/svg/places", test_places);
	g_test_add_func("/svg/elision", test_elision);
	g_test_add_func("/svg/hostile", test_hostile);
	g_test_add_func("/svg/labels", test_labels);
	g_test_add_func("/svg/tooltip", test_tooltip);
	g_test_add_func("/svg/palette", test_palette);
	g_test_add_func("/svg/stable-colours", test_stable_colours);
	g_test_add_func("/svg/chain", test_chain);
	g_test_add_func("/svg/state-legend", test_state_legend);
	g_test_add_func("/svg/limits", test_limits);
	g_test_add_func("/svg/words", test_words);
	g_test_add_func("/svg/empty", test_empty);
	g_test_add_func("/svg/numbers", test_numbers);
	return g_test_run();
}
