/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/each.h"
#include "base/find.h"
#include "symbolize/runtime/language.h"

#include <string.h>

#include "symbolize/process/maps.h"
#include "symbolize/runtime/memory.h"
#include "symbolize/runtime/variables.h"

#define TEXT_MAX 1024
#define OPS_MAX (1u << 24)

/* The same in all known versions. */
#define GLOBALS_FRAME 488	/* executor_globals: the innermost frame */
#define FRAME_OP 0		/* zend_execute_data */
#define FRAME_FUNCTION 24
#define FRAME_FLAGS 42		/* the third byte of the call's flags */
#define FLAG_TOP 2		/* called from C */
#define FRAME_PREVIOUS 48
#define FUNCTION_NAME 8		/* zend_function */
#define FUNCTION_CLASS 16
#define CLASS_NAME 8
#define STRING_BYTES 16		/* zend_string: its length */
#define STRING_TEXT 24
#define OP_BYTES 32
#define OP_LINE 24
#define TYPE_EVAL 4		/* of a function */
#define HEAD_BYTES 184		/* of a function: the needed fields */

struct layout {
	uint32_t version;
	uint8_t op_cnt, ops, file, first_line;	/* zend_op_array */
};

#define VERSION(minor) OFFCPU_LANGUAGE_VERSION(OFFCPU_LANGUAGE_PHP, 8, minor)
static const struct layout layouts[] = {
	{ VERSION(2), 80, 88, 152, 160 },
	{ VERSION(4), 96, 104, 168, 176 },
};

static const struct layout *layout_of(uint32_t version)
{
	return FIRST(x, layouts, x->version == version, x, NULL);
}

struct php_code {
	GStringChunk *strings;
};

struct php_code *php_code_new(void)
{
	struct php_code *p = g_new0(struct php_code, 1);

	p->strings = g_string_chunk_new(4096);
	return p;
}

FREES(php_code_free, struct php_code, p, g_string_chunk_free(p->strings))

/* The text and its hash. NULL: none. */
static char *read_string(uint32_t pid, uint64_t addr, uint64_t *ret_hash)
{
	uint64_t head[STRING_TEXT / 8], len;
	char bytes[TEXT_MAX + 1];

	*ret_hash = 0;
	if (!addr || addr & 7 || !memory_read(pid, addr, head, sizeof(head)))
		return NULL;
	*ret_hash = head[OFFCPU_PHP_HASH_AT / 8];
	len = MIN(head[STRING_BYTES / 8], TEXT_MAX);
	if (!len || !memory_read(pid, addr + STRING_TEXT, bytes, len))
		return NULL;
	bytes[len] = '\0';
	return g_utf8_make_valid(bytes, -1);
}

/* "Shop::pay", as in PHP's own traces; "{main}" outside of functions. */
static char *full_name(const struct language_place *place, const uint8_t *head, char *name)
{
	uint64_t class = memory_word(head, FUNCTION_CLASS), class_name, unused;
	g_autofree char *text = NULL;

	if (!name)
		return g_strdup(place->is_outermost ? "{main}" : head[0] == TYPE_EVAL ? "{eval}" : "{include}");
	if (class && memory_read(place->pid, class + CLASS_NAME, &class_name, sizeof(class_name)))
		text = read_string(place->pid, class_name, &unused);
	return text ? g_strdup_printf("%s::%s", text, name) : g_strdup(name);
}

static uint32_t line_of(const struct layout *l, const struct language_place *place, const uint8_t *head)
{
	uint64_t ops = memory_word(head, l->ops), cnt = memory_half(head, l->op_cnt);
	uint32_t line;

	if (cnt > OPS_MAX || place->instr < ops || place->instr - ops >= cnt * OP_BYTES ||
	    !memory_read(place->pid, place->instr + OP_LINE, &line, sizeof(line)))
		return 0;
	return line <= INT32_MAX ? line : 0;
}

