/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The model: interning, merging, its own rules. */
#include <string.h>

#include "profile/id_index.h"
#include "profile/limits.h"
#include "profile/profile.h"
#include "profile/profile_map.h"
#include "profile/profile_file.h"
#include "sample.h"

static uint32_t named(struct profile *p, const char *name)
{
	const struct frame f = { .name = name, .module = "/bin/x", .offset = 1 };

	return profile_frame(p, &f);
}

static void test_strings(void)
{
	struct profile *p = profile_new();
	char buffer[] = "one";
	const char *one = profile_string(p, buffer);

	g_assert_true(one != buffer);
	buffer[0] = 'X';
	g_assert_cmpstr(one, ==, "one");
	g_assert_true(profile_string(p, "one") == one);
	g_assert_true(profile_string(p, "two") != one);
	g_assert_null(profile_string(p, NULL));
	g_assert_true(profile_string(p, "") == p->info.host || *profile_string(p, "") == '\0');
	profile_free(p);
}

static void test_strings_any_bytes(void)
{
	struct profile *p = profile_new();
	const char *odd = profile_string(p, "a\xff" "b\xc3");

	g_assert_cmpstr(odd, ==, "a\xef\xbf\xbd" "b\xef\xbf\xbd");
	g_assert_true(g_utf8_validate(odd, -1, NULL));
	for (size_t pad = 0; pad < 4; pad++) {
		/* The cut falls on every byte of a character. */
		g_autofree char *lots = g_strnfill(PROFILE_STRING_MAX_BYTES * 2, '\xff');

		memset(lots, 'x', pad);
		const char *cut = profile_string(p, lots);

		g_assert_cmpuint(strlen(cut), <=, PROFILE_STRING_MAX_BYTES);
		g_assert_cmpuint(strlen(cut), >, PROFILE_STRING_MAX_BYTES - 3);
		g_assert_true(g_utf8_validate(cut, -1, NULL));
		g_assert_true(profile_string(p, cut) == cut);
	}
	profile_free(p);
}

static void test_many_strings(void)
{
	struct profile *p = profile_new();
	g_autoptr(GPtrArray) seen = g_ptr_array_new();
	char s[16];

	for (int i = 0; i < 100000; i++) {
		g_snprintf(s, sizeof(s), "%d", i);
		g_ptr_array_add(seen, (gpointer)profile_string(p, s));
	}
	for (int i = 0; i < 100000; i++) {
		g_snprintf(s, sizeof(s), "%d", i);
		g_assert_true(profile_string(p, s) == g_ptr_array_index(seen, i));
		g_assert_cmpstr(g_ptr_array_index(seen, i), ==, s);
	}
	profile_free(p);
}

static void test_frames(void)
{
	struct profile *p = profile_new();
	const struct frame base = { .name = "f", .module = "m", .offset = 7, .file = "c", .line = 3 };
	struct frame other[7];
	uint32_t id = profile_frame(p, &base);

	for (int i = 0; i < 7; i++)
		other[i] = base;
	other[0].name = "g";
	other[1].module = NULL;
	other[2].offset = 8;
	other[3].file = "d";
	other[4].line = 4;
	other[5].kind = FRAME_KERNEL;
	other[6].is_inline = true;
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 7; i++)
			g_assert_cmpuint(profile_frame(p, &other[i]), ==, id + 1 + i);
	g_assert_cmpuint(profile_frame(p, &base), ==, id);
	g_assert_cmpuint(p->frames->len, ==, 8);
	g_assert_cmpstr(profile_get_frame(p, id + 4)->file, ==, "d");

	/* texts that become others as they are taken in */
	g_autofree char *lots = g_strnfill(PROFILE_STRING_MAX_BYTES + 7, 'x');
	g_autofree char *more = g_strnfill(PROFILE_STRING_MAX_BYTES + 9, 'x');
	const struct frame odd = { .name = "a\xff", .module = more }, same = { .name = "a\xef\xbf\xbd", .module = lots };

	id = profile_frame(p, &odd);
	g_assert_cmpuint(profile_frame(p, &same), ==, id);
	g_assert_cmpuint(profile_frame(p, &odd), ==, id);
	g_assert_cmpuint(p->frames->len, ==, 9);
	profile_free(p);
}

