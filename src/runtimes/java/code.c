/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "runtimes/java/code.h"

#include <string.h>

#include "base/find.h"
#include "base/hash.h"
#include "base/module.h"
#include "base/order.h"
#include "symbolize/runtime/memory.h"
#include "symbolize/runtime/variables.h"

#define HEAD_BYTES 512		/* of a code block: its header and the needed fields of its blob */
#define HEADS_AT_ONCE 256
#define HEAP_BYTES_MAX (2ull << 30)	/* HotSpot's own limit of the total */
#define SHIFT_MIN 4
#define SHIFT_MAX 12
#define SEGMENTS_AT_ONCE 65536
#define BLOBS_MAX (1u << 18)
#define FRAME_WORDS_MAX 4096
#define FRAME_WORDS_MIN 1
#define SEGMENT_FREE 0xff
#define HOPS_MAX 65536
#define HOP_WINDOW 256
#define WORD 8

bool hotspot_is_file(const char *path)
{
	return !strcmp(module_base_name(path), "libjvm.so");
}

/* The file's first mapping, which relocates its symbols. */
static bool find_symbols(const char *proc_dir, uint32_t pid, const GArray *lines, uint64_t ret[HOTSPOT_SYMBOL_CNT])
{
	struct variable variables[HOTSPOT_SYMBOL_CNT];

	for (unsigned i = 0; i < HOTSPOT_SYMBOL_CNT; i++)
		variables[i] = (struct variable){ .name = hotspot_symbol_name[i] };
	EACH_ROW(i, const struct maps_line, line, lines) {
		if (!line->inode || !hotspot_is_file(line->path))
			continue;
		if (!variables_find(proc_dir, pid, line, variables, G_N_ELEMENTS(variables)))
			return false;
		for (unsigned k = 0; k < HOTSPOT_SYMBOL_CNT; k++) {
			ret[k] = variables[k].addr;
			if (!ret[k])
				return false;
		}
		return true;
	}
	return false;
}

bool hotspot_open(struct hotspot *h, const char *proc_dir, uint32_t pid, const GArray *lines)
{
	uint64_t symbols[HOTSPOT_SYMBOL_CNT];

	bool is_read;

	*h = (struct hotspot){ .pid = pid };
	memory_begin_names();	/* thousands of words that are close together */
	is_read = find_symbols(proc_dir, pid, lines, symbols) && hotspot_layout_read(pid, symbols, &h->layout) &&
		  h->layout.sender_sp_words == -1 && hotspot_read_heaps(h);
	memory_end_names();
	return is_read;
}

static bool read_field(const struct hotspot *h, enum hotspot_field field, uint64_t base, uint64_t *ret)
{
	return hotspot_field_at(&h->layout, h->pid, field, base, ret);
}

static bool read_heap(const struct hotspot *h, uint64_t at, struct hotspot_heap *ret)
{
	uint64_t memory = at + h->layout.field[HOTSPOT_HEAP_MEMORY].at,
		 map = at + h->layout.field[HOTSPOT_HEAP_SEGMAP].at;
	uint64_t shift;

	if (!read_field(h, HOTSPOT_SPACE_LOW, memory, &ret->low) ||
	    !read_field(h, HOTSPOT_SPACE_HIGH, memory, &ret->high) ||
	    !read_field(h, HOTSPOT_SPACE_LOW, map, &ret->segmap) || !read_field(h, HOTSPOT_HEAP_SHIFT, at, &shift))
		return false;
	ret->shift = (unsigned)shift;
	return shift >= SHIFT_MIN && shift <= SHIFT_MAX && ret->low && ret->high > ret->low &&
	       ret->high - ret->low <= HEAP_BYTES_MAX && ret->high < 1ull << 47;
}

ORDER(heap_compare, struct hotspot_heap, ORDER_LOW(low))

/* Where the interpreter and stubs are; these do not move. */
static void read_landmarks(struct hotspot *h)
{
	uint64_t queue, begin, bytes;

	if (!h->interpreter_end && read_field(h, HOTSPOT_INTERPRETER, 0, &queue) && queue &&
	    read_field(h, HOTSPOT_STUBS_BUFFER, queue, &begin) && read_field(h, HOTSPOT_STUBS_LIMIT, queue, &bytes) &&
	    begin && bytes <= HEAP_BYTES_MAX) {
		h->interpreter = begin;
		h->interpreter_end = begin + bytes;
	}
	if (!h->call_stub)
		read_field(h, HOTSPOT_CALL_STUB, 0, &h->call_stub);
}

