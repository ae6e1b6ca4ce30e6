/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_HTML_PART_H
#define RENDER_HTML_PART_H

#include <glib.h>
#include <stdint.h>

#include "analyse/diff/merge.h"
#include "explain/explain.h"
#include "features/requests/rows.h"
#include "profile/profile.h"
#include "render/json/write.h"

/* Encoding of numbers and texts for the page's script (web/page/data.js). */

/* Appends n as LEB128. */
void bytes_put(GByteArray *out, uint64_t n);
/* Appends a signed number in zigzag encoding: 0, -1, 1, -2, ... become 0, 1, 2, 3, ... */
void bytes_put_signed(GByteArray *out, int64_t n);

/* Numbered texts.  Each is stored once, cleaned by svg_clean(), and numbered by first use; 0 is "". */
struct texts {
	GHashTable *ids;
	GPtrArray *list;
};
struct texts *texts_new(void);
void texts_free(struct texts *t);	/* NULL is fine */
uint32_t texts_id(struct texts *t, const char *s);	/* NULL is "" */
/* Appends the number of texts, each length in UTF-16 units, the total of bytes, and the texts in UTF-8. */
void texts_write(const struct texts *t, GByteArray *out);

/* Appends the bytes compressed by zlib in base64. */
void bytes_pack(const GByteArray *bytes, GString *out);

struct profile;

/*
 * Appends the time of waits in each slice; nothing if the recording has no slices.  number: for each wait of the
 * profile its number in the page + 1, or 0.  waits_cnt: number of waits in the page.
 */
void html_slices(const struct profile *p, const uint32_t *number, uint32_t waits_cnt, GByteArray *out);

/*
 * Appends functions and single requests for web/page/requests.js; nothing if none were recorded.  number: for each
 * wait of the profile its number in the page + 1, or 0.
 */
void html_requests(const struct profile *p, const uint32_t *number, struct texts *texts, GByteArray *out);

/* Texts of the page: the findings of `offcpu report`, and for each wait what its thread is doing. */

struct html_words {
	const struct explanation *explanation;	/* NULL for a difference, which has none */
	const struct wait_reason *known;	/* for a difference: by wait */
	const uint32_t *wait_number;	/* by wait: its number in the page + 1; 0: not in it */
	const uint32_t *frame_label;	/* by frame: index of its label in the page */
	const uint32_t *frame_id;	/* by frame; 0: not in the page */
};

/* What was recorded: "mariadbd (1736)".  Free with g_free(). */
char *html_words_target(const struct findings *f);

/* Writes members of the page's description: "findings", "target", "verdict", and "says" for run-queue time. */
void html_words_about(struct json *j, const struct html_words *w);

/* Appends for each of `waits` (indices) what its thread does while blocked, and advice. */
void html_words_of_waits(const struct html_words *w, const GArray *waits, struct texts *texts, GByteArray *out);

/*
 * A facet divides waits into categories: by state, by reason.  The page shows each facet as a row of switches and can
 * colour by it.  A new facet is a function and a row of the table in facet.c.
 */
struct facet_category {
	char *name;		/* shown to people; the page has fixed colours for some */
	bool is_idle;		/* hidden initially: nobody waits for these threads */
};

struct facet {
	const char *name;	/* static */
	GArray *categories;	/* struct facet_category */
	uint32_t *of_wait;	/* by wait: index into categories */
	/* category of all run-queue time, whatever came before; -1: the wait's own */
	int64_t queue;
};

/*
 * All facets of the recording, the default for colours first; free with g_ptr_array_unref().  known: by wait; NULL:
 * derived by rules, see reasons.
 */
GPtrArray *facets_new(const struct profile *p, const struct reasons *reasons, const struct wait_reason *known);

#endif
