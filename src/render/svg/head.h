/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_SVG_HEAD_H
#define RENDER_SVG_HEAD_H

#include "analyse/idle_part.h"
#include "render/svg/svg.h"

/* The text around the frames of a flame graph.  Private to the SVG renderer. */

#define SVG_PAD_PX 10

struct svg_head {
	char *title;
	GPtrArray *subtitle;	/* lines, escaped */
	GPtrArray *foot;	/* lines, escaped */
	GString *legend;	/* markup; the origin is the left end of its first row */
	unsigned legend_rows;
	unsigned height_px;	/* from the document's top to the frames */
	unsigned foot_height_px;
};

struct svg_head *svg_head_new(const struct profile *p, const struct tree *t, const struct svg_options *options,
			      const struct svg_elided *elided);
void svg_head_free(struct svg_head *head);

/* Appends the head as a group, and the foot as a group that begins at y. */
void svg_head_append(const struct svg_head *head, const struct svg_options *options, GString *out);
void svg_foot_append(const struct svg_head *head, unsigned y, GString *out);

/* "sleeping", "uninterruptible", ... */
const char *svg_state_text(enum tree_state state);

/* Idle time as a narrow column of fixed width beside the frames.  Private to the SVG renderer. */

#define SVG_IDLE_PX 22	/* column plus gap */

/* x, y: upper left corner. */
void svg_idle_append(GString *out, const struct idle_part *idle, enum weight weight, double x, double y,
		     unsigned height_px);

/* Files of web/, embedded by tools/embed.py: NUL-terminated, free of "]]>" and "</". */
extern const char web_flame_js[];
extern const char web_flame_css[];

#endif
