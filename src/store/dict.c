/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "store/dict.h"

#include <string.h>

#include "base/each.h"
#include "store/blob.h"

#define DICT_VERSION 1

#define PLACE(type, member) { .at = offsetof(struct type, member), .bytes = sizeof(((struct type *)NULL)->member) }
#define PLACE_OF(type, member, kind_, ...)                                                                      \
	{ .at = offsetof(struct type, member), .bytes = sizeof(((struct type *)NULL)->member),                  \
	  .kind = COLUMN_##kind_, __VA_ARGS__ }

/* Members of a row of the dictionary; the model's row may have a member of the same name. */
#define NUMBER(type, member, ...)                                                                               \
	{ .of = DICT_TABLES, .own = PLACE_OF(dict_##type, member, NUMBER, __VA_ARGS__), .model = PLACE(type, member) }
#define NS(type, member)                                                                                        \
	{ .of = DICT_TABLES, .own = PLACE_OF(dict_##type, member, NS), .model = PLACE(type, member) }
#define TEXT(type, member, ...)                                                                                 \
	{ .of = DICT_STRINGS, .plus_1 = true, .own = PLACE(dict_##type, member), .model = PLACE(type, member),  \
	  __VA_ARGS__ }
#define NODE(type, member)                                                                                      \
	{ .of = DICT_NODES, .is_near = true, .own = PLACE(dict_##type, member), .model = PLACE(type, member) }
#define OWN(type, member, of_, ...) { .of = of_, .own = PLACE(dict_##type, member), __VA_ARGS__ }
#define OWN_NUMBER(type, member, max_)                                                                          \
	{ .of = DICT_TABLES, .own = PLACE_OF(dict_##type, member, NUMBER, .max = max_) }

static const struct dict_column frame_columns[] = {
	TEXT(frame, name, .is_near = true),
	TEXT(frame, module),
	TEXT(frame, file),
	NUMBER(frame, offset, .max = UINT64_MAX),
	NUMBER(frame, line),
	OWN_NUMBER(frame, bits, FRAME_WHY_COUNT << 2),
};
static const struct dict_column node_columns[] = {
	OWN(node, parent, DICT_NODES, .is_back = true),
	OWN(node, frame, DICT_FRAMES, .is_near = true),
	OWN_NUMBER(node, end, STACK_END_COUNT - 1),
};
static const struct dict_column object_columns[] = {
	OWN_NUMBER(object, bits, OBJECT_KIND_COUNT << 1),
	TEXT(object, operation),
	TEXT(object, name),
	TEXT(object, place),
	NUMBER(object, pid),
	NUMBER(object, addr, .max = UINT64_MAX),
	NUMBER(object, holder_tid),
};
static const struct dict_column waker_columns[] = {
	NUMBER(waker, pid), NUMBER(waker, tid),	 NS(waker, start_ns),  TEXT(waker, comm),
	TEXT(waker, irq),   NODE(waker, user),	 NODE(waker, kernel),
};
static const struct dict_column thread_columns[] = {
	NUMBER(thread, pid),   NUMBER(thread, tid),   NS(thread, start_ns),	 TEXT(thread, comm),
	TEXT(thread, process), TEXT(thread, service), OWN_NUMBER(thread, is_kernel, 1),
};
static const struct dict_column key_columns[] = {
	OWN(key, thread, DICT_THREADS, .is_near = true),
	OWN(key, user, DICT_NODES, .is_near = true),
	OWN(key, kernel, DICT_NODES, .is_near = true),
	OWN(key, object, DICT_OBJECTS, .is_near = true, .plus_1 = true),
	OWN_NUMBER(key, state, UINT8_MAX),
	OWN_NUMBER(key, flags, UINT8_MAX),
};
static const struct dict_column module_columns[] = {
	OWN(module, module, DICT_STRINGS, .plus_1 = true),
	OWN(module, hex, DICT_STRINGS, .plus_1 = true),
};

static bool is_right_frame(struct dict *d, guint i)
{
	const struct dict_frame *f = DICT_GET(d, DICT_FRAMES, struct dict_frame, i);
	const unsigned why = f->bits >> 2;

	return why < FRAME_WHY_COUNT && !f->name == (why != FRAME_NAMED);
}

static bool is_right_node(struct dict *d, guint i)
{
	struct dict_node *n = DICT_GET(d, DICT_NODES, struct dict_node, i);

	n->depth = DICT_GET(d, DICT_NODES, struct dict_node, n->parent)->depth + 1;
	return n->depth <= PROFILE_DEPTH_MAX;
}

static bool is_right_object(struct dict *d, guint i)
{
	return DICT_GET(d, DICT_OBJECTS, struct dict_object, i)->bits >> 1 < OBJECT_KIND_COUNT;
}

#define TABLE(type)                                                                                     \
	.row_bytes = sizeof(struct dict_##type), .columns = type##_columns, .cnt = G_N_ELEMENTS(type##_columns)

static const struct {
	gsize row_bytes;
	const struct dict_column *columns;
	unsigned cnt;
	bool (*is_right)(struct dict *d, guint i);
} tables[DICT_TABLES] = {
	[DICT_FRAMES] = { TABLE(frame), .is_right = is_right_frame },
	[DICT_NODES] = { TABLE(node), .is_right = is_right_node },
	[DICT_OBJECTS] = { TABLE(object), .is_right = is_right_object },
	[DICT_WAKERS] = { TABLE(waker) },
	[DICT_THREADS] = { TABLE(thread) },
	[DICT_KEYS] = { TABLE(key) },
	[DICT_MODULES] = { TABLE(module) },
};

const struct dict_column *dict_columns(enum dict_table table, unsigned *ret_cnt)
{
	*ret_cnt = tables[table].cnt;
	return tables[table].columns;
}

static void *row_at(const struct dict *d, enum dict_table table, guint i)
{
	return d->rows[table]->data + i * tables[table].row_bytes;
}

struct dict *dict_new(void)
{
	struct dict *d = g_new0(struct dict, 1);
	const struct dict_node root = { .end = STACK_NONE };

	d->strings = g_ptr_array_new();
	for (unsigned i = DICT_STRINGS + 1; i < DICT_TABLES; i++)
		d->rows[i] = g_array_new(FALSE, FALSE, (guint)tables[i].row_bytes);
	d->held = g_ptr_array_new_with_free_func(g_free);
	g_array_append_val(d->rows[DICT_NODES], root);
	return d;
}

FREES(dict_free, struct dict, d, g_ptr_array_unref(d->strings);
      for (unsigned i = DICT_STRINGS + 1; i < DICT_TABLES; i++) g_array_unref(d->rows[i]);
      g_ptr_array_unref(d->held))

struct dict_size dict_size_of(const struct dict *d)
{
	struct dict_size size = { 0 };

	for (unsigned i = 0; i < DICT_TABLES; i++)
		size.cnt[i] = dict_cnt(d, (enum dict_table)i);
	return size;
}

static void encode_strings(const struct dict *d, guint from, GByteArray *into)
{
	blob_put(into, d->strings->len - from);
	for (guint i = from; i < d->strings->len; i++) {
		const char *s = g_ptr_array_index(d->strings, i);

		g_byte_array_append(into, (const guint8 *)s, (guint)strlen(s) + 1);
	}
}

/* Writes the rows added since then, column by column. */
static void encode_rows(const struct dict *d, enum dict_table table, const struct dict_size *since, GByteArray *into)
{
	const guint from = since->cnt[table], end = dict_cnt(d, table);

	blob_put(into, end - from);
	for (unsigned n = 0; n < tables[table].cnt; n++) {
		const struct dict_column *c = &tables[table].columns[n];
		uint64_t next = since->cnt[c->of];

		for (guint i = from; i < end; i++) {
			const uint64_t value = column_value(&c->own, row_at(d, table, i));

			if (c->is_near)
				blob_put_near(into, value, &next);
			else
				blob_put(into, c->is_back ? i - value : value);
		}
	}
}

void dict_encode(const struct dict *d, const struct dict_size *since, const GArray *ends, GByteArray *into)
{
	blob_put(into, DICT_VERSION);
	encode_strings(d, since->cnt[DICT_STRINGS], into);
	for (unsigned i = DICT_STRINGS + 1; i < DICT_TABLES; i++) {
		encode_rows(d, (enum dict_table)i, since, into);
		if (i != DICT_NODES)
			continue;
		blob_put(into, ends->len);
		EACH_ROW(n, const struct dict_end, e, ends) {
			blob_put(into, e->node);
			blob_put(into, e->end);
		}
	}
}

/* Adds zeroed rows; false: too many. */
static bool add_zeroed_rows(struct cursor *c, GArray *table, guint *ret_from)
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

static uint64_t get_number(const struct dict *d, struct cursor *c, const struct dict_column *col, guint i,
			   uint64_t *next)
{
	const uint64_t cnt = col->of == DICT_TABLES ? 0 : (uint64_t)dict_cnt(d, col->of) + col->plus_1;

	if (col->is_near)
		return blob_get_near(c, cnt, next);
	if (col->is_back) {
		const uint64_t back = cursor_uleb(c);

		c->bad = c->bad || !back || back > i;
		return c->bad ? 0 : i - back;
	}
	return cnt ? blob_get_id(c, cnt) : blob_get(c, column_max(&col->own));
}

static void decode_rows(struct dict *d, enum dict_table table, const struct dict_size *since, struct cursor *c)
{
	guint from;

	if (!add_zeroed_rows(c, d->rows[table], &from))
		return;
	for (unsigned n = 0; n < tables[table].cnt; n++) {
		const struct dict_column *col = &tables[table].columns[n];
		uint64_t next = since->cnt[col->of];

		for (guint i = from; i < dict_cnt(d, table); i++)
			column_set(&col->own, row_at(d, table, i), get_number(d, c, col, i, &next));
	}
	for (guint i = from; i < dict_cnt(d, table) && tables[table].is_right && !c->bad; i++)
		c->bad = !tables[table].is_right(d, i);
}

static void decode_ends(struct dict *d, struct cursor *c)
{
	for (uint32_t cnt = blob_get_cnt(c, DICT_ROWS_MAX); cnt && !c->bad; cnt--) {
		uint32_t node = blob_get_id(c, dict_cnt(d, DICT_NODES)), end = blob_get_id(c, STACK_END_COUNT);
		struct dict_node *n = DICT_GET(d, DICT_NODES, struct dict_node, node);

		n->end = MAX(n->end, (uint8_t)end);
	}
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
	for (unsigned i = DICT_STRINGS + 1; i < DICT_TABLES && !c.bad; i++) {
		decode_rows(d, (enum dict_table)i, &since, &c);
		if (i == DICT_NODES)
			decode_ends(d, &c);
	}
	return !c.bad && c.at == c.end && dict_cnt(d, DICT_MODULES) <= PROFILE_MODULES_MAX;
}
