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
 * Colours of flame graphs.  A colour depends on the label alone (for PALETTE_STATE on the
 * dominant state too), so a function looks the same in every graph.  Every frame colour
 * keeps a contrast of at least 5:1 under PALETTE_INK, the colour of the text on it.
 */

enum palette {
	PALETTE_IO,	/* blue */
	PALETTE_WAKEUP,	/* aqua */
	PALETTE_CHAIN,	/* blue; the wakers' frames aqua */
	PALETTE_STATE,	/* by what the thread was waiting for */
	PALETTE_CNT
};

#define PALETTE_INK "#10151f"

/* "io", "wakeup", "chain", "state"; false, *ret_palette untouched, for any other word. */
bool palette_parse(const char *word, enum palette *ret_palette);
const char *palette_names(void);	/* "io, wakeup, ..." for messages */

/* 0xRRGGBB. */
uint32_t palette_colour(enum palette palette, const struct tree_label *label, const struct tree_node *node);
/* The typical colour of a kind of frame, for the legend. */
uint32_t palette_kind_colour(enum palette palette, enum tree_kind kind, bool waker);
uint32_t palette_state_colour(enum tree_state state);
const char *palette_background(enum palette palette);	/* "#rrggbb", nearly white */

/* A flame graph as one self-contained SVG document: a picture everywhere, interactive in browsers. */

#define SVG_WIDTH_MIN_PX 320
#define SVG_WIDTH_MAX_PX 20000

struct svg_key {
	uint32_t colour;
	const char *text;
};

/* What a graph of something else than one recording's time says and how it is coloured.  Texts are not escaped. */
struct svg_paint {
	uint32_t (*colour)(const void *data, uint32_t node);	/* 0xRRGGBB */
	void (*sign)(const void *data, uint32_t node, GString *out);	/* what stands in the box before the name */
	void (*tooltip)(const void *data, uint32_t node, GString *out);	/* lines below name and module */
	const void *data;
	const struct svg_key *legend;
	unsigned legend_cnt;
	const char *const *subtitle, *const *foot;	/* parts of lines, NULL ends them */
};

/* What commands draw at most, unless they are told a least width. */
#define SVG_MAX_FRAMES 5000	/* more are slow in every viewer */
#define SVG_MAX_ROWS 60	/* as high as wide: what is deeper belongs to a page */

struct svg_options {
	const char *title;	/* NULL: by weight and order */
	const char *subtitle;	/* NULL: host, window, totals, filters */
	const char *selection_text;	/* what of the recording is shown, for people; NULL or "": all */
	const struct selection *selection;	/* the same, for the coverage; NULL: all */
	unsigned width_px;	/* as written; a browser fits it to its window */
	double min_width;	/* narrower frames are left out, share of the whole graph: 0.001 */
	unsigned max_frames;	/* where there are more, min_width grows until these are left; 0: no limit */
	unsigned max_rows;	/* what lies deeper is left out; 0: no limit */
	enum palette palette;
	bool inverted;		/* root at the top */
	const struct idle_part *idle;	/* the tree is without it, a column beside the frames tells it; NULL: none */
	const struct svg_paint *paint;	/* NULL: the time of the profile, in the palette's colours */
};

/* What was left out for being too narrow or too deep. */
struct svg_elided {
	uint64_t frames_cnt;	/* whole subtrees counted */
	uint64_t amount;	/* summed weight of the subtrees' roots */
	uint64_t deep_frames_cnt, deep_amount;	/* the part of these that lies deeper than max_rows */
	double min_width;	/* that was drawn with */
};

/*
 * Appends the document of the tree, which was built from p, to out; with paint p may be NULL.  An empty tree gives a
 * document that says so.  ret_elided may be NULL.
 */
void svg_flame(const struct profile *p, const struct tree *t, const struct svg_options *options, GString *out,
	       struct svg_elided *ret_elided);

/*
 * `offcpu diff` as a flame graph: as wide as a stack is after, coloured by how it changed, and beside that the stacks
 * that are gone, as wide as they were.  Orange with + is more, blue with - is less, grey is the same or noise.
 */

struct svg_diff_options {
	const char *title;	/* NULL: that it is a difference */
	const char *finding;	/* the subtitle's first line */
	unsigned width_px;
	double min_width;	/* as svg_options */
	bool inverted;
	bool negated;		/* as wide as before; beside that the stacks that are new */
};

/* Appends the document; false when no side has any time to draw. */
bool svg_diff(GString *out, struct diff *d, const struct svg_diff_options *options);

/* Text for SVG and HTML from untrusted bytes, and numbers for people. */

/* Appends text_safe() of s as XML character data, good in a quoted attribute, too. */
void svg_escape(GString *out, const char *s);
/* The same without XML's escapes: for what is no markup. */
void svg_clean(GString *out, const char *s);
/* svg_escape(), at most `cells` columns wide (East Asian wide characters take two), "…" at a cut. */
void svg_escape_cut(GString *out, const char *s, unsigned cells);
unsigned svg_cells(const char *s);

/* A length with two decimals at most, whatever the locale. */
void svg_px(GString *out, double px);

/* "1.23 s", "4 min 05 s", "12.3 ms", "45.6 µs", "789 ns". */
void svg_time(GString *out, uint64_t ns);
/* "1,234,567" */
void svg_count(GString *out, uint64_t n);
/* svg_time(), or "1,234 waits". */
void svg_amount(GString *out, enum weight weight, uint64_t amount);
/* "12.3%", "0.012%", "under 0.001%"; "0%" for nothing and for a whole of 0. */
void svg_percent(GString *out, uint64_t part, uint64_t whole);

/*
 * What of the graph is drawn, as an <svg> within a page, which has its style (web/fleet/fleet.css).  link: begins the
 * address of a service's own picture, good in an attribute; its name follows.
 */
void svg_services(GString *out, const struct service_graph *g, const char *focus, const char *link);

#endif
