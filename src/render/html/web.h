/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_HTML_WEB_H
#define RENDER_HTML_WEB_H

/*
 * The files of web/page and web/serve, built in by tools/embed.py; the digests are what a Content-Security-Policy
 * names them by.
 */
/* the zlib stream, in base91, of the script, of the style, and of what they are for; the digest is that of the text */
extern const char web_page_js_packed[], web_page_js_packed_sha256[];
/* of pages with requests: goes behind the script, and the digest is that of both */
extern const char web_page_requests_packed[], web_page_requests_packed_sha256[];
/* of pages of a difference, the same */
extern const char web_page_batches_packed[], web_page_batches_packed_sha256[];
extern const char web_page_loader[], web_page_loader_sha256[];
extern const char web_page_css_packed[], web_page_css_packed_sha256[];
/* what stands in the element "page" */
extern const char web_page_html_packed[], web_page_html_packed_sha256[];
/* web/serve: the page of `offcpu serve` */
extern const char web_serve_js[], web_serve_js_sha256[];
extern const char web_serve_css[], web_serve_css_sha256[];
extern const char web_serve_html[];
/* web/fleet: the list of hosts of `offcpu serve --fleet` */
extern const char web_fleet_css[], web_fleet_css_sha256[];

#endif
