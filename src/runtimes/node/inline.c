/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "runtimes/node/names.h"

#include <glib.h>
#include <string.h>

#include "symbolize/runtime/memory.h"

#define WORD 8
#define CODE_ALIGN 64	/* alignment of the first instruction */
#define PIECE_BYTES 4096
#define CODE_BYTES_MAX (1u << 20)	/* how far back its begin is searched */
#define CANDIDATES_MAX 64	/* candidate words that look like objects */
#define PLACES_MAX 16384
#define BYTES_MAX (256u << 10)
#define STEPS_MAX 65536
#define NUMBER_BYTES_MAX 5

/* ---- the byte stream: instructions with operands; only those of frames matter here */

enum {
	BEGIN = 2,
	BEGIN_WITH_FEEDBACK = 3,
	FRAME_THAT_RETURNS = 23,
	FRAME = 24,
	FRAME_OF_BUILTIN = 25,
	FRAME_OF_BUILTIN_WITH_CATCH = 26,
	AS_BEFORE = 35,
	OPCODES = 36,	/* higher opcodes are AS_BEFORE combined with its operand */
};

static const uint8_t operand_cnt[OPCODES] = { 1, 0, 3, 3, 1, 1, 3, 1, 3, 1, 1, 1, 1, 1, 2, 1, 1, 1,
					      1, 1, 1, 1, 1, 5, 3, 3, 3, 4, 0, 1, 1, 1, 1, 1, 2, 1 };

struct reader {
	const uint8_t *bytes;
	size_t cnt, at;
	bool is_bad;
};

static uint32_t next_byte(struct reader *r)
{
	if (r->at >= r->cnt) {
		r->is_bad = true;
		return 0;
	}
	return r->bytes[r->at++];
}

static uint32_t next_number(struct reader *r)
{
	uint32_t number = 0, byte;

	for (unsigned i = 0; i < NUMBER_BYTES_MAX; i++) {
		byte = next_byte(r);
		number |= (byte & 127) << 7 * i;
		if (!(byte & 128))
			return number;
	}
	r->is_bad = true;
	return 0;
}

/* Reads an instruction. For a frame *ret_literal is its function, else UINT32_MAX. */
static void next_instruction(struct reader *r, uint32_t opcode, uint32_t *ret_literal)
{
	bool is_frame = opcode >= FRAME_THAT_RETURNS && opcode <= FRAME_OF_BUILTIN_WITH_CATCH;

	*ret_literal = UINT32_MAX;
	for (unsigned i = 0; i < operand_cnt[opcode]; i++) {
		uint32_t number = next_number(r);

		if (is_frame && i == 1) {
			r->is_bad |= number & 1;	/* negative */
			*ret_literal = number >> 1;
		}
	}
}

/* The number of instructions to take from another place, for AS_BEFORE; else 0. */
static uint32_t repeated_cnt(struct reader *r, uint32_t opcode)
{
	if (opcode >= OPCODES)
		return opcode - OPCODES;
	return opcode == AS_BEFORE ? next_number(r) : 0;
}

/* The begin of a place: the distance back to the place that it repeats, 0: none; *ret_frame_cnt: JavaScript frames. */
static uint32_t begin_place(struct reader *r, uint32_t *ret_frame_cnt)
{
	uint32_t opcode = next_byte(r), back = next_number(r);

	next_number(r);
	*ret_frame_cnt = next_number(r);
	if ((opcode != BEGIN && opcode != BEGIN_WITH_FEEDBACK) || *ret_frame_cnt & 1)
		r->is_bad = true;
	*ret_frame_cnt >>= 1;
	return back;
}

/* The next instruction of the repeated place, which itself repeats none. */
static void next_before(struct reader *r, uint32_t *ret_literal)
{
	uint32_t opcode = next_byte(r);

	*ret_literal = UINT32_MAX;
	if (opcode >= AS_BEFORE || opcode == BEGIN || opcode == BEGIN_WITH_FEEDBACK)
		r->is_bad = true;
	else
		next_instruction(r, opcode, ret_literal);
}

