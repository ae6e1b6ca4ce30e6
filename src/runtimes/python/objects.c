/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "runtimes/python/tasks.h"

#include <string.h>

#include "symbolize/runtime/memory.h"

#define DICT_ENTRIES_MAX (1u << 20)
#define NAME_TEXT_MAX 64
#define PAGE_BYTES 4096
#define DICT_KEYS_AT 32
#define DICT_VALUES_AT 40	/* with attributes: 0, or the values, if the keys are the class's */
#define MINOR_COUNTED_VALUES 13	/* from then on a word precedes them */
#define KIND_ANY 0		/* kind of keys: not all are strings, so entries contain hashes */
#define KIND_MAX 2
#define KEYS_AT_ONCE 128	/* keys of a dict that are asked for together */
#define KEYS_FEW 32
#define TYPE_NAME_AT 24
#define LIST_CNT_AT 16
#define LIST_ITEMS_AT 24
#define GATHERED_MAX (1u << 16)
#define GATHERING "_GatheringFuture"
#define ATTRIBUTES_BEFORE_BYTES 32	/* before an object, or after its begin */
#define ATTRIBUTES_WORDS 36
#define VALUES_WORDS 12	/* of a TaskGroup's attributes */

uint64_t python_word(const struct python_program *p, uint64_t addr)
{
	uint64_t word;

	return memory_read(p->pid, addr, &word, sizeof(word)) ? word : 0;
}

uint64_t python_type(const struct python_program *p, uint64_t object)
{
	return object && object % 8 == 0 ? python_word(p, object + PYTHON_TYPE_AT) : 0;
}

/* Before 3.11. */
static bool old_entries(const struct python_program *p, uint64_t keys, struct python_entries *ret)
{
	uint64_t head[5];	/* reference count, size, lookup function, free entries, used entries */

	if (!memory_read(p->pid, keys, head, sizeof(head)) || !head[1] || head[1] > UINT32_MAX ||
	    head[4] > DICT_ENTRIES_MAX)
		return false;
	*ret = (struct python_entries){ keys + sizeof(head) + head[1] * (head[1] <= 0xff ? 1 : head[1] <= 0xffff ? 2 : 4), head[4], 3 };
	return true;
}

bool python_dict_entries(const struct python_program *p, uint64_t dict, struct python_entries *ret)
{
	struct {
		uint64_t ref_cnt;
		uint8_t log2_size, log2_index_bytes, kind, pad[5];
		uint64_t usable, entry_cnt;
	} head;
	uint64_t keys = python_word(p, dict + DICT_KEYS_AT);

	if (!keys || p->minor < PYTHON_MINOR_WHOLE)
		return keys && old_entries(p, keys, ret);
	if (!memory_read(p->pid, keys, &head, sizeof(head)) || head.log2_index_bytes > 40 ||
	    head.entry_cnt > DICT_ENTRIES_MAX || head.kind > KIND_MAX)
		return false;
	*ret = (struct python_entries){ keys + sizeof(head) + (1ull << head.log2_index_bytes), head.entry_cnt, head.kind == KIND_ANY ? 3 : 2 };
	return true;
}

/* The value of the key with this index; split dicts share the class's keys. */
static uint64_t value_apart(const struct python_program *p, uint64_t dict, uint64_t number)
{
	uint64_t values = python_word(p, dict + DICT_VALUES_AT);

	return values ? python_word(p, values + 8 * (number + (p->minor >= MINOR_COUNTED_VALUES))) : 0;
}

/* Which of these entries has the key; cnt: none. */
static unsigned number_of_key(const struct python_program *p, const uint64_t *entries, unsigned words, unsigned cnt,
			      const char *key)
{
	const size_t ascii_bytes = python_layout_of(3 << 8 | p->minor)->ascii_bytes, bytes = strlen(key) + 1;
	char texts[KEYS_AT_ONCE][NAME_TEXT_MAX] = { 0 };
	struct memory_piece pieces[KEYS_AT_ONCE];
	bool is_read[KEYS_AT_ONCE];
	unsigned number[KEYS_AT_ONCE], piece_cnt = 0;

	for (unsigned i = 0; i < cnt; i++) {
		const uint64_t object = entries[i * words + words - 2];

		if (!object || object % 8)
			continue;
		number[piece_cnt] = i;
		pieces[piece_cnt] = (struct memory_piece){ object + ascii_bytes, texts[piece_cnt], bytes };
		piece_cnt++;
	}
	/* small dicts are those of attributes: their keys are in few pages, which are kept */
	if (piece_cnt > KEYS_FEW)
		memory_read_pieces(p->pid, pieces, piece_cnt, is_read);
	for (unsigned i = 0; i < piece_cnt && piece_cnt <= KEYS_FEW; i++)
		is_read[i] = memory_read(p->pid, pieces[i].addr, pieces[i].ret, bytes);
	for (unsigned i = 0; i < piece_cnt; i++)
		if (is_read[i] && !memcmp(texts[i], key, bytes))
			return number[i];
	return cnt;
}

