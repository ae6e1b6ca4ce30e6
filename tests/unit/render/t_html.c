/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <string.h>
#include <zlib.h>

#include "../../web/fixture.h"
#include "features/slices/rows.h"
#include "render/html/part.h"
#include "render/html/html.h"

static uint64_t get(const guint8 **at)
{
	uint64_t n = 0;

	for (unsigned shift = 0;; shift += 7) {
		n |= (uint64_t)(**at & 0x7f) << shift;
		if (!(*(*at)++ & 0x80))
			return n;
	}
}

static void test_numbers(void)
{
	static const uint64_t numbers[] = { 0, 1, 127, 128, 16383, 16384, UINT32_MAX, UINT64_C(1) << 62, UINT64_MAX };
	static const int64_t signs[] = { 0, -1, 1, INT32_MIN, INT64_MAX, INT64_MIN };
	g_autoptr(GByteArray) out = g_byte_array_new();

	for (unsigned i = 0; i < G_N_ELEMENTS(numbers); i++)
		bytes_put(out, numbers[i]);
	for (unsigned i = 0; i < G_N_ELEMENTS(signs); i++)
		bytes_put_signed(out, signs[i]);
	const guint8 *at = out->data;
	for (unsigned i = 0; i < G_N_ELEMENTS(numbers); i++)
		g_assert_cmpuint(get(&at), ==, numbers[i]);
	for (unsigned i = 0; i < G_N_ELEMENTS(signs); i++) {
		uint64_t n = get(&at);

		g_assert_cmpint((int64_t)(n >> 1) ^ -(int64_t)(n & 1), ==, signs[i]);
	}
	g_assert_true(at == out->data + out->len);
}

/* Lengths are in the units that scripts count in, and every text is harmless. */
static void test_texts(void)
{
	struct texts *t = texts_new();
	g_autoptr(GByteArray) out = g_byte_array_new();

	g_assert_cmpuint(texts_id(t, NULL), ==, 0);
	g_assert_cmpuint(texts_id(t, "a"), ==, 1);
	g_assert_cmpuint(texts_id(t, "\xf0\x9f\x94\xa5x"), ==, 2);
	g_assert_cmpuint(texts_id(t, "\xff\xe2\x80\xae\n"), ==, 3);
	g_assert_cmpuint(texts_id(t, "a"), ==, 1);
	texts_write(t, out);
	const guint8 *at = out->data;
	g_assert_cmpuint(get(&at), ==, 4);
	static const uint64_t lengths[] = { 0, 1, 3, 14 };
	for (unsigned i = 0; i < 4; i++)
		g_assert_cmpuint(get(&at), ==, lengths[i]);
	uint64_t len = get(&at);
	g_autofree char *all = g_strndup((const char *)at, len);
	g_assert_cmpstr(all, ==, "a\xf0\x9f\x94\xa5x\\xff\\u202e\\x0a");
	texts_free(t);
}

static void test_packed(void)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	g_autoptr(GString) out = g_string_new(NULL);
	guint8 back[4096];
	uLongf back_len = sizeof(back);
	gsize len;

	for (unsigned i = 0; i < 1000; i++)
		bytes_put(bytes, i % 7);
	bytes_pack(bytes, out);
	g_autofree guchar *packed = g_base64_decode(out->str, &len);
	g_assert_cmpint(uncompress(back, &back_len, packed, len), ==, Z_OK);
	g_assert_cmpmem(back, back_len, bytes->data, bytes->len);
}

/* The page holds no name as markup, and equal recordings give equal pages. */
static void test_page(void)
{
	struct profile *p = fixture_hostile();
	g_autoptr(GString) a = g_string_new(NULL), b = g_string_new(NULL);
	const struct html_options options = { .title = "</title><script>\xff", .selection_text = "</script>" };

	html_page(p, &options, a);
	html_page(p, &options, b);
	g_assert_cmpstr(a->str, ==, b->str);
	g_assert_true(g_utf8_validate(a->str, -1, NULL));
	g_assert_nonnull(strstr(a->str, "<title>&lt;/title&gt;&lt;script&gt;\\xff"));
	g_assert_null(strstr(a->str, "alert"));
	unsigned ends = 0;
	for (const char *s = a->str; (s = strstr(s, "</script>")); s++)
		ends++;
	g_assert_cmpuint(ends, ==, 7);
	profile_free(p);
}

/* A selection takes its stacks and names along, and nothing of the rest. */
static void test_selected(void)
{
	struct profile *p = fixture_server();
	struct selection *s = selection_new(p, &(struct query){ .comm = "jbd2*" }, NULL);
	g_autoptr(GString) all = g_string_new(NULL), some = g_string_new(NULL);

	html_page(p, &(struct html_options){ 0 }, all);
	html_page(p, &(struct html_options){ .selection = s }, some);
	g_assert_cmpuint(some->len + 1000, <, all->len);
	selection_free(s);
	profile_free(p);
}

/* Over slices and durations each row's parts are the row, to the nanosecond. */
static void test_slices(void)
{
	struct profile *p = fixture_sliced();
	g_autofree uint32_t *number = g_new0(uint32_t, p->waits->len + 1);
	g_autofree uint64_t *sums = g_new0(uint64_t, p->waits->len);
	g_autoptr(GByteArray) out = g_byte_array_new();

	for (uint32_t i = 0; i < p->waits->len; i++)
		number[i] = i + 1;
	html_slices(p, number, p->waits->len, out);
	const guint8 *at = out->data;
	g_assert_cmpuint(get(&at), ==, profile_slice_ns(p));
	uint64_t slices = get(&at), unit = get(&at), rows = get(&at), row = 0;
	g_assert_cmpuint(slices, ==, profile_slice_cnt(p));
	g_assert_cmpuint(unit, ==, 1);
	g_autofree uint32_t *wait = g_new(uint32_t, rows);
	for (uint32_t i = 0; i < p->waits->len; i++)
		for (uint64_t n = get(&at); n > 0; n--)
			wait[row++] = i;
	g_assert_cmpuint(row, ==, rows);
	for (uint64_t i = 0; i < 2 * rows; i++)
		get(&at);
	for (unsigned k = 0; k < 3; k++)
		for (uint64_t i = 0; i < rows; i++)
			sums[wait[i]] += get(&at);
	for (uint64_t i = 0; i < rows; i++)
		g_assert_cmpuint(get(&at), ==, 0); /* on CPU: there are no samples */
	for (uint64_t i = 0; i < rows; i++)
		get(&at);
	g_assert_true(at == out->data + out->len);
	for (uint32_t i = 0; i < p->waits->len; i++)
		g_assert_cmpuint(sums[i], ==, wait_off_cpu_ns(profile_wait(p, i)));
	profile_free(p);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/html/numbers", test_numbers);
	g_test_add_func("/html/texts", test_texts);
	g_test_add_func("/html/packed", test_packed);
	g_test_add_func("/html/page", test_page);
	g_test_add_func("/html/selected", test_selected);
	g_test_add_func("/html/slices", test_slices);
	return g_test_run();
}
