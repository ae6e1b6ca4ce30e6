/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "store/dict.h"

#include "base/each.h"
#include "profile/id_index.h"
#include "profile/profile_map.h"
#include "store/blob.h"

/* The profile serves only to find equal frames, stacks, objects and wakers.  Its ids are the dictionary's numbers. */
struct dict_writer {
	struct dict *d;
	struct profile *p;
	struct profile_map map;
	struct id_index *index[DICT_TABLES];	/* for strings, threads and keys */
	struct dict_size saved;
	const struct profile *source;
};

const struct dict *dict_writer_dict(const struct dict_writer *w)
{
	return w->d;
}

FREES(dict_writer_free, struct dict_writer, w, dict_free(w->d); profile_free(w->p);
      for (unsigned i = 0; i < DICT_TABLES; i++) id_index_free(w->index[i]))

static bool same_string(const void *ctx, const void *key, uint32_t id)
{
	return g_ptr_array_index(((const struct dict *)ctx)->strings, id) == *(const char *const *)key;
}

uint32_t dict_writer_string(struct dict_writer *w, const char *s)
{
	const char *own = profile_string(w->p, s);

	if (!own)
		return 0;
	uint64_t hash = id_index_hash(w->index[DICT_STRINGS], &own, sizeof(own));
	int64_t at = id_index_find(w->index[DICT_STRINGS], hash, same_string, w->d, &own);

	if (at >= 0)
		return (uint32_t)at + 1;
	id_index_add(w->index[DICT_STRINGS], hash, w->d->strings->len);
	g_ptr_array_add(w->d->strings, (gpointer)(uintptr_t)own);
	return w->d->strings->len;
}

static bool same_row(const void *ctx, const void *key, uint32_t id)
{
	const GArray *rows = ctx;
	const gsize bytes = g_array_get_element_size((GArray *)rows);

	return memcmp(rows->data + id * bytes, key, bytes) == 0;
}

/* Finds or adds a row of a table without padding. */
static uint32_t put_row(struct dict_writer *w, enum dict_table table, const void *row)
{
	GArray *rows = w->d->rows[table];
	uint64_t hash = id_index_hash(w->index[table], row, g_array_get_element_size(rows));
	int64_t at = id_index_find(w->index[table], hash, same_row, rows, row);

	if (at >= 0)
		return (uint32_t)at;
	id_index_add(w->index[table], hash, rows->len);
	g_array_append_vals(rows, row, 1);
	return rows->len - 1;
}

/* Copies the model's columns into a row of the dictionary. */
static void copy_to_row(struct dict_writer *w, enum dict_table table, const void *model, void *ret_row)
{
	unsigned cnt;
	const struct dict_column *columns = dict_columns(table, &cnt);

	for (unsigned i = 0; i < cnt; i++) {
		const struct dict_column *c = &columns[i];
		const void *at = (const char *)model + c->model.at;

		if (c->model.bytes)
			column_set(&c->own, ret_row,
				   c->of == DICT_STRINGS ? dict_writer_string(w, *(const char *const *)at)
							 : column_value(&c->model, model));
	}
}

uint32_t dict_writer_thread(struct dict_writer *w, const struct thread *t)
{
	struct dict_thread own = { .is_kernel = t->flags & THREAD_KERNEL };

	copy_to_row(w, DICT_THREADS, t, &own);
	return put_row(w, DICT_THREADS, &own);
}

uint32_t dict_writer_key(struct dict_writer *w, uint32_t thread, uint32_t user, uint32_t kernel, uint32_t object,
			 uint8_t state, uint8_t flags)
{
	const struct dict_key own = {
		.thread = thread, .user = dict_writer_node(w, user), .kernel = dict_writer_node(w, kernel),
		.object = profile_map_object(&w->map, object), .state = state, .flags = flags,
	};

	return put_row(w, DICT_KEYS, &own);
}

uint32_t dict_writer_node(struct dict_writer *w, uint32_t node)
{
	return profile_map_node(&w->map, node);
}

uint32_t dict_writer_object(struct dict_writer *w, uint32_t object)
{
	return profile_map_object(&w->map, object);
}

uint32_t dict_writer_waker(struct dict_writer *w, uint32_t waker)
{
	return profile_map_waker(&w->map, waker);
}

