/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_SVG_H
#define RENDER_SVG_H

#include "analyse/diff/diff.h"
#include "analyse/idle_part.h"
#include "analyse/query.h"
#include "analyse/tree.h"
#include "analyse/weight.h"
#include "features/servicemap/findings.h"

/*
 * Colours of flame graphs.  A colour depends only on the label (for PALETTE_STATE also on the dominant state), so a
 * function looks the same in every graph.  All frame colours have a contrast of at least 5:1 to the text colour
 * PALETTE_INK.
 */

enum palette {
	PALETTE_IO,	/* blue */
	PALETTE_WAKEUP,	/* aqua */
	PALETTE_CHAIN,	/* blue; wakers' frames aqua */
	PALETTE_STATE,	/* by what the thread waited for */
	PALETTE_CNT
};

#define PALETTE_INK "#10151f"

/* Parses "io", "wakeup", "chain", "state"; false for other words, *ret_palette unchanged. */
bool palette_parse(const char *word, enum palette *ret_palette);
const char *palette_names(void);	/* "io, wakeup, ..." for messages */

/* 0xRRGGBB. */
uint32_t palette_colour(enum palette palette, const struct tree_label *label, const struct tree_node *node);
/* A typical colour of that kind of frame, for the legend. */
uint32_t palette_kind_colour(enum palette palette, enum tree_kind kind, bool waker);
uint32_t palette_state_colour(enum tree_state state);
const char *palette_background(enum palette palette);	/* "#rrggbb", nearly white */

/* A flame graph as a self-contained SVG document: a picture in any viewer, interactive in browsers. */

#define SVG_WIDTH_MIN_PX 320
#define SVG_WIDTH_MAX_PX 20000

struct svg_key {
	uint32_t colour;
	const char *text;
};

/* Texts and colours of a graph that shows something else than one recording's time.  Texts are not escaped. */
struct svg_paint {
	uint32_t (*colour)(const void *data, uint32_t node);	/* 0xRRGGBB */
	void (*sign)(const void *data, uint32_t node, GString *out);	/* text in the box before the name */
	void (*tooltip)(const void *data, uint32_t node, GString *out);	/* lines after name and module */
	const void *data;
	const struct svg_key *legend;
	unsigned legend_cnt;
	const char *const *subtitle, *const *foot;	/* parts of lines, ended by NULL */
};

/* Default limits of commands, unless a minimum width is given. */
#define SVG_MAX_FRAMES 5000	/* more are slow in every viewer */
#define SVG_MAX_ROWS 60	/* about as high as wide; deeper stacks need a page */

struct svg_options {
	const char *title;	/* NULL: weight and order */
	const char *subtitle;	/* NULL: host, window, totals, filters */
	const char *selection_text;	/* description of the selection; NULL or "": all */
	const struct selection *selection;	/* the same, to compute the coverage; NULL: all */
	unsigned width_px;	/* as written; browsers fit it to the window */
	double min_width;	/* narrower frames are left out; share of the whole graph, like 0.001 */
	unsigned max_frames;	/* raises min_width until at most that many are left; 0: no limit */
	unsigned max_rows;	/* deeper frames are left out; 0: no limit */
	enum palette palette;
	bool inverted;		/* root at the top */
	/* idle time, shown in a column beside the frames; the tree must not contain it; NULL: none */
	const struct idle_part *idle;
	const struct svg_paint *paint;	/* NULL: the profile's time in the palette's colours */
};

/* What was too narrow or too deep to draw. */
struct svg_elided {
	uint64_t frames_cnt;	/* including subtrees */
	uint64_t amount;	/* summed weight of the roots of these subtrees */
	uint64_t deep_frames_cnt, deep_amount;	/* of these, what is deeper than max_rows */
	double min_width;	/* the minimum width used */
};

/*
 * Appends the document for a tree that was built from p.  With paint, p may be NULL.  An empty tree gives a document
 * that says so.  ret_elided may be NULL.
 */
void svg_flame(const struct profile *p, const struct tree *t, const struct svg_options *options, GString *out,
	       struct svg_elided *ret_elided);

/*
 * `offcpu diff` as a flame graph.  Stacks have their width in AFTER and are coloured by change; stacks that are gone
 * stand beside them with their width in BEFORE.  Orange with + is more, blue with - is less, grey is unchanged or
 * noise.
 */

struct svg_diff_options {
	const char *title;	/* NULL: a default title */
	const char *finding;	/* first line of the subtitle */
	unsigned width_px;
	double min_width;	/* as svg_options */
	bool inverted;
	bool negated;		/* widths of BEFORE, with new stacks beside them */
};

/* Appends the document; false if no side has any time. */
bool svg_diff(GString *out, struct diff *d, const struct svg_diff_options *options);

/* Untrusted text for SVG and HTML, and numbers for people. */

/* Appends text_safe() of s as XML character data, which is also valid in a quoted attribute. */
void svg_escape(GString *out, const char *s);
/* The same without XML escapes, for other uses than markup. */
void svg_clean(GString *out, const char *s);
/* svg_escape() cut to at most `cells` columns (wide East Asian characters count twice), with "…" at the cut. */
void svg_escape_cut(GString *out, const char *s, unsigned cells);
unsigned svg_cells(const char *s);

/* A length with at most two decimals, independent of the locale. */
void svg_px(GString *out, double px);

/* "1.23 s", "4 min 05 s", "12.3 ms", "45.6 µs", "789 ns". */
void svg_time(GString *out, uint64_t ns);
/* "1,234,567" */
void svg_count(GString *out, uint64_t n);
/* svg_time(), or "1,234 waits". */
void svg_amount(GString *out, enum weight weight, uint64_t amount);
/* "12.3%", "0.012%", "under 0.001%"; "0%" if part or whole is 0. */
void svg_percent(GString *out, uint64_t part, uint64_t whole);

/*
 * The graph's picture as an <svg> within a page, which provides the style (web/fleet/fleet.css).  link: address prefix
 * for a service's own picture, valid in an attribute; the name follows it.
 */
void svg_services(GString *out, const struct service_graph *g, const char *focus, const char *link);

#endif
