/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_SVG_IDLE_H
#define RENDER_SVG_IDLE_H

#include "analyse/idle_part.h"

/* Idle time beside the frames: one narrow column, not as wide as its time; private to the SVG renderer. */

#define SVG_IDLE_PX 22	/* the column and the gap before it */

/* "idle 12.3 s, 92%" */
void svg_idle_text(GString *out, const struct idle_part *idle, enum weight weight);
/* x, y: its upper left corner. */
void svg_idle_append(GString *out, const struct idle_part *idle, enum weight weight, double x, double y,
		     unsigned height_px);

#endif
