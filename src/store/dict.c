/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "store/dict.h"

#include <string.h>

#include "store/blob.h"

#define DICT_VERSION 1

struct dict *dict_new(void)
{
	struct dict *d = g_new0(struct dict, 1);
	const struct dict_node root = { .end = STACK_NONE };

	d->strings = g_ptr_array_new();
	d->frames = g_array_new(FALSE, FALSE, sizeof(struct dict_frame));
	d->nodes = g_array_new(FALSE, FALSE, sizeof(struct dict_node));
	d->objects = g_array_new(FALSE, FALSE, sizeof(struct dict_object));
	d->wakers = g_array_new(FALSE, FALSE, sizeof(struct dict_waker));
	d->threads = g_array_new(FALSE, FALSE, sizeof(struct dict_thread));
	d->keys = g_array_new(FALSE, FALSE, sizeof(struct dict_key));
	d->modules = g_array_new(FALSE, FALSE, sizeof(struct dict_module));
	d->held = g_ptr_array_new_with_free_func(g_free);
	g_array_append_val(d->nodes, root);
	return d;
}

FREES(dict_free, struct dict, d, g_ptr_array_unref(d->strings); g_array_unref(d->frames); g_array_unref(d->nodes);
      g_array_unref(d->objects); g_array_unref(d->wakers); g_array_unref(d->threads); g_array_unref(d->keys);
      g_array_unref(d->modules); g_ptr_array_unref(d->held))

struct dict_size dict_size_of(const struct dict *d)
{
	return (struct dict_size){ d->strings->len, d->frames->len, d->nodes->len, d->objects->len, d->wakers->len,
				   d->threads->len, d->keys->len, d->modules->len };
}

bool dict_has_more(const struct dict *d, const struct dict_size *than)
{
	const struct dict_size now = dict_size_of(d);

	return memcmp(&now, than, sizeof(now)) != 0;
}

/* One column of the rows since `from`. */
#define PUT(table, type, from, value)                                              \
	for (guint i = (from); i < d->table->len; i++) {                           \
		const type *row = DICT_GET(d, table, type, i);                     \
                                                                                   \
		blob_put(into, (uint64_t)(value));                                \
	}

/* The same of numbers that are mostly new ones. */
#define PUT_NEAR(table, type, from, value, next)                                   \
	for (guint i = (from); i < d->table->len; i++) {                           \
		const type *row = DICT_GET(d, table, type, i);                     \
                                                                                   \
		blob_put_near(into, (uint64_t)(value), next);                      \
	}

static void encode_strings(const struct dict *d, guint from, GByteArray *into)
{
	blob_put(into, d->strings->len - from);
	for (guint i = from; i < d->strings->len; i++) {
		const char *s = g_ptr_array_index(d->strings, i);

		g_byte_array_append(into, (const guint8 *)s, (guint)strlen(s) + 1);
	}
}

static void encode_frames(const struct dict *d, guint from, uint64_t next_string, GByteArray *into)
{
	blob_put(into, d->frames->len - from);
	PUT_NEAR(frames, struct dict_frame, from, row->name, &next_string);
	PUT(frames, struct dict_frame, from, row->module);
	PUT(frames, struct dict_frame, from, row->file);
	PUT(frames, struct dict_frame, from, row->offset);
	PUT(frames, struct dict_frame, from, row->line);
	PUT(frames, struct dict_frame, from, (unsigned)row->why << 2 | (unsigned)row->is_inline << 1 | row->kind);
}

static void encode_nodes(const struct dict *d, guint from, uint64_t next_frame, const GArray *ends, GByteArray *into)
{
	blob_put(into, d->nodes->len - from);
	PUT(nodes, struct dict_node, from, i - row->parent);
	PUT_NEAR(nodes, struct dict_node, from, row->frame, &next_frame);
	PUT(nodes, struct dict_node, from, row->end);
	blob_put(into, ends->len);
	EACH_ROW(i, const struct dict_end, e, ends) {
		blob_put(into, e->node);
		blob_put(into, e->end);
	}
}

