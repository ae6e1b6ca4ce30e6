/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/elf/table.h"

#include <string.h>

#include "base/cursor.h"
#include "base/opener/parser.h"

#define SEGMENTS_MAX 65536
#define DEBUGLINK_MAX_BYTES 4096

/* Both processes run the same build, so numbers are in native format. */
struct head {
	uint64_t symbol_cnt, symbol_names_bytes, plt_cnt, plt_names_bytes, segment_cnt;
	uint32_t build_id_bytes, debuglink_bytes, debuglink_crc;
	uint8_t is_linked, has_full_symbols, has_debug_info, has_go_table;
	uint8_t build_id[ELF_BUILD_ID_MAX];
};

/* Collects entries and the names that they use. */
static void gather_entries(const struct symtab *t, GByteArray *entries, GByteArray *names)
{
	g_autoptr(GHashTable) places = g_hash_table_new(NULL, NULL);

	for (size_t i = 0; i < t->cnt; i++) {
		struct symtab_entry e = t->entries[i];
		gpointer place;

		if (!g_hash_table_lookup_extended(places, GUINT_TO_POINTER(e.name), NULL, &place)) {
			const char *name = symtab_name(t, &e);

			place = GUINT_TO_POINTER(names->len);
			g_hash_table_insert(places, GUINT_TO_POINTER(e.name), place);
			g_byte_array_append(names, (const guint8 *)name, (guint)strlen(name) + 1);
		}
		e.name = GPOINTER_TO_UINT(place);
		g_byte_array_append(entries, (const guint8 *)&e, sizeof(e));
	}
}

void elf_table_write(const struct elf_table *t, GByteArray *into)
{
	const struct symtab *const tabs[] = { &t->symbols, &t->plt };
	GByteArray *entries[2], *names[2];
	struct head h = {
		.segment_cnt = t->segment_cnt, .build_id_bytes = (uint32_t)t->build_id_bytes,
		.debuglink_bytes = t->debuglink ? (uint32_t)strlen(t->debuglink) : 0,
		.debuglink_crc = t->debuglink_crc, .is_linked = t->is_linked,
		.has_full_symbols = t->has_full_symbols, .has_debug_info = t->has_debug_info,
		.has_go_table = t->has_go_table,
	};

	for (int i = 0; i < 2; i++) {
		entries[i] = g_byte_array_new();
		names[i] = g_byte_array_new();
		gather_entries(tabs[i], entries[i], names[i]);
	}
	memcpy(h.build_id, t->build_id, sizeof(h.build_id));
	h.symbol_cnt = t->symbols.cnt;
	h.symbol_names_bytes = names[0]->len;
	h.plt_cnt = t->plt.cnt;
	h.plt_names_bytes = names[1]->len;
	g_byte_array_append(into, (const guint8 *)&h, sizeof(h));
	for (int i = 0; i < 2; i++) {
		g_byte_array_append(into, entries[i]->data, entries[i]->len);
		g_byte_array_append(into, names[i]->data, names[i]->len);
		g_byte_array_unref(entries[i]);
		g_byte_array_unref(names[i]);
	}
	g_byte_array_append(into, (const guint8 *)t->segments, (guint)(t->segment_cnt * sizeof(*t->segments)));
	g_byte_array_append(into, (const guint8 *)(t->debuglink ? t->debuglink : ""), h.debuglink_bytes);
}

/* A copy of `cnt` items. NULL if cnt is 0, or if there are too few bytes, which sets `bad`. */
static void *take_array(struct cursor *c, uint64_t cnt, size_t each_bytes)
{
	uint64_t bytes = 0;
	bool is_much = __builtin_mul_overflow(cnt, (uint64_t)each_bytes, &bytes);
	const uint8_t *at = is_much ? NULL : cursor_take(c, bytes);

	c->bad |= is_much;
	return at && bytes ? g_memdup2(at, bytes) : NULL;
}

/* symtab_find() tolerates any order, but names must be inside of the buffer and terminated. */
static bool take_symtab(struct cursor *c, struct symtab *t, uint64_t cnt, uint64_t names_bytes)
{
	t->entries = take_array(c, cnt, sizeof(*t->entries));
	t->names = take_array(c, names_bytes, 1);
	if (c->bad || (cnt && !t->names) || (t->names && t->names[names_bytes - 1]))
		return false;
	t->cnt = cnt;
	t->names_bytes = names_bytes;
	for (size_t i = 0; i < cnt; i++)
		if (t->entries[i].name >= names_bytes)
			return false;
	return true;
}

