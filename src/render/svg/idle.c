/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/svg/idle.h"

#include "render/svg/text.h"

#define GAP_PX 4
#define COLOUR 0xdfe4ec
#define CHAR_PX 6.7	/* of the 12 px sans-serif text, on the wide side */

void svg_idle_text(GString *out, const struct idle_part *idle, enum weight weight)
{
	g_string_append(out, "idle ");
	svg_amount(out, weight, idle->amount);
	g_string_append(out, ", ");
	svg_percent(out, idle->amount, idle->amount + idle->rest);
}

static void append_kinds(GString *out, const struct idle_part *idle, enum weight weight)
{
	for (unsigned kind = IDLE_NOT + 1; kind < IDLE_KIND_COUNT; kind++) {
		if (!idle->of_kind[kind])
			continue;
		g_string_append_c(out, '\n');
		svg_amount(out, weight, idle->of_kind[kind]);
		g_string_append_printf(out, " %s", idle_kind_text(kind));
	}
}

void svg_idle_append(GString *out, const struct idle_part *idle, enum weight weight, double x, double y,
		     unsigned height_px)
{
	g_autoptr(GString) text = g_string_new(NULL);

	svg_idle_text(text, idle, weight);
	g_string_append_printf(out,
			       "<g class=\"idle\"><title>%s of the time\nnobody waits for what these wait for; "
			       "the column is not as wide as its time",
			       text->str);
	append_kinds(out, idle, weight);
	g_string_append(out, "</title><rect x=\"");
	svg_px(out, x + GAP_PX);
	g_string_append(out, "\" y=\"");
	svg_px(out, y);
	g_string_append_printf(out, "\" width=\"%d\" height=\"%u\" fill=\"#%06x\"/><text transform=\"translate(",
			       SVG_IDLE_PX - GAP_PX, height_px - 1, COLOUR);
	svg_px(out, x + SVG_IDLE_PX - 5);
	g_string_append_c(out, ',');
	svg_px(out, y + height_px - 6);
	g_string_append(out, ") rotate(-90)\">");
	svg_escape_cut(out, text->str, (unsigned)((height_px - 8) / CHAR_PX));
	g_string_append(out, "</text></g>\n");
}
