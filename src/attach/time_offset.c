/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "attach/time_offset.h"

#include <string.h>

#include "attach/error.h"
#include "base/refuse.h"

/* Lines as "monotonic   86400   0": seconds and nanoseconds. */
static bool has_offset(const char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", 16);

	for (char **line = lines; *line; line++)
		if (strpbrk(*line, "123456789"))
			return true;
	return false;
}

/*
 * The kernel tells the offsets of the namespace in which our children will be.  Where that is another one than our
 * own, ours cannot be known.
 */
bool time_offset_check(GError **error)
{
	g_autofree char *own = g_file_read_link("/proc/self/ns/time", NULL);
	g_autofree char *childrens = g_file_read_link("/proc/self/ns/time_for_children", NULL), *text = NULL;

	if (!own || !g_file_get_contents("/proc/self/timens_offsets", &text, NULL, NULL))
		return true;
	if (childrens && strcmp(own, childrens) == 0 && !has_offset(text))
		return true;
	return refuse(error, ATTACH_ERROR, ATTACH_ERROR_KERNEL,
		      "the clocks of this time namespace are not the kernel's own: record from outside of it, "
		      "as with `nsenter --time --target 1`");
}
