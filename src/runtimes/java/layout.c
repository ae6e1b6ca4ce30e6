/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "runtimes/java/code.h"

#include <string.h>

#include "symbolize/runtime/memory.h"

#define ENTRIES_MAX 16384	/* per table; JDK 17 has 1,100 fields */
#define ENTRY_BYTES_MAX 256
#define NAME_MAX_BYTES 96	/* no needed name is longer */

const char *const hotspot_symbol_name[HOTSPOT_SYMBOL_CNT] = {
#define X(symbol, name) name,
	HOTSPOT_SYMBOLS(X)
#undef X
};

static const struct {
	const char *type, *field;
} wanted[HOTSPOT_FIELD_CNT] = {
#define X(name, type, field) { type, field },
	HOTSPOT_FIELDS(X)
#undef X
};

static const char *const wanted_type[HOTSPOT_TYPE_CNT] = {
	[HOTSPOT_BLOCK] = "HeapBlock", [HOTSPOT_POOL] = "ConstantPool", [HOTSPOT_PLACE] = "PcDesc",
	[HOTSPOT_FLAG] = "JVMFlag",
};

/* A table of entries of one size, terminated by an entry without a name. */
struct table {
	uint32_t pid;
	uint64_t at, stride;
	uint64_t offset[6];	/* of members in an entry */
	unsigned left;
	uint8_t entry[ENTRY_BYTES_MAX];
	uint64_t name_at;	/* of the previous entry: a type's fields are adjacent */
	char name[NAME_MAX_BYTES];
};

static bool read_word(uint32_t pid, uint64_t addr, uint64_t *ret)
{
	return addr && memory_read(pid, addr, ret, sizeof(*ret));
}

/* first: the symbol of the table's address, followed by those of the offsets and of the stride. */
static bool table_begin(struct table *t, uint32_t pid, const uint64_t *symbols, unsigned first, unsigned offset_cnt)
{
	*t = (struct table){ .pid = pid, .left = ENTRIES_MAX };
	if (!read_word(pid, symbols[first], &t->at) || !read_word(pid, symbols[first + 1 + offset_cnt], &t->stride) ||
	    t->stride < sizeof(uint64_t) || t->stride > ENTRY_BYTES_MAX)
		return false;
	for (unsigned i = 0; i < offset_cnt; i++)
		if (!read_word(pid, symbols[first + 1 + i], &t->offset[i]) ||
		    t->offset[i] > t->stride - sizeof(uint64_t))
			return false;
	return true;
}

static uint64_t entry_word(const struct table *t, unsigned i)
{
	uint64_t word;

	memcpy(&word, t->entry + t->offset[i], sizeof(word));
	return word;
}

/* Advances to the next entry and reads its name, which is at the first offset. False: end. */
static bool table_next(struct table *t)
{
	uint64_t name_at;

	if (!t->left-- || !memory_read(t->pid, t->at, t->entry, t->stride))
		return false;
	t->at += t->stride;
	name_at = entry_word(t, 0);
	if (name_at != t->name_at && !memory_text(t->pid, name_at, t->name, sizeof(t->name)))
		t->name[0] = '\0';
	t->name_at = name_at;
	return name_at != 0;
}

static void take_kind(struct hotspot_layout *l, unsigned i, const char *kind)
{
	static const struct {
		const char *kind;
		uint8_t bytes;
		bool is_signed;
	} kinds[] = { { "u1", 1, false }, { "bool", 1, false }, { "u2", 2, false },      { "int16_t", 2, true },
		      { "int", 4, true }, { "u4", 4, false },   { "uint32_t", 4, false },
		      { "jint", 4, true }, { "unsigned int", 4, false }, { "narrowKlass", 4, false },
		      { "BarrierSet::Name", 4, false } };

	l->field[i].bytes = sizeof(uint64_t);	/* pointers, and objects of which only the address is needed */
	for (size_t k = 0; k < G_N_ELEMENTS(kinds); k++)
		if (!strcmp(kind, kinds[k].kind)) {
			l->field[i].bytes = kinds[k].bytes;
			l->field[i].is_signed = kinds[k].is_signed;
		}
}

static void take_field(struct hotspot_layout *l, const struct table *t, unsigned i)
{
	uint32_t is_static = (uint32_t)entry_word(t, 3);
	char kind[NAME_MAX_BYTES] = "";
	uint64_t at = entry_word(t, is_static ? 5 : 4), kind_at = entry_word(t, 2);

	if (!is_static && at > HOTSPOT_OFFSET_MAX)
		return;
	if (kind_at && !memory_text(t->pid, kind_at, kind, sizeof(kind)))
		return;
	l->field[i].at = at;
	l->field[i].is_static = is_static;
	take_kind(l, i, kind);
}