/* An instruction replaces that one, if it exists. */
static void skip_before(struct reader *r)
{
	uint32_t literal;

	if (r->at < r->cnt && r->bytes[r->at] != BEGIN && r->bytes[r->at] != BEGIN_WITH_FEEDBACK)
		next_before(r, &literal);
}

unsigned v8_unpack_frames(const uint8_t *bytes, size_t cnt, size_t at, uint32_t literals[V8_INLINED_MAX])
{
	struct reader r = { bytes, cnt, at, false }, before = { bytes, cnt, 0, false };
	uint32_t wanted, other, back = begin_place(&r, &wanted), repeat = 0, literal;
	unsigned found = 0;

	if (back > at || wanted > V8_INLINED_MAX)
		return 0;
	before.at = at - back;
	if (back && begin_place(&before, &other))
		return 0;
	for (unsigned step = 0; step < STEPS_MAX && found < wanted && !r.is_bad && !before.is_bad; step++) {
		if (repeat) {
			next_before(&before, &literal);
			repeat--;
		} else {
			uint32_t opcode = next_byte(&r);

			repeat = repeated_cnt(&r, opcode);
			if (repeat && !back)
				return 0;
			if (opcode >= AS_BEFORE)
				continue;
			if (opcode == BEGIN || opcode == BEGIN_WITH_FEEDBACK)
				return 0;
			if (back)
				skip_before(&before);
			next_instruction(&r, opcode, &literal);
		}
		if (literal != UINT32_MAX)
			literals[found++] = literal;
	}
	return found == wanted && !r.is_bad ? found : 0;
}

/* ---- code */

/* Does code begin at `start`, after these two words? *ret_code: its Code, which must refer back. */
static bool is_code(const struct v8 *v, uint64_t start, const uint64_t *head, unsigned *candidates)
{
	uint64_t words[6];

	if (!v8_is_object(head[0]) || !v8_is_object(head[1]) || head[1] >> 47 || !*candidates)
		return false;
	--*candidates;
	if (v8_type_of(v, start - V8_STREAM_HEAD_BYTES + 1) != V8_TYPE_STREAM ||
	    v8_type_of(v, head[1]) != V8_TYPE_CODE || !memory_read(v->pid, head[1] - 1, words, sizeof(words)))
		return false;
	return words[4] == start - V8_STREAM_HEAD_BYTES + 1 && words[5] == start;
}

/* The Code whose instructions contain ip. 0: not found. */
static uint64_t find_code(const struct v8 *v, uint64_t ip, uint64_t *ret_start)
{
	uint64_t page = ip / PIECE_BYTES * PIECE_BYTES, words[PIECE_BYTES / WORD];
	uint64_t last = (ip - page) / CODE_ALIGN;	/* number of possible begins in the page */
	unsigned candidates = CANDIDATES_MAX;

	if (ip < CODE_BYTES_MAX || ip >> 47)
		return 0;
	for (uint64_t gone = 0; gone < CODE_BYTES_MAX; gone += PIECE_BYTES, page -= PIECE_BYTES) {
		if (!memory_read(v->pid, page, words, sizeof(words)))
			return 0;
		/* the two words before a possible begin end its preceding 64 bytes */
		for (uint64_t i = last; i-- > 0;) {
			const uint64_t *head = words + (i + 1) * (CODE_ALIGN / WORD) - V8_STREAM_HEAD_BYTES / WORD;

			*ret_start = page + (i + 1) * CODE_ALIGN;
			if (is_code(v, *ret_start, head, &candidates))
				return head[1];
		}
		last = PIECE_BYTES / CODE_ALIGN;
	}
	return 0;
}

/* The length of a list of this type. 0: not such a list. */
static uint32_t length_of(const struct v8 *v, uint64_t list, int type, uint32_t max)
{
	uint64_t length;

	if (v8_type_of(v, list) != type || !v8_read_word(v, list, V8_ARRAY_LENGTH, &length) || !v8_is_number(length) ||
	    length >> 32 > max)
		return 0;
	return (uint32_t)(length >> 32);
}

