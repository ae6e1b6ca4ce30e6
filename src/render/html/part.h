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

/* Numbers and texts as the page's script reads them back (web/page/data.js). */

/* Appends n, 7 bits a byte, lowest first, the high bit says that more follow. */
void bytes_put(GByteArray *out, uint64_t n);
/* The same of a number of either sign: 0, -1, 1, -2, ... become 0, 1, 2, 3, ... */
void bytes_put_signed(GByteArray *out, int64_t n);

/*
 * Texts by number.  Each is stored once, made harmless (svg_clean()), and numbered in the order of arrival; 0 is "".
 */
struct texts {
	GHashTable *ids;
	GPtrArray *list;
};
struct texts *texts_new(void);
void texts_free(struct texts *t);	/* NULL is fine */
uint32_t texts_id(struct texts *t, const char *s);	/* NULL is "" */
/* Appends how many there are, the length of each in UTF-16 units, how many bytes follow, and these as UTF-8. */
void texts_write(const struct texts *t, GByteArray *out);

/* Appends base64 of the zlib stream of the bytes. */
void bytes_pack(const GByteArray *bytes, GString *out);

struct profile;

/*
 * Appends when the waits' time was, as the page's script reads it; nothing where the recording has no slices.
 * number: by wait of the profile, its number in the page + 1, 0 where it is not in it; waits_cnt: how many are.
 */
void html_slices(const struct profile *p, const uint32_t *number, uint32_t waits_cnt, GByteArray *out);

/*
 * Appends the functions and the single requests, as web/page/requests.js reads them; nothing where the recording has
 * none. number: by wait of the profile, its number in the page + 1, 0 where it is not in it.
 */
void html_requests(const struct profile *p, const uint32_t *number, struct texts *texts, GByteArray *out);

/* What the page says in words: the findings of `offcpu report`, and of each wait what its thread does meanwhile. */

struct html_words {
	const struct explanation *explanation;	/* NULL: of a difference, which has none */
	const struct wait_reason *known;	/* of a difference: by wait */
	const uint32_t *wait_number;	/* by wait: its number in the page + 1; 0: not in it */
	const uint32_t *frame_label;	/* by frame: its label in the page */
	const uint32_t *frame_id;	/* by frame; 0: not in the page */
};

/* What was recorded: "mariadbd (1736)".  For g_free(). */
char *html_words_target(const struct findings *f);

/* Members of what describes the page: "findings", "target", "verdict", and "says" of time that is no wait for anything but a CPU. */
void html_words_about(struct json *j, const struct html_words *w);

/* Appends of each of `waits` (indices) what its thread does while it is blocked, then what can be done. */
void html_words_of_waits(const struct html_words *w, const GArray *waits, struct texts *texts, GByteArray *out);

/*
 * A facet sorts the waits of a recording into categories: by state, by reason.  The page shows each facet as a row of
 * switches and can colour by it.  To add one, write its function and put it into the table in facet.c.
 */
struct facet_category {
	char *name;		/* for people; the page knows colours of some */
	bool is_idle;		/* hidden at first: nobody waits for what it waits for */
};

struct facet {
	const char *name;	/* static */
	GArray *categories;	/* struct facet_category */
	uint32_t *of_wait;	/* index into categories, by index of the wait */
	/* category of all time that is a wait for a CPU, whatever came before it; -1: that of its wait */
	int64_t queue;
};

/*
 * Every facet that the recording has, the one to colour by first; free with g_ptr_array_unref().  known: by wait;
 * NULL: found
 *  by the rules, see reasons.
 */
GPtrArray *facets_new(const struct profile *p, const struct reasons *reasons, const struct wait_reason *known);

#endif