/* Adds what the profile has beyond the dictionary's rows. */
static void add_new_rows(struct dict_writer *w)
{
	GArray *const *rows = w->d->rows;

	for (guint i = rows[DICT_FRAMES]->len; i < w->p->frames->len; i++) {
		const struct frame *f = profile_get_frame(w->p, i);
		struct dict_frame own = {
			.bits = (uint8_t)((unsigned)f->why << 2 | (unsigned)f->is_inline << 1 | f->kind),
		};

		copy_to_row(w, DICT_FRAMES, f, &own);
		g_array_append_val(rows[DICT_FRAMES], own);
	}
	for (guint i = rows[DICT_NODES]->len; i < w->p->nodes->len; i++) {
		const struct stack_node *n = profile_get_node(w->p, i);
		const struct dict_node own = {
			.parent = n->parent, .frame = n->frame, .depth = n->depth, .end = n->end
		};

		g_array_append_val(rows[DICT_NODES], own);
	}
	for (guint i = rows[DICT_OBJECTS]->len; i < w->p->objects->len; i++) {
		const struct object *o = profile_get_object(w->p, i);
		struct dict_object own = { .bits = (uint8_t)((unsigned)o->kind << 1 | o->is_private) };

		copy_to_row(w, DICT_OBJECTS, o, &own);
		g_array_append_val(rows[DICT_OBJECTS], own);
	}
	for (guint i = rows[DICT_WAKERS]->len; i < w->p->wakers->len; i++) {
		struct dict_waker own = { 0 };

		copy_to_row(w, DICT_WAKERS, profile_get_waker(w->p, i), &own);
		g_array_append_val(rows[DICT_WAKERS], own);
	}
	EACH_ROW(i, const struct module_id, id, w->source->build_ids)
		profile_set_build_id(w->p, id->module, id->hex);
	for (guint i = rows[DICT_MODULES]->len; i < w->p->build_ids->len; i++) {
		const struct module_id *id = &g_array_index(w->p->build_ids, struct module_id, i);
		const struct dict_module own = { dict_writer_string(w, id->module), dict_writer_string(w, id->hex) };

		g_array_append_val(rows[DICT_MODULES], own);
	}
}

/* Known stacks whose end is worse this time. */
static GArray *worse_ends(struct dict_writer *w, guint cnt)
{
	GArray *ends = g_array_new(FALSE, FALSE, sizeof(struct dict_end));

	for (guint i = 1; i < cnt; i++) {
		const struct dict_end own = { i, profile_get_node(w->p, i)->end };
		struct dict_node *n = DICT_GET(w->d, DICT_NODES, struct dict_node, i);

		if (own.end == n->end)
			continue;
		n->end = own.end;
		g_array_append_val(ends, own);
	}
	return ends;
}

void dict_writer_begin(struct dict_writer *w, const struct profile *p)
{
	w->source = p;
	profile_map_begin(&w->map, p, w->p);
}

GByteArray *dict_writer_end(struct dict_writer *w)
{
	g_autoptr(GArray) ends = worse_ends(w, w->saved.cnt[DICT_NODES]);
	GByteArray *bytes = NULL;

	add_new_rows(w);
	const struct dict_size now = dict_size_of(w->d);

	if (ends->len || memcmp(&now, &w->saved, sizeof(now)) != 0) {
		bytes = g_byte_array_new();
		dict_encode(w->d, &w->saved, ends, bytes);
		w->saved = now;
	}
	profile_map_end(&w->map);
	return bytes;
}

static bool learn_strings(struct dict_writer *w)
{
	struct dict *d = w->d;

	for (guint i = 0; i < d->strings->len; i++) {
		const char *own = profile_string(w->p, g_ptr_array_index(d->strings, i));
		uint64_t hash = id_index_hash(w->index[DICT_STRINGS], &own, sizeof(own));

		if (id_index_find(w->index[DICT_STRINGS], hash, same_string, d, &own) >= 0)
			return false;
		g_ptr_array_index(d->strings, i) = (gpointer)(uintptr_t)own;
		id_index_add(w->index[DICT_STRINGS], hash, i);
	}
	g_ptr_array_set_size(d->held, 0);
	return true;
}

static bool learn_rows(struct dict_writer *w, enum dict_table table)
{
	const GArray *rows = w->d->rows[table];
	const gsize bytes = g_array_get_element_size((GArray *)rows);

	for (guint i = 0; i < rows->len; i++) {
		const char *row = rows->data + i * bytes;
		uint64_t hash = id_index_hash(w->index[table], row, bytes);

		if (id_index_find(w->index[table], hash, same_row, rows, row) >= 0)
			return false;
		id_index_add(w->index[table], hash, i);
	}
	return true;
}

/* Adds all rows to the empty profile, where each must get its own number as id. */
static bool learn_profile(struct dict_writer *w)
{
	struct dict_map *m = dict_map_new(w->d, w->p);
	bool ok = true;

	for (guint i = 0; ok && i < dict_cnt(w->d, DICT_FRAMES); i++)
		ok = dict_map_frame(m, i) == i;
	for (guint i = 1; ok && i < dict_cnt(w->d, DICT_NODES); i++)
		ok = dict_map_node(m, i) == i;
	for (guint i = 0; ok && i < dict_cnt(w->d, DICT_OBJECTS); i++)
		ok = dict_map_object(m, i + 1) == i + 1;
	for (guint i = 0; ok && i < dict_cnt(w->d, DICT_WAKERS); i++)
		ok = dict_map_waker(m, i) == i;
	dict_map_modules(m);
	dict_map_free(m);
	return ok && w->p->build_ids->len == dict_cnt(w->d, DICT_MODULES);
}

struct dict_writer *dict_writer_new(struct dict *from, GError **error)
{
	struct dict_writer *w = g_new0(struct dict_writer, 1);

	w->d = from;
	w->p = profile_new();
	for (unsigned i = 0; i < DICT_TABLES; i++)
		w->index[i] = id_index_new();
	if (learn_strings(w) && learn_profile(w) && learn_rows(w, DICT_THREADS) && learn_rows(w, DICT_KEYS)) {
		w->saved = dict_size_of(from);
		return w;
	}
	dict_writer_free(w);
	store_fail(error, STORE_ERROR_DAMAGED, "its dictionary says something twice");
	return NULL;
}
