/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/html/part.h"

#include <zlib.h>

#include "render/svg/svg.h"

void bytes_put(GByteArray *out, uint64_t n)
{
	guint8 b[10];
	unsigned len = 0;

	for (; n >= 0x80; n >>= 7)
		b[len++] = (guint8)(n | 0x80);
	b[len++] = (guint8)n;
	g_byte_array_append(out, b, len);
}

void bytes_put_signed(GByteArray *out, int64_t n)
{
	bytes_put(out, (uint64_t)n << 1 ^ (n < 0 ? UINT64_MAX : 0));
}

struct texts *texts_new(void)
{
	struct texts *t = g_new0(struct texts, 1);

	t->ids = g_hash_table_new(g_str_hash, g_str_equal);
	t->list = g_ptr_array_new_with_free_func(g_free);
	texts_id(t, "");
	return t;
}

FREES(texts_free, struct texts, t, g_hash_table_destroy(t->ids); g_ptr_array_unref(t->list))

uint32_t texts_id(struct texts *t, const char *s)
{
	gpointer id;

	if (g_hash_table_lookup_extended(t->ids, s ? s : "", NULL, &id))
		return GPOINTER_TO_UINT(id);
	char *own = g_strdup(s ? s : "");
	g_hash_table_insert(t->ids, own, GUINT_TO_POINTER(t->list->len));
	g_ptr_array_add(t->list, own);
	return t->list->len - 1;
}

/* String.length in JavaScript: characters outside the BMP count twice. */
static uint64_t utf16_units(const char *s)
{
	uint64_t units = 0;

	for (; *s; s = g_utf8_next_char(s))
		units += g_utf8_get_char(s) > 0xffff ? 2 : 1;
	return units;
}

void texts_write(const struct texts *t, GByteArray *out)
{
	g_autoptr(GString) all = g_string_new(NULL);

	bytes_put(out, t->list->len);
	for (unsigned i = 0; i < t->list->len; i++) {
		gsize before = all->len;

		svg_clean(all, g_ptr_array_index(t->list, i));
		bytes_put(out, utf16_units(all->str + before));
	}
	bytes_put(out, all->len);
	g_byte_array_append(out, (const guint8 *)all->str, (guint)all->len);
}

void bytes_pack(const GByteArray *bytes, GString *out)
{
	uLongf len = compressBound(bytes->len);
	g_autofree Bytef *packed = g_malloc(len);

	/* A buffer of compressBound() always suffices.  Only memory can run out, where GLib aborts too. */
	if (compress2(packed, &len, bytes->data, bytes->len, 6) != Z_OK)
		g_error("zlib: out of memory");
	g_autofree char *text = g_base64_encode(packed, len);
	g_string_append(out, text);
}
