/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* make_flame server|hostile|one|empty|sliced|lanes|requests|services=N|many=FRAMES [palette=P] [inverted] [reverse] [thread] [html] [width=N] [all]
 *	[frames=N] [rows=N]: a graph on stdout, html: the page.
 * make_flame WHAT record=PATH: the recording. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "profile/profile_file.h"
#include "render/html/html.h"
#include "render/svg/svg.h"

static struct profile *fixture(const char *name)
{
	if (g_str_has_prefix(name, "many="))
		return fixture_many((unsigned)atoi(name + 5));
	if (g_str_has_prefix(name, "services="))
		return fixture_services((unsigned)atoi(name + 9));
	if (strcmp(name, "hostile") == 0)
		return fixture_hostile();
	if (strcmp(name, "sliced") == 0)
		return fixture_sliced();
	if (strcmp(name, "lanes") == 0)
		return fixture_lanes();
	if (strcmp(name, "requests") == 0)
		return fixture_requests();
	if (strcmp(name, "one") == 0)
		return fixture_one();
	return strcmp(name, "empty") == 0 ? fixture_empty() : fixture_server();
}

int main(int argc, char **argv)
{
	struct tree_options tree = { 0 };
	struct svg_options svg = { .width_px = 1200, .min_width = 0.001 };
	g_autoptr(GString) out = g_string_new(NULL);
	const char *record = NULL;
	bool html = false;

	for (int i = 2; i < argc; i++) {
		if (g_str_has_prefix(argv[i], "palette=") && palette_parse(argv[i] + 8, &svg.palette))
			tree.delimiters = svg.palette == PALETTE_CHAIN;
		else if (g_str_has_prefix(argv[i], "width="))
			svg.width_px = (unsigned)atoi(argv[i] + 6);
		else if (g_str_has_prefix(argv[i], "frames="))
			svg.max_frames = (unsigned)atoi(argv[i] + 7);
		else if (g_str_has_prefix(argv[i], "rows="))
			svg.max_rows = (unsigned)atoi(argv[i] + 5);
		else if (g_str_has_prefix(argv[i], "record="))
			record = argv[i] + 7;
		else if (strcmp(argv[i], "inverted") == 0)
			svg.inverted = true;
		else if (strcmp(argv[i], "reverse") == 0)
			tree.reverse = true;
		else if (strcmp(argv[i], "thread") == 0)
			tree.by_thread = true;
		else if (strcmp(argv[i], "html") == 0)
			html = true;
		else if (strcmp(argv[i], "all") == 0)
			svg.min_width = 0;
		else
			return 2;
	}
	struct profile *p = fixture(argc > 1 ? argv[1] : "server");
	if (record) {
		bool written = profile_file_write(p, record, NULL);
		profile_free(p);
		return written ? 0 : 1;
	}
	struct tree *t = tree_from_profile(p, &tree);
	if (html)
		html_page(p, &(struct html_options){ .view = tree, .inverted = svg.inverted }, out);
	else
		svg_flame(p, t, &svg, out, NULL);
	tree_free(t);
	profile_free(p);
	return fwrite(out->str, 1, out->len, stdout) == out->len ? 0 : 1;
}
