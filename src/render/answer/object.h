/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_ANSWER_OBJECT_H
#define RENDER_ANSWER_OBJECT_H

#include "render/answer/answer.h"

/*
 * A whole report, an object that our own writers made, as an answer of a bounded size: its members first, then the items of
 * its arrays in their order, of all arrays in turn.  Stacks are cut in the middle, and histograms left out.  `told`: lines
 * for people that come first, as "told"; NULL: none.  Appends one line.
 */
void answer_object(GString *out, const char *of, const GString *object, const char *told, size_t max_bytes);

#endif
