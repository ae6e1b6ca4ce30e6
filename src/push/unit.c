/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "push/unit.h"

#include <string.h>
#include <zlib.h>

#include "base/hash.h"
#include "base/refuse.h"
#include "base/wire.h"
#include "push/http.h"
#include "push/rowbinary.h"

/* The agent compresses each window while it traces: level 1 is a third larger in a third of the time. */
#define GZIP_LEVEL 1
#define GZIP_WINDOW_BITS (15 + 16) /* with gzip's header */
#define REQUESTS_MAX 64
#define NAME_MAX_BYTES 64

static const char magic[] = "offcpu push 1\n";
#define MAGIC_BYTES (sizeof(magic) - 1)

enum unit_field { UNIT_KEY = 1, UNIT_PART, UNIT_START, UNIT_REQUEST, UNIT_CONTENTS };
enum request_field { REQUEST_NAME = 1, REQUEST_BODY, REQUEST_ROWS, REQUEST_IS_GZIP };

FREES_DATA(request_free, struct push_request, r, g_free(r->name); g_bytes_unref(r->body))

struct push_unit *unit_new(uint64_t key, uint32_t part, uint64_t start_unix_ns)
{
	struct push_unit *u = g_new0(struct push_unit, 1);

	u->key = key;
	u->part = part;
	u->start_unix_ns = start_unix_ns;
	u->requests = g_ptr_array_new_with_free_func(request_free);
	u->contents = g_array_new(FALSE, FALSE, sizeof(uint64_t));
	return u;
}

FREES(unit_free, struct push_unit, u, g_ptr_array_unref(u->requests); g_array_unref(u->contents))

static void free_unit(gpointer u)
{
	unit_free(u);
}

GPtrArray *units_new(void)
{
	return g_ptr_array_new_with_free_func(free_unit);
}

static void add_request(struct push_unit *u, char *name, GBytes *body, bool is_gzip, uint64_t rows)
{
	struct push_request *r = g_new(struct push_request, 1);

	*r = (struct push_request){ .name = name, .body = body, .is_gzip = is_gzip, .rows = rows };
	g_ptr_array_add(u->requests, r);
}

void unit_add_plain(struct push_unit *u, const char *name, const GString *body, uint64_t rows)
{
	add_request(u, g_strdup(name), g_bytes_new(body->str, body->len), false, rows);
}

void unit_add(struct push_unit *u, const char *name, const GString *body, uint64_t rows)
{
	z_stream z = { .next_in = (unsigned char *)body->str, .avail_in = (uInt)body->len };
	bool is_small = body->len < G_MAXUINT32 &&
			deflateInit2(&z, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW_BITS, 8, Z_DEFAULT_STRATEGY) == Z_OK;
	gsize bound = is_small ? deflateBound(&z, body->len) : 0;
	unsigned char *packed;

	if (!is_small) {
		unit_add_plain(u, name, body, rows);
		return;
	}
	packed = g_malloc(bound);
	z.next_out = packed;
	z.avail_out = (uInt)bound;
	deflate(&z, Z_FINISH); /* the bound suffices */
	deflateEnd(&z);
	add_request(u, g_strdup(name), g_bytes_new_take(g_realloc(packed, z.total_out), z.total_out), true, rows);
}

/* The request with the name of `like`.  If there is none, inserts one behind index `after`. */
static guint request_of(struct push_unit *u, const struct push_request *like, int after)
{
	for (guint i = 0; i < u->requests->len; i++)
		if (strcmp(((const struct push_request *)g_ptr_array_index(u->requests, i))->name, like->name) == 0)
			return i;
	struct push_request *r = g_new0(struct push_request, 1);

	r->name = g_strdup(like->name);
	r->is_gzip = like->is_gzip;
	g_ptr_array_insert(u->requests, after + 1, r);
	return (guint)(after + 1);
}

static void free_bytes(gpointer bytes)
{
	if (bytes)
		g_byte_array_unref(bytes);
}

/* Concatenated rows are valid, and so are concatenated gzip members. */
static bool append_bodies(struct push_unit *to, GPtrArray *bodies, const struct push_unit *u)
{
	int at = -1;

	EACH_POINTER(i, const struct push_request, own, u->requests) {
		guint cnt = to->requests->len, place = request_of(to, own, at);
		struct push_request *r = g_ptr_array_index(to->requests, place);
		gsize len_bytes;
		const void *bytes = g_bytes_get_data(own->body, &len_bytes);

		if (to->requests->len > cnt)
			g_ptr_array_insert(bodies, (gint)place, g_byte_array_new());
		if (r->is_gzip != own->is_gzip || len_bytes > UNIT_MAX_BYTES)
			return false;
		g_byte_array_append(g_ptr_array_index(bodies, place), bytes, (guint)len_bytes);
		r->rows += own->rows;
		at = (int)place;
	}
	return true;
}

struct push_unit *unit_join(const GPtrArray *units)
{
	const struct push_unit *first = g_ptr_array_index(units, 0);
	struct push_unit *all = unit_new(0, 0, first->start_unix_ns);
	g_autoptr(GPtrArray) bodies = g_ptr_array_new_with_free_func(free_bytes);
	bool ok = true;

