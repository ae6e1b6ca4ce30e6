/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "store/dict.h"

#include "profile/id_index.h"
#include "profile/profile_map.h"
#include "store/blob.h"

/* The profile has no rows: it finds equal frames, stacks, objects and wakers, and its numbers are the dictionary's. */
struct dict_writer {
	struct dict *d;
	struct profile *p;
	struct profile_map map;
	struct id_index *strings, *threads, *keys;
	struct dict_size saved;
	const struct profile *source;
};

const struct dict *dict_writer_dict(const struct dict_writer *w)
{
	return w->d;
}

FREES(dict_writer_free, struct dict_writer, w, dict_free(w->d); profile_free(w->p); id_index_free(w->strings);
      id_index_free(w->threads); id_index_free(w->keys))

static bool same_string(const void *ctx, const void *key, uint32_t id)
{
	return g_ptr_array_index(((const struct dict *)ctx)->strings, id) == *(const char *const *)key;
}

uint32_t dict_writer_string(struct dict_writer *w, const char *s)
{
	const char *own = profile_string(w->p, s);

	if (!own)
		return 0;
	uint64_t hash = id_index_hash(w->strings, &own, sizeof(own));
	int64_t at = id_index_find(w->strings, hash, same_string, w->d, &own);

	if (at >= 0)
		return (uint32_t)at + 1;
	id_index_add(w->strings, hash, w->d->strings->len);
	g_ptr_array_add(w->d->strings, (gpointer)(uintptr_t)own);
	return w->d->strings->len;
}

static bool same_thread(const void *ctx, const void *key, uint32_t id)
{
	const struct dict_thread *a = DICT_GET((const struct dict *)ctx, threads, struct dict_thread, id), *b = key;

	return a->pid == b->pid && a->tid == b->tid && a->comm == b->comm && a->process == b->process &&
	       a->service == b->service && a->start_ns == b->start_ns && a->is_kernel == b->is_kernel;
}

static uint64_t hash_thread(const struct dict_writer *w, const struct dict_thread *t)
{
	const uint64_t key[] = { (uint64_t)t->pid << 32 | t->tid, (uint64_t)t->comm << 32 | t->process,
				 (uint64_t)t->service << 1 | t->is_kernel, t->start_ns };

	return id_index_hash(w->threads, key, sizeof(key));
}

uint32_t dict_writer_thread(struct dict_writer *w, const struct thread *t)
{
	const struct dict_thread own = {
		.pid = t->pid, .tid = t->tid, .start_ns = t->start_ns, .comm = dict_writer_string(w, t->comm),
		.process = dict_writer_string(w, t->process), .service = dict_writer_string(w, t->service),
		.is_kernel = t->flags & THREAD_KERNEL,
	};
	uint64_t hash = hash_thread(w, &own);
	int64_t at = id_index_find(w->threads, hash, same_thread, w->d, &own);

	if (at >= 0)
		return (uint32_t)at;
	id_index_add(w->threads, hash, w->d->threads->len);
	g_array_append_val(w->d->threads, own);
	return w->d->threads->len - 1;
}

static bool same_key(const void *ctx, const void *key, uint32_t id)
{
	const struct dict_key *a = DICT_GET((const struct dict *)ctx, keys, struct dict_key, id), *b = key;

	return a->thread == b->thread && a->user == b->user && a->kernel == b->kernel && a->object == b->object &&
	       a->state == b->state && a->flags == b->flags;
}

static uint64_t hash_key(const struct dict_writer *w, const struct dict_key *k)
{
	const uint32_t key[] = { k->thread, k->user, k->kernel, k->object, (uint32_t)k->state << 8 | k->flags };

	return id_index_hash(w->keys, key, sizeof(key));
}

