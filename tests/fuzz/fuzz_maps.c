/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <glib.h>
#include <stdlib.h>

#include "symbolize/process/spaces.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The text of a /proc/PID/maps: paths in it are the traced user's. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autofree char *text = g_strndup((const char *)data, size);
	struct modules *modules = modules_new("/nonexistent", "/nonexistent");
	struct spaces *spaces = spaces_new(modules, "/nonexistent");
	struct generation *g;
	enum frame_why why;

	spaces_exec(spaces, 1, 1, NULL);
	spaces_find(spaces, 1, 2, 0, &g, &why);
	generation_add_maps_text(spaces, g, text, 1);
	for (uint64_t addr = 0; addr < 64; addr++) {
		struct space_map *m = spaces_find(spaces, 1, 2, addr << 10, &g, &why);

		if (m && (m->start > addr << 10 || m->end <= addr << 10 || !m->module->shown))
			abort();
	}
	spaces_free(spaces);
	modules_free(modules);
	return 0;
}
