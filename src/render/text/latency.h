/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_TEXT_LATENCY_H
#define RENDER_TEXT_LATENCY_H

#include "analyse/request_cells.h"
#include "render/text/text.h"

/* Requests of a history: of each name a sentence, a table over time, and what all and the slowest were spent on. */
void latency_text(GString *s, const struct request_line *l, const struct text_options *o);

#endif