static bool read_fields(struct hotspot_layout *l, uint32_t pid, const uint64_t *symbols)
{
	char field[NAME_MAX_BYTES];
	struct table t;

	if (!table_begin(&t, pid, symbols, HOTSPOT_SYMBOL_STRUCTS, 6))
		return false;
	while (table_next(&t)) {
		bool has_field = false;

		for (unsigned i = 0; i < HOTSPOT_FIELD_CNT; i++) {
			if (strcmp(t.name, wanted[i].type) != 0)
				continue;
			if (!has_field && !memory_text(pid, entry_word(&t, 1), field, sizeof(field)))
				break;
			has_field = true;
			if (!strcmp(field, wanted[i].field))
				take_field(l, &t, i);
		}
	}
	return true;
}

static bool read_types(struct hotspot_layout *l, uint32_t pid, const uint64_t *symbols)
{
	struct table t;

	if (!table_begin(&t, pid, symbols, HOTSPOT_SYMBOL_TYPES, 2))
		return false;
	while (table_next(&t))
		for (unsigned i = 0; i < HOTSPOT_TYPE_CNT; i++)
			if (!strcmp(t.name, wanted_type[i]))
				l->type_bytes[i] = (uint32_t)MIN(entry_word(&t, 1), HOTSPOT_OFFSET_MAX);
	return true;
}

static bool read_constants(struct hotspot_layout *l, uint32_t pid, const uint64_t *symbols)
{
	struct table t;

	if (!table_begin(&t, pid, symbols, HOTSPOT_SYMBOL_INTS, 2))
		return false;
	while (table_next(&t)) {
		if (!strcmp(t.name, "frame::interpreter_frame_sender_sp_offset"))
			l->sender_sp_words = (int32_t)entry_word(&t, 1);
		if (!strcmp(t.name, "frame::entry_frame_call_wrapper_offset"))
			l->wrapper_words = (int32_t)entry_word(&t, 1);
		/* of Serial and Parallel, and of G1 */
		if (!strcmp(t.name, "BarrierSet::CardTableBarrierSet") || !strcmp(t.name, "BarrierSet::G1BarrierSet"))
			l->stopping_barriers |= 1u << (entry_word(&t, 1) & 31);
	}
	return true;
}

/* Until JDK 22 code bounds are addresses, since then offsets, and likewise for the Method. */
static bool is_whole(const struct hotspot_layout *l)
{
	static const uint8_t either[][2] = {
		{ HOTSPOT_BLOB_CODE_BEGIN, HOTSPOT_BLOB_CODE_OFFSET },
		{ HOTSPOT_BLOB_CODE_END, HOTSPOT_BLOB_DATA_OFFSET },
		{ HOTSPOT_COMPILED_METHOD, HOTSPOT_NMETHOD_METHOD },
	};

	for (unsigned i = 0; i < HOTSPOT_OPTIONAL_FIRST; i++) {
		bool is_told = l->field[i].bytes;

		for (size_t k = 0; k < G_N_ELEMENTS(either); k++)
			if (i == either[k][0] || i == either[k][1])
				is_told = l->field[either[k][0]].bytes || l->field[either[k][1]].bytes;
		if (!is_told)
			return false;
	}
	return l->type_bytes[HOTSPOT_BLOCK] && l->type_bytes[HOTSPOT_POOL];
}

bool hotspot_layout_read(uint32_t pid, const uint64_t symbols[HOTSPOT_SYMBOL_CNT], struct hotspot_layout *ret)
{
	uint64_t major;

	*ret = (struct hotspot_layout){ 0 };
	if (!read_fields(ret, pid, symbols) || !read_types(ret, pid, symbols) || !read_constants(ret, pid, symbols) ||
	    !is_whole(ret))
		return false;
	if (hotspot_field_at(ret, pid, HOTSPOT_VM_MAJOR, 0, &major) && major < 1000)
		ret->major = (uint32_t)major;
	return true;
}

static uint64_t value_of(const struct hotspot_layout *l, enum hotspot_field field, const uint8_t *bytes)
{
	unsigned bits = l->field[field].bytes * 8;
	uint64_t word = 0;

	memcpy(&word, bytes, l->field[field].bytes);
	if (l->field[field].is_signed && word >> (bits - 1) & 1)
		word |= ~0ull << bits;	/* fewer than 64 bits */
	return word;
}

bool hotspot_field_of(const struct hotspot_layout *l, enum hotspot_field field, const void *object, size_t bytes,
		      uint64_t *ret)
{
	uint64_t at = l->field[field].at;
	uint8_t cnt = l->field[field].bytes;

	*ret = 0;
	if (!cnt || l->field[field].is_static || at > bytes || cnt > bytes - at)
		return false;
	*ret = value_of(l, field, (const uint8_t *)object + at);
	return true;
}

bool hotspot_field_at(const struct hotspot_layout *l, uint32_t pid, enum hotspot_field field, uint64_t base,
		      uint64_t *ret)
{
	uint64_t at = l->field[field].at + (l->field[field].is_static ? 0 : base);
	uint8_t cnt = l->field[field].bytes, bytes[sizeof(uint64_t)];

	*ret = 0;
	if (!cnt || !memory_read(pid, at, bytes, cnt))
		return false;
	*ret = value_of(l, field, bytes);
	return true;
}