bool php_code_name(struct php_code *p, const struct language_place *place, struct language_frame *ret)
{
	const struct layout *l = layout_of(place->version);
	uint8_t head[HEAD_BYTES] = { 0 };
	uint64_t hash, file_hash = 0;
	g_autofree char *name = NULL, *file = NULL, *full = NULL;
	bool is_own;

	/* internal functions are shorter */
	if (!l || place->code & 7 || !memory_read(place->pid, place->code, head, FUNCTION_CLASS + 8))
		return false;
	is_own = head[0] != OFFCPU_PHP_INTERNAL;
	if (is_own && !memory_read(place->pid, place->code, head, sizeof(head)))
		return false;
	name = read_string(place->pid, memory_word(head, FUNCTION_NAME), &hash);
	if (is_own)
		file = read_string(place->pid, memory_word(head, l->file), &file_hash);
	hash ^= file_hash;
	if (place->hashes != (uint32_t)(hash ^ hash >> 32) || (is_own ? !file : !name))
		return false;
	full = full_name(place, head, name);
	*ret = (struct language_frame){ .name = g_string_chunk_insert_const(p->strings, full),
					.file = is_own ? g_string_chunk_insert_const(p->strings, file) : NULL };
	if (is_own) {
		ret->first_line = MIN(memory_half(head, l->first_line), (uint32_t)INT32_MAX);
		ret->line = line_of(l, place, head);
	}
	return true;
}

/* ---- finding it */

#define SCAN_BYTES (256u << 10)
#define SCAN_MAX (64u << 20)
static const char banner[] = "X-Powered-By: PHP/8.";

/* The version from the X-Powered-By header's text, which every build contains. 0: none. */
static uint32_t version_in(uint32_t pid, const struct maps_line *m)
{
	g_autofree char *bytes = g_malloc(SCAN_BYTES);

	for (uint64_t at = m->start; at < m->end && at - m->start < SCAN_MAX; at += SCAN_BYTES - sizeof(banner) - 2) {
		size_t now = MIN(m->end - at, SCAN_BYTES);
		const char *found = memory_read(pid, at, bytes, now) ? memmem(bytes, now, banner, sizeof(banner) - 1)
								     : NULL;

		if (!found)
			continue;
		found += sizeof(banner) - 1;
		if (found + 1 < bytes + now && g_ascii_isdigit(found[0]) && found[1] == '.')
			return OFFCPU_LANGUAGE_VERSION(OFFCPU_LANGUAGE_PHP, 8, found[0] - '0');
	}
	return 0;
}

static uint32_t version_of(uint32_t pid, const GArray *lines, const char *path)
{
	uint32_t version = 0;

	EACH_ROW_WHILE(i, const struct maps_line, m, lines, !version)
		if (!m->is_exec && m->is_readable && !strcmp(m->path, path))
			version = version_in(pid, m);
	return version;
}

enum language_state php_look(const char *proc_dir, uint32_t pid, const GArray *lines, struct offcpu_language *ret)
{
	struct variable wanted[] = { { "executor_globals", 0 } };
	const struct maps_line *m = NULL;
	const struct layout *l;

	EACH_ROW_WHILE(i, const struct maps_line, line, lines, !wanted[0].addr) {
		if (line->is_exec && runtime_of_file(line->path) == RUNTIME_PHP) {
			m = line;
			variables_find(proc_dir, pid, m, wanted, G_N_ELEMENTS(wanted));
		}
	}
	if (!m)
		return LANGUAGE_NONE;
	if (!wanted[0].addr || wanted[0].addr & 7)
		return LANGUAGE_NO_SYMBOLS;
	l = layout_of(version_of(pid, lines, m->path));
	if (!l)
		return LANGUAGE_OTHER_VERSION;
	*ret = (struct offcpu_language){
		.version = l->version, .state = wanted[0].addr, .frame_at = GLOBALS_FRAME,
		.code_at = FRAME_FUNCTION, .previous_at = FRAME_PREVIOUS, .instr_at = FRAME_OP,
		.instr_bytes = 8, .entry = OFFCPU_ENTRY_BIT, .entry_at = FRAME_FLAGS, .entry_value = FLAG_TOP,
		.name_at = FUNCTION_NAME, .file_at = l->file,
	};
	return LANGUAGE_READABLE;
}
