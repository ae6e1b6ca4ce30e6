/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_HTML_SERVE_H
#define RENDER_HTML_SERVE_H

#include <glib.h>

/*
 * The page of `offcpu serve` (web/serve): it holds no data and asks the server it came from.  Beside its own script
 * and style, which the policy names by digest, it may load nothing.
 */
void html_serve_page(GString *out);

/* The Content-Security-Policy that the page needs.  For g_free(). */
char *html_serve_policy(void);

#endif
