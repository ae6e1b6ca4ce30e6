/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_FOLDED_WAKERS_H
#define RENDER_FOLDED_WAKERS_H

#include "render/text/folded.h"

/* Folded stacks of who woke whom. */

enum folded_wakers {
	/* "comm;user;-;kernel;--;waker kernel;-;waker user;waker_comm", the waker's innermost first */
	FOLDED_OFFWAKE,
	/* "waker_comm;user;-;kernel;target": the waker's stack, root first, and whom it woke */
	FOLDED_WAKEUP,
};

/* As folded_render(); the "-" between user and kernel frames are always there. */
void folded_wakers_render(GString *out, const struct profile *p, const struct selection *selection,
			  const struct folded_options *options, enum folded_wakers form,
			  struct folded_result *ret_result);

#endif
