/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/wire.h"

/* The bytes are those of protobuf's own documentation: 150 in field 1, "testing" in field 2. */
static void test_known_bytes(void)
{
	g_autoptr(GString) s = g_string_new(NULL);

	wire_uint(s, 1, 150);
	wire_string(s, 2, "testing");
	g_assert_cmpmem(s->str, s->len, "\x08\x96\x01\x12\x07testing", 12);
	g_string_truncate(s, 0);
	wire_uint(s, 1, 0);
	wire_string(s, 2, "");
	wire_fixed64(s, 3, 0);
	g_assert_cmpuint(s->len, ==, 0);
	wire_uint_always(s, 1, 0);
	g_assert_cmpmem(s->str, s->len, "\x08\x00", 2);
}

static void test_round_trip(void)
{
	static const uint64_t numbers[] = { 0, 1, 127, 128, 300, UINT32_MAX, (uint64_t)INT64_MAX, UINT64_MAX };
	g_autoptr(GString) s = g_string_new(NULL), packed = g_string_new(NULL);
	struct wire_field f;
	uint64_t value;

	for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
		wire_uint_always(s, (unsigned)i + 1, numbers[i]);
		wire_varint(packed, numbers[i]);
	}
	wire_fixed64(s, 100, 0x1122334455667788);
	wire_message(s, 2000, packed);
	struct cursor c = cursor_of(s->str, s->len);

	for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
		g_assert_true(wire_next(&c, &f));
		g_assert_cmpuint(f.number, ==, i + 1);
		g_assert_cmpuint(f.value, ==, numbers[i]);
		g_assert_true(wire_packed_next(&f, &value)); /* one that is not packed is a list of one */
		g_assert_cmpuint(value, ==, numbers[i]);
		g_assert_false(wire_packed_next(&f, &value));
	}
	g_assert_true(wire_next(&c, &f));
	g_assert_cmpuint(f.value, ==, 0x1122334455667788);
	g_assert_true(wire_next(&c, &f));
	for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
		g_assert_true(wire_packed_next(&f, &value));
		g_assert_cmpuint(value, ==, numbers[i]);
	}
	g_assert_false(wire_packed_next(&f, &value));
	g_assert_false(wire_next(&c, &f));
	g_assert_false(c.bad);
}

static void test_hostile(void)
{
	static const struct {
		const char *bytes;
		gsize len;
	} bad[] = {
		{ "\x08", 1 }, /* no value */
		{ "\x12\x05"
		 "abc",
		 5 }, /* longer than there is */
		{ "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11 }, /* 2^64 - 1 bytes */
		{ "\x0b", 1 }, /* a group */
		{ "\x00\x01", 2 }, /* field 0 */
		{ "\x09\x01\x02", 3 }, /* half a number */
		{ "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 13 },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_autofree char *exact = g_memdup2(bad[i].bytes, bad[i].len);
		struct cursor c = { .at = (const uint8_t *)exact, .end = (const uint8_t *)exact + bad[i].len };
		struct wire_field f;

		g_assert_false(wire_next(&c, &f));
		g_assert_true(c.bad);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/wire/known_bytes", test_known_bytes);
	g_test_add_func("/wire/round_trip", test_round_trip);
	g_test_add_func("/wire/hostile", test_hostile);
	return g_test_run();
}
