/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/order.h"
#include "render/text/text.h"

#include <inttypes.h>
#include <string.h>

#include "analyse/label.h"
#include "explain/text.h"

struct entry {
	const char *comm;	/* interned */
	uint32_t tid, user, kernel;
	uint64_t ns;
};

static bool same_entry(const struct entry *a, const struct entry *b)
{
	return a->comm == b->comm && a->tid == b->tid && a->user == b->user && a->kernel == b->kernel;
}

#define BY_KEY ORDER_TEXT(comm) ORDER_LOW(tid) ORDER_LOW(user) ORDER_LOW(kernel)
ORDER(by_key, struct entry, BY_KEY)

ORDER(by_time, struct entry, ORDER_LOW(ns) BY_KEY)

static GArray *sum_entries(const struct profile *p, const struct selection *selection)
{
	GArray *entries = g_array_new(FALSE, FALSE, sizeof(struct entry));
	unsigned kept = 0;

	EACH_ROW(i, const struct wait, w, p->waits) {
		const struct thread *t = profile_thread(p, w->thread);
		struct entry e = { t->comm, t->tid, w->user, w->kernel, wait_off_cpu_ns(w) };

		if (!selection || selection->waits[i])
			g_array_append_val(entries, e);
	}
	g_array_sort(entries, by_key);
	EACH_ROW(i, struct entry, e, entries) {
		struct entry *last = kept ? &g_array_index(entries, struct entry, kept - 1) : NULL;

		if (last && same_entry(last, e))
			last->ns += e->ns;
		else
			g_array_index(entries, struct entry, kept++) = *e;
	}
	g_array_set_size(entries, kept);
	g_array_sort(entries, by_time);
	return entries;
}

static void append_frames(GString *s, const struct profile *p, GPtrArray *labels, uint32_t node)
{
	g_autoptr(GString) line = g_string_new(NULL);

	for (uint32_t n = node; n; n = profile_get_node(p, n)->parent) {
		uint32_t frame = profile_get_node(p, n)->frame;
		const struct frame *f = profile_get_frame(p, frame);

		g_string_append(s, "    ");
		text_safe(s, g_ptr_array_index(labels, frame));
		if (!f->name && f->why != FRAME_NAMED && f->why != FRAME_PENDING)
			g_string_append_printf(s, " [%s]", frame_why_text((enum frame_why)f->why));
		g_string_truncate(line, 0);
		label_append_line(line, f);
		text_safe(s, line->str);
		if (f->is_inline)
			g_string_append(s, " (inlined)");
		g_string_append_c(s, '\n');
	}
}

void trace_text(GString *s, const struct profile *p, const struct selection *selection, bool delimiter)
{
	g_autoptr(GArray) entries = sum_entries(p, selection);
	g_autoptr(GPtrArray) labels = label_all(p);

	EACH_ROW(i, const struct entry, e, entries) {
		append_frames(s, p, labels, e->kernel);
		if (delimiter && e->kernel && e->user)
			g_string_append(s, "    --\n");
		append_frames(s, p, labels, e->user);
		g_string_append_printf(s, "    %-16s ", "-");
		text_safe(s, e->comm);
		g_string_append_printf(s, " (%u)\n        %" PRIu64 "\n\n", e->tid, (e->ns + 500) / 1000);
	}
}
