/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What rows refer to: frames, stacks, objects, wakers. */
#include "push/fleet_rows.h"

static const char *text_or_null(struct fleet *f, struct cursor *c)
{
	fleet_text(c, f->a);
	return f->a->len ? profile_string(f->p, f->a->str) : NULL;
}

bool fleet_frame_row(struct fleet *f, struct cursor *c, GError **error)
{
	struct fleet_frame row = { 0 };
	struct frame *frame = &row.frame;
	uint64_t id = cursor_u64(c);

	frame->name = text_or_null(f, c);
	frame->module = text_or_null(f, c);
	fleet_text(c, f->a);
	if (f->a->len && frame->module)
		profile_set_build_id(f->p, frame->module, f->a->str);
	frame->offset = cursor_u64(c);
	frame->file = text_or_null(f, c);
	frame->line = cursor_u32(c);
	frame->kind = cursor_u8(c);
	frame->why = cursor_u8(c);
	frame->is_inline = cursor_u8(c) != 0;
	if (c->bad)
		return fleet_bad(error, "a frame is damaged");
	if (frame->kind > FRAME_CONTEXT || frame->why >= FRAME_WHY_COUNT)
		return fleet_bad(error, "a frame of a stack is of no known kind");
	if (!frame->name != (frame->why != FRAME_NAMED))
		frame->why = frame->name ? FRAME_NAMED : FRAME_NO_SYMBOLS;
	if (f->frame_rows->len >= PROFILE_ROWS_MAX || !fleet_room(f, error))
		return fleet_bad(error, "there are more frames than a recording can hold");
	fleet_note(f->frames, id, f->frame_rows->len);
	g_array_append_val(f->frame_rows, row);
	return true;
}

static uint32_t frame_of(struct fleet *f, guint row)
{
	struct fleet_frame *r = &g_array_index(f->frame_rows, struct fleet_frame, row);

	if (!r->id)
		r->id = profile_frame(f->p, &r->frame) + 1;
	return r->id - 1;
}

/* A stack with a missing frame is dropped; rows that refer to it count the loss. */
bool fleet_stack_row(struct fleet *f, struct cursor *c, GError **error)
{
	uint64_t id = cursor_u64(c);
	uint8_t end = cursor_u8(c);
	uint64_t cnt = cursor_uleb(c);
	uint32_t node = 0;
	bool is_whole = true;

	if (c->bad || end >= STACK_END_COUNT || !cnt || cnt > PROFILE_DEPTH_MAX)
		return fleet_bad(error, "a stack is damaged");
	for (uint64_t i = 0; i < cnt; i++) {
		uint64_t frame = cursor_u64(c);
		guint at = GPOINTER_TO_UINT(g_hash_table_lookup(f->frames, &frame));

		if (f->p->nodes->len >= PROFILE_NODES_MAX)
			return fleet_bad(error, "there are more stacks than a recording can hold");
		is_whole = is_whole && at;
		if (is_whole)
			node = profile_node(f->p, node, frame_of(f, at - 1));
	}
	if (c->bad)
		return fleet_bad(error, "a stack is damaged");
	if (!is_whole)
		return true;
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
