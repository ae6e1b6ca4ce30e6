/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Names of JavaScript's functions, as they lie in V8's memory. */
#include <glib.h>
#include <string.h>

#include "runtimes/node/names.h"
#include "v8_image.h"

#define NUMBER 7
static struct v8 v8;
static struct v8_names *names;

/* As the kernel programs tell of it: without its last bit. */
static bool look(struct language_frame *ret)
{
	return v8_names_function(names, &v8, v8_image_object(V8_SHARED) & ~1ull, NUMBER, ret);
}

static void expect(const char *name, const char *file, uint32_t line)
{
	struct language_frame f;

	g_assert_true(look(&f));
	g_assert_cmpstr(f.name, ==, name);
	g_assert_cmpstr(f.file, ==, file);
	g_assert_cmpuint(f.line, ==, line);
	g_assert_cmpuint(f.first_line, ==, line);
}

static void begin(void)
{
	v8_names_free(names);
	names = v8_names_new();
	v8 = v8_image_make();
}

static void test_whole(void)
{
	begin();
	expect("Shop.pay", "/srv/shop.js", 3);
	/* what is known is read again where it is another function */
	v8_image_text(V8_FIRST, "Cafe.");
	expect("Shop.pay", "/srv/shop.js", 3);
	v8_image[V8_SHARED + 2] = v8_image_object(V8_SECOND);
	expect("pay", "/srv/shop.js", 0);
}

static void test_gone(void)
{
	struct language_frame f;

	begin();
	v8_image[V8_SHARED + 6] = 8ull << 32;
	g_assert_false(look(&f));
	begin();
	v8_image_put(V8_SHARED, V8_IS_OTHER);
	g_assert_false(look(&f));
	begin();
	v8_image[V8_SHARED] = 0;
	g_assert_false(look(&f));
}

static void test_unnamed(void)
{
	begin();
	v8_image[V8_SCOPE + 8] = v8_image_object(V8_MAPS);
	expect("<anonymous>", "/srv/shop.js", 3);
	begin();
	v8_image[V8_SHARED + 4] = v8_image_object(V8_MAPS);	/* built in: it has no script */
	expect("Shop.pay", NULL, 0);
	begin();
	v8_image[V8_SHARED + 2] = 0;
	expect("<anonymous>", "/srv/shop.js", 0);
	begin();
	memset(v8_image + V8_FILE, 0, 8 * (V8_SOURCE - V8_FILE));
	v8_image_text(V8_FILE, "file:///srv/a%20shop.mjs");
	expect("Shop.pay", "/srv/a shop.mjs", 3);
}

static void test_strings(void)
{
	static const char text[] = "ab\nab\nab\npay() {}";
	const uint32_t cnt = sizeof(text) - 1;

	/* the source lies elsewhere */
	begin();
	v8_image_put(V8_EXTERNAL, V8_IS_EXTERNAL);
	memcpy((uint8_t *)(v8_image + V8_EXTERNAL) + 12, &cnt, sizeof(cnt));
	v8_image[V8_EXTERNAL + 2] = (uint64_t)(uintptr_t)(v8_image + V8_RESOURCE);
	v8_image[V8_EXTERNAL + 3] = (uint64_t)(uintptr_t)text;
	v8_image[V8_SCRIPT + 1] = v8_image_object(V8_EXTERNAL);
	expect("Shop.pay", "/srv/shop.js", 4);
	/* "pay" of "Shop.pay", by way of a copy */
	begin();
	v8_image_text(V8_FIRST, "Shop.pay");
	v8_image_put(V8_SLICED, V8_IS_SLICED);
	memcpy((uint8_t *)(v8_image + V8_SLICED) + 12, &(uint32_t){ 3 }, 4);
	v8_image[V8_SLICED + 2] = v8_image_object(V8_THIN);
	v8_image[V8_SLICED + 3] = 5ull << 32;
	v8_image_put(V8_THIN, V8_IS_THIN);
	memcpy((uint8_t *)(v8_image + V8_THIN) + 12, &(uint32_t){ 8 }, 4);
	v8_image[V8_THIN + 2] = v8_image_object(V8_FIRST);
	v8_image[V8_SCOPE + 8] = v8_image_object(V8_SLICED);
	expect("pay", "/srv/shop.js", 3);
	/* more than there is of it */
	begin();
	v8_image_put(V8_SLICED, V8_IS_SLICED);
	memcpy((uint8_t *)(v8_image + V8_SLICED) + 12, &(uint32_t){ 30 }, 4);
	v8_image[V8_SLICED + 2] = v8_image_object(V8_FIRST);
	v8_image[V8_SCOPE + 8] = v8_image_object(V8_SLICED);
	expect("<anonymous>", "/srv/shop.js", 3);
	/* characters of two bytes, of which one would break a line of a report */
	begin();
	v8_image_put(V8_SECOND, V8_IS_WIDE);
	memcpy((uint8_t *)(v8_image + V8_SECOND) + 12, &(uint32_t){ 3 }, 4);
	memcpy(v8_image + V8_SECOND + 2, u"p\u00e4\n", 6);
	expect("Shop.p\u00e4\ufffd", "/srv/shop.js", 3);
	/* one that is made of itself ends */
	begin();
	v8_image[V8_NAME + 2] = v8_image[V8_NAME + 3] = v8_image_object(V8_NAME);
	expect("<anonymous>", "/srv/shop.js", 3);
}

