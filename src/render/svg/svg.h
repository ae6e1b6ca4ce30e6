/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_SVG_H
#define RENDER_SVG_H

#include "analyse/idle_part.h"
#include "analyse/query.h"
#include "analyse/tree.h"
#include "render/svg/palette.h"

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

#endif
