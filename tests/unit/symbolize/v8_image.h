/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef TEST_V8_IMAGE_H
#define TEST_V8_IMAGE_H

#include "runtimes/node/names.h"

/* A function of JavaScript's with its scope, its script and their texts, in this process's own memory, laid out as by V8 11.3. */
enum {
	V8_MAPS = 0,	/* 8 words each, as the types below */
	V8_SHARED = 100, V8_SCOPE = 120, V8_SCRIPT = 150, V8_NAME = 180, V8_FIRST = 200, V8_SECOND = 220, V8_FILE = 240, V8_SOURCE = 260,
	V8_EXTERNAL = 300, V8_SLICED = 310, V8_THIN = 320, V8_RESOURCE = 330,
	/* code of the function's, whose instructions begin at a multiple of 64 bytes */
	V8_STREAM = 406, V8_INSTRUCTIONS = 408, V8_CODE = 440, V8_DEOPTS = 450, V8_BYTES = 480, V8_LITERALS = 500, V8_INNER = 510,
	V8_MORE_MAPS = 520, V8_IMAGE_WORDS = 560
};

#define V8_RETURN 20		/* there code called from what was inlined, */
#define V8_OTHER_RETURN 40	/* and there, told by what is otherwise than at the first */

enum v8_image_type { V8_IS_SHARED, V8_IS_SCOPE, V8_IS_SCRIPT, V8_IS_LATIN, V8_IS_WIDE, V8_IS_CONS, V8_IS_EXTERNAL, V8_IS_SLICED, V8_IS_THIN, V8_IS_OTHER,
	V8_IS_STREAM, V8_IS_CODE, V8_IS_ARRAY, V8_IS_WEAK_ARRAY, V8_IS_BYTES };

extern uint64_t v8_image[V8_IMAGE_WORDS];

/*
 * Makes it anew; the function is called "Shop.pay", the 7th of "/srv/shop.js", whose third line it begins in; "pay" is inlined in it.
 */
struct v8 v8_image_make(void);
uint64_t v8_image_object(unsigned word);
void v8_image_put(unsigned word, enum v8_image_type type);
void v8_image_text(unsigned word, const char *text);

#endif
