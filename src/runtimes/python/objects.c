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

static bool is_text(const struct python_program *p, uint64_t object, const char *text)
{
	const struct python_layout *l = python_layout_of(3 << 8 | p->minor);
	char there[NAME_TEXT_MAX];
	size_t bytes = strlen(text) + 1;

	return bytes <= sizeof(there) && object % 8 == 0 &&
	       memory_read(p->pid, object + l->ascii_bytes, there, bytes) && !memcmp(there, text, bytes);
}

/* The entries of a dict, in words each, of which the last two are key and value. */
struct dict_entries {
	uint64_t at, cnt;
	unsigned words;
};

/* Before 3.11. */
static bool old_dict_entries(const struct python_program *p, uint64_t keys, struct dict_entries *ret)
{
	uint64_t head[5];	/* reference count, size, lookup function, free entries, used entries */

	if (!memory_read(p->pid, keys, head, sizeof(head)) || !head[1] || head[1] > UINT32_MAX ||
	    head[4] > DICT_ENTRIES_MAX)
		return false;
	*ret = (struct dict_entries){ keys + sizeof(head) + head[1] * (head[1] <= 0xff ? 1 : head[1] <= 0xffff ? 2 : 4), head[4], 3 };
	return true;
}

static bool dict_entries(const struct python_program *p, uint64_t dict, struct dict_entries *ret)
{
	struct {
		uint64_t ref_cnt;
		uint8_t log2_size, log2_index_bytes, kind, pad[5];
		uint64_t usable, entry_cnt;
	} head;
	uint64_t keys = python_word(p, dict + DICT_KEYS_AT);

	if (!keys || p->minor < PYTHON_MINOR_WHOLE)
		return keys && old_dict_entries(p, keys, ret);
	if (!memory_read(p->pid, keys, &head, sizeof(head)) || head.log2_index_bytes > 40 ||
	    head.entry_cnt > DICT_ENTRIES_MAX || head.kind > KIND_MAX)
		return false;
	*ret = (struct dict_entries){ keys + sizeof(head) + (1ull << head.log2_index_bytes), head.entry_cnt, head.kind == KIND_ANY ? 3 : 2 };
	return true;
}

/* The value of the key with this index; split dicts share the class's keys. */
static uint64_t value_apart(const struct python_program *p, uint64_t dict, uint64_t number)
{
	uint64_t values = python_word(p, dict + DICT_VALUES_AT);

	return values ? python_word(p, values + 8 * (number + (p->minor >= MINOR_COUNTED_VALUES))) : 0;
}

uint64_t python_dict_find(struct python_program *p, uint64_t dict, const char *key)
{
	struct dict_entries e;

	if (!dict_entries(p, dict, &e))
		return 0;
	for (uint64_t i = 0; i < e.cnt && p->entries_left; i++) {
		uint64_t pair[2];

		p->entries_left--;
		if (!memory_read(p->pid, e.at + 8 * (i * e.words + e.words - 2), pair, sizeof(pair)))
			return 0;
		if (pair[0] && is_text(p, pair[0], key))
			return pair[1] ? pair[1] : value_apart(p, dict, i);
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