static void test_frame_says_why(void)
{
	struct profile *p = profile_new();
	const struct frame silent = { .module = "m" };
	const struct frame gone = { .module = "m", .why = FRAME_PROCESS_GONE };
	const struct frame both = { .name = "n", .why = FRAME_NO_FILE };

	g_assert_cmpuint(profile_get_frame(p, profile_frame(p, &silent))->why, ==, FRAME_NO_SYMBOLS);
	g_assert_cmpuint(profile_get_frame(p, profile_frame(p, &gone))->why, ==, FRAME_PROCESS_GONE);
	g_assert_cmpuint(profile_get_frame(p, profile_frame(p, &both))->why, ==, FRAME_NAMED);
	profile_free(p);
}

static void test_nodes(void)
{
	struct profile *p = profile_new();
	uint32_t a = named(p, "a"), b = named(p, "b");
	uint32_t n1 = profile_node(p, 0, a), n2 = profile_node(p, n1, b), n3 = profile_node(p, 0, b);

	g_assert_cmpuint(n1, ==, 1);
	g_assert_cmpuint(n2, ==, 2);
	g_assert_cmpuint(n3, ==, 3);
	g_assert_cmpuint(profile_node(p, n1, b), ==, n2);
	g_assert_cmpuint(profile_get_node(p, n2)->depth, ==, 2);
	g_assert_cmpuint(profile_get_node(p, n2)->parent, ==, n1);
	g_assert_cmpuint(profile_get_node(p, n2)->end, ==, STACK_NONE);
	profile_stack_end(p, n2, STACK_BROKEN);
	profile_stack_end(p, n2, STACK_COMPLETE);
	profile_stack_end(p, 0, STACK_COMPLETE);
	g_assert_cmpuint(profile_get_node(p, n2)->end, ==, STACK_BROKEN);
	g_assert_cmpuint(profile_get_node(p, 0)->end, ==, STACK_NONE);
	profile_free(p);
}

static void test_depth_is_bounded(void)
{
	struct profile *p = profile_new();
	uint32_t frame = named(p, "recurse"), node = 0;

	for (int i = 0; i < PROFILE_DEPTH_MAX + 100; i++)
		node = profile_node(p, node, frame);
	g_assert_cmpuint(profile_get_node(p, node)->depth, ==, PROFILE_DEPTH_MAX);
	g_assert_cmpuint(p->nodes->len, ==, PROFILE_DEPTH_MAX + 1);
	g_assert_true(profile_check(p, NULL));
	profile_free(p);
}

static struct profile *with_thread(void)
{
	struct profile *p = profile_new();
	const struct thread t = { .pid = 1, .tid = 1, .to_ns = 1000 };

	profile_add_thread(p, &t);
	profile_add_thread(p, &t);
	profile_node(p, 0, named(p, "a"));
	return p;
}

static void test_waits_merge(void)
{
	struct profile *p = with_thread();
	struct wait w = { .state = 'S', .count = 1, .blocked_ns = 10, .runnable_ns = 2, .preempted_ns = 1,
			  .max_ns = 12, .hist = { [3] = 1 } };
	struct wait v = w;
	uint32_t id = profile_add_wait(p, &w);

	v.max_ns = 5;
	v.hist[2] = 4;
	v.hist[3] = UINT32_MAX;
	g_assert_cmpuint(profile_add_wait(p, &v), ==, id);

	const struct wait *sum = profile_wait(p, id);

	g_assert_cmpuint(sum->count, ==, 2);
	g_assert_cmpuint(sum->blocked_ns, ==, 20);
	g_assert_cmpuint(sum->runnable_ns, ==, 4);
	g_assert_cmpuint(sum->preempted_ns, ==, 2);
	g_assert_cmpuint(sum->max_ns, ==, 12);
	g_assert_cmpuint(sum->hist[2], ==, 4);
	g_assert_cmpuint(sum->hist[3], ==, UINT32_MAX);

	v.count = v.blocked_ns = UINT64_MAX;
	profile_add_wait(p, &v);
	g_assert_cmpuint(profile_wait(p, id)->count, ==, UINT64_MAX);
	g_assert_cmpuint(profile_wait(p, id)->blocked_ns, ==, UINT64_MAX);
	profile_free(p);
}

