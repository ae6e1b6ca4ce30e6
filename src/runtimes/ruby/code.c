/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/each.h"
#include "base/find.h"
#include "symbolize/runtime/language.h"

#include <string.h>

#include "symbolize/runtime/memory.h"

#define CODES_MAX (1u << 17)	/* cached; more are read each time */
#define TEXT_MAX 1024
#define BODY_BYTES 152		/* of an instruction sequence's body: the needed fields */
#define INSTRUCTIONS_MAX (1u << 24)
#define LINES_MAX (1u << 24)

/* Any object: flags, class. The low bits of flags are the type. */
#define TYPE_MASK 0x1f
#define TYPE_STRING 0x05
#define TYPE_ARRAY 0x07
#define TYPE_INTERNAL 0x1a
#define INTERNAL_KIND(flags) ((flags) >> 12 & 0xf)
#define INTERNAL_CODE 7		/* an instruction sequence */
#define STRING_IS_APART (1 << 13)
#define ARRAY_IS_WITHIN (1 << 13)

/* Instruction sequence. */
#define CODE_BODY 16
/* Its body. */
#define BODY_SIZE 4
#define BODY_INSTRUCTIONS 8
#define BODY_PATH 64
#define BODY_LABEL 80
#define BODY_FIRST_LINE 88

struct layout {
	uint32_t version;
	uint8_t frame_bytes;
	/* offset of line entries; then 8: array of positions; 16: number; 24: index of positions */
	uint8_t lines;
	uint8_t entry_bytes;	/* size of an entry */
	bool has_long_first_line;	/* an Integer object instead of an int */
	bool has_wide_strings;	/* a string's length is a word also if the bytes are embedded */
};

#define VERSION(minor) OFFCPU_LANGUAGE_VERSION(OFFCPU_LANGUAGE_RUBY, 3, minor)
static const struct layout layouts[] = {
	{ VERSION(0), 56, 120, 8, true, false },
	{ VERSION(1), 64, 120, 12, true, false },
	{ VERSION(2), 64, 112, 12, false, true },
	{ VERSION(3), 56, 112, 12, false, true },
	{ VERSION(4), 56, 112, 12, false, true },
};

static const struct layout *layout_of(uint32_t version)
{
	return FIRST(x, layouts, x->version == version, x, NULL);
}

uint32_t ruby_frame_bytes(uint32_t version)
{
	const struct layout *l = layout_of(version);

	return l ? l->frame_bytes : 0;
}

/* What never changes in an instruction sequence; a difference means another one. */
struct constant {
	uint64_t body, instructions, path, label, lines, index;
	uint32_t size, line_cnt;
};

struct code {
	struct language_key key;
	struct constant constant;
	uint32_t first_line;
	const char *name, *file;
};

struct ruby_code {
	GHashTable *codes;	/* struct code, by its key */
	GStringChunk *strings;
	/* of the last program asked about */
	uint64_t executor_space;
	bool is_executor_known;
	struct ruby_executor executor;
};

struct ruby_code *ruby_code_new(void)
{
	struct ruby_code *r = g_new0(struct ruby_code, 1);

	r->codes = g_hash_table_new_full(language_key_hash, language_key_equal, NULL, g_free);
	r->strings = g_string_chunk_new(4096);
	return r;
}

FREES(ruby_code_free, struct ruby_code, r, g_hash_table_destroy(r->codes); g_string_chunk_free(r->strings))

/* NULL: not a String, or an empty one. */
static const char *read_string(struct ruby_code *r, const struct layout *l, uint32_t pid, uint64_t addr)
{
	uint64_t words[4], len, at = addr + 16;
	char bytes[TEXT_MAX + 1];
	g_autofree char *text = NULL;
	bool is_apart;

	if (!addr || addr & 7 || !memory_read(pid, addr, words, sizeof(words)) || (words[0] & TYPE_MASK) != TYPE_STRING)
		return NULL;
	is_apart = words[0] & STRING_IS_APART;
	len = is_apart || l->has_wide_strings ? words[2] : words[0] >> 14 & 0x1f;
	if (is_apart)
		at = words[3];
	else if (l->has_wide_strings)
		at = addr + 24;
	if (!len || len > INT32_MAX)
		return NULL;
	len = MIN(len, TEXT_MAX);
	if (!memory_read(pid, at, bytes, len))
		return NULL;
	bytes[len] = '\0';
	text = g_utf8_make_valid(bytes, -1);
	return *text ? g_string_chunk_insert_const(r->strings, text) : NULL;
}

/* A path is a String, or an Array of the given and the absolute one. */
static const char *read_path(struct ruby_code *r, const struct layout *l, uint32_t pid, uint64_t addr)
{
	uint64_t words[5], pair[2];
	const char *whole;

	if (!addr || addr & 7 || !memory_read(pid, addr, words, sizeof(words)) || (words[0] & TYPE_MASK) != TYPE_ARRAY)
		return read_string(r, l, pid, addr);
	if (words[0] & ARRAY_IS_WITHIN)
		memcpy(pair, words + 2, sizeof(pair));
	else if (!memory_read(pid, words[4], pair, sizeof(pair)))
		return NULL;
	whole = read_string(r, l, pid, pair[1]);
	return whole ? whole : read_string(r, l, pid, pair[0]);
}

