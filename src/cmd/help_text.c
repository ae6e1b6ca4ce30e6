/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/cmd.h"

#include <string.h>

#define ROOM_LEAST 24	/* minimum width of the last column */

/* Start of the line's last column, if it leaves enough room; else slightly right of the line's start. */
static gsize column_of(const char *line, gsize width)
{
	gsize first = strspn(line, " "), column = first + 4;

	for (gsize i = first; line[i] && i + ROOM_LEAST <= width; i++)
		if (i >= first + 2 && line[i] != ' ' && line[i - 1] == ' ' && line[i - 2] == ' ')
			column = i;
	return column;
}

/* How much of the text fits; at least a word. */
static gsize fitting_bytes(const char *text, gsize room)
{
	gsize end = 0;

	for (gsize i = 0; i <= room; i++) {
		if (text[i] == ' ' || !text[i])
			end = i;
		if (!text[i])
			break;
	}
	return end ? end : strcspn(text, " ");
}

static void wrap_line(GString *to, const char *line, gsize width)
{
	gsize column = column_of(line, width);
	gsize taken = strspn(line, " ");

	taken += fitting_bytes(line + taken, width - taken);
	g_string_append_len(to, line, (gssize)taken);
	for (const char *rest = line + taken; *(rest += strspn(rest, " ")); rest += taken) {
		taken = fitting_bytes(rest, width - column);
		g_string_append_printf(to, "\n%*s%.*s", (int)column, "", (int)taken, rest);
	}
	g_string_append_c(to, '\n');
}

char *help_text_wrap(const char *text, unsigned width)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	GString *to = g_string_new(NULL);

	for (char **line = lines; *line; line++) {
		if (!line[1] && !**line)
			break;	/* after the last newline */
		if (width < 2 * ROOM_LEAST || strlen(*line) <= width || strspn(*line, " ") + ROOM_LEAST > width)
			g_string_append_printf(to, "%s\n", *line);
		else
			wrap_line(to, *line, width);
	}
	return g_string_free(to, FALSE);
}
