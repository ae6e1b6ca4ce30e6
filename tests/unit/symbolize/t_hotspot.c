/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A JVM's tables and code cache in our own memory, whole and damaged; packed numbers. */
#include <string.h>
#include <unistd.h>

#include "base/opener/opener.h"
#include "hotspot_image.h"
#include "runtimes/java/frames.h"
#include "symbolize/runtime/memory.h"

static struct hotspot_image image;

static bool count_blob(void *ctx, const struct hotspot_blob *blob)
{
	unsigned *cnt = ctx;

	g_assert_cmpuint(blob->frame_bytes, ==, 48);
	g_assert_cmpuint(blob->complete, ==, 16);
	g_assert_cmpint(blob->kind, ==, HOTSPOT_KIND_CODE);
	(*cnt)++;
	return true;
}

/* What the method's code is called; NULL: it has no name. */
static const char *name_now(struct hotspot *h, struct hotspot_names *n)
{
	const char *const *names;
	unsigned cnt = hotspot_names_code(n, h, image.blob[1] + 20, true, &names);

	g_assert_cmpuint(cnt, <=, 1);
	return cnt ? names[0] : NULL;
}

static void test_whole(void)
{
	struct hotspot_names *n = hotspot_names_new();
	struct hotspot_blob blob;
	struct hotspot h;
	unsigned cnt = 0;

	hotspot_image_make(&image);
	g_assert_true(hotspot_image_open(&image, &h));
	g_assert_cmpuint(h.layout.major, ==, 17);
	g_assert_cmpint(h.layout.sender_sp_words, ==, -1);
	g_assert_cmpuint(h.heap_cnt, ==, 1);
	g_assert_true(hotspot_for_each_blob(&h, &h.heaps[0], count_blob, &cnt));
	g_assert_cmpuint(cnt, ==, 1);
	g_assert_true(hotspot_find_blob(&h, image.blob[2] - 1, &blob));
	g_assert_cmpuint(blob.compile_id, ==, 77);
	g_assert_false(hotspot_find_blob(&h, image.blob[2], &blob));
	g_assert_false(hotspot_find_blob(&h, image.heap[1] - 1, &blob));
	g_assert_cmpstr(name_now(&h, n), ==, "com.example.Shop.pay");
	g_assert_cmpstr(hotspot_names_method(n, &h, image.blob[4]), ==, "com.example.Shop.pay");
	hotspot_names_free(n);
}

/* Another method in the place of one that is known is another one; what is none has no name. */
static void test_stale(void)
{
	struct hotspot_names *n = hotspot_names_new();
	struct hotspot h;

	hotspot_image_make(&image);
	g_assert_true(hotspot_image_open(&image, &h));
	g_assert_cmpstr(name_now(&h, n), ==, "com.example.Shop.pay");
	image.blob[5] = 78;	/* compiled again, of another method, whose memory is the old one's */
	image.constants[2] = 5 | 4 << 16;
	image.pool[9 + 5] = image.klass[2];
	g_assert_cmpstr(name_now(&h, n), ==, "com.example.Shop.com/example/Shop");
	image.klass[1] = 0;	/* the class does not know the pool */
	image.constants[2] = 6 | 4 << 16;
	image.blob[5] = 79;
	g_assert_null(name_now(&h, n));
	g_assert_null(hotspot_names_method(n, &h, image.blob[4] + 4));
	g_assert_null(hotspot_names_method(n, &h, 0));
	hotspot_names_free(n);
}

#define INTERPRETER 0x100000u
#define STACK_WORDS 32

/* A compiled frame called by an interpreted one, which a compiled one has called: as a thread's stack, or a chunk of one. */
static unsigned frames_of(struct hotspot *h, bool is_chunk, int64_t unextended)
{
	static uint64_t w[STACK_WORDS];
	const uint64_t at = (uint64_t)(uintptr_t)w, code = image.blob[1] + 20;
	const struct java_stack s = { .bytes = (const uint8_t *)w, .cnt = sizeof(w), .sp = at + 2 * 8, .end = at + 24 * 8,
				      .is_chunk = is_chunk };
	struct java_code *c = java_code_new(h);
	struct java_frames f = { 0 };

	memset(w, 0, sizeof(w));
	w[1] = w[15] = code;
	w[7] = INTERPRETER + 8;
	w[6] = is_chunk ? 8 : at + 14 * 8;
	w[11] = (uint64_t)(uintptr_t)image.method;
	w[13] = is_chunk ? (uint64_t)unextended : at + (uint64_t)(14 + unextended) * 8;
	java_frames_add(&f, c, &s);
	g_assert_cmpint(f.is_at_barrier, ==, is_chunk && f.cnt == 3);
	g_assert_cmpint(f.end, ==, STACK_BROKEN);	/* no virtual thread begins there */
	for (unsigned i = 0; i < f.cnt; i++)
		g_assert_cmpstr(f.names[i], ==, "com.example.Shop.pay");
	java_code_check(c);
	java_code_free(c);
	return f.cnt;
}

