/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_JSON_FOLLOW_H
#define RENDER_JSON_FOLLOW_H

#include "explain/follow.h"

/* An object with "chains", each of "hops".  Appends. */
void json_follow(GString *out, const GPtrArray *chains);

#endif
