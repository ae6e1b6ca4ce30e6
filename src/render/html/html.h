/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_HTML_HTML_H
#define RENDER_HTML_HTML_H

#include <glib.h>

#include "analyse/diff/merge.h"
#include "analyse/query.h"
#include "analyse/tree.h"
#include "features/servicemap/findings.h"
#include "render/json/write.h"

/*
 * A recording as a self-contained HTML page: waits as compressed columns, and a script that draws, searches and
 * explains them (web/page).  It loads nothing, which its Content-Security-Policy enforces.
 */

struct html_options {
	const char *title;		/* NULL: made of what was recorded */
	const char *subtitle;		/* NULL: host, window, threads */
	const char *selection_text;	/* description of the selection; NULL or "": all */
	const struct selection *selection;	/* restricts the page to these waits; NULL: all */
	struct tree_options view;	/* initial view: weight, view, reverse, by_thread */
	bool by_process;		/* initial view */
	bool inverted;			/* root at the top */
	bool with_idle;			/* idle time is initially switched on */
	const char *colours;		/* "state", "kind"; NULL: the page's choice */
	const struct html_diff *diff;	/* private: p holds both sides of a difference, see struct html_diff */
};

void html_page(const struct profile *p, const struct html_options *options, GString *out);

/* Optional parts of the script. */
enum html_more { HTML_REQUESTS = 1 << 0, HTML_DIFFERENCE = 1 << 1 };

/* The page's Content-Security-Policy: only its own scripts and style, by digest.  Free with g_free(). */
char *html_page_policy(enum html_more more);

/* The page's data blocks, compressed, as web/page/data.js reads them. */
struct html_blocks {
	/* slices: empty if none were recorded; diff: only for a difference */
	GString *core, *detail, *wakers, *slices, *diff, *requests;
	char *target;	/* "mariadbd (1736)"; NULL for a difference */
};
/* Makes the blocks from the selected part of p; `about` is JSON. */
void html_blocks_make(const struct profile *p, const struct html_options *options, struct html_blocks *ret_blocks);
void html_blocks_clear(struct html_blocks *blocks);

/* Whether the start of any longest wait is known, as in histories. */
bool html_has_longest(const struct profile *p);

/* Writes JSON for the page's head that describes recording and view. */
struct html_words;
void html_about(const struct profile *p, const struct html_options *options, GPtrArray *facets,
		const struct html_words *words, GString *out);

/*
 * The page of `offcpu serve` (web/serve): it contains no data and asks its server.  Its policy allows only its own
 * script and style, by digest.
 */
void html_serve_page(GString *out);

/* The Content-Security-Policy for that page.  Free with g_free(). */
char *html_serve_policy(void);

/*
 * `offcpu diff` as a page like that of a recording (html.h).  It holds the waits of both sides and shows how each
 * stack, function or group of threads differs.  Colours, signs and numbers agree with the text output, also on what is
 * noise.
 */

struct html_diff_options {
	const char *title;	/* NULL: a default title */
	bool inverted;		/* root at the top */
	bool negated;		/* frames have the width of BEFORE */
};

/* Appends the document; false if no side has any time. */
bool html_diff_page(GString *out, struct diff *d, const struct html_diff_options *options);

/* Private to the page. */
struct html_diff {
	struct diff *d;
	const struct diff_merged *merged;
	const struct html_diff_options *options;
};
void html_diff_about(struct json *j, const struct html_diff *diff);	/* writes a member of the page's description */

/* Begins a page without scripts, up to its body.  title: not escaped. */
void html_plain_head(GString *out, const char *title);

/* The page of services: a picture of who waits for whom, and the same as a table.  It has no scripts. */
struct html_services {
	const char *focus;	/* the selected service; NULL: all */
	uint64_t from_unix_ns, to_unix_ns;
	const char *host;	/* only hosts with such a name; NULL: all */
	const char *home;	/* address of the page to return to; NULL: none */
	const char *home_text;
	const GPtrArray *chains;	/* chains of `focus` from follow/findings.h; NULL: none */
};
void html_services_page(GString *out, const struct service_graph *g, const struct html_services *page);

#endif
