/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/label.h"

#include <inttypes.h>

#include "base/module.h"

void label_append(GString *s, const struct frame *f)
{
	if (f->name)
		g_string_append(s, f->name);
	else if (f->why == FRAME_PENDING)
		g_string_append(s, "[stack lost]");
	else if (f->module)
		g_string_append_printf(s, "%s+0x%" PRIx64, module_base_name(f->module), f->offset);
	else
		g_string_append_printf(s, "0x%" PRIx64, f->offset);
}

void label_append_line(GString *s, const struct frame *f)
{
	if (!f->file)
		return;
	g_string_append_printf(s, " (%s", module_base_name(f->file));
	if (f->line)
		g_string_append_printf(s, ":%" PRIu32, f->line);
	g_string_append_c(s, ')');
}

bool label_is_run(const struct frame *f)
{
	return f->kind == FRAME_USER && f->name && f->name[0] == '[' && f->module && !f->offset &&
	       g_str_has_prefix(f->name + 1, module_base_name(f->module));
}

GPtrArray *label_all(const struct profile *p)
{
	GPtrArray *labels = g_ptr_array_new_full(p->frames->len, g_free);
	g_autoptr(GString) s = g_string_new(NULL);

	for (unsigned i = 0; i < p->frames->len; i++) {
		g_string_truncate(s, 0);
		label_append(s, profile_get_frame(p, i));
		g_ptr_array_add(labels, g_strndup(s->str, s->len));
	}
	return labels;
}