static void test_waits_differ(void)
{
	struct profile *p = with_thread();
	struct wait w[6] = { { .state = 'S' }, { .state = 'D' }, { .state = 'S', .flags = WAIT_OPEN_AT_END },
			     { .state = 'S', .user = 1 }, { .state = 'S', .kernel = 1 },
			     { .state = 'S', .thread = 1 } };

	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 6; i++)
			g_assert_cmpuint(profile_add_wait(p, &w[i]), ==, i);
	g_assert_cmpuint(p->waits->len, ==, 6);
	profile_free(p);
}

/* Fewer are expected, or more, than come; either way each is found again, with what it held before. */
static void test_waits_expected(void)
{
	const guint expected[] = { 0, 1, 700, 4000, 20000 }, cnt = 3000;

	for (size_t e = 0; e < G_N_ELEMENTS(expected); e++) {
		struct profile *p = with_thread();
		struct wait w = { .state = 'S', .count = 1, .hist = { [5] = 1 } };

		for (guint i = 0; i < 2 * cnt; i++) {
			if (i == cnt / 2)
				profile_expect_waits(p, expected[e]);
			w.state = (uint8_t)(i % cnt);
			w.flags = (uint8_t)(i % cnt >> 8);
			w.max_ns = i;
			g_assert_cmpuint(profile_add_wait(p, &w), ==, i % cnt);
		}
		g_assert_cmpuint(p->waits->len, ==, cnt);
		for (guint i = 0; i < cnt; i++) {
			g_assert_cmpuint(profile_wait(p, i)->max_ns, ==, cnt + i);
			g_assert_cmpuint(profile_wait(p, i)->count, ==, 2);
			g_assert_cmpuint(profile_wait(p, i)->hist[5], ==, 2);
		}
		profile_free(p);
	}
}

static void test_losses(void)
{
	struct profile *p = profile_new();

	profile_add_loss(p, "a", "A.", 0, 0);
	g_assert_cmpuint(p->losses->len, ==, 0);
	profile_add_loss(p, "a", "A.", 2, 5);
	profile_add_loss(p, "b", "B.", 1, 0);
	profile_add_loss(p, "a", "A.", 3, 5);
	g_assert_cmpuint(p->losses->len, ==, 2);
	g_assert_cmpuint(g_array_index(p->losses, struct profile_loss, 0).count, ==, 5);
	g_assert_cmpuint(g_array_index(p->losses, struct profile_loss, 0).time_ns, ==, 10);
	profile_free(p);
}

static void assert_check(const struct profile *p, const char *want)
{
	GError *error = NULL;

	g_assert_false(profile_check(p, &error));
	g_assert_error(error, PROFILE_FILE_ERROR, PROFILE_FILE_ERROR_DAMAGED);
	g_assert_cmpstr(error->message, ==, want);
	g_error_free(error);
}

/* Breaks one rule after the other, each mended before the next. */
#define BREAK(p, array, type, i, field, value, want)                                     \
	do {                                                                             \
		type keep_ = g_array_index((p)->array, type, i);                         \
		g_array_index((p)->array, type, i).field = (value);                      \
		assert_check(p, want);                                                   \
		g_array_index((p)->array, type, i) = keep_;                              \
	} while (0)

