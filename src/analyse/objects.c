/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#include "analyse/locks.h"
#include "features/requests/rows.h"

void object_append_label(GString *s, const struct object *o)
{
	lock_append_name(s, o);
}

void object_append_wait_label(GString *s, const struct profile *p, const struct wait *w)
{
	const struct object *o = profile_wait_object(p, w);

	if (o)
		object_append_label(s, o);
	else
		g_string_append(s, w->state == 'R' ? "run queue" : "not known");
}

/* Paths, addresses and pipes imply their kind. */
static bool speaks_for_itself(const struct object *o)
{
	switch (o->kind) {
	case OBJECT_FILE:
	case OBJECT_DIRECTORY:
	case OBJECT_SOCKET:
	case OBJECT_PIPE:
	case OBJECT_BLOCK_DEVICE:
	case OBJECT_TERMINAL:
	case OBJECT_DEVICE: return true;
	default: return false;
	}
}

void object_append_short(GString *s, const struct object *o)
{
	if (speaks_for_itself(o))
		g_string_append(s, o->name);
	else
		object_append_label(s, o);
}

#define ARROW "-> "

bool object_is_frame(const struct frame *f)
{
	return f->kind == FRAME_KERNEL && !f->module && f->name && g_str_has_prefix(f->name, ARROW);
}

static uint32_t frame_of(struct profile *p, const struct object *o)
{
	g_autoptr(GString) text = g_string_new(ARROW);

	object_append_short(text, o);
	const struct frame f = { .name = text->str, .kind = FRAME_KERNEL };

	return profile_frame(p, &f);
}

/* Adds the object to the stack, if there is one. */
static uint32_t push_object(struct profile *p, uint32_t *frames, uint32_t kernel, uint32_t object)
{
	uint8_t end = profile_get_node(p, kernel)->end;

	if (!object)
		return kernel;
	if (!frames[object])
		frames[object] = frame_of(p, profile_get_object(p, object - 1)) + 1;
	uint32_t node = profile_node(p, kernel, frames[object] - 1);

	if (end != STACK_NONE)
		profile_stack_end(p, node, end);
	return node;
}

void objects_as_frames(struct profile *p)
{
	/* by object: frame + 1; 0: not made yet */
	g_autofree uint32_t *frames = g_new0(uint32_t, (gsize)p->objects->len + 1);

	if (!p->info.has_objects)
		return;
	EACH_ROW(i, struct wait, w, p->waits)
		w->kernel = push_object(p, frames, w->kernel, w->object);
	EACH_ROW(i, struct span_wait, w, p->span_waits)
		w->kernel = push_object(p, frames, w->kernel, w->object);
}
