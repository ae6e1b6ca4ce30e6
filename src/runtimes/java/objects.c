/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "runtimes/java/objects.h"

#include <string.h>

#include "base/hash.h"
#include "runtimes/java/frames.h"
#include "symbolize/runtime/memory.h"

#define FLAGS_MAX 4096
#define FLAG_NAME_MAX_BYTES 64
#define LOADERS_MAX 65536
#define CLASSES_MAX (1u << 20)
#define NAME_MAX_BYTES 256
#define SUPERS_MAX 32
#define FIELDS_MAX 1024
#define FIELDS_BYTES_MAX (64u << 10)
#define FIELD_INTS_MAX 8	/* per field */
#define OFFSET_MAX (64u << 10)
#define ADDRESS_MAX (UINT64_C(1) << 47)
#define WORD 8
#define HEADER_BYTES 16
#define AHEAD_AT_ONCE 256u
#define PAGE_BYTES 4096u
#define ARRAY_BYTES_AT_ONCE 4096u

/* markWord::klass_shift */
#define COMPACT_CLASS_SHIFT 42
/* FieldInfo::FieldFlags; each of these adds a number to the field */
#define FIELD_IS_INITIALIZED (1u << 0)
#define FIELD_IS_GENERIC (1u << 2)
#define FIELD_IS_CONTENDED (1u << 4)

static bool read_field(const struct java_objects *o, enum hotspot_field field, uint64_t base, uint64_t *ret)
{
	return hotspot_field_at(&o->hotspot->layout, o->hotspot->pid, field, base, ret);
}

static bool has_field(const struct java_objects *o, enum hotspot_field field)
{
	return o->hotspot->layout.field[field].bytes;
}

static bool read_either(const struct java_objects *o, enum hotspot_field field, enum hotspot_field old, uint64_t *ret)
{
	return read_field(o, field, 0, ret) || read_field(o, old, 0, ret);
}

static bool read_memory(const struct java_objects *o, uint64_t addr, void *ret, size_t bytes)
{
	return addr && addr < ADDRESS_MAX && memory_read(o->hotspot->pid, addr, ret, bytes);
}

/* ---- batched reading */

struct ahead {
	uint64_t at;
	uint32_t cnt;
	uint8_t bytes[];
};

static void read_some_ahead(const struct java_objects *o, const struct java_piece *wanted, size_t cnt)
{
	struct memory_piece pieces[AHEAD_AT_ONCE] = { 0 };
	struct ahead *ahead[AHEAD_AT_ONCE];
	bool is_read[AHEAD_AT_ONCE];

	for (size_t i = 0; i < cnt; i++) {
		ahead[i] = g_malloc(sizeof(*ahead[i]) + wanted[i].cnt);
		ahead[i]->at = wanted[i].at;
		ahead[i]->cnt = wanted[i].cnt;
		pieces[i] = (struct memory_piece){ wanted[i].at, ahead[i]->bytes, wanted[i].cnt };
	}
	memory_read_pieces(o->hotspot->pid, pieces, cnt, is_read);
	for (size_t i = 0; i < cnt; i++)
		if (is_read[i])
			g_hash_table_replace(o->ahead, &ahead[i]->at, ahead[i]);
		else
			g_free(ahead[i]);
}

void java_read_ahead(const struct java_objects *o, const struct java_piece *pieces, size_t cnt)
{
	for (size_t i = 0; i < cnt; i += AHEAD_AT_ONCE)
		read_some_ahead(o, pieces + i, MIN(cnt - i, AHEAD_AT_ONCE));
}

void java_forget_ahead(const struct java_objects *o)
{
	g_hash_table_remove_all(o->ahead);
}

bool java_memory(const struct java_objects *o, uint64_t at, void *ret, size_t cnt)
{
	const struct ahead *ahead = g_hash_table_lookup(o->ahead, &at);

	if (!ahead || ahead->cnt < cnt)
		return read_memory(o, at, ret, cnt);
	memcpy(ret, ahead->bytes, cnt);
	return true;
}

/* ---- object layout of this JVM */

struct flag {
	const char *name;
	uint8_t is_on;
};

