/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SERVER_FLEET_PAGES_H
#define SERVER_FLEET_PAGES_H

#include "push/target.h"
#include "server/route.h"

/*
 * Pages of many hosts, from ClickHouse's tables: a list of them for a time range, and a range of one host as the page
 * of `offcpu flame` and as JSON.  `offcpu serve --fleet` serves them (docs/serve.md).
 */

#define FLEET_WORKERS 4		/* threads that answer: lists, ranges and everything quick */

struct fleet_pages;

/* Creates the clients, and asks the server once so that libraries are loaded early.  NULL on error. */
struct fleet_pages *fleet_pages_new(const struct target_options *engine, GError **error);
void fleet_pages_free(struct fleet_pages *f);	/* NULL is fine */
const char *fleet_pages_name(const struct fleet_pages *f);	/* "ClickHouse at http://..." */

extern const struct route fleet_routes[];	/* their ctx is the struct fleet_pages */
extern const gsize fleet_routes_cnt;

#endif
