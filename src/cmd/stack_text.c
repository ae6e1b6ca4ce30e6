/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/stack_text.h"

#include "analyse/label.h"
#include "explain/text.h"

void stack_text(GString *s, const struct profile *p, uint32_t node)
{
	for (; node; node = profile_get_node(p, node)->parent) {
		g_autoptr(GString) label = g_string_new(NULL);

		label_append(label, profile_get_frame(p, profile_get_node(p, node)->frame));
		g_string_append(s, "       ");
		text_safe(s, label->str);
		g_string_append_c(s, '\n');
	}
}
