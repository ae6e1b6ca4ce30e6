/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/text/text.h"

void text_follow(GString *s, const GPtrArray *chains, const struct text_options *options)
{
	const unsigned width = text_screen_width(options);

	EACH_POINTER(i, const struct follow_chain, c, chains) {
		g_autofree char *number = g_strdup_printf("%u. ", i + 1);

		for (guint k = 0; k < c->hops->len; k++) {
			g_autofree char *line = g_strconcat(k ? "   " : number, g_array_index(c->hops, struct follow_hop, k).sentence, NULL);

			text_wrap(s, line, "   ", width);
		}
		if (!c->end)
			continue;
		g_autofree char *line = g_strconcat("   ", c->end, NULL);
		text_wrap(s, line, "   ", width);
	}
}
