/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "runtimes/java/frames.h"

#include <string.h>

#include "base/hash.h"
#include "symbolize/runtime/memory.h"

#define CONST_BYTES 96	/* of a ConstMethod: the needed fields */
#define POOL_BYTES 96
#define NAME_MAX_BYTES 256	/* of a class or method; longer ones are cut */
#define BLOB_NAME_MAX_BYTES 128
#define METHODS_MAX (1u << 18)	/* cached; more are read each time */
#define PLACES_MAX (1u << 16)
#define METHODS_KEPT (1u << 15)	/* limit of those kept for the next turn */
#define PLACES_KEPT (1u << 14)
#define WORD 8

/* The words from which a method's name was read; others mean another method. */
struct method {
	uint32_t pid;
	uint64_t at, constants, pool;
	uint16_t name_index, signature_index;
	const char *name;
};

/* A place in code. All but the result is its key, so other code at the address is another place. */
struct place {
	uint64_t ip, code, method;
	uint32_t pid, compile_id, is_return;
	unsigned cnt;
	const char *names[HOTSPOT_INLINED_MAX];
};

struct hotspot_names {
	GHashTable *methods;	/* struct method, by pid and address */
	GHashTable *places;	/* struct place */
	GStringChunk *strings;
};

HASH_KEY(method, struct method, at, pid)

static guint place_hash(gconstpointer p)
{
	const struct place *k = p;

	return hash_end(hash_more(hash_more(k->ip, k->pid), k->method));
}

static gboolean place_equal(gconstpointer a, gconstpointer b)
{
	return !memcmp(a, b, offsetof(struct place, cnt));
}

struct hotspot_names *hotspot_names_new(void)
{
	struct hotspot_names *n = g_new0(struct hotspot_names, 1);

	n->methods = g_hash_table_new_full(method_hash, method_equal, NULL, g_free);
	n->places = g_hash_table_new_full(place_hash, place_equal, g_free, NULL);
	n->strings = g_string_chunk_new(4096);
	return n;
}

FREES(hotspot_names_free, struct hotspot_names, n, g_hash_table_destroy(n->methods); g_hash_table_destroy(n->places);
      g_string_chunk_free(n->strings))

void hotspot_names_next_turn(struct hotspot_names *n)
{
	if (g_hash_table_size(n->methods) <= METHODS_KEPT && g_hash_table_size(n->places) <= PLACES_KEPT)
		return;
	g_hash_table_remove_all(n->places);
	g_hash_table_remove_all(n->methods);
	g_string_chunk_clear(n->strings);
}

/* Appends a Symbol's text without control characters. False: not a Symbol. */
static bool append_symbol(GString *text, const struct hotspot *h, uint64_t symbol, bool is_class)
{
	char bytes[NAME_MAX_BYTES + 1], *valid;
	uint64_t len;

	if (!symbol || symbol & 1 || !hotspot_field_at(&h->layout, h->pid, HOTSPOT_SYMBOL_LENGTH, symbol, &len) ||
	    !len ||
	    !memory_read(h->pid, symbol + h->layout.field[HOTSPOT_SYMBOL_BODY].at, bytes, MIN(len, NAME_MAX_BYTES)))
		return false;
	len = MIN(len, NAME_MAX_BYTES);
	for (uint64_t i = 0; i < len; i++) {
		if ((unsigned char)bytes[i] < ' ' || bytes[i] == 0x7f)
			return false;
		if (is_class && bytes[i] == '/')
			bytes[i] = '.';
	}
	bytes[len] = '\0';
	valid = g_utf8_make_valid(bytes, -1);
	g_string_append(text, valid);
	g_free(valid);
	return true;
}

/* Appends a class's name if the class refers back to the constant pool. */
static bool append_class(GString *text, const struct hotspot *h, uint64_t pool, uint64_t holder)
{
	uint64_t back, symbol;

	return holder && hotspot_field_at(&h->layout, h->pid, HOTSPOT_KLASS_POOL, holder, &back) && back == pool &&
	       hotspot_field_at(&h->layout, h->pid, HOTSPOT_KLASS_NAME, holder, &symbol) &&
	       append_symbol(text, h, symbol, true);
}

static char *read_name(const struct hotspot *h, const struct method *m)
{
	g_autoptr(GString) text = g_string_new(NULL);
	uint8_t pool[POOL_BYTES];
	uint64_t holder, cnt, symbol;

	if (!memory_read(h->pid, m->pool, pool, sizeof(pool)) ||
	    !hotspot_field_of(&h->layout, HOTSPOT_POOL_HOLDER, pool, sizeof(pool), &holder) ||
	    !hotspot_field_of(&h->layout, HOTSPOT_POOL_LENGTH, pool, sizeof(pool), &cnt) || m->name_index >= cnt ||
	    !append_class(text, h, m->pool, holder) ||
	    !memory_read(h->pid, m->pool + h->layout.type_bytes[HOTSPOT_POOL] + m->name_index * (uint64_t)WORD, &symbol,
			 WORD))
		return NULL;
	g_string_append_c(text, '.');
	if (!append_symbol(text, h, symbol, false))
		return NULL;
	return g_string_free(g_steal_pointer(&text), FALSE);
}

