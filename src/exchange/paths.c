/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/paths.h"

#include "base/module.h"

static void append_path(const struct profile *p, uint32_t node, GArray *frames)
{
	guint from = frames->len;

	g_array_set_size(frames, from + profile_get_node(p, node)->depth);
	for (guint i = frames->len; node && i-- > from; node = profile_get_node(p, node)->parent)
		g_array_index(frames, uint32_t, i) = profile_get_node(p, node)->frame;
}

void path_frames(const struct profile *p, uint32_t user, uint32_t kernel, GArray *frames)
{
	g_array_set_size(frames, 0);
	append_path(p, user, frames);
	append_path(p, kernel, frames);
}

void path_own_frames(const struct profile *p, uint32_t user, uint32_t kernel, GArray *frames)
{
	guint cnt = 0;

	path_frames(p, user, kernel, frames);
	while (cnt < frames->len && profile_get_frame(p, g_array_index(frames, uint32_t, cnt))->kind == FRAME_CONTEXT)
		cnt++;
	if (cnt)
		g_array_remove_range(frames, 0, cnt);
}

void object_text(GString *s, const struct object *o)
{
	g_string_append(s, lock_kind_text((enum lock_kind)o->kind));
	if (o->name && *o->name)
		g_string_append_printf(s, " %s", o->name);
	else if (o->addr)
		g_string_append_printf(s, " at 0x%" G_GINT64_MODIFIER "x", (guint64)o->addr);
	if (o->place && *o->place)
		g_string_append_printf(s, " (%s)", module_base_name(o->place));
}

const char *open_text(uint8_t wait_flags)
{
	switch (wait_flags & (WAIT_OPEN_AT_START | WAIT_OPEN_AT_END)) {
	case WAIT_OPEN_AT_START: return "at the start";
	case WAIT_OPEN_AT_END: return "at the end";
	case WAIT_OPEN_AT_START | WAIT_OPEN_AT_END: return "all the time";
	default: return NULL;
	}
}

void thread_text(GString *s, const struct thread *t)
{
	g_string_append_printf(s, "%s-%u/%u", t->comm, t->pid, t->tid);
}

static void note(GPtrArray *notes, const char *what, const char *text)
{
	if (text && *text)
		g_ptr_array_add(notes, g_strdup_printf("%s: %s", what, text));
}

GPtrArray *profile_notes(const struct profile *p, const struct export_plan *plan)
{
	GPtrArray *notes = g_ptr_array_new_with_free_func(g_free);

	note(notes, "command", p->info.command_line);
	note(notes, "recorded by offcpu", p->info.version);
	note(notes, "host", p->info.host);
	note(notes, "kernel", p->info.kernel);
	note(notes, "filters", p->info.filters);
	note(notes, "shown", plan->selection_text);
	if (profile_is_sampled(p))
		g_ptr_array_add(notes, g_strdup("short waits were sampled: sums are estimates"));
	for (guint i = 0; i < p->losses->len; i++) {
		const struct profile_loss *l = &g_array_index(p->losses, struct profile_loss, i);

		g_ptr_array_add(notes,
				g_strdup_printf("lost: %s, %" G_GUINT64_FORMAT " times", l->reason, (guint64)l->count));
	}
	return notes;
}