static void read_flags(const struct java_objects *o, struct flag *flags, size_t flag_cnt)
{
	uint32_t stride = o->hotspot->layout.type_bytes[HOTSPOT_FLAG];
	uint64_t at, cnt, name_at, value_at;
	char name[FLAG_NAME_MAX_BYTES];

	if (!stride || !read_field(o, HOTSPOT_FLAGS, 0, &at) || !read_field(o, HOTSPOT_FLAGS_CNT, 0, &cnt))
		return;
	for (uint64_t i = 0; i < MIN(cnt, FLAGS_MAX); i++, at += stride) {
		if (!read_field(o, HOTSPOT_FLAG_NAME, at, &name_at) || !name_at ||
		    !memory_text(o->hotspot->pid, name_at, name, sizeof(name)))
			continue;
		for (size_t k = 0; k < flag_cnt; k++)
			if (!strcmp(name, flags[k].name) && read_field(o, HOTSPOT_FLAG_AT, at, &value_at))
				read_memory(o, value_at, &flags[k].is_on, 1);
	}
}

static bool stays_between_collections(const struct java_objects *o)
{
	const struct hotspot_layout *l = &o->hotspot->layout;
	uint64_t barriers, tag;

	if (!read_field(o, HOTSPOT_BARRIERS, 0, &barriers) || !has_field(o, HOTSPOT_BARRIERS_KIND) ||
	    !read_field(o, HOTSPOT_BARRIERS_TAG, barriers + l->field[HOTSPOT_BARRIERS_KIND].at, &tag))
		return false;
	return (uint32_t)tag < 32 && l->stopping_barriers >> tag & 1;
}

enum java_objects_state java_objects_open(struct java_objects *o, const struct hotspot *h)
{
	static const uint8_t needed[] = { HOTSPOT_GC_CNT,         HOTSPOT_LOADERS,     HOTSPOT_LOADER_NEXT,
					  HOTSPOT_LOADER_CLASSES, HOTSPOT_CLASS_NEXT,  HOTSPOT_CLASS_SUPER,
					  HOTSPOT_CLASS_MIRROR,   HOTSPOT_CLASS_SIZE,  HOTSPOT_CLASS_FIELDS,
					  HOTSPOT_BYTES_DATA,     HOTSPOT_OBJECT_CLASS };
	struct flag flags[] = { { "UseCompressedOops", 0 }, { "UseCompressedClassPointers", 0 }, { "UseCompactObjectHeaders", 0 } };
	uint64_t oop_shift = 0, class_shift;

	*o = (struct java_objects){ .hotspot = h };
	for (size_t i = 0; i < G_N_ELEMENTS(needed); i++)
		if (!has_field(o, needed[i]))
			return JAVA_OBJECTS_UNKNOWN;
	if (!stays_between_collections(o))
		return JAVA_OBJECTS_MOVE;
	read_flags(o, flags, G_N_ELEMENTS(flags));
	o->oop_bytes = flags[0].is_on ? sizeof(uint32_t) : sizeof(uint64_t);
	o->is_compact = flags[2].is_on;
	if ((!flags[1].is_on && !o->is_compact) || !read_field(o, HOTSPOT_GC, 0, &o->gc) || !o->gc ||
	    !read_either(o, HOTSPOT_CLASS_BASE, HOTSPOT_CLASS_BASE_OLD, &o->class_base) ||
	    !read_either(o, HOTSPOT_CLASS_SHIFT, HOTSPOT_CLASS_SHIFT_OLD, &class_shift) || class_shift > 16 ||
	    (flags[0].is_on &&
	     (!read_either(o, HOTSPOT_OOP_BASE, HOTSPOT_OOP_BASE_OLD, &o->oop_base) ||
	      !read_either(o, HOTSPOT_OOP_SHIFT, HOTSPOT_OOP_SHIFT_OLD, &oop_shift) || oop_shift > 8)))
		return JAVA_OBJECTS_UNKNOWN;
	o->oop_shift = (uint8_t)oop_shift;
	o->class_shift = (uint8_t)class_shift;
	o->offsets = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, NULL);
	o->ahead = g_hash_table_new_full(hash_u64, g_int64_equal, NULL, g_free);
	return JAVA_OBJECTS_READABLE;
}

