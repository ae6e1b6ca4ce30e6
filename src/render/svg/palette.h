/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_PALETTE_H
#define RENDER_PALETTE_H

#include "analyse/tree.h"

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

#endif
