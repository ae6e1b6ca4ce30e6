/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "runtimes/node/names.h"

#include <glib.h>
#include <string.h>

#include "base/hash.h"
#include "symbolize/runtime/memory.h"

#define NAME_MAX_CHARS 256
#define FILE_MAX_CHARS 1024
#define DEPTH_MAX 8		/* of nested Strings */
#define SOURCE_MAX_CHARS (8u << 20)
#define PIECE_BYTES 65536
#define FUNCTIONS_MAX (1u << 17)	/* cached; more are read each time */
#define WORD 8
#define LOCALS_MAX (1u << 16)
#define LOCALS_APART_MIN 75	/* scope-info.h: kScopeInfoMaxInlinedLocalNamesSize */
#define SCOPE_HEAD_WORDS 6	/* flags, parameters, locals, and in newer versions more */
#define SCOPE_PLACE_AT 3
#define SCOPE_WORDS 8		/* words after the locals that may contain the function's name and position */
#define NOT_STRING 0xff80	/* bits of an instance type that are 0 for strings */
#define ANONYMOUS "<anonymous>"

/* Read each time, to detect another function at the address. */
struct function {
	uint32_t pid, number;
	uint64_t shared, name_or_scope, script;
	const char *name, *file;
	uint32_t line;
};

struct v8_names {
	GHashTable *functions;	/* struct function, by pid and address */
	GStringChunk *strings;
};

HASH_KEY(function, struct function, shared, pid)

struct v8_names *v8_names_new(void)
{
	struct v8_names *n = g_new0(struct v8_names, 1);

	n->functions = g_hash_table_new_full(function_hash, function_equal, NULL, g_free);
	n->strings = g_string_chunk_new(4096);
	return n;
}

FREES(v8_names_free, struct v8_names, n, g_hash_table_destroy(n->functions); g_string_chunk_free(n->strings))

/* ---- strings */

/* The characters of a String that is not composed. */
struct chars {
	uint64_t addr;
	uint32_t cnt;
	unsigned bytes;	/* 1: Latin-1; 2: UTF-16 */
};

static bool place_of(const struct v8 *v, uint64_t string, int type, struct chars *ret)
{
	unsigned kind = type & v->type.representation;
	uint64_t resource;

	ret->bytes = type & v->type.one_byte ? 1 : 2;
	if (kind == v->type.sequential)
		ret->addr = string - 1 + (ret->bytes == 1 ? v->one_byte_chars : v->two_byte_chars);
	else if (kind != v->type.external ||
		 /* V8 stores the address of the characters after the resource */
		 !v8_read_word(v, string, v->external_resource, &resource) || !resource ||
		 !v8_read_word(v, string, v->external_resource + WORD, &ret->addr))
		return false;
	return ret->addr != 0;
}

/* The String that this one is a part or a copy of; 0: neither. *offset: start in it. */
static uint64_t other_string(const struct v8 *v, uint64_t string, int type, uint32_t *offset)
{
	unsigned kind = type & v->type.representation;
	uint64_t other, from;

	if (kind == v->type.thin)
		return v8_read_word(v, string, v->thin_actual, &other) ? other : 0;
	if (kind != v->type.sliced || !v8_read_word(v, string, v->sliced_parent, &other) ||
	    !v8_read_word(v, string, v->sliced_offset, &from) || !v8_is_number(from) ||
	    from >> 32 > INT32_MAX - *offset)
		return 0;
	*offset += (uint32_t)(from >> 32);
	return other;
}

static bool read_length(const struct v8 *v, uint64_t string, int type, uint32_t *ret)
{
	return type >= 0 && !(type & NOT_STRING) &&
	       memory_read(v->pid, string - 1 + v->string_length, ret, sizeof(*ret)) && *ret <= INT32_MAX;
}

static bool find_chars(const struct v8 *v, uint64_t string, struct chars *ret)
{
	int type = v8_type_of(v, string);
	uint32_t cnt, whole, offset = 0;

	if (!read_length(v, string, type, &cnt))
		return false;
	for (unsigned depth = 0; depth < DEPTH_MAX; depth++) {
		if (place_of(v, string, type, ret)) {
			ret->addr += (uint64_t)offset * ret->bytes;
			ret->cnt = cnt;
			return read_length(v, string, type, &whole) && offset <= whole && cnt <= whole - offset;
		}
		string = other_string(v, string, type, &offset);
		type = string ? v8_type_of(v, string) : -1;
		if (!read_length(v, string, type, &whole))
			return false;
	}
	return false;
}