void java_objects_close(struct java_objects *o)
{
	g_clear_pointer(&o->offsets, g_hash_table_unref);
	g_clear_pointer(&o->ahead, g_hash_table_unref);
}

/* Bypasses the page cache, because the current value is needed. */
bool java_objects_collections(const struct java_objects *o, uint64_t *ret)
{
	const struct hotspot_layout *l = &o->hotspot->layout;
	enum hotspot_field active = has_field(o, HOTSPOT_GC_ACTIVE) ? HOTSPOT_GC_ACTIVE : HOTSPOT_GC_ACTIVE_OLD;
	uint32_t cnt = 0;
	uint8_t is_active = 1;
	const struct memory_piece pieces[] = {
		{ o->gc + l->field[active].at, &is_active, 1 },
		{ o->gc + l->field[HOTSPOT_GC_CNT].at, &cnt, sizeof(cnt) },
	};
	bool is_read[G_N_ELEMENTS(pieces)];

	if (!has_field(o, active))
		return false;
	memory_read_pieces(o->hotspot->pid, pieces, G_N_ELEMENTS(pieces), is_read);
	*ret = cnt;
	return is_read[0] && is_read[1] && !is_active;
}

/* ---- classes */

static bool read_symbol(const struct java_objects *o, uint64_t symbol, char *ret, size_t room)
{
	uint64_t len;

	if (!symbol || symbol % WORD || !read_field(o, HOTSPOT_SYMBOL_LENGTH, symbol, &len) || !len || len >= room ||
	    !read_memory(o, symbol + o->hotspot->layout.field[HOTSPOT_SYMBOL_BODY].at, ret, len))
		return false;
	ret[len] = '\0';
	return true;
}

bool java_class_name(const struct java_objects *o, uint64_t class, char *ret, size_t room)
{
	uint64_t symbol;

	return class && class % WORD == 0 && read_field(o, HOTSPOT_KLASS_NAME, class, &symbol) &&
	       read_symbol(o, symbol, ret, room);
}

void java_classes_find(const struct java_objects *o, const char *const *names, uint64_t *ret, unsigned cnt)
{
	char found[NAME_MAX_BYTES];
	unsigned left = CLASSES_MAX, missing = cnt;
	uint64_t loader, class;

	memset(ret, 0, cnt * sizeof(*ret));
	if (!read_field(o, HOTSPOT_LOADERS, 0, &loader))
		return;
	for (unsigned i = 0; loader && i < LOADERS_MAX && missing; i++) {
		if (!read_field(o, HOTSPOT_LOADER_CLASSES, loader, &class))
			return;
		for (; class && left && missing; left--) {
			bool is_named = java_class_name(o, class, found, sizeof(found));

			for (unsigned k = 0; is_named && k < cnt; k++)
				if (!ret[k] && !strcmp(found, names[k])) {
					ret[k] = class;
					missing--;
				}
			if (!read_field(o, HOTSPOT_CLASS_NEXT, class, &class))
				break;
		}
		if (!read_field(o, HOTSPOT_LOADER_NEXT, loader, &loader))
			return;
	}
}

/* The class in the object's header. */
static uint64_t class_in(const struct java_objects *o, const uint8_t *header)
{
	uint32_t narrow = memory_half(header, o->hotspot->layout.field[HOTSPOT_OBJECT_CLASS].at);

	if (o->is_compact)
		return o->class_base + ((memory_word(header, 0) >> COMPACT_CLASS_SHIFT) << o->class_shift);
	return narrow ? o->class_base + ((uint64_t)narrow << o->class_shift) : 0;
}

uint64_t java_class_of(const struct java_objects *o, uint64_t object)
{
	uint8_t header[HEADER_BYTES];

	return object % WORD == 0 && read_memory(o, object, header, sizeof(header)) ? class_in(o, header) : 0;
}

uint64_t java_class_bytes(const struct java_objects *o, uint64_t class)
{
	uint64_t key = hash_more(class, 0) * HASH_MIX, layout;
	gpointer known;

	if (g_hash_table_lookup_extended(o->offsets, &key, NULL, &known))
		return GPOINTER_TO_SIZE(known);
	/* the lowest bit tells how instances are allocated */
	if (!read_field(o, HOTSPOT_CLASS_SIZE, class, &layout) || (int64_t)layout <= 0 || layout >= OFFSET_MAX)
		return 0;
	layout &= ~(uint64_t)(WORD - 1);
	g_hash_table_insert(o->offsets, g_memdup2(&key, sizeof(key)), GSIZE_TO_POINTER(layout));
	return layout;
}