static unsigned look_for_inlined(uint64_t offset, uint64_t functions[V8_INLINED_MAX])
{
	return v8_inlined(&v8, v8_image_object(V8_SHARED) & ~1ull, v8_image_object(V8_INSTRUCTIONS) - 1 + offset, functions);
}

static void test_inlined(void)
{
	uint64_t functions[V8_INLINED_MAX];
	struct language_frame f;

	begin();
	for (unsigned i = 0; i < 2; i++) {
		g_assert_cmpuint(look_for_inlined(i ? V8_OTHER_RETURN : V8_RETURN, functions), ==, 2);
		g_assert_cmphex(functions[0], ==, v8_image_object(V8_INNER));
		g_assert_cmphex(functions[1], ==, v8_image_object(V8_SHARED));
	}
	g_assert_true(v8_names_any_function(names, &v8, functions[0], &f));
	g_assert_cmpstr(f.name, ==, "pay");
	/* no place that is returned to; code of another function; literals that are gone; another version of V8 */
	g_assert_cmpuint(look_for_inlined(V8_RETURN + 1, functions), ==, 0);
	v8_image[V8_DEOPTS + 2 + V8_DEOPTS_FUNCTION] = v8_image_object(V8_INNER);
	g_assert_cmpuint(look_for_inlined(V8_RETURN, functions), ==, 0);
	begin();
	v8_image[V8_LITERALS + 3] = 3;
	g_assert_cmpuint(look_for_inlined(V8_RETURN, functions), ==, 0);
	begin();
	v8_image[V8_CODE + 5] += 64;
	g_assert_cmpuint(look_for_inlined(V8_RETURN, functions), ==, 0);
	begin();
	v8.has_inlined = false;
	g_assert_cmpuint(look_for_inlined(V8_RETURN, functions), ==, 0);
}

static unsigned unpack(const char *bytes, size_t cnt, size_t at)
{
	uint32_t literals[V8_INLINED_MAX];

	return v8_unpack_frames((const uint8_t *)bytes, cnt, at, literals);
}

#define UNPACK(text, at) unpack(text, sizeof(text) - 1, at)

static void test_frames(void)
{
	/* a literal below zero, no end, an unknown place, one that repeats before the begin, or itself, or what repeats */
	g_assert_cmpuint(UNPACK("\2\0\2\2\30\2\2\2", 0), ==, 1);
	g_assert_cmpuint(UNPACK("\2\0\2\2\30\2\3\2", 0), ==, 0);
	g_assert_cmpuint(UNPACK("\2\0\2\2\30\2", 0), ==, 0);
	g_assert_cmpuint(UNPACK("\2\0\2\2", 4), ==, 0);
	g_assert_cmpuint(UNPACK("\30\0\2\2\30\2\2\2", 0), ==, 0);
	g_assert_cmpuint(UNPACK("\2\4\2\2\46", 0), ==, 0);
	g_assert_cmpuint(UNPACK("\2\0\2\2\46\2\2\2", 0), ==, 0);
	g_assert_cmpuint(UNPACK("\2\0\2\2\30\2\2\2\2\10\2\2\45", 8), ==, 1);
	g_assert_cmpuint(UNPACK("\2\1\2\2\30\2\2\2\2\10\2\2\45", 8), ==, 0);
	/* what is repeated ends before */
	g_assert_cmpuint(UNPACK("\2\0\2\2\30\2\2\2\2\10\4\4\46", 8), ==, 0);
	g_assert_cmpuint(UNPACK("\2\0\2\2\30\2\2\2\2\10\4\4\45\30\2\2\2", 8), ==, 2);
}

/* Any word may be any other: a name is valid text, and nothing is read without end. */
static void test_damaged(void)
{
	uint64_t functions[V8_INLINED_MAX];
	struct language_frame f;
	g_autoptr(GRand) rand = g_rand_new_with_seed(33);

	for (unsigned i = 0; i < 20000; i++) {
		begin();
		for (unsigned k = g_rand_int_range(rand, 1, 6); k; k--) {
			unsigned to = (unsigned)g_rand_int_range(rand, V8_SHARED, V8_IMAGE_WORDS), from = (unsigned)g_rand_int_range(rand, 0, V8_IMAGE_WORDS);

			v8_image[to] = g_rand_boolean(rand) ? v8_image_object(from) : (uint64_t)g_rand_int(rand) << 32 | g_rand_int(rand);
		}
		unsigned cnt = look_for_inlined(i & 1 ? V8_RETURN : V8_OTHER_RETURN, functions);

		for (unsigned k = 0; k < cnt; k++)
			v8_names_any_function(names, &v8, functions[k], &f);
		if (!look(&f))
			continue;
		g_assert_true(g_utf8_validate(f.name, -1, NULL));
		g_assert_true(!f.file || g_utf8_validate(f.file, -1, NULL));
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/v8/whole", test_whole);
	g_test_add_func("/v8/gone", test_gone);
	g_test_add_func("/v8/unnamed", test_unnamed);
	g_test_add_func("/v8/strings", test_strings);
	g_test_add_func("/v8/inlined", test_inlined);
	g_test_add_func("/v8/frames", test_frames);
	g_test_add_func("/v8/damaged", test_damaged);
	return g_test_run();
}
