/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/symbolize/v8_image.h"
#include "runtimes/node/names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Of its code, which has called from there, too. */
static void look_for_inlined(struct v8_names *n, const struct v8 *v8, uint64_t offset)
{
	uint64_t functions[V8_INLINED_MAX];
	struct language_frame f;
	unsigned cnt = v8_inlined(v8, v8_image_object(V8_SHARED), v8_image_object(V8_INSTRUCTIONS) - 1 + offset, functions);

	for (unsigned i = 0; i < cnt; i++)
		if (v8_names_any_function(n, v8, functions[i], &f) && !g_utf8_validate(f.name, -1, NULL))
			abort();
}

/* A function in our own memory, of which the bytes change words: two for the place, eight for the word, or two for where it points to. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct v8 v8 = v8_image_make();
	struct v8_names *n = v8_names_new();
	struct language_frame f;
	uint32_t literals[V8_INLINED_MAX];

	v8_unpack_frames(data, size, size / 2, literals);
	for (; size >= 10; data += 10, size -= 10) {
		unsigned place = (data[0] | data[1] << 8) % V8_IMAGE_WORDS;
		uint64_t word;

		memcpy(&word, data + 2, sizeof(word));
		v8_image[place] = word >> 16 ? word : v8_image_object((unsigned)word % V8_IMAGE_WORDS);
	}
	for (unsigned i = 0; i < 2; i++)
		if (v8_names_function(n, &v8, v8_image_object(V8_SHARED), 7, &f) &&
		    (!g_utf8_validate(f.name, -1, NULL) || (f.file && !g_utf8_validate(f.file, -1, NULL))))
			abort();
	look_for_inlined(n, &v8, V8_RETURN);
	look_for_inlined(n, &v8, V8_OTHER_RETURN);
	v8_names_free(n);
	return 0;
}
