/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_TEXT_WHATIF_H
#define RENDER_TEXT_WHATIF_H

#include "explain/whatif.h"

void text_whatif(GString *s, const struct whatif *w);
/* One object: rates in thousandths of those now, shares in millionths. */
void whatif_json(GString *s, const struct whatif *w);

#endif