uint32_t dict_writer_key(struct dict_writer *w, uint32_t thread, uint32_t user, uint32_t kernel, uint32_t object,
			 uint8_t state, uint8_t flags)
{
	const struct dict_key own = {
		.thread = thread, .user = dict_writer_node(w, user), .kernel = dict_writer_node(w, kernel),
		.object = profile_map_object(&w->map, object), .state = state, .flags = flags,
	};
	uint64_t hash = hash_key(w, &own);
	int64_t at = id_index_find(w->keys, hash, same_key, w->d, &own);

	if (at >= 0)
		return (uint32_t)at;
	id_index_add(w->keys, hash, w->d->keys->len);
	g_array_append_val(w->d->keys, own);
	return w->d->keys->len - 1;
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

/* What the profile has more than the rows. */
static void take_frames(struct dict_writer *w)
{
	for (guint i = w->d->frames->len; i < w->p->frames->len; i++) {
		const struct frame *f = profile_get_frame(w->p, i);
		const struct dict_frame own = {
			.name = dict_writer_string(w, f->name),
			.module = dict_writer_string(w, f->module),
			.file = dict_writer_string(w, f->file),
			.offset = f->offset,
			.line = f->line,
			.kind = f->kind,
			.why = f->why,
			.is_inline = f->is_inline,
		};

		g_array_append_val(w->d->frames, own);
	}
	for (guint i = w->d->nodes->len; i < w->p->nodes->len; i++) {
		const struct stack_node *n = profile_get_node(w->p, i);
		const struct dict_node own = {
			.parent = n->parent, .frame = n->frame, .depth = n->depth, .end = n->end
		};

		g_array_append_val(w->d->nodes, own);
	}
}

static void take_actors(struct dict_writer *w)
{
	for (guint i = w->d->objects->len; i < w->p->objects->len; i++) {
		const struct object *o = profile_get_object(w->p, i);
		const struct dict_object own = {
			.operation = dict_writer_string(w, o->operation),
			.name = dict_writer_string(w, o->name),
			.place = dict_writer_string(w, o->place),
			.pid = o->pid,
			.holder_tid = o->holder_tid,
			.addr = o->addr,
			.kind = o->kind,
			.is_private = o->is_private,
		};

		g_array_append_val(w->d->objects, own);
	}
	for (guint i = w->d->wakers->len; i < w->p->wakers->len; i++) {
		const struct waker *a = profile_get_waker(w->p, i);
		const struct dict_waker own = {
			.pid = a->pid,
			.tid = a->tid,
			.comm = dict_writer_string(w, a->comm),
			.irq = dict_writer_string(w, a->irq),
			.user = a->user,
			.kernel = a->kernel,
			.start_ns = a->start_ns,
		};

		g_array_append_val(w->d->wakers, own);
	}
}

static void take_modules(struct dict_writer *w)
{
	EACH_ROW(i, const struct module_id, id, w->source->build_ids)
		profile_set_build_id(w->p, id->module, id->hex);
	for (guint i = w->d->modules->len; i < w->p->build_ids->len; i++) {
		const struct module_id *id = &g_array_index(w->p->build_ids, struct module_id, i);
		const struct dict_module own = { dict_writer_string(w, id->module), dict_writer_string(w, id->hex) };

		g_array_append_val(w->d->modules, own);
	}
}

/* Stacks that are known, and ended worse this time. */
static GArray *worse_ends(struct dict_writer *w, guint cnt)
{
	GArray *ends = g_array_new(FALSE, FALSE, sizeof(struct dict_end));

	for (guint i = 1; i < cnt; i++) {
		const struct dict_end own = { i, profile_get_node(w->p, i)->end };
		struct dict_node *n = DICT_GET(w->d, nodes, struct dict_node, i);

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
	g_autoptr(GArray) ends = worse_ends(w, w->saved.nodes);
	GByteArray *bytes = NULL;

	take_frames(w);
	take_actors(w);
	take_modules(w);
	if (dict_has_more(w->d, &w->saved) || ends->len) {
		bytes = g_byte_array_new();
		dict_encode(w->d, &w->saved, ends, bytes);
		w->saved = dict_size_of(w->d);
	}
	profile_map_end(&w->map);
	return bytes;
}

static const char *text_of(const struct dict *d, uint32_t string)
{
	return string ? g_ptr_array_index(d->strings, string - 1) : NULL;
}

static bool learn_strings(struct dict_writer *w)
{
	struct dict *d = w->d;

	for (guint i = 0; i < d->strings->len; i++) {
		const char *own = profile_string(w->p, g_ptr_array_index(d->strings, i));
		uint64_t hash = id_index_hash(w->strings, &own, sizeof(own));

		if (id_index_find(w->strings, hash, same_string, d, &own) >= 0)
			return false;
		g_ptr_array_index(d->strings, i) = (gpointer)(uintptr_t)own;
		id_index_add(w->strings, hash, i);
	}
	g_ptr_array_set_size(d->held, 0);
	return true;
}

static bool learn_stacks(struct dict_writer *w)
{
	const struct dict *d = w->d;

	for (guint i = 0; i < d->frames->len; i++) {
		const struct dict_frame *f = DICT_GET(d, frames, struct dict_frame, i);
		const struct frame own = {
			.name = text_of(d, f->name),
			.module = text_of(d, f->module),
			.offset = f->offset,
			.file = text_of(d, f->file),
			.line = f->line,
			.kind = f->kind,
			.why = f->why,
			.is_inline = f->is_inline,
		};

		if (profile_frame(w->p, &own) != i)
			return false;
	}
	for (guint i = 1; i < d->nodes->len; i++) {
		const struct dict_node *n = DICT_GET(d, nodes, struct dict_node, i);

		if (profile_node(w->p, n->parent, n->frame) != i)
			return false;
		profile_stack_end(w->p, i, (enum stack_end)n->end);
	}
	return true;
}

static bool learn_actors(struct dict_writer *w)
{
	const struct dict *d = w->d;

	for (guint i = 0; i < d->objects->len; i++) {
		const struct dict_object *o = DICT_GET(d, objects, struct dict_object, i);
		const struct object own = {
			.kind = o->kind,
			.is_private = o->is_private,
			.operation = text_of(d, o->operation),
			.name = text_of(d, o->name),
			.place = text_of(d, o->place),
			.pid = o->pid,
			.addr = o->addr,
			.holder_tid = o->holder_tid,
		};

		if (profile_object(w->p, &own) != i)
			return false;
	}
	for (guint i = 0; i < d->wakers->len; i++) {
		const struct dict_waker *a = DICT_GET(d, wakers, struct dict_waker, i);
		const struct waker own = { .pid = a->pid,
					   .tid = a->tid,
					   .start_ns = a->start_ns,
					   .comm = text_of(d, a->comm),
					   .irq = text_of(d, a->irq),
					   .user = a->user,
					   .kernel = a->kernel };

		if (profile_waker(w->p, &own) != i)
			return false;
	}
	for (guint i = 0; i < d->modules->len; i++) {
		const struct dict_module *m = DICT_GET(d, modules, struct dict_module, i);

		profile_set_build_id(w->p, text_of(d, m->module), text_of(d, m->hex));
	}
	return w->p->build_ids->len == d->modules->len;
}

static bool learn_rows(struct dict_writer *w)
{
	const struct dict *d = w->d;

	for (guint i = 0; i < d->threads->len; i++) {
		const struct dict_thread *t = DICT_GET(d, threads, struct dict_thread, i);
		uint64_t hash = hash_thread(w, t);

		if (id_index_find(w->threads, hash, same_thread, d, t) >= 0)
			return false;
		id_index_add(w->threads, hash, i);
	}
	for (guint i = 0; i < d->keys->len; i++) {
		const struct dict_key *k = DICT_GET(d, keys, struct dict_key, i);
		uint64_t hash = hash_key(w, k);

		if (id_index_find(w->keys, hash, same_key, d, k) >= 0)
			return false;
		id_index_add(w->keys, hash, i);
	}
	return true;
}

struct dict_writer *dict_writer_new(struct dict *from, GError **error)
{
	struct dict_writer *w = g_new0(struct dict_writer, 1);

	w->d = from;
	w->p = profile_new();
	w->strings = id_index_new();
	w->threads = id_index_new();
	w->keys = id_index_new();
	if (learn_strings(w) && learn_stacks(w) && learn_actors(w) && learn_rows(w)) {
		w->saved = dict_size_of(from);
		return w;
	}
	dict_writer_free(w);
	store_fail(error, STORE_ERROR_DAMAGED, "its dictionary says something twice");
	return NULL;
}