static void test_check(void)
{
	struct profile *p = sample_profile(&sample_small, 1);
	g_autoptr(GError) error = NULL;

	profile_check(p, &error);
	g_assert_no_error(error);
	BREAK(p, threads, struct thread, 2, blocked_ns, PROFILE_NS_MAX + 1, "row 3 of table \"thread\" has an invalid blocked_ns");
	BREAK(p, threads, struct thread, 2, from_ns, PROFILE_NS_MAX, "thread 2 ends before it begins");
	BREAK(p, threads, struct thread, 3, switches, UINT64_MAX,
	      "row 4 of table \"thread\" has an invalid switches");
	BREAK(p, frames, struct frame, 4, why, FRAME_WHY_COUNT, "row 5 of table \"frame\" has an invalid why");
	BREAK(p, frames, struct frame, 4, kind, 3, "row 5 of table \"frame\" has an invalid kind");
	BREAK(p, nodes, struct stack_node, 3, parent, 3, "row 3 of table \"stack\" has an invalid parent_id");
	BREAK(p, nodes, struct stack_node, 3, frame, 4000, "row 3 of table \"stack\" has an invalid frame_id");
	BREAK(p, nodes, struct stack_node, 3, depth, 9, "stack 3 has no valid depth");
	BREAK(p, nodes, struct stack_node, 3, end, STACK_END_COUNT, "row 3 of table \"stack\" has an invalid end");
	BREAK(p, waits, struct wait, 5, thread, 5, "row 6 of table \"wait\" has an invalid thread_id");
	BREAK(p, waits, struct wait, 5, user, 100000, "row 6 of table \"wait\" has an invalid user_stack_id");
	BREAK(p, waits, struct wait, 5, kernel, 100000, "row 6 of table \"wait\" has an invalid kernel_stack_id");
	BREAK(p, waits, struct wait, 5, state, 'X', "row 6 of table \"wait\" has an invalid state");
	BREAK(p, waits, struct wait, 5, state, 0, "row 6 of table \"wait\" has an invalid state");
	BREAK(p, waits, struct wait, 5, max_ns, UINT64_MAX, "row 6 of table \"wait\" has an invalid max_ns");
	BREAK(p, waits, struct wait, 5, count, UINT64_MAX, "row 6 of table \"wait\" has an invalid count");
	BREAK(p, losses, struct profile_loss, 0, count, UINT64_MAX, "row 1 of table \"loss\" has an invalid count");
	p->info.duration_ns = UINT64_MAX;
	assert_check(p, "duration_ns of table \"window\" is out of range");
	profile_free(p);
}

static bool never(const void *ctx, const void *key, uint32_t id)
{
	(*(unsigned *)ctx)++;
	return false;
}

/*
 * Keys that differ in one bit must not meet: else a forged file makes interning quadratic.  Of 32 bits kept of each hash 100,000 have one pair
 * alike on average, and more than 20 once in 10^18.
 */
static void test_hash_spreads(void)
{
	struct id_index *ix = id_index_new();
	unsigned compared = 0;

	for (uint32_t i = 0; i < 100000; i++) {
		const uint32_t key[] = { i, 0, 0, 0 };
		uint64_t hash = id_index_hash(ix, key, sizeof(key));

		g_assert_cmpint(id_index_find(ix, hash, never, &compared, key), ==, -1);
		id_index_add(ix, hash, i);
	}
	g_assert_cmpuint(compared, <, 20);
	g_assert_cmpuint(id_index_hash(ix, "abc", 3), !=, id_index_hash(ix, "abc", 2));
	id_index_free(ix);
}

/* The rows of a window go; what they are told by keeps its number. */
static void test_empty_rows(void)
{
	struct profile *p = profile_new();
	const struct frame frame = { .name = "read", .module = "libc.so.6" };
	const struct thread t = { .pid = 1, .tid = 2, .to_ns = 10 };
	const struct object object = { .kind = OBJECT_PIPE, .name = "pipe" };
	struct wait w = { .state = 'S', .count = 1, .blocked_ns = 10 };
	const uint32_t node = profile_node(p, 0, profile_frame(p, &frame)), id = profile_object(p, &object);

	for (unsigned window = 0; window < 3; window++) {
		w.thread = profile_add_thread(p, &t);
		w.user = node;
		w.object = id + 1;
		profile_add_wait(p, &w);
		profile_add_wait(p, &w);
		profile_add_loss(p, "a", "A.", 1, 0);
		profile_add_limit(p, LIMIT_CONNECT, 1, 2, "1 connections to 10.0.0.5:80: refused");
		g_assert_cmpuint(w.thread, ==, 0);
		g_assert_cmpuint(p->waits->len, ==, 1);
		g_assert_cmpuint(profile_wait(p, 0)->count, ==, 2);
		g_assert_true(profile_check(p, NULL));
		profile_empty_rows(p);
		g_assert_cmpuint(p->threads->len + p->waits->len + p->losses->len + p->limits->len, ==, 0);
	}
	g_assert_cmpuint(profile_node(p, 0, profile_frame(p, &frame)), ==, node);
	g_assert_cmpuint(profile_object(p, &object), ==, id);
	profile_free(p);
}

