/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_CRITICAL_TEXT_H
#define RENDER_CRITICAL_TEXT_H

#include "analyse/critical.h"
#include "render/text/text.h"

/* `offcpu report --critical`: for people, and as JSON (docs/wait-graph.md). */
void critical_text(GString *s, const struct critical *c, const struct text_options *options);
void critical_json(GString *out, const struct critical *c);

#endif
