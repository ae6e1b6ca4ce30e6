/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "v8_image.h"

#include <string.h>
#include <unistd.h>

uint64_t v8_image[V8_IMAGE_WORDS];

uint64_t v8_image_object(unsigned word)
{
	return (uint64_t)(uintptr_t)(v8_image + word) + 1;
}

void v8_image_put(unsigned word, enum v8_image_type type)
{
	v8_image[word] = v8_image_object(V8_MAPS + 8 * type);
}

void v8_image_text(unsigned word, const char *text)
{
	uint32_t cnt = (uint32_t)strlen(text);

	v8_image_put(word, V8_IS_LATIN);
	memcpy((uint8_t *)(v8_image + word) + 12, &cnt, sizeof(cnt));
	memcpy(v8_image + word + 2, text, cnt);
}

static uint64_t number(uint32_t value)
{
	return (uint64_t)value << 32;
}

static void make_types(void)
{
	static const uint16_t types[] = { 262, 261, 167, 40, 32, 41, 42, 43, 45, 131 };

	for (unsigned i = 0; i < sizeof(types) / sizeof(*types); i++)
		memcpy((uint8_t *)(v8_image + V8_MAPS + 8 * i) + 12, &types[i], sizeof(types[i]));
}

struct v8 v8_image_make(void)
{
	memset(v8_image, 0, sizeof(v8_image));
	make_types();
	v8_image_put(V8_SHARED, V8_IS_SHARED);
	v8_image[V8_SHARED + 2] = v8_image_object(V8_SCOPE);
	v8_image[V8_SHARED + 4] = v8_image_object(V8_SCRIPT);
	v8_image[V8_SHARED + 6] = number(7) | 0x1100;
	/* two locals, whose names and properties come first; then the name, where it is, what was made up for it, the place */
	v8_image_put(V8_SCOPE, V8_IS_SCOPE);
	v8_image[V8_SCOPE + 3] = number(2);
	v8_image[V8_SCOPE + 4] = v8_image[V8_SCOPE + 5] = v8_image_object(V8_FILE);
	v8_image[V8_SCOPE + 6] = number(1);
	v8_image[V8_SCOPE + 7] = number(2);
	v8_image[V8_SCOPE + 8] = v8_image_object(V8_NAME);
	v8_image[V8_SCOPE + 9] = number(UINT32_MAX);
	v8_image[V8_SCOPE + 10] = v8_image_object(V8_MAPS);
	v8_image[V8_SCOPE + 11] = number(10);
	v8_image[V8_SCOPE + 12] = number(15);
	v8_image_put(V8_NAME, V8_IS_CONS);
	v8_image[V8_NAME + 2] = v8_image_object(V8_FIRST);
	v8_image[V8_NAME + 3] = v8_image_object(V8_SECOND);
	v8_image_text(V8_FIRST, "Shop.");
	v8_image_text(V8_SECOND, "pay");
	v8_image_put(V8_SCRIPT, V8_IS_SCRIPT);
	v8_image[V8_SCRIPT + 1] = v8_image_object(V8_SOURCE);
	v8_image[V8_SCRIPT + 2] = v8_image_object(V8_FILE);
	v8_image_text(V8_FILE, "/srv/shop.js");
	v8_image_text(V8_SOURCE, "line\nline\npay() {}\n");
	return (struct v8){
		.pid = (uint32_t)getpid(),
		.type = { .function = 262, .script = 167, .scope = 261, .representation = 7, .one_byte = 8, .sequential = 0, .cons = 1,
			  .external = 2, .sliced = 3, .thin = 5 },
		.map = 0, .map_type = 12, .function_shared = 24, .shared_name = 16, .shared_script = 32, .shared_number = 52,
		.script_name = 16, .script_source = 8, .string_length = 12, .one_byte_chars = 16, .two_byte_chars = 16, .cons_first = 16,
		.cons_second = 24, .sliced_parent = 16, .sliced_offset = 24, .thin_actual = 16, .external_resource = 16, .scope_locals = 2,
		.scope_first = 3,
	};
}
