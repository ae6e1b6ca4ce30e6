/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/html/html.h"

#include "render/html/web.h"

char *html_serve_policy(void)
{
	return g_strdup_printf(
		"default-src 'none'; script-src 'sha256-%s'; style-src 'sha256-%s'; connect-src 'self'; frame-src 'self'; "
		"img-src 'self' data:; base-uri 'none'; form-action 'none'",
		web_serve_js_sha256, web_serve_css_sha256);
}

void html_serve_page(GString *out)
{
	g_string_append_printf(
		out,
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		"<meta name=\"color-scheme\" content=\"light dark\">\n<title>Off-CPU history</title>\n<link rel=\"icon\" href=\"data:,\">\n"
		"<style>%s</style>\n</head>\n<body>\n%s<script>%s</script>\n</body>\n</html>\n",
		web_serve_css, web_serve_html, web_serve_js);
}
