/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "attach/sched_ext.h"

#include <glib.h>
#include <string.h>

static char *read_word(const char *root, const char *file)
{
	g_autofree char *path = g_build_filename(root, file, NULL);
	char *text = NULL;

	return g_file_get_contents(path, &text, NULL, NULL) ? g_strstrip(text) : NULL;
}

char *sched_ext_name(const char *root)
{
	g_autofree char *state = read_word(root, "state");

	if (!state || strcmp(state, "disabled") == 0)
		return NULL;
	return read_word(root, "root/ops") ?: g_strdup("unnamed");
}

uint64_t sched_ext_begun(const char *root)
{
	g_autofree char *text = read_word(root, "enable_seq");

	return text ? g_ascii_strtoull(text, NULL, 10) : 0;
}