static void test_frames(void)
{
	struct hotspot h;

	hotspot_image_make(&image);
	g_assert_true(hotspot_image_open(&image, &h));
	h.interpreter = INTERPRETER;
	h.interpreter_end = INTERPRETER + 64;
	for (unsigned is_chunk = 0; is_chunk < 2; is_chunk++) {
		g_assert_cmpuint(frames_of(&h, is_chunk, 3), ==, 3);
		g_assert_cmpuint(frames_of(&h, is_chunk, -3), ==, 2);	/* the caller's frame cannot lie further in */
	}
	image.blob[5] = 79;
	image.klass[1] = 0;
	g_assert_cmpuint(frames_of(&h, true, 3), ==, 0);
}

static void memory_set(uint64_t at, uint64_t word)
{
	*(uint64_t *)(uintptr_t)at = word;
}

/* Each thread and whose monitor it waits for: "101:102". */
static char *monitors_now(const struct hotspot *h)
{
	g_autoptr(GArray) monitors = g_array_new(FALSE, FALSE, sizeof(struct hotspot_monitor));
	static char text[64];
	gsize len = 0;

	text[0] = '\0';
	hotspot_monitors(h, monitors);
	for (guint i = 0; i < monitors->len && i < 3; i++) {
		const struct hotspot_monitor *one = &g_array_index(monitors, struct hotspot_monitor, i);

		len += (gsize)g_snprintf(text + len, sizeof(text) - len, "%u:%u ", one->tid, one->holder_tid);
	}
	return text;
}

/* Who has a monitor is told by its thread or by a place on its stack; not of nobody's; later versions by its number. */
static void test_monitors(void)
{
	struct hotspot h;

	hotspot_image_make(&image);
	g_assert_true(hotspot_image_open(&image, &h));
	g_assert_cmpstr(monitors_now(&h), ==, "101:102 102:101 ");
	*image.owner = 1;	/* whoever has the object on its lock stack, as from JDK 21 on */
	g_assert_cmpstr(monitors_now(&h), ==, "101:103 102:101 ");
	*image.owner = 0;
	g_assert_cmpstr(monitors_now(&h), ==, "102:101 ");
	for (uint64_t i = 0; i < 3; i++)	/* as from JDK 24 on */
		memory_set(image.threads[i] + 32, 7 + i);
	*image.owner = 9;
	g_assert_cmpstr(monitors_now(&h), ==, "101:103 ");
}

static void test_damaged_heap(void)
{
	struct hotspot_blob blob;
	struct hotspot h;

	hotspot_image_make(&image);
	image.heap[1] = image.heap[0] + (4ull << 30);	/* no heap is so large */
	g_assert_false(hotspot_image_open(&image, &h));
	hotspot_image_make(&image);
	image.heap[4] = 63;
	g_assert_false(hotspot_image_open(&image, &h));
	hotspot_image_make(&image);
	g_assert_true(hotspot_image_open(&image, &h));
	image.blob[2] = image.heap[1] + 8;	/* code beyond its block */
	g_assert_false(hotspot_find_blob(&h, image.blob[1], &blob));
	hotspot_image_make(&image);
	memset(image.segmap, 200, IMAGE_SEGMENTS);	/* hops to before the heap */
	g_assert_false(hotspot_find_blob(&h, image.blob[1], &blob));
	hotspot_image_make(&image);
	image.blob[-2] = UINT64_MAX;	/* the block's length */
	g_assert_false(hotspot_find_blob(&h, image.blob[1], &blob));
}

