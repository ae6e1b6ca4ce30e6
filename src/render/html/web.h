/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_HTML_WEB_H
#define RENDER_HTML_WEB_H

/*
 * The files of web/page and web/serve, built in by tools/embed.py; the digests are what a Content-Security-Policy
 * names them by.
 */
/* zlib streams, in base91, of the script, the style, and the help texts; digests are of the uncompressed text */
extern const char web_page_js_packed[], web_page_js_packed_sha256[];
/* appended to the script in pages with requests; the digest is of both together */
extern const char web_page_requests_packed[], web_page_requests_packed_sha256[];
/* the same for pages of a difference */
extern const char web_page_batches_packed[], web_page_batches_packed_sha256[];
extern const char web_page_loader[], web_page_loader_sha256[];
extern const char web_page_css_packed[], web_page_css_packed_sha256[];
/* content of the element "page" */
extern const char web_page_html_packed[], web_page_html_packed_sha256[];
/* web/serve: page of `offcpu serve` */
extern const char web_serve_js[], web_serve_js_sha256[];
extern const char web_serve_css[], web_serve_css_sha256[];
extern const char web_serve_html[];
/* web/fleet: list of hosts of `offcpu serve --fleet` */
extern const char web_fleet_css[], web_fleet_css_sha256[];

#endif
