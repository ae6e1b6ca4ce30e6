/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/text/style.h"

#include "explain/text.h"
#include "render/text/first.h"

unsigned text_screen_width(const struct text_options *options)
{
	return options->width ? MAX(options->width, 60) : FIRST_COLUMNS;
}

void text_wrap(GString *s, const char *text, const char *indent, unsigned width)
{
	g_auto(GStrv) words = g_strsplit(text, " ", -1);
	unsigned column = 0;

	for (unsigned i = 0; words[i]; i++) {
		unsigned wide = text_width(words[i]);

		if (i && column + 1 + wide > width) {
			g_string_append_printf(s, "\n%s", indent);
			column = text_width(indent);
		} else if (i) {
			g_string_append_c(s, ' ');
			column++;
		}
		g_string_append(s, words[i]);
		column += wide;
	}
	g_string_append_c(s, '\n');
}

void text_fit(GString *s, const char *lines, const char *indent, const struct text_options *options)
{
	g_auto(GStrv) each = g_strsplit(lines, "\n", -1);

	if (!options->width) {
		g_string_append(s, lines);
		return;
	}
	for (char **line = each; *line && (**line || line[1]); line++)
		text_wrap(s, *line, indent, options->width);
}