/* Read each time, to detect another method at the address. */
static bool read_method(const struct hotspot *h, uint64_t at, struct method *ret)
{
	uint8_t constants[CONST_BYTES];
	uint64_t name, signature;

	*ret = (struct method){ .pid = h->pid, .at = at };
	if (!at || at % WORD || !hotspot_field_at(&h->layout, h->pid, HOTSPOT_METHOD_CONST, at, &ret->constants) ||
	    !ret->constants || ret->constants % WORD ||
	    !memory_read(h->pid, ret->constants, constants, sizeof(constants)) ||
	    !hotspot_field_of(&h->layout, HOTSPOT_CONST_POOL, constants, sizeof(constants), &ret->pool) ||
	    !hotspot_field_of(&h->layout, HOTSPOT_CONST_NAME, constants, sizeof(constants), &name) ||
	    !hotspot_field_of(&h->layout, HOTSPOT_CONST_SIGNATURE, constants, sizeof(constants), &signature))
		return false;
	ret->name_index = (uint16_t)name;
	ret->signature_index = (uint16_t)signature;
	return ret->pool && ret->pool % WORD == 0;
}

const char *hotspot_names_method(struct hotspot_names *n, const struct hotspot *h, uint64_t method)
{
	struct method now, *known;
	g_autofree char *name = NULL;

	if (!read_method(h, method, &now))
		return NULL;
	known = g_hash_table_lookup(n->methods, &now);
	if (known && known->constants == now.constants && known->pool == now.pool &&
	    known->name_index == now.name_index && known->signature_index == now.signature_index)
		return known->name;
	name = read_name(h, &now);
	if (!name)
		return NULL;
	now.name = g_string_chunk_insert_const(n->strings, name);
	if (g_hash_table_size(n->methods) >= METHODS_MAX)
		g_hash_table_remove_all(n->methods);
	known = g_memdup2(&now, sizeof(now));
	g_hash_table_replace(n->methods, known, known);
	return now.name;
}

/* ---- code */

static const char *blob_name(struct hotspot_names *n, const char *name)
{
	for (const char *c = name; *c; c++)
		if (!g_ascii_isprint(*c))
			return NULL;
	return name[0] ? g_string_chunk_insert_const(n->strings, name) : NULL;
}

static unsigned name_methods(struct hotspot_names *n, const struct hotspot *h, const uint64_t *methods, unsigned cnt,
			     const char **ret)
{
	for (unsigned i = 0; i < cnt; i++) {
		ret[i] = hotspot_names_method(n, h, methods[i]);
		if (!ret[i])
			return 0;
	}
	return cnt;
}

static unsigned name_blob(struct hotspot_names *n, const struct hotspot *h, const struct hotspot_blob *blob,
			  uint64_t ip, bool is_return, const char **ret)
{
	uint64_t methods[HOTSPOT_INLINED_MAX];
	char name[BLOB_NAME_MAX_BYTES];
	unsigned cnt = 0;

	if (!memory_text(h->pid, blob->name, name, sizeof(name)))
		return 0;
	if (!strcmp(name, "nmethod"))
		cnt = name_methods(n, h, methods, hotspot_inlined(h, blob, ip, is_return, methods), ret);
	if (cnt)
		return cnt;
	if (!strcmp(name, "nmethod") || !strcmp(name, "native nmethod"))
		return name_methods(n, h, &blob->method, 1, ret);
	ret[0] = blob_name(n, name);
	return ret[0] != NULL;
}

unsigned hotspot_names_code(struct hotspot_names *n, struct hotspot *h, uint64_t ip, bool is_return,
			    const char *const **ret_names)
{
	struct place key = { .pid = h->pid, .ip = ip, .is_return = is_return }, *known;
	struct hotspot_blob blob;

	if (!hotspot_find_blob(h, ip - is_return, &blob))
		return 0;
	key.code = blob.code;
	key.method = blob.method;
	key.compile_id = blob.compile_id;
	known = g_hash_table_lookup(n->places, &key);
	if (!known) {
		key.cnt = name_blob(n, h, &blob, ip, is_return, key.names);
		if (!key.cnt)
			return 0;
		if (g_hash_table_size(n->places) >= PLACES_MAX)
			g_hash_table_remove_all(n->places);
		known = g_memdup2(&key, offsetof(struct place, names) + key.cnt * sizeof(key.names[0]));
		g_hash_table_add(n->places, known);
	}
	*ret_names = known->names;
	return known->cnt;
}