uint64_t java_class_statics(const struct java_objects *o, uint64_t class)
{
	uint64_t handle, object;

	return read_field(o, HOTSPOT_CLASS_MIRROR, class, &handle) && read_memory(o, handle, &object, sizeof(object))
		       ? object
		       : 0;
}

/* ---- fields */

struct field_reader {
	uint8_t *bytes;
	uint32_t at, cnt;
};

static bool next_int(struct field_reader *r, uint32_t *ret)
{
	unsigned used = hotspot_unpack(r->bytes + r->at, r->cnt - r->at, true, ret);

	r->at += used;
	return used;
}

/* Reads a field: constant pool indexes of its name and type, its offset, access flags, and internal flags. */
static bool next_field(struct field_reader *r, uint32_t ret[FIELD_INTS_MAX])
{
	uint32_t more;

	for (unsigned i = 0; i < 5; i++)
		if (!next_int(r, &ret[i]))
			return false;
	return (!(ret[4] & FIELD_IS_INITIALIZED) || next_int(r, &more)) &&
	       (!(ret[4] & FIELD_IS_GENERIC) || next_int(r, &more)) &&
	       (!(ret[4] & FIELD_IS_CONTENDED) || next_int(r, &more));
}

static bool is_named(const struct java_objects *o, uint64_t pool, uint32_t index, const char *name)
{
	char found[NAME_MAX_BYTES];
	uint64_t symbol;

	return read_memory(o, pool + o->hotspot->layout.type_bytes[HOTSPOT_POOL] + (uint64_t)index * WORD, &symbol,
			   sizeof(symbol)) &&
	       read_symbol(o, symbol, found, sizeof(found)) && !strcmp(found, name);
}

/* A field of the class itself. Fields injected by the JVM follow those of Java. */
static uint32_t own_offset(const struct java_objects *o, uint64_t class, const char *name)
{
	uint64_t array, pool, pool_cnt;
	g_autofree uint8_t *bytes = NULL;
	uint32_t cnt, field_cnt, injected, field[FIELD_INTS_MAX];

	if (!read_field(o, HOTSPOT_CLASS_FIELDS, class, &array) || !read_memory(o, array, &cnt, sizeof(cnt)) || !cnt ||
	    cnt > FIELDS_BYTES_MAX || !read_field(o, HOTSPOT_KLASS_POOL, class, &pool) ||
	    !read_field(o, HOTSPOT_POOL_LENGTH, pool, &pool_cnt))
		return 0;
	bytes = g_malloc(cnt);
	if (!read_memory(o, array + o->hotspot->layout.field[HOTSPOT_BYTES_DATA].at, bytes, cnt))
		return 0;
	struct field_reader r = { .bytes = bytes, .cnt = cnt };

	if (!next_int(&r, &field_cnt) || !next_int(&r, &injected))
		return 0;
	for (uint32_t i = 0; i < MIN(field_cnt, FIELDS_MAX) && next_field(&r, field); i++)
		if (field[0] < pool_cnt && is_named(o, pool, field[0], name))
			return field[2] < OFFSET_MAX ? field[2] : 0;
	return 0;
}

uint32_t java_field_offset(const struct java_objects *o, uint64_t class, const char *name)
{
	uint64_t key = hash_more(class, hash_pointer(name)) * HASH_MIX, at = class;
	gpointer known;
	uint32_t offset = 0;

	if (!class)
		return 0;
	if (g_hash_table_lookup_extended(o->offsets, &key, NULL, &known))
		return GPOINTER_TO_UINT(known);
	for (unsigned i = 0; i < SUPERS_MAX && at && !offset; i++) {
		offset = own_offset(o, at, name);
		if (!offset && !read_field(o, HOTSPOT_CLASS_SUPER, at, &at))
			break;
	}
	g_hash_table_insert(o->offsets, g_memdup2(&key, sizeof(key)), GUINT_TO_POINTER(offset));
	return offset;
}

