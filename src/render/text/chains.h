/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_CHAINS_TEXT_H
#define RENDER_CHAINS_TEXT_H

#include <glib.h>

#include "analyse/actors.h"
#include "analyse/query.h"
#include "profile/profile.h"

/* The chains of wakers, by names, as timelines: the `max` longest.  Nothing where there are none. */
void chains_text(GString *out, const struct profile *p, const struct actors *actors, const struct selection *selection,
		 unsigned max);

#endif
