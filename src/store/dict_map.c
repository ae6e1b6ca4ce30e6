/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "store/dict.h"

#include "store/blob.h"

struct dict_map {
	const struct dict *d;
	struct profile *to;
	uint32_t *ids[DICT_TABLES];	/* for frames, nodes, objects and wakers: id + 1; 0: not mapped yet */
	const char **strings;	/* NULL: not mapped yet */
};

struct dict_map *dict_map_new(const struct dict *d, struct profile *to)
{
	struct dict_map *m = g_new0(struct dict_map, 1);

	m->d = d;
	m->to = to;
	for (unsigned i = DICT_FRAMES; i <= DICT_WAKERS; i++)
		m->ids[i] = g_new0(uint32_t, dict_cnt(d, (enum dict_table)i) + 1);
	m->strings = g_new0(const char *, dict_cnt(d, DICT_STRINGS) + 1);
	return m;
}

void dict_map_free(struct dict_map *m)
{
	for (unsigned i = 0; m && i < DICT_TABLES; i++)
		g_free(m->ids[i]);
	if (m)
		g_free(m->strings);
	g_free(m);
}

const struct dict *dict_map_dict(const struct dict_map *m)
{
	return m->d;
}

/* Interned in the profile; NULL for 0. */
static const char *dict_map_string(struct dict_map *m, uint32_t string)
{
	if (!string)
		return NULL;
	if (!m->strings[string - 1])
		m->strings[string - 1] = profile_string(m->to, g_ptr_array_index(m->d->strings, string - 1));
	return m->strings[string - 1];
}

const char *dict_map_next_string(struct dict_map *m, struct cursor *c)
{
	uint32_t string = blob_get_id(c, (uint64_t)dict_cnt(m->d, DICT_STRINGS) + 1);

	return c->bad ? NULL : dict_map_string(m, string);
}

/* Copies the columns that the model has too. */
static void map_row(struct dict_map *m, enum dict_table table, const void *row, void *into)
{
	unsigned cnt;
	const struct dict_column *columns = dict_columns(table, &cnt);

	for (unsigned i = 0; i < cnt; i++) {
		const struct dict_column *c = &columns[i];
		uint32_t number = (uint32_t)column_value(&c->own, row);

		if (!c->model.bytes)
			continue;
		if (c->of == DICT_STRINGS)
			*(const char **)(void *)((char *)into + c->model.at) = dict_map_string(m, number);
		else
			column_set(&c->model, into,
				   c->of == DICT_NODES ? dict_map_node(m, number) : column_value(&c->own, row));
	}
}

uint32_t dict_map_frame(struct dict_map *m, uint32_t frame)
{
	if (!m->ids[DICT_FRAMES][frame]) {
		const struct dict_frame *f = DICT_GET(m->d, DICT_FRAMES, struct dict_frame, frame);
		struct frame own = { .kind = f->bits & 1, .is_inline = f->bits >> 1 & 1, .why = f->bits >> 2 };

		map_row(m, DICT_FRAMES, f, &own);
		m->ids[DICT_FRAMES][frame] = profile_frame(m->to, &own) + 1;
	}
	return m->ids[DICT_FRAMES][frame] - 1;
}

/* Paths fit: dict_decode() rejects deeper ones. */
uint32_t dict_map_node(struct dict_map *m, uint32_t node)
{
	uint32_t path[PROFILE_DEPTH_MAX];
	unsigned cnt = 0;

	if (!node)
		return 0;
	for (uint32_t at = node; at && !m->ids[DICT_NODES][at];
	     at = DICT_GET(m->d, DICT_NODES, struct dict_node, at)->parent)
		path[cnt++] = at;
	while (cnt--) {
		const struct dict_node *n = DICT_GET(m->d, DICT_NODES, struct dict_node, path[cnt]);
		uint32_t parent = n->parent ? m->ids[DICT_NODES][n->parent] - 1 : 0;
		uint32_t own = profile_node(m->to, parent, dict_map_frame(m, n->frame));

		if (n->end != STACK_NONE)
			profile_stack_end(m->to, own, (enum stack_end)n->end);
		m->ids[DICT_NODES][path[cnt]] = own + 1;
	}
	return m->ids[DICT_NODES][node] - 1;
}

uint32_t dict_map_object(struct dict_map *m, uint32_t object)
{
	if (!object)
		return 0;
	if (!m->ids[DICT_OBJECTS][object]) {
		const struct dict_object *o = DICT_GET(m->d, DICT_OBJECTS, struct dict_object, object - 1);
		struct object own = { .kind = o->bits >> 1, .is_private = o->bits & 1 };

		map_row(m, DICT_OBJECTS, o, &own);
		m->ids[DICT_OBJECTS][object] = profile_object(m->to, &own) + 1;
	}
	return m->ids[DICT_OBJECTS][object];
}

uint32_t dict_map_waker(struct dict_map *m, uint32_t waker)
{
	if (!m->ids[DICT_WAKERS][waker]) {
		struct waker own = { 0 };

		map_row(m, DICT_WAKERS, DICT_GET(m->d, DICT_WAKERS, struct dict_waker, waker), &own);
		m->ids[DICT_WAKERS][waker] = profile_waker(m->to, &own) + 1;
	}
	return m->ids[DICT_WAKERS][waker] - 1;
}

struct thread dict_map_thread(struct dict_map *m, uint32_t thread)
{
	const struct dict_thread *row = DICT_GET(m->d, DICT_THREADS, struct dict_thread, thread);
	struct thread t = { .flags = row->is_kernel ? THREAD_KERNEL : 0 };

	map_row(m, DICT_THREADS, row, &t);
	return t;
}

void dict_map_modules(struct dict_map *m)
{
	EACH_ROW(i, const struct dict_module, own, m->d->rows[DICT_MODULES])
		profile_set_build_id(m->to, dict_map_string(m, own->module), dict_map_string(m, own->hex));
}