/* The position in the byte stream of the place that returns to this offset. -1: none. */
static int64_t find_place(const uint64_t *deopts, uint32_t cnt, uint64_t offset)
{
	for (uint32_t i = V8_DEOPTS_FIRST; i + V8_DEOPTS_PLACE <= cnt; i += V8_DEOPTS_PLACE)
		if (deopts[i + 2] == offset << 32 && v8_is_number(deopts[i + 1]))
			return (int64_t)(deopts[i + 1] >> 32);
	return -1;
}

static unsigned read_frames(const struct v8 *v, uint64_t list, uint64_t at, uint32_t literals[V8_INLINED_MAX])
{
	uint32_t cnt = length_of(v, list, V8_TYPE_BYTES, BYTES_MAX);
	g_autofree uint8_t *bytes = at < cnt ? g_malloc(cnt) : NULL;

	if (!bytes || !memory_read(v->pid, list - 1 + V8_ARRAY_DATA, bytes, cnt))
		return 0;
	return v8_unpack_frames(bytes, cnt, at, literals);
}

/* A literal, possibly a weak reference, if it is a function; else 0. */
static uint64_t read_literal(const struct v8 *v, uint64_t list, uint32_t cnt, uint32_t number)
{
	uint64_t word;

	if (number >= cnt || !v8_read_word(v, list, V8_ARRAY_DATA + (uint64_t)number * WORD, &word))
		return 0;
	word &= ~2ull;
	return v8_type_of(v, word) == v->type.function ? word : 0;
}

static unsigned find_functions(const struct v8 *v, const uint64_t *deopts, uint32_t cnt, uint64_t offset,
			       uint64_t functions[V8_INLINED_MAX])
{
	uint32_t literals[V8_INLINED_MAX], literal_cnt;
	int64_t place = find_place(deopts, cnt, offset);
	unsigned frame_cnt = place < 0 ? 0 : read_frames(v, deopts[V8_DEOPTS_BYTES], (uint64_t)place, literals);

	literal_cnt = length_of(v, deopts[V8_DEOPTS_LITERALS], V8_TYPE_WEAK_ARRAY, PLACES_MAX);
	for (unsigned i = 0; i < frame_cnt; i++) {
		uint64_t function = read_literal(v, deopts[V8_DEOPTS_LITERALS], literal_cnt, literals[i]);

		if (!function)
			return 0;
		functions[frame_cnt - 1 - i] = function;
	}
	return frame_cnt;
}

unsigned v8_inlined(const struct v8 *v, uint64_t shared, uint64_t ip, uint64_t functions[V8_INLINED_MAX])
{
	uint64_t start = 0, list, now, code = v->has_inlined ? find_code(v, ip, &start) : 0;
	uint32_t cnt = code && v8_read_word(v, code, V8_CODE_DEOPTS, &list) ?
			       length_of(v, list, V8_TYPE_ARRAY, V8_DEOPTS_FIRST + V8_DEOPTS_PLACE * PLACES_MAX) : 0;
	g_autofree uint64_t *deopts = cnt > V8_DEOPTS_FIRST ? g_new(uint64_t, cnt) : NULL;
	unsigned frame_cnt;

	shared |= 1;	/* addresses on the stack have lost the tag bit */
	if (!deopts || !memory_read(v->pid, list - 1 + V8_ARRAY_DATA, deopts, cnt * sizeof(*deopts)) ||
	    deopts[V8_DEOPTS_FUNCTION] != shared)
		return 0;
	frame_cnt = find_functions(v, deopts, cnt, ip - start, functions);
	/* the outermost must be the compiled function, and the code unchanged */
	if (!frame_cnt || functions[frame_cnt - 1] != shared || !v8_read_word(v, code, V8_CODE_DEOPTS, &now) ||
	    now != list)
		return 0;
	return frame_cnt;
}