bool hotspot_read_heaps(struct hotspot *h)
{
	uint64_t array, cnt, data, at;

	h->heap_cnt = 0;
	if (!read_field(h, HOTSPOT_HEAPS, 0, &array) || !array || !read_field(h, HOTSPOT_ARRAY_LEN, array, &cnt) ||
	    !read_field(h, HOTSPOT_ARRAY_DATA, array, &data))
		return false;
	for (uint64_t i = 0; i < MIN(cnt, HOTSPOT_HEAPS_MAX); i++)
		if (memory_read(h->pid, data + i * WORD, &at, WORD) && read_heap(h, at, &h->heaps[h->heap_cnt]))
			h->heap_cnt++;
	qsort(h->heaps, h->heap_cnt, sizeof(h->heaps[0]), heap_compare);
	for (unsigned i = 1; i < h->heap_cnt; i++)
		if (h->heaps[i].low < h->heaps[i - 1].high)
			h->heap_cnt = i;	/* they must not overlap */
	read_landmarks(h);
	return h->heap_cnt > 0;
}

/* ---- blobs */

static uint64_t head_field(const struct hotspot *h, enum hotspot_field field, const void *blob, size_t bytes)
{
	uint64_t value;

	hotspot_field_of(&h->layout, field, blob, bytes, &value);
	return value;
}

static bool has_field(const struct hotspot *h, enum hotspot_field field)
{
	return h->layout.field[field].bytes != 0;
}

static void find_code(const struct hotspot *h, const uint8_t *blob, size_t bytes, struct hotspot_blob *ret)
{
	if (has_field(h, HOTSPOT_BLOB_CODE_BEGIN)) {
		ret->code = head_field(h, HOTSPOT_BLOB_CODE_BEGIN, blob, bytes);
		ret->code_end = head_field(h, HOTSPOT_BLOB_CODE_END, blob, bytes);
	} else {
		ret->code = ret->at + head_field(h, HOTSPOT_BLOB_CODE_OFFSET, blob, bytes);
		ret->code_end = ret->at + head_field(h, HOTSPOT_BLOB_DATA_OFFSET, blob, bytes);
	}
}

static enum hotspot_kind kind_of(const struct hotspot *h, const struct hotspot_blob *b)
{
	if (h->interpreter_end && h->interpreter < b->code_end && h->interpreter_end > b->code)
		return HOTSPOT_KIND_INTERPRETER;
	return h->call_stub >= b->code && h->call_stub < b->code_end ? HOTSPOT_KIND_CALL_STUB : HOTSPOT_KIND_CODE;
}

/* Reads the block that begins at `at`. False: none in use there, or invalid. */
static bool take_block(const struct hotspot *h, const struct hotspot_heap *heap, uint64_t at, const uint8_t *head,
		       size_t bytes, struct hotspot_blob *ret)
{
	uint32_t header = h->layout.type_bytes[HOTSPOT_BLOCK];
	uint64_t segments, used, frame, complete;

	*ret = (struct hotspot_blob){ .at = at + header };
	if (bytes <= header || !hotspot_field_of(&h->layout, HOTSPOT_BLOCK_LENGTH, head, bytes, &segments) ||
	    !hotspot_field_of(&h->layout, HOTSPOT_BLOCK_USED, head, bytes, &used) || !used || !segments ||
	    segments > (heap->high - at) >> heap->shift)
		return false;
	head += header;
	bytes -= header;
	find_code(h, head, bytes, ret);
	if (ret->code <= ret->at || ret->code_end <= ret->code || ret->code_end > at + (segments << heap->shift))
		return false;
	frame = head_field(h, HOTSPOT_BLOB_FRAME_SIZE, head, bytes);
	complete = head_field(h, HOTSPOT_BLOB_COMPLETE, head, bytes);
	if (frame >= FRAME_WORDS_MIN && frame <= FRAME_WORDS_MAX)
		ret->frame_bytes = (uint32_t)frame * WORD;
	/* out of range, or -1: the frame is always complete */
	ret->complete = complete < ret->code_end - ret->code ? (uint32_t)complete : 0;
	ret->name = head_field(h, HOTSPOT_BLOB_NAME, head, bytes);
	ret->method = head_field(h,
				 has_field(h, HOTSPOT_COMPILED_METHOD) ? HOTSPOT_COMPILED_METHOD
								       : HOTSPOT_NMETHOD_METHOD,
				 head, bytes);
	ret->compile_id = (uint32_t)head_field(h, HOTSPOT_COMPILE_ID, head, bytes);
	ret->kind = kind_of(h, ret);
	return true;
}

struct blob_walk {
	const struct hotspot *h;
	const struct hotspot_heap *heap;
	hotspot_blob_fn fn;
	void *ctx;
	struct memory_piece pieces[HEADS_AT_ONCE];
	bool is_read[HEADS_AT_ONCE];
	unsigned cnt, left;
	uint8_t heads[HEADS_AT_ONCE][HEAD_BYTES];
};

