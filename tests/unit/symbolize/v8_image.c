/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "v8_image.h"

#include <string.h>
#include <unistd.h>

_Alignas(4096) uint64_t v8_image[V8_IMAGE_WORDS];

uint64_t v8_image_object(unsigned word)
{
	return (uint64_t)(uintptr_t)(v8_image + word) + 1;
}

void v8_image_put(unsigned word, enum v8_image_type type)
{
	v8_image[word] = v8_image_object(type > V8_IS_OTHER ? V8_MORE_MAPS + 8 * (type - V8_IS_STREAM) : V8_MAPS + 8 * type);
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
	static const uint16_t types[] = { 262, 261, 167, 40, 32, 41, 42, 43, 45, 131 }, more[] = { 252, 245, 175, 240, 190 };

	for (unsigned i = 0; i < sizeof(types) / sizeof(*types); i++)
		memcpy((uint8_t *)(v8_image + V8_MAPS + 8 * i) + 12, &types[i], sizeof(types[i]));
	for (unsigned i = 0; i < sizeof(more) / sizeof(*more); i++)
		memcpy((uint8_t *)(v8_image + V8_MORE_MAPS + 8 * i) + 12, &more[i], sizeof(more[i]));
}

/* A place with both functions, and one that repeats its first two instructions. */
static const uint8_t frames[] = { 2, 0, 4, 4, 24, 2, 0, 2, 29, 2, 24, 4, 2, 2, 2, 14, 4, 4, 36 + 2, 23, 6, 2, 2, 0, 2 };
#define OTHER_PLACE 14

static void make_code(void)
{
	const uint64_t deopts[] = { v8_image_object(V8_BYTES), number(1), v8_image_object(V8_LITERALS), 0, 0, 0, v8_image_object(V8_SHARED), 0, 0, 0, 0,
				    number(1), 0, number(V8_RETURN), number(2), number(OTHER_PLACE), number(V8_OTHER_RETURN) };

	v8_image_put(V8_STREAM, V8_IS_STREAM);
	v8_image[V8_STREAM + 1] = v8_image_object(V8_CODE);
	v8_image_put(V8_CODE, V8_IS_CODE);
	v8_image[V8_CODE + 2] = v8_image_object(V8_DEOPTS);
	v8_image[V8_CODE + 4] = v8_image_object(V8_STREAM);
	v8_image[V8_CODE + 5] = v8_image_object(V8_INSTRUCTIONS) - 1;
	v8_image_put(V8_DEOPTS, V8_IS_ARRAY);
	v8_image[V8_DEOPTS + 1] = number(sizeof(deopts) / sizeof(*deopts));
	memcpy(v8_image + V8_DEOPTS + 2, deopts, sizeof(deopts));
	v8_image_put(V8_BYTES, V8_IS_BYTES);
	v8_image[V8_BYTES + 1] = number(sizeof(frames));
	memcpy(v8_image + V8_BYTES + 2, frames, sizeof(frames));
	v8_image_put(V8_LITERALS, V8_IS_WEAK_ARRAY);
	v8_image[V8_LITERALS + 1] = number(2);
	v8_image[V8_LITERALS + 2] = v8_image_object(V8_SHARED);
	v8_image[V8_LITERALS + 3] = v8_image_object(V8_INNER) | 2;
	v8_image_put(V8_INNER, V8_IS_SHARED);
	v8_image[V8_INNER + 2] = v8_image_object(V8_SECOND);
	v8_image[V8_INNER + 4] = v8_image_object(V8_SCRIPT);
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
	make_code();
	return (struct v8){
		.has_inlined = true,
		.pid = (uint32_t)getpid(),
		.type = { .function = 262, .script = 167, .scope = 261, .representation = 7, .one_byte = 8, .sequential = 0, .cons = 1,
			  .external = 2, .sliced = 3, .thin = 5 },
		.map = 0, .map_type = 12, .function_shared = 24, .shared_name = 16, .shared_script = 32, .shared_number = 52,
		.script_name = 16, .script_source = 8, .string_length = 12, .one_byte_chars = 16, .two_byte_chars = 16, .cons_first = 16,
		.cons_second = 24, .sliced_parent = 16, .sliced_offset = 24, .thin_actual = 16, .external_resource = 16, .scope_locals = 2,
		.scope_first = 3,
	};
}
