/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/source.h"

#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "exchange/format.h"

static GByteArray *gzip(const void *bytes, gsize len)
{
	GByteArray *out = g_byte_array_sized_new(1 << 20);
	z_stream z = { 0 };

	g_assert_cmpint(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), ==, Z_OK);
	g_byte_array_set_size(out, (guint)deflateBound(&z, len));
	z.next_in = (unsigned char *)(uintptr_t)bytes;
	z.avail_in = (uInt)len;
	z.next_out = out->data;
	z.avail_out = out->len;
	g_assert_cmpint(deflate(&z, Z_FINISH), ==, Z_STREAM_END);
	g_byte_array_set_size(out, (guint)z.total_out);
	deflateEnd(&z);
	return out;
}

static GByteArray *zstd(const void *bytes, gsize len)
{
	GByteArray *out = g_byte_array_new();

	g_byte_array_set_size(out, (guint)ZSTD_compressBound(len));
	g_byte_array_set_size(out, (guint)ZSTD_compress(out->data, out->len, bytes, len, 3));
	return out;
}

static char *all_lines(struct source *s, GError **error)
{
	GString *text = g_string_new(NULL);
	char *line;
	gsize len;

	while ((line = source_line(s, &len, error))) {
		g_assert_cmpuint(strlen(line), ==, len);
		g_string_append_printf(text, "<%s>", line);
	}
	return g_string_free(text, FALSE);
}

static void check_lines(const void *bytes, gsize len, const char *expected)
{
	struct source *s = source_of_bytes(bytes, len);
	g_autoptr(GError) error = NULL;
	g_autofree char *text = all_lines(s, &error);

	g_assert_no_error(error);
	g_assert_cmpstr(text, ==, expected);
	source_free(s);
}

static void test_lines(void)
{
	static const char text[] = "one\ntwo\r\n\nzero\0byte\nlast";
	g_autoptr(GByteArray) gz = gzip(text, sizeof(text) - 1), zst = zstd(text, sizeof(text) - 1);
	static const char expected[] = "<one><two><><zero byte><last>";

	check_lines(text, sizeof(text) - 1, expected);
	check_lines(gz->data, gz->len, expected);
	check_lines(zst->data, zst->len, expected);
	check_lines("", 0, "");
	/* Two packed files, one behind the other, are one text. */
	g_byte_array_append(gz, gz->data, gz->len);
	check_lines(gz->data, gz->len, "<one><two><><zero byte><lastone><two><><zero byte><last>");
}

/* What was peeked at is still to be read, whatever the sizes are. */
static void test_large(void)
{
	g_autoptr(GString) text = g_string_new(NULL);
	guint64 sum = 0, seen = 0;
	g_autoptr(GError) error = NULL;
	char *line;
	gsize len;

	for (int i = 0; i < 300000; i++) {
		g_string_append_printf(text, "%d some text that packs well\n", i);
		sum += (guint64)i;
	}
	g_autoptr(GByteArray) gz = gzip(text->str, text->len), zst = zstd(text->str, text->len);
	const GByteArray *packed[] = { gz, zst };

	for (int i = 0; i < 2; i++) {
		struct source *s = source_of_bytes(packed[i]->data, packed[i]->len);

		g_assert_true(g_str_has_prefix(source_peek(s, &len, &error), "0 some text"));
		g_assert_cmpuint(len, ==, 64 * 1024);
		for (seen = 0; (line = source_line(s, &len, &error));)
			seen += g_ascii_strtoull(line, NULL, 10);
		g_assert_no_error(error);
		g_assert_cmpuint(seen, ==, sum);
		source_free(s);
		s = source_of_bytes(packed[i]->data, packed[i]->len);
		g_autoptr(GByteArray) all = source_all(s, &error);
		g_assert_cmpmem(all->data, all->len, text->str, text->len);
		source_free(s);
	}
}

static void check_error(const void *bytes, gsize len, int code, const char *message)
{
	struct source *s = source_of_bytes(bytes, len);
	g_autoptr(GError) error = NULL;

	g_free(all_lines(s, &error));
	g_assert_error(error, EXCHANGE_ERROR, code);
	g_assert_nonnull(strstr(error->message, message));
	source_free(s);
}

static void test_damaged(void)
{
	g_autofree char *text = g_strnfill(100000, 'x');
	g_autoptr(GByteArray) gz = gzip(text, 100000), zst = zstd(text, 100000);

	check_error(gz->data, gz->len / 2, EXCHANGE_ERROR_BAD, "cut off");
	check_error(zst->data, zst->len - 1, EXCHANGE_ERROR_BAD, "cut off");
	gz->data[gz->len / 2] ^= 0xff;
	check_error(gz->data, gz->len, EXCHANGE_ERROR_BAD, "damaged");
}

/* 4 GiB out of a few megabytes, by gzip that is packed nearly as tightly as it goes: refused long before. */
static gssize endless(void *ctx, void *buffer, gsize size_bytes, GError **error)
{
	struct {
		GByteArray *head, *middle;
		gsize at;
	} *b = ctx;
	gsize done = 0;

	while (done < size_bytes) {
		GByteArray *part = b->at < b->head->len ? b->head : b->middle;
		gsize from = b->at < b->head->len ? b->at : (b->at - b->head->len) % b->middle->len;
		gsize n = MIN(part->len - from, size_bytes - done);

		memcpy((char *)buffer + done, part->data + from, n);
		done += n;
		b->at += n;
	}
	return (gssize)done;
}

static void test_bomb(void)
{
	g_autofree char *zeroes = g_malloc0(16 << 20);
	g_autoptr(GByteArray) gz = gzip(zeroes, 16 << 20), zst = zstd(zeroes, 16 << 20);
	GByteArray *packed[] = { gz, zst };

	for (int i = 0; i < 2; i++) {
		struct {
			GByteArray *head, *middle;
			gsize at;
		} b = { packed[i], packed[i], 0 };
		struct source *s = source_new(endless, &b);
		g_autoptr(GError) error = NULL;
		g_autoptr(GByteArray) all = source_all(s, &error);

		g_assert_null(all);
		g_assert_error(error, EXCHANGE_ERROR, EXCHANGE_ERROR_TOO_MUCH);
		g_assert_cmpuint(b.at, <, 1 << 20);
		source_free(s);
	}
}

/* It costs that line; behind it the file goes on, and so does one that ends within. */
static void test_long_line(void)
{
	g_autofree char *line = g_strnfill(3 << 20, 'x'), *text = g_strdup_printf("a\n%s\nb\n%s", line, line);
	const char *lines[] = { "a", NULL, "b", NULL };
	struct source *s = source_of_bytes(text, strlen(text));
	gsize len;

	for (size_t i = 0; i < G_N_ELEMENTS(lines); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_cmpstr(source_line(s, &len, &error), ==, lines[i]);
		if (lines[i])
			g_assert_no_error(error);
		else
			g_assert_error(error, EXCHANGE_ERROR, EXCHANGE_ERROR_LINE);
	}
	g_autoptr(GError) error = NULL;

	g_assert_null(source_line(s, &len, &error));
	g_assert_no_error(error);
	source_free(s);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/source/lines", test_lines);
	g_test_add_func("/source/large", test_large);
	g_test_add_func("/source/damaged", test_damaged);
	g_test_add_func("/source/bomb", test_bomb);
	g_test_add_func("/source/long_line", test_long_line);
	return g_test_run();
}
