/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_SVG_DIFF_H
#define RENDER_SVG_DIFF_H

#include "analyse/diff/diff.h"
#include "render/svg/svg.h"

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

#endif