static bool read_constant(const struct layout *l, const struct language_place *place, struct constant *ret,
			  uint32_t *ret_first_line)
{
	uint64_t head[3];
	uint8_t body[BODY_BYTES];

	if (place->code & 7 || !memory_read(place->pid, place->code, head, sizeof(head)) ||
	    (head[0] & TYPE_MASK) != TYPE_INTERNAL || INTERNAL_KIND(head[0]) != INTERNAL_CODE ||
	    !memory_read(place->pid, head[CODE_BODY / 8], body, sizeof(body)))
		return false;
	*ret = (struct constant){
		.body = head[CODE_BODY / 8],
		.size = memory_half(body, BODY_SIZE), .instructions = memory_word(body, BODY_INSTRUCTIONS),
		.path = memory_word(body, BODY_PATH), .label = memory_word(body, BODY_LABEL),
		.lines = memory_word(body, l->lines), .line_cnt = memory_half(body, l->lines + 16u),
		.index = memory_word(body, l->lines + 24u),
	};
	*ret_first_line = memory_half(body, BODY_FIRST_LINE);
	if (l->has_long_first_line)
		*ret_first_line = (uint32_t)(memory_word(body, BODY_FIRST_LINE) >> 1);
	return ret->size <= INSTRUCTIONS_MAX && ret->line_cnt <= LINES_MAX && *ret_first_line <= INT32_MAX;
}

/* Reads it anew, because another object may have taken the address. */
static struct code *find_code(struct ruby_code *r, const struct layout *l, const struct language_place *place)
{
	struct code *c, now = { .key = { place->space, place->code } };

	if (!read_constant(l, place, &now.constant, &now.first_line))
		return NULL;
	c = g_hash_table_lookup(r->codes, &now.key);
	if (c && !memcmp(&c->constant, &now.constant, sizeof(now.constant)))
		return c;
	now.name = read_string(r, l, place->pid, now.constant.label);
	now.file = read_path(r, l, place->pid, now.constant.path);
	if (!now.name || !now.file)
		return NULL;
	if (g_hash_table_size(r->codes) >= CODES_MAX)
		g_hash_table_remove_all(r->codes);
	c = g_memdup2(&now, sizeof(now));
	g_hash_table_replace(r->codes, &c->key, c);
	return c;
}

/*
 * How many entries begin at or before an instruction: a bit set with sums over 9, 64 and 512 (iseq.c,
 * "succ_index_table"). 0: unreadable.
 */
#define FIRST_PART 54		/* instructions counted individually, 9 in a word */
#define BLOCK_BITS 512
#define BLOCK_WORDS 10		/* count before the block; 9-bit sums over 64 each; bits */

static uint32_t rank_of(uint32_t pid, uint64_t index, uint32_t at)
{
	uint64_t word, block[BLOCK_WORDS];
	uint32_t part, bit;

	if (at < FIRST_PART)
		return memory_read(pid, index + at / 9 * 8, &word, sizeof(word)) ? word >> at % 9 * 7 & 0x7f : 0;
	at -= FIRST_PART;
	index += FIRST_PART / 9 * 8 + (uint64_t)(at / BLOCK_BITS) * sizeof(block);
	if (!memory_read(pid, index, block, sizeof(block)))
		return 0;
	part = at % BLOCK_BITS / 64;
	bit = at % 64;
	return (uint32_t)block[0] + (part ? (uint32_t)(block[1] >> (part - 1) * 9 & 0x1ff) : 0) +
	       (uint32_t)__builtin_popcountll(block[2 + part] << (63 - bit));
}

/* instr: the next instruction, so the line is that of the one before. 0: no line. */
static uint32_t line_at(const struct layout *l, const struct language_place *place, const struct constant *c)
{
	uint64_t at = (place->instr - c->instructions) / 8;
	uint32_t number, line;

	if (place->instr < c->instructions || at > c->size || !c->line_cnt)
		return 0;
	number = c->line_cnt == 1 ? 1 : rank_of(place->pid, c->index, (uint32_t)(at ? at - 1 : 0));
	if (!number || number > c->line_cnt ||
	    !memory_read(place->pid, c->lines + (uint64_t)(number - 1) * l->entry_bytes, &line, sizeof(line)))
		return 0;
	return line <= INT32_MAX ? line : 0;
}

bool ruby_code_name(struct ruby_code *r, const struct language_place *place, struct language_frame *ret)
{
	const struct layout *l = layout_of(place->version);
	const struct code *c = l ? find_code(r, l, place) : NULL;

	if (!c)
		return false;
	*ret = (struct language_frame){ .name = c->name, .file = c->file, .first_line = c->first_line,
					.line = line_at(l, place, &c->constant) };
	return true;
}

bool ruby_code_executor(struct ruby_code *r, const struct language_place *place, struct ruby_executor *ret)
{
	const struct layout *l = layout_of(place->version);
	struct constant c;
	uint32_t first_line;
	uint64_t handler;

	if (!r->is_executor_known || r->executor_space != place->space) {
		r->is_executor_known = l && read_constant(l, place, &c, &first_line) &&
				       memory_read(place->pid, c.instructions, &handler, sizeof(handler)) &&
				       ruby_executor_find(place->pid, handler, &r->executor);
		r->executor_space = place->space;
	}
	*ret = r->executor;
	return r->is_executor_known;
}