static bool read_heads(struct blob_walk *w)
{
	struct hotspot_blob blob;
	unsigned cnt = w->cnt;

	w->cnt = 0;
	memory_read_pieces(w->h->pid, w->pieces, cnt, w->is_read);
	for (unsigned i = 0; i < cnt; i++)
		if (w->is_read[i] &&
		    take_block(w->h, w->heap, w->pieces[i].addr, w->heads[i], w->pieces[i].bytes, &blob) &&
		    !w->fn(w->ctx, &blob))
			return false;
	return true;
}

static bool add_block(struct blob_walk *w, uint64_t at)
{
	if (!w->left)
		return false;
	w->left--;
	w->pieces[w->cnt] = (struct memory_piece){ at, w->heads[w->cnt], (size_t)MIN(HEAD_BYTES, w->heap->high - at) };
	return ++w->cnt < HEADS_AT_ONCE || read_heads(w);
}

bool hotspot_for_each_blob(const struct hotspot *h, const struct hotspot_heap *heap, hotspot_blob_fn fn, void *ctx)
{
	g_autofree struct blob_walk *w = g_new0(struct blob_walk, 1);
	g_autofree uint8_t *map = g_malloc(SEGMENTS_AT_ONCE);
	uint64_t segments = (heap->high - heap->low) >> heap->shift;

	w->h = h;
	w->heap = heap;
	w->fn = fn;
	w->ctx = ctx;
	w->left = BLOBS_MAX;
	for (uint64_t first = 0; first < segments; first += SEGMENTS_AT_ONCE) {
		uint64_t cnt = MIN(segments - first, SEGMENTS_AT_ONCE);

		if (!memory_read(h->pid, heap->segmap + first, map, cnt))
			return false;
		for (uint64_t i = 0; i < cnt; i++)
			if (!map[i] && !add_block(w, heap->low + ((first + i) << heap->shift)))
				return false;
	}
	return read_heads(w);
}

static uint64_t hash_words(uint64_t hash, const uint8_t *bytes, size_t cnt)
{
	uint64_t word;

	for (size_t at = 0; at < cnt; at += sizeof(word)) {
		word = 0;
		memcpy(&word, bytes + at, MIN(sizeof(word), cnt - at));
		hash = hash_more(hash, word);
	}
	return hash;
}

uint64_t hotspot_blocks_hash(const struct hotspot *h)
{
	g_autofree uint8_t *map = g_malloc(SEGMENTS_AT_ONCE);
	uint64_t hash = h->heap_cnt;

	EACH_IN(i, const struct hotspot_heap, heap, h->heaps, h->heap_cnt) {
		uint64_t segments = (heap->high - heap->low) >> heap->shift;

		hash = hash_more(hash_more(hash, heap->low), heap->high);
		for (uint64_t first = 0; first < segments; first += SEGMENTS_AT_ONCE) {
			uint64_t cnt = MIN(segments - first, SEGMENTS_AT_ONCE);

			if (memory_read(h->pid, heap->segmap + first, map, cnt))
				hash = hash_words(hash, map, cnt);
		}
	}
	return hash;
}

/* ---- one address */

/* Finds the begin of the block that contains this segment by following the map's back steps. */
static bool block_of(const struct hotspot *h, const struct hotspot_heap *heap, uint64_t segment, uint64_t *ret)
{
	uint8_t window[HOP_WINDOW] = { 0 };
	uint64_t first = UINT64_MAX;

	for (unsigned i = 0; i < HOPS_MAX; i++) {
		uint8_t hop;

		if (first > segment) {
			first = segment < HOP_WINDOW ? 0 : segment - (HOP_WINDOW - 1);
			if (!memory_read(h->pid, heap->segmap + first, window, segment - first + 1))
				return false;
		}
		hop = window[segment - first];
		if (!hop) {
			*ret = segment;
			return true;
		}
		if (hop == SEGMENT_FREE || hop > segment)
			return false;
		segment -= hop;
	}
	return false;
}

static const struct hotspot_heap *heap_of(const struct hotspot *h, uint64_t addr)
{
	for (unsigned i = 0; i < h->heap_cnt; i++)
		if (addr >= h->heaps[i].low && addr < h->heaps[i].high)
			return &h->heaps[i];
	return NULL;
}

bool hotspot_find_blob(struct hotspot *h, uint64_t addr, struct hotspot_blob *ret)
{
	const struct hotspot_heap *heap = heap_of(h, addr);
	uint8_t head[HEAD_BYTES];
	uint64_t segment, at;
	size_t bytes;

	if (!heap) {
		hotspot_read_heaps(h);
		heap = heap_of(h, addr);
	}
	if (!heap || !block_of(h, heap, (addr - heap->low) >> heap->shift, &segment))
		return false;
	at = heap->low + (segment << heap->shift);
	bytes = (size_t)MIN(HEAD_BYTES, heap->high - at);
	return memory_read(h->pid, at, head, bytes) && take_block(h, heap, at, head, bytes, ret) && addr >= ret->code &&
	       addr < ret->code_end;
}
