/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "store/dict.h"

struct dict_map {
	const struct dict *d;
	struct profile *to;
	uint32_t *frames, *nodes, *objects, *wakers;	/* id + 1; 0: not asked for yet */
	const char **strings;	/* NULL: not asked for yet */
};

struct dict_map *dict_map_new(const struct dict *d, struct profile *to)
{
	struct dict_map *m = g_new0(struct dict_map, 1);

	m->d = d;
	m->to = to;
	m->frames = g_new0(uint32_t, d->frames->len + 1);
	m->nodes = g_new0(uint32_t, d->nodes->len + 1);
	m->objects = g_new0(uint32_t, d->objects->len + 1);
	m->wakers = g_new0(uint32_t, d->wakers->len + 1);
	m->strings = g_new0(const char *, d->strings->len + 1);
	return m;
}

FREES(dict_map_free, struct dict_map, m, g_free(m->frames); g_free(m->nodes); g_free(m->objects); g_free(m->wakers);
      g_free(m->strings))

const struct dict *dict_map_dict(const struct dict_map *m)
{
	return m->d;
}

const char *dict_map_string(struct dict_map *m, uint32_t string)
{
	if (!string)
		return NULL;
	if (!m->strings[string - 1])
		m->strings[string - 1] = profile_string(m->to, g_ptr_array_index(m->d->strings, string - 1));
	return m->strings[string - 1];
}

static uint32_t map_frame(struct dict_map *m, uint32_t frame)
{
	const struct dict_frame *f = DICT_GET(m->d, frames, struct dict_frame, frame);
	const struct frame own = {
		.name = dict_map_string(m, f->name),
		.module = dict_map_string(m, f->module),
		.offset = f->offset,
		.file = dict_map_string(m, f->file),
		.line = f->line,
		.kind = f->kind,
		.why = f->why,
		.is_inline = f->is_inline,
	};

	if (!m->frames[frame])
		m->frames[frame] = profile_frame(m->to, &own) + 1;
	return m->frames[frame] - 1;
}

/* No path is deeper: who reads a dictionary looks to it. */
uint32_t dict_map_node(struct dict_map *m, uint32_t node)
{
	uint32_t path[PROFILE_DEPTH_MAX];
	unsigned cnt = 0;

	if (!node)
		return 0;
	for (uint32_t at = node; at && !m->nodes[at]; at = DICT_GET(m->d, nodes, struct dict_node, at)->parent)
		path[cnt++] = at;
	while (cnt--) {
		const struct dict_node *n = DICT_GET(m->d, nodes, struct dict_node, path[cnt]);
		uint32_t own = profile_node(m->to, n->parent ? m->nodes[n->parent] - 1 : 0, map_frame(m, n->frame));

		if (n->end != STACK_NONE)
			profile_stack_end(m->to, own, (enum stack_end)n->end);
		m->nodes[path[cnt]] = own + 1;
	}
	return m->nodes[node] - 1;
}

uint32_t dict_map_object(struct dict_map *m, uint32_t object)
{
	if (!object)
		return 0;
	if (!m->objects[object]) {
		const struct dict_object *o = DICT_GET(m->d, objects, struct dict_object, object - 1);
		const struct object own = {
			.kind = o->kind,
			.is_private = o->is_private,
			.operation = dict_map_string(m, o->operation),
			.name = dict_map_string(m, o->name),
			.place = dict_map_string(m, o->place),
			.pid = o->pid,
			.addr = o->addr,
			.holder_tid = o->holder_tid,
		};

		m->objects[object] = profile_object(m->to, &own) + 1;
	}
	return m->objects[object];
}

uint32_t dict_map_waker(struct dict_map *m, uint32_t waker)
{
	if (!m->wakers[waker]) {
		const struct dict_waker *a = DICT_GET(m->d, wakers, struct dict_waker, waker);
		const struct waker own = {
			.pid = a->pid,
			.tid = a->tid,
			.start_ns = a->start_ns,
			.comm = dict_map_string(m, a->comm),
			.irq = dict_map_string(m, a->irq),
			.user = dict_map_node(m, a->user),
			.kernel = dict_map_node(m, a->kernel),
		};

		m->wakers[waker] = profile_waker(m->to, &own) + 1;
	}
	return m->wakers[waker] - 1;
}

struct thread dict_map_thread(struct dict_map *m, uint32_t thread)
{
	const struct dict_thread *t = DICT_GET(m->d, threads, struct dict_thread, thread);

	return (struct thread){
		.pid = t->pid, .tid = t->tid, .start_ns = t->start_ns, .comm = dict_map_string(m, t->comm),
		.process = dict_map_string(m, t->process), .service = dict_map_string(m, t->service),
		.flags = t->is_kernel ? THREAD_KERNEL : 0,
	};
}

void dict_map_modules(struct dict_map *m)
{
	for (guint i = 0; i < m->d->modules->len; i++) {
		const struct dict_module *own = DICT_GET(m->d, modules, struct dict_module, i);

		profile_set_build_id(m->to, dict_map_string(m, own->module), dict_map_string(m, own->hex));
	}
}
