/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SERVER_FIELDS_H
#define SERVER_FIELDS_H

#include <glib.h>

/*
 * The fields of a request's header, taken one by one.  What two programs on the way, as a proxy and this server, could
 * read in two ways is refused (RFC 9112, 3.2, 5.1, 6.3): who asks, and where a request ends, must be one thing.
 */
struct fields {
	unsigned hosts, lengths, codings;
	const char *why;
};

void fields_take(struct fields *f, const char *name, const char *value);
/* A sentence for a 400, or NULL. */
const char *fields_refusal(const struct fields *f);

#endif