uint64_t python_dict_find(struct python_program *p, uint64_t dict, const char *key)
{
	uint64_t words[3 * KEYS_AT_ONCE];
	struct python_entries e;
	unsigned here;

	if (strlen(key) >= NAME_TEXT_MAX || !python_dict_entries(p, dict, &e))
		return 0;
	for (uint64_t i = 0; i < e.cnt && p->entries_left; i += here) {
		here = (unsigned)MIN(MIN(e.cnt - i, KEYS_AT_ONCE), p->entries_left);
		p->entries_left -= here;
		if (!memory_read(p->pid, e.at + 8 * i * e.words, words, 8ull * here * e.words))
			return 0;
		const unsigned number = number_of_key(p, words, e.words, here, key);

		if (number < here) {
			const uint64_t value = words[(number + 1) * e.words - 1];

			return value ? value : value_apart(p, dict, i + number);
		}
	}
	return 0;
}

/* Caches the last class that was no gather(), because most futures have the same. */
static bool is_gathering(struct python_program *p, uint64_t future)
{
	uint64_t type = python_type(p, future), name;
	char text[sizeof(GATHERING)];

	if (!type || type == p->plain_future_type)
		return false;
	name = python_word(p, type + TYPE_NAME_AT);
	if (name && memory_read(p->pid, name, text, sizeof(text)) && !memcmp(text, GATHERING, sizeof(text)))
		return true;
	p->plain_future_type = type;
	return false;
}

/* An attribute of an object, whose dict is before or in the object, depending on the version. */
static uint64_t attribute(struct python_program *p, uint64_t object, const char *name)
{
	uint64_t words[ATTRIBUTES_WORDS], found = 0;

	if (!memory_read(p->pid, object - ATTRIBUTES_BEFORE_BYTES, words, sizeof(words)))
		return 0;
	for (size_t i = 0; i < G_N_ELEMENTS(words) && !found; i++)
		if (words[i] > PAGE_BYTES && python_type(p, words[i]) == p->dict_type)
			found = python_dict_find(p, words[i], name);
	return found;
}

/* The first non-zero word, of which only the first ones may be attribute values. */
static uint64_t set_among(const struct python_program *p, uint64_t from, size_t cnt, size_t leading_cnt)
{
	uint64_t words[ATTRIBUTES_WORDS], found = 0;

	if (cnt > G_N_ELEMENTS(words) || !memory_read(p->pid, from, words, cnt * sizeof(words[0])))
		return 0;
	for (size_t i = 0; i < cnt && !found; i++) {
		/* 3.12 tags pointers to values like this */
		uint64_t value = words[i] & 1 ? words[i] + 1 : words[i];

		if (value <= PAGE_BYTES)
			continue;
		if (python_type(p, value) == p->set_type)
			found = value;
		else if (i < leading_cnt)
			found = set_among(p, value, VALUES_WORDS, 0);
	}
	return found;
}

uint64_t python_group_tasks(struct python_program *p, uint64_t group)
{
	uint64_t set = group > PAGE_BYTES ? attribute(p, group, "_tasks") : 0;

	if (set || group <= PAGE_BYTES)
		return set;
	return set_among(p, group - ATTRIBUTES_BEFORE_BYTES, ATTRIBUTES_WORDS, ATTRIBUTES_BEFORE_BYTES / 8);
}

void python_tasks_gathered(struct python_program *p, uint64_t future, GArray *into)
{
	uint64_t list = is_gathering(p, future) ? attribute(p, future, "_children") : 0, cnt, items;
	guint before = into->len;

	if (!list || python_type(p, list) != p->list_type)
		return;
	cnt = MIN(python_word(p, list + LIST_CNT_AT), GATHERED_MAX - MIN(before, GATHERED_MAX));
	cnt = MIN(cnt, p->entries_left);
	p->entries_left -= cnt;
	items = python_word(p, list + LIST_ITEMS_AT);
	g_array_set_size(into, before + (guint)cnt);
	if (cnt && !memory_read(p->pid, items, &g_array_index(into, uint64_t, before), cnt * sizeof(items)))
		g_array_set_size(into, before);
}
