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
 * A recording as one page of HTML that needs nothing but a browser: the waits as packed columns, and the script that
 * draws, searches and explains them (web/page).  It fetches nothing and its Content-Security-Policy forbids to.
 */

struct html_options {
	const char *title;		/* NULL: made of what was recorded */
	const char *subtitle;		/* NULL: host, window, threads */
	const char *selection_text;	/* what of the recording is shown, for people; NULL or "": all */
	const struct selection *selection;	/* only these waits are in the page; NULL: all */
	struct tree_options view;	/* what it shows first: weight, view, reverse, by_thread */
	bool by_process;		/* the same */
	bool inverted;			/* root at the top */
	bool with_idle;			/* idle time is not switched off as it opens */
	const char *colours;		/* "state", "kind"; NULL: the page's choice */
	const struct html_diff *diff;	/* private: p is both sides of a difference, see render/html/diff.h */
};

void html_page(const struct profile *p, const struct html_options *options, GString *out);

/* Parts of the script that only some pages have. */
enum html_more { HTML_REQUESTS = 1 << 0, HTML_DIFFERENCE = 1 << 1 };

/* The Content-Security-Policy that the page states: its own scripts and style by digest, nothing else.  For g_free(). */
char *html_page_policy(enum html_more more);

/* The page's blocks, each packed: what the script reads in web/page/data.js. */
struct html_blocks {
	/* slices: empty where the recording has none; diff: of others */
	GString *core, *detail, *wakers, *slices, *diff, *requests;
	char *target;	/* "mariadbd (1736)"; NULL of a difference */
};
/* What it finds of p and selects; `about` is JSON. */
void html_blocks_make(const struct profile *p, const struct html_options *options, struct html_blocks *ret_blocks);
void html_blocks_clear(struct html_blocks *blocks);

/* Is anything known of when the longest waits began?  In histories. */
bool html_has_longest(const struct profile *p);

/* JSON that describes recording and view for the page's head. */
struct html_words;
void html_about(const struct profile *p, const struct html_options *options, GPtrArray *facets,
		const struct html_words *words, GString *out);

/*
 * The page of `offcpu serve` (web/serve): it holds no data and asks the server it came from.  Beside its own script
 * and style, which the policy names by digest, it may load nothing.
 */
void html_serve_page(GString *out);

/* The Content-Security-Policy that the page needs.  For g_free(). */
char *html_serve_policy(void);

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

/* Begins a page without a script, up to its body; title: needs no escapes. */
void html_plain_head(GString *out, const char *title);

/* The page of services: a picture of who waits for whom, and the same as a table.  It has no script. */
struct html_services {
	const char *focus;	/* the service that is looked at; NULL: all */
	uint64_t from_unix_ns, to_unix_ns;
	const char *host;	/* of the hosts of such a name alone; NULL: of all */
	const char *home;	/* an address that leads back; NULL: nothing does */
	const char *home_text;
	const GPtrArray *chains;	/* of the focus, as follow.h has them; NULL: none were asked for */
};
void html_services_page(GString *out, const struct service_graph *g, const struct html_services *page);

#endif
