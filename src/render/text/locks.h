/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_LOCKS_TEXT_H
#define RENDER_LOCKS_TEXT_H

#include "analyse/query.h"
#include "render/text/text.h"

/* `offcpu report --locks`: which locks threads waited for, and who held them. */
void locks_text(GString *s, const struct profile *p, const struct selection *selection,
		const struct text_options *options);

#endif
