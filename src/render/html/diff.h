/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_HTML_DIFF_H
#define RENDER_HTML_DIFF_H

#include "analyse/diff/merge.h"
#include "render/html/html.h"
#include "render/json/write.h"

/*
 * `offcpu diff` as a page: that of a recording (html.h), which holds the waits of both sides and shows how each stack,
 * function or group of threads differs.  Colour, sign and numbers follow the text: what is noise there is none here.
 */

struct html_diff_options {
	const char *title;	/* NULL: that it is a difference */
	bool inverted;		/* root at the top */
	bool negated;		/* frames are as wide as before */
};

/* Appends the document; false when no side has any time to draw. */
bool html_diff_page(GString *out, struct diff *d, const struct html_diff_options *options);

/* Private to the page. */
struct html_diff {
	struct diff *d;
	const struct diff_merged *merged;
	const struct html_diff_options *options;
};
void html_diff_about(struct json *j, const struct html_diff *diff);	/* a member of what describes the page */

#endif
