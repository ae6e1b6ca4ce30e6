/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SERVER_FLEET_PAGES_H
#define SERVER_FLEET_PAGES_H

#include "push/target.h"
#include "server/route.h"

/*
 * Many hosts, out of ClickHouse's tables: a list of them for a range of time, and that range of one of them as the page
 * of `offcpu flame` and as JSON.  What `offcpu serve --fleet` serves (docs/serve.md).
 */

#define FLEET_WORKERS 4		/* threads that answer: the list, ranges, and what is quick */

struct fleet_pages;

/* Opens its connections' clients, and asks the server once, so that what has to be loaded is.  NULL with a sentence. */
struct fleet_pages *fleet_pages_new(const struct target_options *engine, GError **error);
void fleet_pages_free(struct fleet_pages *f);	/* NULL is fine */
const char *fleet_pages_name(const struct fleet_pages *f);	/* "ClickHouse at http://..." */

extern const struct route fleet_routes[];	/* their ctx is the pages */
extern const gsize fleet_routes_cnt;

#endif
