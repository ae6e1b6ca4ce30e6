/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SERVER_RECORDING_H
#define SERVER_RECORDING_H

#include "exchange/format.h"
#include "render/html/html.h"
#include "server/route.h"

/* One recording as a page and for the viewers of others: what `offcpu view` serves. */

#define SPEEDSCOPE_ORIGIN "https://www.speedscope.app"
#define FIREFOX_ORIGIN "https://profiler.firefox.com"

struct recording_ctx {
	const struct profile *profile;
	const struct html_options *page;
	const struct export_plan *plan;
	GBytes *made[4];	/* by route, as soon as somebody asked; one worker only */
};

extern const struct route recording_routes[];
extern const gsize recording_routes_cnt;

void recording_ctx_clear(struct recording_ctx *ctx);

/* Links to the viewers of others, of what stands at "http://.../TOKEN/"; for g_free(). */
char *recording_link_speedscope(const char *url, const char *title);
char *recording_link_firefox(const char *url);
char *recording_link_pprof(const char *url);

#endif