/* Each word of it, by turns, is what it must not be: nothing but our own memory is read, and everything ends. */
static void test_hostile(void)
{
	static const uint64_t bad[] = { 0, 1, UINT64_MAX, 1ull << 47, 1ull << 63, 0x7fffffff };
	struct hotspot_names *n = hotspot_names_new();
	struct hotspot_image *whole = g_new(struct hotspot_image, 1);
	const char *const *names;
	struct hotspot h;
	unsigned refused = 0;

	hotspot_image_make(&image);
	*whole = image;
	for (unsigned i = 0; i < whole->used; i++)
		for (size_t k = 0; k < G_N_ELEMENTS(bad); k++) {
			image.words[i] = bad[k];
			if (hotspot_image_open(&image, &h)) {
				hotspot_names_code(n, &h, whole->blob[1] + 20, true, &names);
				hotspot_blocks_hash(&h);
				monitors_now(&h);
			} else {
				refused++;
			}
			image.words[i] = whole->words[i];
		}
	g_assert_cmpuint(refused, >, 0);
	g_assert_true(hotspot_image_open(&image, &h));	/* nothing of it is kept */
	g_free(whole);
	hotspot_names_free(n);
}

static void test_numbers(void)
{
	static const uint8_t plain[] = { 191 }, two[] = { 192, 1 }, none[] = { 0 }, open[] = { 255 };
	static const uint8_t five[] = { 255, 255, 255, 255, 255 };
	uint32_t number;

	g_assert_cmpuint(hotspot_unpack(plain, 1, false, &number), ==, 1);
	g_assert_cmpuint(number, ==, 191);
	g_assert_cmpuint(hotspot_unpack(two, 2, false, &number), ==, 2);
	g_assert_cmpuint(number, ==, 192 + 64);
	g_assert_cmpuint(hotspot_unpack(plain, 1, true, &number), ==, 1);
	g_assert_cmpuint(number, ==, 190);
	g_assert_cmpuint(hotspot_unpack(two, 2, true, &number), ==, 2);
	g_assert_cmpuint(number, ==, 191);
	g_assert_cmpuint(hotspot_unpack(none, 1, false, &number), ==, 1);
	g_assert_cmpuint(hotspot_unpack(none, 1, true, &number), ==, 0);
	g_assert_cmpuint(hotspot_unpack(open, 1, false, &number), ==, 0);
	g_assert_cmpuint(hotspot_unpack(five, 5, false, &number), ==, 5);
}

static uint64_t word_now(const uint64_t *word)
{
	uint64_t seen = 0;

	g_assert_true(memory_read((uint32_t)getpid(), (uintptr_t)word, &seen, sizeof(seen)));
	return seen;
}

/* While names are read, a page serves for the next ones; whoever wants what is there now gets that. */
static void test_pages_of_names(void)
{
	uint64_t word = 1;

	opener_begin();
	if (!opener_is_there()) {
		g_test_skip("no process can be had");
		return;
	}
	memory_begin_names();
	g_assert_cmpuint(word_now(&word), ==, 1);
	word = 2;
	memory_begin_names();
	g_assert_cmpuint(word_now(&word), ==, 1);
	memory_end_names();
	memory_keep_pages((uint32_t)getpid());
	g_assert_cmpuint(word_now(&word), ==, 2);
	memory_drop_pages();
	g_assert_cmpuint(word_now(&word), ==, 1);
	memory_end_names();
	g_assert_cmpuint(word_now(&word), ==, 2);
	g_usleep(25000);
	memory_begin_names();
	g_assert_cmpuint(word_now(&word), ==, 2);
	memory_end_names();
	word = 3;
	g_usleep(25000);
	memory_begin_names();
	memory_names_may_be_old(true);
	g_assert_cmpuint(word_now(&word), ==, 2);
	memory_names_may_be_old(false);
	g_assert_cmpuint(word_now(&word), ==, 3);
	memory_end_names();
	word = 4;
	g_usleep(205000);
	memory_begin_names();
	memory_names_may_be_old(true);
	g_assert_cmpuint(word_now(&word), ==, 4);
	memory_end_names();
	opener_stop();
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/hotspot/whole", test_whole);
	g_test_add_func("/hotspot/stale", test_stale);
	g_test_add_func("/hotspot/frames", test_frames);
	g_test_add_func("/hotspot/monitors", test_monitors);
	g_test_add_func("/hotspot/damaged-heap", test_damaged_heap);
	g_test_add_func("/hotspot/hostile", test_hostile);
	g_test_add_func("/hotspot/numbers", test_numbers);
	g_test_add_func("/hotspot/pages-of-names", test_pages_of_names);
	return g_test_run();
}
