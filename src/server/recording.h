/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SERVER_RECORDING_H
#define SERVER_RECORDING_H

#include "exchange/format.h"
#include "render/html/html.h"
#include "server/route.h"

/* One recording as a page and for other viewers: what `offcpu view` serves. */

#define SPEEDSCOPE_ORIGIN "https://www.speedscope.app"
#define FIREFOX_ORIGIN "https://profiler.firefox.com"

struct recording_ctx {
	const struct profile *profile;
	const struct html_options *page;
	const struct export_plan *plan;
	GBytes *made[4];	/* by route, made on first request; needs a single worker */
};

extern const struct route recording_routes[];
extern const gsize recording_routes_cnt;

void recording_ctx_clear(struct recording_ctx *ctx);

/* Links to other viewers for what is served at "http://.../TOKEN/".  Free with g_free(). */
char *recording_link_speedscope(const char *url, const char *title);
char *recording_link_firefox(const char *url);
char *recording_link_pprof(const char *url);

#endif
