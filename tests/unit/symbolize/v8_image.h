/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef TEST_V8_IMAGE_H
#define TEST_V8_IMAGE_H

#include "symbolize/runtime/v8_layout.h"

/* A function of JavaScript's with its scope, its script and their texts, in this process's own memory, laid out as by V8 11.3. */
enum {
	V8_MAPS = 0,	/* 8 words each, as the types below */
	V8_SHARED = 100, V8_SCOPE = 120, V8_SCRIPT = 150, V8_NAME = 180, V8_FIRST = 200, V8_SECOND = 220, V8_FILE = 240, V8_SOURCE = 260,
	V8_EXTERNAL = 300, V8_SLICED = 310, V8_THIN = 320, V8_RESOURCE = 330, V8_IMAGE_WORDS = 400
};

enum v8_image_type { V8_IS_SHARED, V8_IS_SCOPE, V8_IS_SCRIPT, V8_IS_LATIN, V8_IS_WIDE, V8_IS_CONS, V8_IS_EXTERNAL, V8_IS_SLICED, V8_IS_THIN, V8_IS_OTHER };

extern uint64_t v8_image[V8_IMAGE_WORDS];

/* Makes it anew; the function is called "Shop.pay", the 7th of "/srv/shop.js", whose third line it begins in. */
struct v8 v8_image_make(void);
uint64_t v8_image_object(unsigned word);
void v8_image_put(unsigned word, enum v8_image_type type);
void v8_image_text(unsigned word, const char *text);

#endif
