/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <string.h>

#include "analyse/label.h"
#include "analyse/strset.h"
#include "base/module.h"
#include "exchange/parts.h"

struct frame_list *frame_list_new(const struct profile *p)
{
	struct frame_list *l = g_new0(struct frame_list, 1);
	struct strset *seen = strset_new();
	g_autoptr(GString) key = g_string_new(NULL);

	l->profile = p;
	l->labels = label_all(p);
	l->first = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	l->id_of = g_new(uint32_t, p->frames->len + 1);
	EACH_ROW(i, const struct frame, f, p->frames) {
		const char *file = f->file ? f->file : f->module;

		g_string_printf(key, "%s\n%s\n%u", (char *)g_ptr_array_index(l->labels, i), file ? file : "", f->line);
		l->id_of[i] = strset_id(seen, key->str);
		if (l->id_of[i] == l->first->len)
			g_array_append_val(l->first, i);
	}
	strset_free(seen);
	return l;
}

FREES(frame_list_free, struct frame_list, l, g_ptr_array_unref(l->labels); g_array_unref(l->first); g_free(l->id_of))

#define SCHEDULER_WITHIN 6	/* the tracer's own frames may be further in */

bool kernel_part_is_scheduler(const char *name)
{
	return strstr(name, "schedule") || g_str_has_prefix(name, "finish_task_switch") ||
	       strstr(name, "sched_switch") || g_str_has_prefix(name, "prepare_to_block");
}

static bool is_entry(const char *name)
{
	static const char *const entries[] = {
		"entry_SYSCALL_", "entry_SYSENTER_", "entry_INT80_", "asm_exc_", "asm_sysvec_",
		"asm_common_interrupt", "ret_from_fork", "secondary_startup_64", "el0_svc", "el0t_64_",
		"el0_da", "ret_fast_syscall"
	};

	for (gsize i = 0; i < G_N_ELEMENTS(entries); i++)
		if (g_str_has_prefix(name, entries[i]))
			return true;
	return false;
}

static bool ends_in_scheduler(const GPtrArray *names)
{
	for (guint i = names->len; i-- > 0 && names->len - i <= SCHEDULER_WITHIN;)
		if (kernel_part_is_scheduler(g_ptr_array_index(names, i)))
			return true;
	return false;
}

guint kernel_part_begins(const GPtrArray *names, bool is_waker)
{
	guint i = 0;

	if (!is_waker && !ends_in_scheduler(names))
		return names->len;
	while (i < names->len && !is_entry(g_ptr_array_index(names, i)))
		i++;
	return i;
}

bool kernel_part_stops(const struct profile *p, uint32_t kernel)
{
	for (unsigned i = 0; kernel && i < SCHEDULER_WITHIN; i++) {
		const struct stack_node *node = profile_get_node(p, kernel);
		const char *name = profile_get_frame(p, node->frame)->name;

		if (name && kernel_part_is_scheduler(name))
			return true;
		kernel = node->parent;
	}
	return false;
}

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

static void add_note(GPtrArray *notes, const char *what, const char *text)
{
	if (text && *text)
		g_ptr_array_add(notes, g_strdup_printf("%s: %s", what, text));
}

GPtrArray *profile_notes(const struct profile *p, const struct export_plan *plan)
{
	GPtrArray *notes = g_ptr_array_new_with_free_func(g_free);

	add_note(notes, "command", p->info.command_line);
	add_note(notes, "recorded by offcpu", p->info.version);
	add_note(notes, "host", p->info.host);
	add_note(notes, "kernel", p->info.kernel);
	add_note(notes, "filters", p->info.filters);
	add_note(notes, "shown", plan->selection_text);
	if (profile_is_sampled(p))
		g_ptr_array_add(notes, g_strdup("short waits were sampled: sums are estimates"));
	EACH_ROW(i, const struct profile_loss, l, p->losses)
		g_ptr_array_add(notes,
				g_strdup_printf("lost: %s, %" G_GUINT64_FORMAT " times", l->reason, (guint64)l->count));
	return notes;
}

struct span {
	guint from, cnt;
};

struct locations {
	const struct profile *profile;
	GArray *spans; /* struct span: ranges in `frames` */
	GArray *frames; /* uint32_t */
	uint32_t *alone; /* id by frame, for frames without inlined ones; 0: none yet */
	struct strset *inlined; /* "12,13,14" */
	GArray *inlined_ids; /* uint32_t: ids of the strings in `inlined` */
	GString *key;
};

struct locations *locations_new(const struct profile *p)
{
	struct locations *l = g_new0(struct locations, 1);

	l->profile = p;
	l->spans = g_array_new(FALSE, FALSE, sizeof(struct span));
	l->frames = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	l->alone = g_new0(uint32_t, p->frames->len + 1);
	l->inlined = strset_new();
	l->inlined_ids = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	l->key = g_string_new(NULL);
	return l;
}

FREES(locations_free, struct locations, l, g_array_unref(l->spans); g_array_unref(l->frames); g_free(l->alone);
      strset_free(l->inlined); g_array_unref(l->inlined_ids); g_string_free(l->key, TRUE))

static uint32_t add_location(struct locations *l, const uint32_t *frames, guint cnt)
{
	struct span span = { l->frames->len, cnt };

	g_array_append_vals(l->frames, frames, cnt);
	g_array_append_val(l->spans, span);
	return l->spans->len;
}

static uint32_t find_location(struct locations *l, const uint32_t *frames, guint cnt)
{
	if (cnt == 1) {
		uint32_t *id = &l->alone[frames[0]];

		if (!*id)
			*id = add_location(l, frames, 1);
		return *id;
	}
	g_string_truncate(l->key, 0);
	for (guint i = 0; i < cnt; i++)
		g_string_append_printf(l->key, "%u,", frames[i]);
	uint32_t at = strset_id(l->inlined, l->key->str);

	if (at == l->inlined_ids->len) {
		uint32_t id = add_location(l, frames, cnt);

		g_array_append_val(l->inlined_ids, id);
	}
	return g_array_index(l->inlined_ids, uint32_t, at);
}

void locations_of_path(struct locations *l, const GArray *path, GArray *ids)
{
	const uint32_t *frames = (const uint32_t *)(const void *)path->data;

	g_array_set_size(ids, 0);
	for (guint i = 0, cnt; i < path->len; i += cnt) {
		for (cnt = 1; i + cnt < path->len && profile_get_frame(l->profile, frames[i + cnt])->is_inline; cnt++)
			;
		uint32_t id = find_location(l, &frames[i], cnt);

		g_array_append_val(ids, id);
	}
}

uint32_t locations_cnt(const struct locations *l)
{
	return l->spans->len;
}

const uint32_t *locations_get(const struct locations *l, uint32_t id, guint *ret_cnt)
{
	const struct span *span = &g_array_index(l->spans, struct span, id - 1);

	*ret_cnt = span->cnt;
	return &g_array_index(l->frames, uint32_t, span->from);
}