static void encode_objects(const struct dict *d, guint from, GByteArray *into)
{
	blob_put(into, d->objects->len - from);
	PUT(objects, struct dict_object, from, (unsigned)row->kind << 1 | row->is_private);
	PUT(objects, struct dict_object, from, row->operation);
	PUT(objects, struct dict_object, from, row->name);
	PUT(objects, struct dict_object, from, row->place);
	PUT(objects, struct dict_object, from, row->pid);
	PUT(objects, struct dict_object, from, row->addr);
	PUT(objects, struct dict_object, from, row->holder_tid);
}

static void encode_wakers(const struct dict *d, guint from, uint64_t next_node, GByteArray *into)
{
	uint64_t next_kernel = next_node;

	blob_put(into, d->wakers->len - from);
	PUT(wakers, struct dict_waker, from, row->pid);
	PUT(wakers, struct dict_waker, from, row->tid);
	PUT(wakers, struct dict_waker, from, row->start_ns);
	PUT(wakers, struct dict_waker, from, row->comm);
	PUT(wakers, struct dict_waker, from, row->irq);
	PUT_NEAR(wakers, struct dict_waker, from, row->user, &next_node);
	PUT_NEAR(wakers, struct dict_waker, from, row->kernel, &next_kernel);
}

static void encode_threads(const struct dict *d, guint from, GByteArray *into)
{
	blob_put(into, d->threads->len - from);
	PUT(threads, struct dict_thread, from, row->pid);
	PUT(threads, struct dict_thread, from, row->tid);
	PUT(threads, struct dict_thread, from, row->start_ns);
	PUT(threads, struct dict_thread, from, row->comm);
	PUT(threads, struct dict_thread, from, row->process);
	PUT(threads, struct dict_thread, from, row->service);
	PUT(threads, struct dict_thread, from, row->is_kernel);
}

static void encode_keys(const struct dict *d, const struct dict_size *since, GByteArray *into)
{
	const guint from = since->keys;
	uint64_t next[] = { since->threads, since->nodes, since->nodes, since->objects };

	blob_put(into, d->keys->len - from);
	PUT_NEAR(keys, struct dict_key, from, row->thread, &next[0]);
	PUT_NEAR(keys, struct dict_key, from, row->user, &next[1]);
	PUT_NEAR(keys, struct dict_key, from, row->kernel, &next[2]);
	PUT_NEAR(keys, struct dict_key, from, row->object, &next[3]);
	PUT(keys, struct dict_key, from, row->state);
	PUT(keys, struct dict_key, from, row->flags);
}

void dict_encode(const struct dict *d, const struct dict_size *since, const GArray *ends, GByteArray *into)
{
	blob_put(into, DICT_VERSION);
	encode_strings(d, since->strings, into);
	encode_frames(d, since->frames, since->strings, into);
	encode_nodes(d, since->nodes, since->frames, ends, into);
	encode_objects(d, since->objects, into);
	encode_wakers(d, since->wakers, since->nodes, into);
	encode_threads(d, since->threads, into);
	encode_keys(d, since, into);
	blob_put(into, d->modules->len - since->modules);
	PUT(modules, struct dict_module, since->modules, row->module);
	PUT(modules, struct dict_module, since->modules, row->hex);
}

/* Room for so many more rows, all 0; false: too many. */
static bool grow(struct cursor *c, GArray *table, guint *ret_from)
{
	uint32_t cnt = blob_get_cnt(c, DICT_ROWS_MAX);

	*ret_from = table->len;
	if (c->bad || table->len > DICT_ROWS_MAX - cnt) {
		c->bad = true;
		return false;
	}
	g_array_set_size(table, table->len + cnt);
	if (cnt)
		memset(table->data + (gsize)*ret_from * g_array_get_element_size(table), 0,
		       (gsize)cnt * g_array_get_element_size(table));
	return true;
}

#define GET(table, type, from, member, value)                                      \
	for (guint i = (from); i < d->table->len; i++)                             \
	DICT_GET(d, table, type, i)->member = (__typeof__(((type *)NULL)->member))(value)

