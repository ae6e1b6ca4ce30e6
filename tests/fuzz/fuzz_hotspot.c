/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "../unit/symbolize/hotspot_image.h"
#include "runtimes/java/frames.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The same bytes as a stack, of a thread or on the heap. */
static void walk(struct hotspot *h, const uint8_t *data, size_t size)
{
	struct java_code *code = java_code_new(h);

	for (unsigned is_chunk = 0; is_chunk < 2; is_chunk++) {
		const struct java_stack s = { .bytes = data, .cnt = size, .sp = 4096, .end = 4096 + size, .is_chunk = is_chunk };
		struct java_frames f = { 0 };

		java_frames_add(&f, code, &s);
		if (f.cnt > JAVA_FRAMES_MAX)
			abort();
	}
	java_code_free(code);
}

static bool see(void *ctx, const struct hotspot_blob *blob)
{
	const struct hotspot_heap *heap = ctx;

	if (blob->code < heap->low || blob->code_end > heap->high || blob->complete >= blob->code_end - blob->code)
		abort();
	return true;
}

/* A JVM in our own memory, of which the bytes change words: two for the place, eight for the word. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct hotspot_image image;
	struct hotspot_names *n = hotspot_names_new();
	const char *const *names;
	const uint8_t *all = data;
	const size_t all_size = size;
	struct hotspot h;
	uint64_t code;
	uint32_t number;

	hotspot_image_make(&image);
	code = image.blob[1];
	hotspot_unpack(data, size, true, &number);
	for (; size >= 10; data += 10, size -= 10)
		memcpy(&image.words[(data[0] | data[1] << 8) % image.used], data + 2, 8);
	if (hotspot_image_open(&image, &h)) {
		for (unsigned i = 0; i < h.heap_cnt; i++)
			if (h.heaps[i].high - h.heaps[i].low < 1 << 20)
				hotspot_for_each_blob(&h, &h.heaps[i], see, &h.heaps[i]);
		g_autoptr(GArray) monitors = g_array_new(FALSE, FALSE, sizeof(struct hotspot_monitor));

		hotspot_monitors(&h, monitors);
		walk(&h, all, all_size);
		for (unsigned i = 0; i < hotspot_names_code(n, &h, code + 20, true, &names); i++)
			if (!g_utf8_validate(names[i], -1, NULL))
				abort();
	}
	hotspot_names_free(n);
	return 0;
}
