/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/each.h"
#include "symbolize/runtime/language.h"

#include <string.h>

#include "symbolize/runtime/memory.h"

#define HEAD_BYTES 208		/* of a code object: the needed fields */
#define MORE_IN_HEAD_MAX 16
#define TEXT_MAX_CHARS 1024
#define LINES_MAX_BYTES (1u << 20)
#define CODE_MAX_BYTES (16u << 20)
#define CODES_MAX (1u << 18)	/* cached; more are read each time */

struct code {
	struct language_key key;
	uint8_t head[HEAD_BYTES];	/* its constant part: a difference means another object */
	const char *name, *file;
	uint32_t first_line;
	uint8_t *lines;
	uint32_t line_bytes;
	bool has_lines;		/* lines were read; if there are none, all are the first */
	uint64_t start;			/* address of the instructions */
};

struct python_code {
	GHashTable *codes;	/* struct code, by its key */
	GStringChunk *strings;
};

FREES_DATA(code_free, struct code, c, g_free(c->lines))

struct python_code *python_code_new(void)
{
	struct python_code *p = g_new0(struct python_code, 1);

	p->codes = g_hash_table_new_full(language_key_hash, language_key_equal, NULL, code_free);
	p->strings = g_string_chunk_new(4096);
	return p;
}

FREES(python_code_free, struct python_code, p, g_hash_table_destroy(p->codes); g_string_chunk_free(p->strings))

/* Only what never changes in a code object is compared: the type, pointers to texts, and its first line. */
static void keep_constant(const struct python_layout *l, const uint8_t *from, uint8_t *to)
{
	const uint16_t words[] = { PYTHON_TYPE_AT + l->more_in_head, l->file, l->name, l->qualname, l->lines };

	memset(to, 0, HEAD_BYTES);
	for (size_t i = 0; i < G_N_ELEMENTS(words); i++)
		if (words[i])
			memcpy(to + words[i], from + words[i], 8);
	memcpy(to + l->first_line, from + l->first_line, 4);
}

/* kind: 1, 2 or 4 bytes per character. */
static char *text_of(const uint8_t *bytes, size_t cnt, unsigned kind)
{
	GString *text = g_string_new(NULL);

	for (size_t i = 0; i < cnt; i++) {
		uint32_t c = 0;

		memcpy(&c, bytes + i * kind, kind);
		g_string_append_unichar(text, g_unichar_validate(c) && c ? c : 0xfffd);
	}
	return g_string_free(text, FALSE);
}

/* NULL: not a str. */
static const char *read_text(struct python_code *p, const struct python_layout *l, uint32_t pid, uint64_t addr)
{
	uint8_t head[PYTHON_TEXT_STATE_AT + MORE_IN_HEAD_MAX + 8], bytes[TEXT_MAX_CHARS * 4];
	uint32_t state, kind;
	uint64_t cnt;
	g_autofree char *text = NULL;

	if (!addr || !memory_read(pid, addr, head, sizeof(head)))
		return NULL;
	cnt = memory_word(head, PYTHON_TEXT_SIZE_AT + l->more_in_head);
	state = memory_half(head, PYTHON_TEXT_STATE_AT + l->more_in_head);
	kind = state >> 2 & 7;
	if (!cnt || cnt > CODE_MAX_BYTES || !(state >> 5 & 1) || (kind != 1 && kind != 2 && kind != 4))
		return NULL;
	cnt = MIN(cnt, TEXT_MAX_CHARS);
	addr += state >> 6 & 1 ? l->ascii_bytes : l->compact_bytes;
	if (!memory_read(pid, addr, bytes, cnt * kind))
		return NULL;
	text = text_of(bytes, cnt, kind);
	return g_string_chunk_insert_const(p->strings, text);
}

static void read_lines(struct code *c, const struct python_layout *l, uint32_t pid, uint64_t addr)
{
	uint64_t size;

	addr += addr ? l->more_in_head : 0;
	if (!addr || !memory_read(pid, addr + PYTHON_SIZE_AT, &size, sizeof(size)) || size > LINES_MAX_BYTES)
		return;
	c->lines = g_malloc(size + 1);
	c->has_lines = !size || memory_read(pid, addr + PYTHON_BYTES_AT, c->lines, size);
	if (c->has_lines)
		c->line_bytes = (uint32_t)size;
}

static struct code *read_code(struct python_code *p, const struct python_layout *l, const struct language_place *place,
			      const uint8_t *head)
{
	struct code *c = g_new0(struct code, 1);

	c->key = (struct language_key){ place->space, place->code };
	keep_constant(l, head, c->head);
	c->name = l->qualname ? read_text(p, l, place->pid, memory_word(head, l->qualname)) : NULL;
	if (!c->name)
		c->name = read_text(p, l, place->pid, memory_word(head, l->name));
	c->file = read_text(p, l, place->pid, memory_word(head, l->file));
	c->first_line = memory_half(head, l->first_line);
	c->start = l->code_is_object ? memory_word(head, l->code) + PYTHON_BYTES_AT : place->code + l->code;
	if (!c->name || !c->file || c->first_line > INT32_MAX) {
		code_free(c);
		return NULL;
	}
	read_lines(c, l, place->pid, memory_word(head, l->lines));
	return c;
}

/* Reads it anew, because another object may have taken the address. */
static struct code *find_code(struct python_code *p, const struct python_layout *l, const struct language_place *place)
{
	const struct language_key key = { place->space, place->code };
	uint8_t head[HEAD_BYTES], constant[HEAD_BYTES];
	struct code *c;

	if (!memory_read(place->pid, place->code, head, sizeof(head)) ||
	    memory_word(head, PYTHON_TYPE_AT + l->more_in_head) != place->code_type)
		return NULL;
	keep_constant(l, head, constant);
	c = g_hash_table_lookup(p->codes, &key);
	if (c && !memcmp(c->head, constant, sizeof(constant)))
		return c;
	c = read_code(p, l, place, head);
	if (!c)
		return NULL;
	if (g_hash_table_size(p->codes) >= CODES_MAX)
		g_hash_table_remove_all(p->codes);
	g_hash_table_replace(p->codes, &c->key, c);
	return c;
}

bool python_code_name(struct python_code *p, const struct language_place *place, struct language_frame *ret)
{
	const struct python_layout *l = python_layout_of(place->version);
	struct code *c = l ? find_code(p, l, place) : NULL;
	uint64_t offset;

	if (!c)
		return false;
	offset = l->walk.instr_bytes == 8 ? place->instr - c->start : place->instr * l->instr_scale;
	*ret = (struct language_frame){ .name = c->name, .file = c->file, .first_line = c->first_line };
	if (offset < CODE_MAX_BYTES && c->has_lines)
		ret->line = python_line((enum python_lines)l->line_kind, c->lines, c->line_bytes, c->first_line,
					offset);
	return true;
}
