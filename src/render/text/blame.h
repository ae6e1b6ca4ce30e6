/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_BLAME_TEXT_H
#define RENDER_BLAME_TEXT_H

#include "analyse/query.h"
#include "render/text/text.h"

/* `offcpu report --runq-blame`: who held the CPU while threads waited for it.  Appends. */
void blame_text(GString *s, const struct profile *p, const struct selection *selection,
		const struct text_options *options);

#endif