static void decode_strings(struct dict *d, struct cursor *c)
{
	uint32_t cnt = blob_get_cnt(c, DICT_ROWS_MAX);

	if (d->strings->len > DICT_ROWS_MAX - cnt)
		c->bad = true;
	for (uint32_t i = 0; i < cnt && !c->bad; i++) {
		const uint8_t *end = memchr(c->at, 0, cursor_left(c));

		if (!end || end - c->at > PROFILE_STRING_MAX_BYTES) {
			c->bad = true;
			return;
		}
		g_ptr_array_add(d->strings, (gpointer)(uintptr_t)c->at);
		c->at = end + 1;
	}
}

static void decode_frames(struct dict *d, struct cursor *c, uint64_t next_string)
{
	guint from;
	const uint64_t strings = (uint64_t)d->strings->len + 1;

	if (!grow(c, d->frames, &from))
		return;
	GET(frames, struct dict_frame, from, name, blob_get_near(c, strings, &next_string));
	GET(frames, struct dict_frame, from, module, blob_get_id(c, strings));
	GET(frames, struct dict_frame, from, file, blob_get_id(c, strings));
	GET(frames, struct dict_frame, from, offset, cursor_uleb(c));
	GET(frames, struct dict_frame, from, line, blob_get(c, UINT32_MAX));
	for (guint i = from; i < d->frames->len; i++) {
		struct dict_frame *f = DICT_GET(d, frames, struct dict_frame, i);
		uint64_t bits = blob_get(c, FRAME_WHY_COUNT << 2);

		f->kind = bits & 1;
		f->is_inline = bits >> 1 & 1;
		f->why = (uint8_t)(bits >> 2);
		c->bad = c->bad || f->why >= FRAME_WHY_COUNT || !f->name != (f->why != FRAME_NAMED);
	}
}

static void decode_nodes(struct dict *d, struct cursor *c, uint64_t next_frame)
{
	guint from;

	if (!grow(c, d->nodes, &from))
		return;
	for (guint i = from; i < d->nodes->len; i++) {
		uint64_t back = cursor_uleb(c);
		struct dict_node *n = DICT_GET(d, nodes, struct dict_node, i);

		n->parent = back && back <= i ? i - (uint32_t)back : 0;
		n->depth = DICT_GET(d, nodes, struct dict_node, n->parent)->depth + 1;
		c->bad = c->bad || !back || back > i || n->depth > PROFILE_DEPTH_MAX;
	}
	GET(nodes, struct dict_node, from, frame, blob_get_near(c, d->frames->len, &next_frame));
	GET(nodes, struct dict_node, from, end, blob_get_id(c, STACK_END_COUNT));
	for (uint32_t cnt = blob_get_cnt(c, DICT_ROWS_MAX); cnt && !c->bad; cnt--) {
		uint32_t node = blob_get_id(c, d->nodes->len), end = blob_get_id(c, STACK_END_COUNT);
		struct dict_node *n = DICT_GET(d, nodes, struct dict_node, node);

		n->end = MAX(n->end, (uint8_t)end);
	}
}

static void decode_objects(struct dict *d, struct cursor *c)
{
	guint from;
	const uint64_t strings = (uint64_t)d->strings->len + 1;

	if (!grow(c, d->objects, &from))
		return;
	for (guint i = from; i < d->objects->len; i++) {
		uint64_t bits = blob_get(c, OBJECT_KIND_COUNT << 1);
		struct dict_object *o = DICT_GET(d, objects, struct dict_object, i);

		o->kind = (uint8_t)(bits >> 1);
		o->is_private = bits & 1;
		c->bad = c->bad || o->kind >= OBJECT_KIND_COUNT;
	}
	GET(objects, struct dict_object, from, operation, blob_get_id(c, strings));
	GET(objects, struct dict_object, from, name, blob_get_id(c, strings));
	GET(objects, struct dict_object, from, place, blob_get_id(c, strings));
	GET(objects, struct dict_object, from, pid, blob_get(c, UINT32_MAX));
	GET(objects, struct dict_object, from, addr, cursor_uleb(c));
	GET(objects, struct dict_object, from, holder_tid, blob_get(c, UINT32_MAX));
}

