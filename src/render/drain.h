/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_DRAIN_H
#define RENDER_DRAIN_H


/* Called between the rows of a large text.  May write what is there and empty the string. */
struct drain {
	void (*take)(void *ctx);
	void *ctx;
};

/* drain NULL: the text stays in the string. */
static inline void drain_rows(const struct drain *d)
{
	if (d)
		d->take(d->ctx);
}

#endif
