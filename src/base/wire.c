/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/wire.h"

#define FIELD_NUMBER_MAX ((1u << 29) - 1)

void wire_varint(GString *out, uint64_t value)
{
	char bytes[10];
	int cnt = 0;

	for (; value > 0x7f; value >>= 7)
		bytes[cnt++] = (char)(value | 0x80);
	bytes[cnt++] = (char)value;
	g_string_append_len(out, bytes, cnt);
}

static void put_tag(GString *out, unsigned field, enum wire_type type)
{
	wire_varint(out, (uint64_t)field << 3 | type);
}

void wire_uint_always(GString *out, unsigned field, uint64_t value)
{
	put_tag(out, field, WIRE_VARINT);
	wire_varint(out, value);
}

void wire_uint(GString *out, unsigned field, uint64_t value)
{
	if (value)
		wire_uint_always(out, field, value);
}

void wire_fixed64(GString *out, unsigned field, uint64_t value)
{
	uint64_t le = GUINT64_TO_LE(value);

	if (!value)
		return;
	put_tag(out, field, WIRE_FIXED64);
	g_string_append_len(out, (const char *)&le, sizeof(le));
}

void wire_bytes(GString *out, unsigned field, const void *bytes, gsize len_bytes)
{
	put_tag(out, field, WIRE_BYTES);
	wire_varint(out, len_bytes);
	g_string_append_len(out, bytes, (gssize)len_bytes);
}

void wire_string(GString *out, unsigned field, const char *s)
{
	if (s && *s)
		wire_bytes(out, field, s, strlen(s));
}

bool wire_next(struct cursor *c, struct wire_field *ret_field)
{
	if (c->bad || c->at == c->end)
		return false;
	uint64_t key = cursor_uleb(c);

	if (key >> 3 == 0 || key >> 3 > FIELD_NUMBER_MAX)
		c->bad = true;
	*ret_field = (struct wire_field){ .number = (unsigned)(key >> 3), .type = (enum wire_type)(key & 7) };
	switch (key & 7) {
	case WIRE_VARINT: ret_field->value = cursor_uleb(c); break;
	case WIRE_FIXED64: ret_field->value = cursor_u64(c); break;
	case WIRE_FIXED32: ret_field->value = cursor_u32(c); break;
	case WIRE_BYTES: {
		uint64_t len_bytes = cursor_uleb(c);
		const uint8_t *at = cursor_take(c, len_bytes);

		ret_field->bytes = (struct cursor){ .at = at, .end = at ? at + len_bytes : NULL };
		break;
	}
	default: c->bad = true;
	}
	return !c->bad;
}

bool wire_packed_next(struct wire_field *f, uint64_t *ret_value)
{
	if (f->type != WIRE_BYTES) {
		bool is_there = f->type == WIRE_VARINT;

		*ret_value = f->value;
		f->type = WIRE_FIXED32; /* consumed */
		return is_there;
	}
	if (f->bytes.bad || f->bytes.at == f->bytes.end)
		return false;
	*ret_value = cursor_uleb(&f->bytes);
	return !f->bytes.bad;
}