	for (guint i = 0; i < units->len && ok; i++) {
		const struct push_unit *u = g_ptr_array_index(units, i);

		all->key = hash_more(all->key, u->key);
		g_array_append_vals(all->contents, u->contents->data, u->contents->len);
		ok = append_bodies(all, bodies, u);
	}
	for (guint i = 0; i < bodies->len; i++) {
		struct push_request *r = g_ptr_array_index(all->requests, i);

		r->body = g_byte_array_free_to_bytes(g_steal_pointer(&g_ptr_array_index(bodies, i)));
	}
	if (ok)
		return all;
	unit_free(all);
	return NULL;
}

uint64_t unit_bytes(const struct push_unit *u)
{
	uint64_t bytes = 0;

	for (guint i = 0; i < u->requests->len; i++)
		bytes += g_bytes_get_size(((const struct push_request *)g_ptr_array_index(u->requests, i))->body);
	return bytes;
}

static void write_contents(GString *out, const struct push_unit *u)
{
	g_autoptr(GString) ids = g_string_new(NULL);

	for (guint i = 0; i < u->contents->len; i++)
		rb_u64(ids, g_array_index(u->contents, uint64_t, i));
	wire_message(out, UNIT_CONTENTS, ids);
}

static bool read_contents(struct push_unit *u, struct cursor *c)
{
	while (cursor_left(c) && !c->bad) {
		uint64_t id = cursor_u64(c);

		g_array_append_val(u->contents, id);
	}
	return !c->bad;
}

GBytes *unit_write(const struct push_unit *u)
{
	GString *out = g_string_sized_new(unit_bytes(u) + 4096);
	g_autoptr(GString) one = g_string_new(NULL);

	g_string_append_len(out, magic, MAGIC_BYTES);
	wire_uint(out, UNIT_KEY, u->key);
	wire_uint(out, UNIT_PART, u->part);
	wire_uint(out, UNIT_START, u->start_unix_ns);
	write_contents(out, u);
	EACH_POINTER(i, const struct push_request, r, u->requests) {
		gsize len_bytes;
		const void *body = g_bytes_get_data(r->body, &len_bytes);

		g_string_truncate(one, 0);
		wire_string(one, REQUEST_NAME, r->name);
		wire_uint(one, REQUEST_ROWS, r->rows);
		wire_uint(one, REQUEST_IS_GZIP, r->is_gzip);
		wire_bytes(one, REQUEST_BODY, body, len_bytes);
		wire_message(out, UNIT_REQUEST, one);
	}
	return g_string_free_to_bytes(out);
}

static bool read_request(struct push_unit *u, struct cursor *c)
{
	struct wire_field f;
	g_autofree char *name = g_strdup("");
	const struct cursor nothing = { 0 };
	struct cursor body = nothing;
	uint64_t rows = 0, is_gzip = 0;

	while (wire_next(c, &f)) {
		if (f.number == REQUEST_NAME && f.type == WIRE_BYTES && cursor_left(&f.bytes) <= NAME_MAX_BYTES) {
			g_free(name);
			name = g_strndup((const char *)f.bytes.at, cursor_left(&f.bytes));
		} else if (f.number == REQUEST_BODY && f.type == WIRE_BYTES) {
			body = f.bytes;
		} else if (f.number == REQUEST_ROWS && f.type == WIRE_VARINT) {
			rows = f.value;
		} else if (f.number == REQUEST_IS_GZIP && f.type == WIRE_VARINT) {
			is_gzip = f.value;
		} else {
			return false;
		}
	}
	if (c->bad || !body.at || u->requests->len >= REQUESTS_MAX)
		return false;
	add_request(u, g_steal_pointer(&name), g_bytes_new(body.at, cursor_left(&body)), is_gzip != 0, rows);
	return true;
}

struct push_unit *unit_read(const void *bytes, gsize len_bytes, GError **error)
{
	struct cursor c = { .at = bytes, .end = (const uint8_t *)bytes + len_bytes };
	const uint8_t *head = cursor_take(&c, MAGIC_BYTES);
	struct push_unit *u = unit_new(0, 0, 0);
	bool ok = head && memcmp(head, magic, MAGIC_BYTES) == 0;
	struct wire_field f;

	while (ok && wire_next(&c, &f)) {
		if (f.number == UNIT_REQUEST && f.type == WIRE_BYTES)
			ok = read_request(u, &f.bytes);
		else if (f.number == UNIT_CONTENTS && f.type == WIRE_BYTES)
			ok = read_contents(u, &f.bytes);
		else if (f.type != WIRE_VARINT)
			ok = false;
		else if (f.number == UNIT_KEY)
			u->key = f.value;
		else if (f.number == UNIT_PART)
			u->part = (uint32_t)f.value;
		else if (f.number == UNIT_START)
			u->start_unix_ns = f.value;
	}
	if (ok && !c.bad && u->requests->len)
		return u;
	unit_free(u);
	return refuse_null(error, PUSH_ERROR, PUSH_ERROR_FAILED, "it is damaged");
}