static void decode_wakers(struct dict *d, struct cursor *c, uint64_t next_node)
{
	guint from;
	uint64_t next_kernel = next_node;
	const uint64_t strings = (uint64_t)d->strings->len + 1;

	if (!grow(c, d->wakers, &from))
		return;
	GET(wakers, struct dict_waker, from, pid, blob_get(c, UINT32_MAX));
	GET(wakers, struct dict_waker, from, tid, blob_get(c, UINT32_MAX));
	GET(wakers, struct dict_waker, from, start_ns, blob_get(c, PROFILE_NS_MAX));
	GET(wakers, struct dict_waker, from, comm, blob_get_id(c, strings));
	GET(wakers, struct dict_waker, from, irq, blob_get_id(c, strings));
	GET(wakers, struct dict_waker, from, user, blob_get_near(c, d->nodes->len, &next_node));
	GET(wakers, struct dict_waker, from, kernel, blob_get_near(c, d->nodes->len, &next_kernel));
}

static void decode_threads(struct dict *d, struct cursor *c)
{
	guint from;
	const uint64_t strings = (uint64_t)d->strings->len + 1;

	if (!grow(c, d->threads, &from))
		return;
	GET(threads, struct dict_thread, from, pid, blob_get(c, UINT32_MAX));
	GET(threads, struct dict_thread, from, tid, blob_get(c, UINT32_MAX));
	GET(threads, struct dict_thread, from, start_ns, blob_get(c, PROFILE_NS_MAX));
	GET(threads, struct dict_thread, from, comm, blob_get_id(c, strings));
	GET(threads, struct dict_thread, from, process, blob_get_id(c, strings));
	GET(threads, struct dict_thread, from, service, blob_get_id(c, strings));
	GET(threads, struct dict_thread, from, is_kernel, blob_get_id(c, 2));
}

static void decode_keys(struct dict *d, struct cursor *c, const struct dict_size *since)
{
	uint64_t next[] = { since->threads, since->nodes, since->nodes, since->objects };
	guint from;

	if (!grow(c, d->keys, &from))
		return;
	GET(keys, struct dict_key, from, thread, blob_get_near(c, d->threads->len, &next[0]));
	GET(keys, struct dict_key, from, user, blob_get_near(c, d->nodes->len, &next[1]));
	GET(keys, struct dict_key, from, kernel, blob_get_near(c, d->nodes->len, &next[2]));
	GET(keys, struct dict_key, from, object, blob_get_near(c, (uint64_t)d->objects->len + 1, &next[3]));
	GET(keys, struct dict_key, from, state, blob_get(c, UINT8_MAX));
	GET(keys, struct dict_key, from, flags, blob_get(c, UINT8_MAX));
}

static void decode_modules(struct dict *d, struct cursor *c)
{
	guint from;
	const uint64_t strings = (uint64_t)d->strings->len + 1;

	if (!grow(c, d->modules, &from))
		return;
	GET(modules, struct dict_module, from, module, blob_get_id(c, strings));
	GET(modules, struct dict_module, from, hex, blob_get_id(c, strings));
	c->bad = c->bad || d->modules->len > PROFILE_MODULES_MAX;
}

bool dict_decode(struct dict *d, uint8_t *bytes, size_t len_bytes)
{
	const struct dict_size since = dict_size_of(d);
	struct cursor c = cursor_of(bytes, len_bytes);

	g_ptr_array_add(d->held, bytes);
	d->bytes += len_bytes;
	if (d->bytes > DICT_MAX_BYTES || cursor_uleb(&c) != DICT_VERSION)
		return false;
	decode_strings(d, &c);
	decode_frames(d, &c, since.strings);
	decode_nodes(d, &c, since.frames);
	decode_objects(d, &c);
	decode_wakers(d, &c, since.nodes);
	decode_threads(d, &c);
	decode_keys(d, &c, &since);
	decode_modules(d, &c);
	return !c.bad && c.at == c.end;
}
