/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_STORMS_TEXT_H
#define RENDER_STORMS_TEXT_H

#include "analyse/query.h"
#include "render/text/text.h"

/* `offcpu report --storms`: events that wake many threads at once, their stacks, a verdict.  Appends. */
void storms_text(GString *s, const struct profile *p, const struct selection *selection,
		 const struct text_options *options);

#endif
