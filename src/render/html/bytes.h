/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_HTML_BYTES_H
#define RENDER_HTML_BYTES_H

#include <glib.h>
#include <stdint.h>

#include "profile/requests.h"

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

#endif