static void append_chars(GString *text, const struct v8 *v, const struct chars *chars, uint32_t max_cnt)
{
	uint8_t bytes[FILE_MAX_CHARS * 2];
	uint32_t cnt = MIN(MIN(chars->cnt, max_cnt), FILE_MAX_CHARS);

	if (!cnt || !memory_read(v->pid, chars->addr, bytes, cnt * (size_t)chars->bytes))
		return;
	for (uint32_t i = 0; i < cnt; i++) {
		gunichar c = 0;

		memcpy(&c, bytes + i * (size_t)chars->bytes, chars->bytes);
		g_string_append_unichar(text, c >= ' ' && c != 0x7f && g_unichar_validate(c) ? c : 0xfffd);
	}
}

static bool append_string(GString *text, const struct v8 *v, uint64_t string, uint32_t max_cnt, unsigned depth)
{
	int type = v8_type_of(v, string);
	uint64_t first, second;
	struct chars chars;

	if (type < 0 || type & NOT_STRING || depth > DEPTH_MAX || text->len > max_cnt)
		return false;
	if ((type & v->type.representation) != v->type.cons) {
		if (!find_chars(v, string, &chars))
			return false;
		append_chars(text, v, &chars, max_cnt);
		return true;
	}
	return v8_read_word(v, string, v->cons_first, &first) && v8_read_word(v, string, v->cons_second, &second) &&
	       append_string(text, v, first, max_cnt, depth + 1) && append_string(text, v, second, max_cnt, depth + 1);
}

/* NULL: not a String, or an empty one. */
static char *read_string(const struct v8 *v, uint64_t string, uint32_t max_cnt)
{
	g_autoptr(GString) text = g_string_new(NULL);

	append_string(text, v, string, max_cnt, 0);
	return text->len ? g_strdup(text->str) : NULL;
}

/* ---- functions */

/* The line of a source position; 0: unknown. */
static uint32_t line_of(const struct v8 *v, uint64_t script, uint32_t place)
{
	g_autofree uint8_t *piece = g_malloc(PIECE_BYTES);
	struct chars chars;
	uint64_t source;
	uint32_t line = 1;

	if (!v8_read_word(v, script, v->script_source, &source) || !find_chars(v, source, &chars) ||
	    place > chars.cnt || place > SOURCE_MAX_CHARS)
		return 0;
	for (uint32_t at = 0; at < place;) {
		uint32_t now = MIN(place - at, PIECE_BYTES / chars.bytes);

		if (!memory_read(v->pid, chars.addr + (uint64_t)at * chars.bytes, piece, (size_t)now * chars.bytes))
			return 0;
		for (size_t i = 0; i < (size_t)now * chars.bytes; i += chars.bytes)
			line += piece[i] == '\n' && (chars.bytes == 1 || !piece[i + 1]);
		at += now;
	}
	return line;
}

static bool is_place(uint64_t begin, uint64_t end)
{
	return v8_is_number(begin) && v8_is_number(end) && begin < end && end >> 32 <= INT32_MAX;
}

/*
 * Searches a ScopeInfo after its locals for the function's name, or inferred name, and its start and end position,
 * with other words between them. From V8 12.7 on the positions precede the locals.
 */
