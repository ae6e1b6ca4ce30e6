/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_TEXT_FOLLOW_H
#define RENDER_TEXT_FOLLOW_H

#include "explain/follow.h"
#include "render/text/text.h"

/* A paragraph for each chain, a sentence for each hop.  Appends. */
void text_follow(GString *s, const GPtrArray *chains, const struct text_options *options);

#endif
