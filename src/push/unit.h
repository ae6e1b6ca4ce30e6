/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PUSH_UNIT_H
#define PUSH_UNIT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The requests of a window, ready to be sent, which an engine takes or refuses as a whole.  A unit knows its engine
 * but no profile, so that it can be spooled and sent by a later process.
 */
struct push_request {
	char *name;	/* the table; "" if the engine has only one address */
	GBytes *body;
	bool is_gzip;	/* the whole body is compressed */
	uint64_t rows;
};

struct push_unit {
	uint64_t key;	/* the window's: equal whenever the same window is pushed */
	uint32_t part;	/* index among the window's units, from 0 */
	uint64_t start_unix_ns;	/* the window's */
	GPtrArray *requests;	/* struct push_request, in sending order */
	GArray *contents;	/* uint64_t: contents in it, for the engine's `struct sent` */
};

struct push_unit *unit_new(uint64_t key, uint32_t part, uint64_t start_unix_ns);
void unit_free(struct push_unit *u);	/* NULL is fine */
GPtrArray *units_new(void);		/* struct push_unit, freed with it */
/* Adds a compressed body; unit_add_plain() leaves it as it is. */
void unit_add(struct push_unit *u, const char *name, const GString *body, uint64_t rows);
void unit_add_plain(struct push_unit *u, const char *name, const GString *body, uint64_t rows);
uint64_t unit_bytes(const struct push_unit *u);	/* total size of bodies */
/*
 * Joins several units for an engine that takes rows: one request per name, with concatenated bodies.  The last request
 * of each unit stays last.  NULL: compressed and plain bodies are mixed.
 */
struct push_unit *unit_join(const GPtrArray *units);

#define UNIT_MAX_BYTES (UINT64_C(256) << 20)
/* Serializes and parses.  NULL on error: damaged.  The bytes are untrusted. */
GBytes *unit_write(const struct push_unit *u);
struct push_unit *unit_read(const void *bytes, gsize len_bytes, GError **error);

#endif
