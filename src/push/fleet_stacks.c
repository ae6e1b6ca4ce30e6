/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What rows point to: stacks, objects, wakers. */
#include "push/fleet_rows.h"

#include <string.h>

static struct frame *frame_at(struct fleet *f, guint i)
{
	return &g_array_index(f->path, struct frame, i);
}

/* How many elements an array has: the same of all arrays of a row. */
static bool same_cnt(struct fleet *f, struct cursor *c)
{
	return cursor_uleb(c) == f->path->len && !c->bad;
}

static const char *text_or_null(struct fleet *f, struct cursor *c)
{
	fleet_text(c, f->a);
	return f->a->len ? profile_string(f->p, f->a->str) : NULL;
}

static bool take_names(struct fleet *f, struct cursor *c)
{
	uint64_t cnt = cursor_uleb(c);

	if (c->bad || cnt > PROFILE_DEPTH_MAX)
		return false;
	g_array_set_size(f->path, 0);
	g_array_set_size(f->path, (guint)cnt);
	for (guint i = 0; i < cnt; i++) {
		memset(frame_at(f, i), 0, sizeof(struct frame));
		frame_at(f, i)->name = text_or_null(f, c);
	}
	if (!same_cnt(f, c))
		return false;
	for (guint i = 0; i < cnt; i++)
		frame_at(f, i)->module = text_or_null(f, c);
	if (!same_cnt(f, c))
		return false;
	for (guint i = 0; i < cnt; i++) {
		fleet_text(c, f->a);
		if (f->a->len && frame_at(f, i)->module)
			profile_set_build_id(f->p, frame_at(f, i)->module, f->a->str);
	}
	return true;
}

static bool take_places(struct fleet *f, struct cursor *c)
{
	guint cnt = f->path->len;

	if (!same_cnt(f, c))
		return false;
	for (guint i = 0; i < cnt; i++)
		frame_at(f, i)->offset = cursor_u64(c);
	if (!same_cnt(f, c))
		return false;
	for (guint i = 0; i < cnt; i++)
		frame_at(f, i)->file = text_or_null(f, c);
	if (!same_cnt(f, c))
		return false;
	for (guint i = 0; i < cnt; i++)
		frame_at(f, i)->line = cursor_u32(c);
	if (!same_cnt(f, c))
		return false;
	for (guint i = 0; i < cnt; i++)
		frame_at(f, i)->kind = cursor_u8(c);
	if (!same_cnt(f, c))
		return false;
	for (guint i = 0; i < cnt; i++)
		frame_at(f, i)->why = cursor_u8(c);
	if (!same_cnt(f, c))
		return false;
	for (guint i = 0; i < cnt; i++)
		frame_at(f, i)->is_inline = cursor_u8(c) != 0;
	return !c->bad;
}

bool fleet_stack_row(struct fleet *f, struct cursor *c, GError **error)
{
	uint64_t id = cursor_u64(c);
	uint8_t end = cursor_u8(c);
	uint32_t node = 0;

	if (!take_names(f, c) || !take_places(f, c) || end >= STACK_END_COUNT || !f->path->len)
		return fleet_bad(error, "a stack is damaged");
	for (guint i = 0; i < f->path->len; i++) {
		struct frame *frame = frame_at(f, i);

		if (frame->kind > FRAME_KERNEL || frame->why >= FRAME_WHY_COUNT)
			return fleet_bad(error, "a frame of a stack is of no known kind");
		if (!frame->name != (frame->why != FRAME_NAMED))
			frame->why = frame->name ? FRAME_NAMED : FRAME_NO_SYMBOLS;
		if (f->p->nodes->len >= PROFILE_NODES_MAX || !fleet_room(f, error))
			return fleet_bad(error, "there are more stacks than a recording can hold");
		node = profile_node(f->p, node, profile_frame(f->p, frame));
	}
	profile_stack_end(f->p, node, end);
	fleet_note(f->stacks, id, node);
	return true;
}

bool fleet_object_row(struct fleet *f, struct cursor *c, GError **error)
{
	struct object o = { 0 };
	uint64_t id = cursor_u64(c);

	fleet_text(c, f->a);
	if (!object_kind_parse(f->a->str, &o.kind))
		return fleet_bad(error, "an object is of no known kind");
	o.is_private = cursor_u8(c) != 0;
	fleet_text(c, f->b);
	fleet_text(c, f->c);
	fleet_text(c, f->d);
	o.operation = f->b->str;
	o.name = f->c->str;
	o.place = f->d->str;
	o.pid = cursor_u32(c);
	o.addr = cursor_u64(c);
	o.holder_tid = cursor_u32(c);
	if (c->bad || !fleet_room(f, error))
		return fleet_bad(error, "an object is damaged");
	fleet_note(f->objects, id, profile_object(f->p, &o));
	return true;
}

bool fleet_waker_row(struct fleet *f, struct cursor *c, GError **error)
{
	struct waker w = { 0 };
	uint64_t id = cursor_u64(c);

	w.pid = cursor_u32(c);
	w.tid = cursor_u32(c);
	w.start_ns = cursor_u64(c);
	fleet_text(c, f->a);
	fleet_text(c, f->b);
	w.comm = f->a->str;
	w.irq = f->b->len ? f->b->str : NULL;
	uint64_t user = cursor_u64(c), kernel = cursor_u64(c);

	if (c->bad)
		return fleet_bad(error, "a waker is damaged");
	if (!fleet_room(f, error))
		return false;
	fleet_content(f, f->stacks, user, &w.user);
	fleet_content(f, f->stacks, kernel, &w.kernel);
	fleet_note(f->wakers, id, profile_waker(f->p, &w));
	return true;
}
