/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PUSH_UNIT_H
#define PUSH_UNIT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * What an engine takes or does not take as one: the requests of a window, ready to be sent.  It knows its engine and
 * nothing of profiles, so that it can lie in a spool and be sent by a later process.
 */
struct push_request {
	char *name;	/* of the table; "" where the engine has but one address */
	GBytes *body;
	bool is_gzip;	/* the body is packed as a whole */
	uint64_t rows;
};

struct push_unit {
	uint64_t key;	/* of the window: the same whenever the same window is pushed */
	uint32_t part;	/* of those of a window, from 0 */
	uint64_t start_unix_ns;	/* of the window */
	GPtrArray *requests;	/* struct push_request, in the order in which they are to be sent */
	GArray *contents;	/* uint64_t: what of the engine's `struct sent` is in it */
};

struct push_unit *unit_new(uint64_t key, uint32_t part, uint64_t start_unix_ns);
void unit_free(struct push_unit *u);	/* NULL is fine */
/* Packs the bytes; or leaves them as they are. */
void unit_add(struct push_unit *u, const char *name, const GString *body, uint64_t rows);
void unit_add_plain(struct push_unit *u, const char *name, const GString *body, uint64_t rows);
uint64_t unit_bytes(const struct push_unit *u);	/* of the bodies */
/*
 * Several of an engine that takes rows, as one: of each name one request, in which the bodies lie one behind the
 * other.  Those that are last in each unit are last in this one.  NULL: one is packed where another is plain.
 */
struct push_unit *unit_join(const GPtrArray *units);

#define UNIT_MAX_BYTES (UINT64_C(256) << 20)
/* As bytes, and from them: NULL with one sentence when they are damaged.  The bytes are untrusted. */
GBytes *unit_write(const struct push_unit *u);
struct push_unit *unit_read(const void *bytes, gsize len_bytes, GError **error);

#endif