static char *look_into_scope(const struct v8 *v, uint64_t scope, uint32_t *ret_place)
{
	uint64_t head[SCOPE_HEAD_WORDS], words[SCOPE_WORDS], locals, at;
	char *name = NULL;

	*ret_place = UINT32_MAX;
	if (!memory_read(v->pid, scope - 1 + WORD, head, sizeof(head)) || !v8_is_number(head[v->scope_locals]) ||
	    head[v->scope_locals] >> 32 > LOCALS_MAX)
		return NULL;
	locals = head[v->scope_locals] >> 32;
	at = scope - 1 + (1 + v->scope_first + locals + (locals < LOCALS_APART_MIN ? locals : 1)) * WORD;
	if (v->scope_first > SCOPE_PLACE_AT && is_place(head[SCOPE_PLACE_AT], head[SCOPE_PLACE_AT + 1]))
		*ret_place = (uint32_t)(head[SCOPE_PLACE_AT] >> 32);
	if (!memory_read(v->pid, at, words, sizeof(words)))
		return NULL;
	for (unsigned i = 0; i + 1 < SCOPE_WORDS && !name; i++) {
		if (*ret_place == UINT32_MAX && is_place(words[i], words[i + 1]))
			break;
		name = read_string(v, words[i], NAME_MAX_CHARS);
	}
	for (unsigned i = 0; i + 1 < SCOPE_WORDS && *ret_place == UINT32_MAX; i++)
		if (is_place(words[i], words[i + 1]))
			*ret_place = (uint32_t)(words[i] >> 32);
	return name;
}

/* A script's name is a path, or a file URL. */
static char *read_file(const struct v8 *v, uint64_t script)
{
	uint64_t name;
	char *text = v8_read_word(v, script, v->script_name, &name) ? read_string(v, name, FILE_MAX_CHARS) : NULL,
	     *path;

	path = text && g_str_has_prefix(text, "file:///") ? g_filename_from_uri(text, NULL, NULL) : NULL;
	if (!path || !g_utf8_validate(path, -1, NULL)) {
		g_free(path);
		return text;
	}
	g_free(text);
	return path;
}

static void read_names(struct v8_names *n, const struct v8 *v, struct function *f)
{
	bool has_script = v8_type_of(v, f->script) == v->type.script;
	g_autofree char *file = has_script ? read_file(v, f->script) : NULL, *name = NULL;
	uint32_t place = UINT32_MAX;

	name = v8_type_of(v, f->name_or_scope) == v->type.scope ? look_into_scope(v, f->name_or_scope, &place)
							     : read_string(v, f->name_or_scope, NAME_MAX_CHARS);
	f->name = g_string_chunk_insert_const(n->strings, name ? name : ANONYMOUS);
	f->file = file ? g_string_chunk_insert_const(n->strings, file) : NULL;
	f->line = file && place != UINT32_MAX ? line_of(v, f->script, place) : 0;
}

/* Reads it anew, because another function may have taken the address. */
static bool read_function(const struct v8 *v, uint64_t shared, struct function *ret)
{
	*ret = (struct function){ .pid = v->pid, .shared = shared };
	return v8_type_of(v, shared) == v->type.function &&
	       memory_read(v->pid, shared - 1 + v->shared_number, &ret->number, sizeof(ret->number)) &&
	       v8_read_word(v, shared, v->shared_name, &ret->name_or_scope) &&
	       v8_read_word(v, shared, v->shared_script, &ret->script);
}

static void name_function(struct v8_names *n, const struct v8 *v, struct function *now, struct language_frame *ret)
{
	struct function *f = g_hash_table_lookup(n->functions, now);

	if (!f || f->number != now->number || f->name_or_scope != now->name_or_scope || f->script != now->script) {
		read_names(n, v, now);
		if (g_hash_table_size(n->functions) >= FUNCTIONS_MAX)
			g_hash_table_remove_all(n->functions);
		f = g_memdup2(now, sizeof(*now));
		g_hash_table_replace(n->functions, f, f);
	}
	*ret = (struct language_frame){ .name = f->name, .file = f->file, .first_line = f->line, .line = f->line };
}

bool v8_names_function(struct v8_names *n, const struct v8 *v, uint64_t shared, uint32_t number,
		       struct language_frame *ret)
{
	struct function now;

	/* addresses on the stack have lost the tag bit */
	if (!read_function(v, shared | 1, &now) || (now.number & 0xffff) != number)
		return false;
	name_function(n, v, &now, ret);
	return true;
}

bool v8_names_any_function(struct v8_names *n, const struct v8 *v, uint64_t shared, struct language_frame *ret)
{
	struct function now;

	if (!read_function(v, shared, &now))
		return false;
	name_function(n, v, &now, ret);
	return true;
}
