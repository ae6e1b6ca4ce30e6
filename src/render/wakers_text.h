/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_WAKERS_TEXT_H
#define RENDER_WAKERS_TEXT_H

#include "analyse/wakers.h"
#include "render/text.h"

/* `offcpu report --wakers`: who woke whom, and of the longest waits who ended them. */
void wakers_text(GString *s, const struct profile *p, const struct selection *selection,
		 const struct text_options *options);

#endif