bool elf_segments_take(struct cursor *c, uint64_t cnt, struct elf_segment **ret)
{
	*ret = cnt <= SEGMENTS_MAX ? take_array(c, cnt, sizeof(**ret)) : NULL;
	for (uint64_t i = 0; *ret && i < cnt; i++)	/* a bool must be 0 or 1 */
		if (((const uint8_t *)&(*ret)[i].is_exec)[0] > 1)
			return false;
	return !c->bad && (*ret || !cnt);
}

static bool take_rest(struct cursor *c, const struct head *h, struct elf_table *t)
{
	bool are_flags = h->is_linked <= 1 && h->has_full_symbols <= 1 && h->has_debug_info <= 1 &&
			 h->has_go_table <= 1;

	if (!are_flags || h->build_id_bytes > ELF_BUILD_ID_MAX ||
	    h->debuglink_bytes > DEBUGLINK_MAX_BYTES ||
	    !take_symtab(c, &t->symbols, h->symbol_cnt, h->symbol_names_bytes) ||
	    !take_symtab(c, &t->plt, h->plt_cnt, h->plt_names_bytes) ||
	    !elf_segments_take(c, h->segment_cnt, &t->segments))
		return false;
	t->segment_cnt = t->segments ? h->segment_cnt : 0;
	const uint8_t *link = cursor_take(c, h->debuglink_bytes);

	if (link && h->debuglink_bytes)
		t->debuglink = g_strndup((const char *)link, h->debuglink_bytes);
	memcpy(t->build_id, h->build_id, sizeof(t->build_id));
	t->build_id_bytes = h->build_id_bytes;
	t->debuglink_crc = h->debuglink_crc;
	t->is_linked = h->is_linked;
	t->has_full_symbols = h->has_full_symbols;
	t->has_debug_info = h->has_debug_info;
	t->has_go_table = h->has_go_table;
	/* it becomes part of a path */
	return !c->bad && !cursor_left(c) &&
	       !(t->debuglink &&
		 (strchr(t->debuglink, '/') || !strcmp(t->debuglink, ".") || !strcmp(t->debuglink, "..")));
}

struct elf_table *elf_table_from_bytes(const void *bytes, size_t len_bytes)
{
	struct cursor c = { .at = bytes, .end = (const uint8_t *)bytes + len_bytes };
	struct elf_table *t = g_new0(struct elf_table, 1);
	struct head h = { 0 };
	const uint8_t *head = cursor_take(&c, sizeof(h));

	t->debug_fd = -1;
	if (head)
		memcpy(&h, head, sizeof(h));
	if (head && take_rest(&c, &h, t))
		return t;
	elf_table_free(t);
	return NULL;
}

bool elf_table_parse(int fd, const void *question, size_t question_bytes, GByteArray *into)
{
	struct elf_table *t = elf_table_read(fd, NULL);

	if (t)
		elf_table_write(t, into);
	elf_table_free(t);
	return t != NULL;
}

struct data_head {
	uint64_t variable_cnt, names_bytes, segment_cnt;
	uint64_t has_all;
};

void data_file_write(const struct data_file *f, GByteArray *into)
{
	g_autoptr(GByteArray) entries = g_byte_array_new(), names = g_byte_array_new();

	gather_entries(&f->variables, entries, names);
	const struct data_head h = { f->variables.cnt, names->len, f->segment_cnt, f->has_all };

	g_byte_array_append(into, (const guint8 *)&h, sizeof(h));
	g_byte_array_append(into, entries->data, entries->len);
	g_byte_array_append(into, names->data, names->len);
	g_byte_array_append(into, (const guint8 *)f->segments, (guint)(f->segment_cnt * sizeof(*f->segments)));
}

bool data_file_from_bytes(const void *bytes, size_t len_bytes, struct data_file *ret)
{
	struct cursor c = { .at = bytes, .end = (const uint8_t *)bytes + len_bytes };
	const uint8_t *head = cursor_take(&c, sizeof(struct data_head));
	struct data_head h;

	memset(ret, 0, sizeof(*ret));
	if (!head)
		return false;
	memcpy(&h, head, sizeof(h));
	if (h.has_all > 1 || !take_symtab(&c, &ret->variables, h.variable_cnt, h.names_bytes) ||
	    !elf_segments_take(&c, h.segment_cnt, &ret->segments) || cursor_left(&c)) {
		data_file_clear(ret);
		return false;
	}
	ret->segment_cnt = h.segment_cnt;
	ret->has_all = h.has_all;
	return true;
}

struct elf_table *elf_table_ask(int fd, GError **error)
{
	g_autoptr(GByteArray) a = parser_ask(PARSER_SYMBOLS, fd, NULL, 0);
	struct elf_table *t = a ? elf_table_from_bytes(a->data, a->len) : NULL;

	if (!t)
		g_set_error_literal(error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
				    "it is no ELF file, or its parser fell over it");
	return t;
}
