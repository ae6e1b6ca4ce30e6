/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_WIRE_H
#define BASE_WIRE_H

#include "base/cursor.h"

/*
 * The wire format of protocol buffers, in both directions, as far as the formats need it that we read and write: a
 * dozen small messages. docs/dependencies.md says why this is no library.
 */

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

void wire_varint(GString *out, uint64_t value);
/* A field with its number; the defaults 0 and "" are omitted. */
void wire_uint(GString *out, unsigned field, uint64_t value);
void wire_fixed64(GString *out, unsigned field, uint64_t value);
void wire_string(GString *out, unsigned field, const char *s);
/* Written even if 0 or empty: for elements of a list, and members of a oneof. */
void wire_uint_always(GString *out, unsigned field, uint64_t value);
void wire_bytes(GString *out, unsigned field, const void *bytes, gsize len_bytes);
/* A message or a packed list that is already written. */
static inline void wire_message(GString *out, unsigned field, const GString *message)
{
	wire_bytes(out, field, message->str, message->len);
}

/* A field that was read. Groups, which are obsolete, are invalid. */
struct wire_field {
	unsigned number;
	enum wire_type type;
	uint64_t value; /* a number; 0 for bytes */
	struct cursor bytes; /* contents of a bytes field */
};
/* False at the end of the message, and after an invalid field: then c->bad. */
bool wire_next(struct cursor *c, struct wire_field *ret_field);
/* The next number of a repeated field, packed or not; false at the end. *f is consumed. */
bool wire_packed_next(struct wire_field *f, uint64_t *ret_value);

#endif