/* Memory after the object may be unmapped, but only from the next page on. */
bool java_read(const struct java_objects *o, uint64_t object, struct java_object *ret)
{
	uint32_t cnt = JAVA_OBJECT_BYTES_MAX, on_page = (uint32_t)(PAGE_BYTES - object % PAGE_BYTES);
	const struct ahead *ahead = g_hash_table_lookup(o->ahead, &object);

	ret->at = ret->class = 0;
	if (!object || object % WORD)
		return false;
	if (ahead && ahead->cnt >= HEADER_BYTES) {
		cnt = MIN(cnt, ahead->cnt);
		memcpy(ret->bytes, ahead->bytes, cnt);
	} else if (!read_memory(o, object, ret->bytes, cnt)) {
		cnt = MIN(cnt, on_page);
		if (cnt < HEADER_BYTES || !read_memory(o, object, ret->bytes, cnt))
			return false;
	}
	ret->at = object;
	ret->cnt = cnt;
	ret->class = class_in(o, ret->bytes);
	return ret->class != 0;
}

/* The field's position in the copy. 0: no such field, or not read. */
static uint32_t place_of(const struct java_objects *o, const struct java_object *object, const char *name, size_t bytes)
{
	uint32_t offset = object->at ? java_field_offset(o, object->class, name) : 0;

	return offset && offset + bytes <= object->cnt ? offset : 0;
}

static uint64_t reference_in(const struct java_objects *o, const uint8_t *bytes)
{
	uint32_t narrow;

	if (o->oop_bytes == sizeof(uint64_t))
		return memory_word(bytes, 0);
	narrow = memory_half(bytes, 0);
	return narrow ? o->oop_base + ((uint64_t)narrow << o->oop_shift) : 0;
}

uint64_t java_get(const struct java_objects *o, const struct java_object *object, const char *name)
{
	uint32_t at = place_of(o, object, name, o->oop_bytes);

	return at ? reference_in(o, object->bytes + at) : 0;
}

bool java_get_int(const struct java_objects *o, const struct java_object *object, const char *name, int32_t *ret)
{
	uint32_t at = place_of(o, object, name, sizeof(*ret));

	*ret = at ? (int32_t)memory_half(object->bytes, at) : 0;
	return at;
}

bool java_get_long(const struct java_objects *o, const struct java_object *object, const char *name, uint64_t *ret)
{
	uint32_t at = place_of(o, object, name, sizeof(*ret));

	*ret = at ? memory_word(object->bytes, at) : 0;
	return at;
}

uint64_t java_follow(const struct java_objects *o, uint64_t object, const char *name)
{
	struct java_object copy;

	return java_read(o, object, &copy) ? java_get(o, &copy, name) : 0;
}

uint64_t java_object_at(const struct java_objects *o, uint64_t addr)
{
	uint8_t bytes[sizeof(uint64_t)];

	return read_memory(o, addr, bytes, o->oop_bytes) ? reference_in(o, bytes) : 0;
}

/* An array's length is where other objects' fields begin. */
bool java_each_of_array(const struct java_objects *o, uint64_t array, uint32_t max,
			void (*fn)(void *ctx, uint32_t index, uint64_t object), void *ctx)
{
	uint64_t length_at = o->is_compact ? WORD : WORD + sizeof(uint32_t), first = length_at + sizeof(uint32_t);
	uint8_t bytes[ARRAY_BYTES_AT_ONCE];
	uint32_t cnt, now;

	if (!array || !read_memory(o, array + length_at, &cnt, sizeof(cnt)) || cnt > max)
		return false;
	first = array + (first + o->oop_bytes - 1) / o->oop_bytes * o->oop_bytes;
	for (uint32_t i = 0; i < cnt; i += now) {
		now = MIN(cnt - i, ARRAY_BYTES_AT_ONCE / o->oop_bytes);
		if (!read_memory(o, first + (uint64_t)i * o->oop_bytes, bytes, (size_t)now * o->oop_bytes))
			return false;
		for (uint32_t k = 0; k < now; k++) {
			uint64_t object = reference_in(o, bytes + (size_t)k * o->oop_bytes);

			if (object)
				fn(ctx, i + k, object);
		}
	}
	return true;
}
