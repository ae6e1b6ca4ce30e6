/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "../unit/symbolize/hotspot_image.h"
#include "symbolize/runtime/hotspot_inline.h"
#include "symbolize/runtime/hotspot_monitors.h"
#include "symbolize/runtime/hotspot_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
		for (unsigned i = 0; i < hotspot_names_code(n, &h, code + 20, true, &names); i++)
			if (!g_utf8_validate(names[i], -1, NULL))
				abort();
	}
	hotspot_names_free(n);
	return 0;
}
