/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/frames.h"

#include "analyse/label.h"
#include "analyse/strset.h"

struct frame_list *frame_list_new(const struct profile *p)
{
	struct frame_list *l = g_new0(struct frame_list, 1);
	struct strset *seen = strset_new();
	g_autoptr(GString) key = g_string_new(NULL);

	l->profile = p;
	l->labels = label_all(p);
	l->first = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	l->id_of = g_new(uint32_t, p->frames->len + 1);
	for (uint32_t i = 0; i < p->frames->len; i++) {
		const struct frame *f = profile_get_frame(p, i);
		const char *file = f->file ? f->file : f->module;

		g_string_printf(key, "%s\n%s\n%u", (char *)g_ptr_array_index(l->labels, i), file ? file : "", f->line);
		l->id_of[i] = strset_id(seen, key->str);
		if (l->id_of[i] == l->first->len)
			g_array_append_val(l->first, i);
	}
	strset_free(seen);
	return l;
}

void frame_list_free(struct frame_list *l)
{
	g_ptr_array_unref(l->labels);
	g_array_unref(l->first);
	g_free(l->id_of);
	g_free(l);
}