/* What is kept has its names, and nothing else is left. */
static void test_compact(void)
{
	struct profile *p = profile_new();
	uint32_t nodes[100], kept;
	const char *text = NULL, *lone;

	for (unsigned i = 0; i < 100; i++) {
		g_autofree char *name = g_strdup_printf("function_%u", i), *path = g_strdup_printf("/bin/program_%u", i);
		const struct frame outer = { .name = "main", .module = "/bin/x" }, inner = { .name = name, .module = path };

		nodes[i] = profile_node(p, profile_node(p, 0, profile_frame(p, &outer)), profile_frame(p, &inner));
		profile_stack_end(p, nodes[i], STACK_COMPLETE);
		profile_set_build_id(p, path, i == 42 ? "4242" : "00");
	}
	lone = profile_string(p, "a name of its own");
	p->info.host = profile_string(p, "db1");
	struct profile_compact *c = profile_compact_begin(p);

	kept = profile_compact_node(c, nodes[42]);
	g_assert_cmpuint(profile_compact_node(c, nodes[42]), ==, kept);
	g_assert_cmpuint(profile_compact_node(c, 0), ==, 0);
	text = profile_compact_string(c, lone);
	g_assert_null(profile_compact_string(c, NULL));
	profile_compact_end(c);
	g_assert_cmpuint(p->nodes->len, ==, 3);
	g_assert_cmpuint(p->frames->len, ==, 2);
	g_assert_cmpuint(p->build_ids->len, ==, 1);
	g_assert_cmpstr(profile_get_frame(p, profile_get_node(p, kept)->frame)->name, ==, "function_42");
	g_assert_cmpuint(profile_get_node(p, kept)->end, ==, STACK_COMPLETE);
	g_assert_cmpuint(profile_get_node(p, profile_get_node(p, kept)->parent)->end, ==, STACK_NONE);
	g_assert_cmpstr(profile_build_id(p, profile_get_frame(p, profile_get_node(p, kept)->frame)->module), ==, "4242");
	g_assert_cmpstr(p->info.host, ==, "db1");
	g_assert_true(profile_string(p, "a name of its own") == text);
	/* It goes on as before: what is known is found, what was forgotten is new. */
	const struct frame outer = { .name = "main", .module = "/bin/x" }, again = { .name = "function_7", .module = "/bin/program_7" };

	g_assert_cmpuint(profile_node(p, 0, profile_frame(p, &outer)), ==, profile_get_node(p, kept)->parent);
	profile_node(p, 0, profile_frame(p, &again));
	g_assert_cmpuint(p->nodes->len, ==, 4);
	g_assert_true(profile_check(p, NULL));
	profile_free(p);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/profile/strings", test_strings);
	g_test_add_func("/profile/strings-any-bytes", test_strings_any_bytes);
	g_test_add_func("/profile/strings-many", test_many_strings);
	g_test_add_func("/profile/frames", test_frames);
	g_test_add_func("/profile/frame-says-why", test_frame_says_why);
	g_test_add_func("/profile/nodes", test_nodes);
	g_test_add_func("/profile/depth-is-bounded", test_depth_is_bounded);
	g_test_add_func("/profile/waits-merge", test_waits_merge);
	g_test_add_func("/profile/waits-differ", test_waits_differ);
	g_test_add_func("/profile/waits-expected", test_waits_expected);
	g_test_add_func("/profile/losses", test_losses);
	g_test_add_func("/profile/check", test_check);
	g_test_add_func("/profile/hash-spreads", test_hash_spreads);
	g_test_add_func("/profile/empty-rows", test_empty_rows);
	g_test_add_func("/profile/compact", test_compact);
	return g_test_run();
}
