/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef TEST_HOTSPOT_IMAGE_H
#define TEST_HOTSPOT_IMAGE_H

#include "runtimes/java/code.h"

/*
 * A JVM's tables, a code cache of one heap with one method in it, and that method's name, in this process's own memory; all of
 * it may be damaged.
 */
#define IMAGE_WORDS 8192
#define IMAGE_SEGMENTS 16	/* of 128 bytes */
#define IMAGE_METHOD_SEGMENT 2	/* where the method's block begins */

struct hotspot_image {
	uint64_t words[IMAGE_WORDS];	/* the heap comes first, then what it points to */
	uint64_t symbols[HOTSPOT_SYMBOL_CNT];
	uint64_t *segmap, *heap, *blob, *method, *constants, *pool, *klass, *class_name, *method_name;
	uint64_t *threads;	/* addresses of three JavaThreads, the fifth word of which is the number that an owner may have */
	uint64_t *owner;	/* of the monitor that the first thread waits for */
	unsigned used;
};

void hotspot_image_make(struct hotspot_image *image);
/* As hotspot_open() does, by the image's symbols. */
bool hotspot_image_open(struct hotspot_image *image, struct hotspot *h);

#endif
