/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/symbolize/v8_image.h"
#include "symbolize/runtime/v8_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A function in our own memory, of which the bytes change words: two for the place, eight for the word, or two for where it points to. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct v8 v8 = v8_image_make();
	struct v8_names *n = v8_names_new();
	struct language_frame f;

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
	v8_names_free(n);
	return 0;
}
