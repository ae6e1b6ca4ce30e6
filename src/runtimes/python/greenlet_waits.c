/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What greenlets wait for in compiled methods of gevent: semaphores, events and queues have lists of their waiters. */
#include "runtimes/python/greenlets.h"

#include <string.h>

#include "base/clock.h"
#include "symbolize/runtime/memory.h"

#define PAGE_BYTES 4096
#define AT_ONCE 1024		/* objects read in one batch */
#define OBJECT_WORDS 24		/* limit of words of each; the first object of a type shows which are lists */
#define LISTS_MAX 4
#define HEAD_WORDS 6		/* of a list or a deque: type, length, and address */
#define HEAD_TYPE 1
#define HEAD_CNT 2
#define LIST_ITEMS 3
#define DEQUE_BLOCK 3
#define DEQUE_FIRST 5
#define LINKS_MAX (1u << 16)	/* per list */
#define BLOCK_ITEMS 64u
#define BLOCK_ITEMS_AT 8
#define BLOCK_NEXT_AT (BLOCK_ITEMS_AT + 8 * BLOCK_ITEMS)
#define WAITER_WORDS 7
#define METHOD_DEFINITION_AT 16
#define METHOD_SELF_AT 24
#define SWITCH "switch"

static void note_wait(struct python_greenlets *g, uint64_t greenlet, const struct python_greenlet_waiting *w)
{
	g_hash_table_insert(g->waits, GSIZE_TO_POINTER(greenlet), g_memdup2(w, sizeof(*w)));
}

static uint64_t take_entries(struct python_greenlets *g, uint64_t cnt)
{
	cnt = MIN(cnt, MIN(LINKS_MAX, g->p.entries_left));
	g->p.entries_left -= cnt;
	return cnt;
}

/* The list of callbacks contains the greenlets' methods "switch". */
static void note_links(struct python_greenlets *g, uint64_t list, const uint64_t *head, const char *method)
{
	const uint64_t cnt = take_entries(g, head[HEAD_CNT]), items = head[LIST_ITEMS];

	for (uint64_t i = 0; i < cnt; i++) {
		uint64_t item = python_word(&g->p, items + 8 * i), name,
			 self = item > PAGE_BYTES ? python_word(&g->p, item + METHOD_SELF_AT) : 0;
		char text[sizeof(SWITCH)];

		if (!self || !g_hash_table_contains(g->greenlets, GSIZE_TO_POINTER(self)))
			continue;
		name = python_word(&g->p, python_word(&g->p, item + METHOD_DEFINITION_AT));
		if (name && memory_read(g->p.pid, name, text, sizeof(text)) && !memcmp(text, SWITCH, sizeof(SWITCH)))
			note_wait(g, self,
				  &(struct python_greenlet_waiting){ method,
								{ list + 8 * LIST_ITEMS, items + 8 * i },
								{ items, item },
								list + 8 * HEAD_CNT,
								i });
	}
}

/* A waiter of a queue: getters and putters have different types. */
static void note_waiter(struct python_greenlets *g, uint64_t slot)
{
	uint64_t waiter = python_word(&g->p, slot), words[WAITER_WORDS];
	const struct python_greenlet_wait *wait = python_greenlet_wait(
		python_greenlet_type(g, python_type(&g->p, waiter)));

	if (wait->how != PYTHON_GREENLET_WAITER || !memory_read(g->p.pid, waiter, words, sizeof(words)))
		return;
	for (unsigned i = 2; i < WAITER_WORDS; i++)
		if (g_hash_table_contains(g->greenlets, GSIZE_TO_POINTER(words[i])))
			note_wait(g, words[i],
				  &(struct python_greenlet_waiting){
				     wait->method, { slot, waiter + 8 * i }, { waiter, words[i] }, 0, 0 });
}

static void note_deque(struct python_greenlets *g, const uint64_t *head)
{
	const uint64_t cnt = take_entries(g, head[HEAD_CNT]);
	uint64_t block = head[DEQUE_BLOCK], at = head[DEQUE_FIRST];

	for (uint64_t i = 0; i < cnt && block > PAGE_BYTES && at < BLOCK_ITEMS; i++) {
		note_waiter(g, block + BLOCK_ITEMS_AT + 8 * at);
		if (++at == BLOCK_ITEMS) {
			block = python_word(&g->p, block + BLOCK_NEXT_AT);
			at = 0;
		}
	}
}

static bool has_list(struct python_greenlets *g, const struct python_greenlet_wait *wait, uint64_t type)
{
	if (wait->how == PYTHON_GREENLET_LINKS)
		return type == g->p.list_type;
	return type && python_greenlet_wait(python_greenlet_type(g, type))->how == PYTHON_GREENLET_DEQUE;
}

/* All objects of a type have their lists at the same offsets. */
static uint64_t list_words(struct python_greenlets *g, const struct python_greenlet_object *o, const uint64_t *words)
{
	const struct python_greenlet_wait *wait = python_greenlet_wait(o->type);
	gpointer key = GSIZE_TO_POINTER(o->node[3]), known;
	uint64_t bits = 0;

	if (g_hash_table_lookup_extended(g->list_words, key, NULL, &known))
		return GPOINTER_TO_SIZE(known);
	for (unsigned i = 2, cnt = 0; i < OBJECT_WORDS && cnt < LISTS_MAX; i++) {
		if (words[i] <= PAGE_BYTES || !has_list(g, wait, python_type(&g->p, words[i])))
			continue;
		bits |= UINT64_C(1) << i;
		cnt++;
	}
	g_hash_table_insert(g->list_words, key, GSIZE_TO_POINTER(bits));
	return bits;
}

struct heads {
	unsigned cnt;
	uint64_t head[AT_ONCE * LISTS_MAX][HEAD_WORDS];
	struct memory_piece pieces[AT_ONCE * LISTS_MAX];
	bool is_read[AT_ONCE * LISTS_MAX];
	const struct python_greenlet_wait *wait[AT_ONCE * LISTS_MAX];
	uint64_t words[AT_ONCE][OBJECT_WORDS];
};

static void note_objects(struct python_greenlets *g, const struct python_greenlet_object *objects, guint cnt,
			 struct heads *h)
{
	memset(h->words, 0, sizeof(h->words));
	for (guint i = 0; i < cnt; i++)
		h->pieces[i] = (struct memory_piece){ objects[i].address, h->words[i],
						      8 * MIN(objects[i].type >> PYTHON_TYPE_WORDS_SHIFT,
							      OBJECT_WORDS) };
	memory_read_pieces(g->p.pid, h->pieces, cnt, h->is_read);
	h->cnt = 0;
	for (guint i = 0; i < cnt; i++) {
		uint64_t bits = h->is_read[i] ? list_words(g, &objects[i], h->words[i]) : 0;

		for (unsigned k = 0; bits >> k; k++) {
			if (!(bits >> k & 1) || h->words[i][k] <= PAGE_BYTES)
				continue;
			h->wait[h->cnt] = python_greenlet_wait(objects[i].type);
			h->pieces[h->cnt] = (struct memory_piece){ h->words[i][k], h->head[h->cnt],
								   sizeof(h->head[0]) };
			h->cnt++;
		}
	}
	memory_read_pieces(g->p.pid, h->pieces, h->cnt, h->is_read);
	for (unsigned i = 0; i < h->cnt; i++) {
		if (!h->is_read[i] || !h->head[i][HEAD_CNT] || !has_list(g, h->wait[i], h->head[i][HEAD_TYPE]))
			continue;
		if (h->wait[i]->how == PYTHON_GREENLET_LINKS)
			note_links(g, h->pieces[i].addr, h->head[i], h->wait[i]->method);
		else
			note_deque(g, h->head[i]);
	}
}

static void note_set(struct python_greenlets *g, GHashTable *set, struct heads *h)
{
	g_autoptr(GArray) objects = g_array_new(FALSE, FALSE, sizeof(uint64_t)),
			  living = g_array_new(FALSE, FALSE, sizeof(struct python_greenlet_object));
	GHashTableIter iter;
	gpointer key;
	guint kept = 0;

	g_hash_table_iter_init(&iter, set);
	while (g_hash_table_iter_next(&iter, &key, NULL))
		g_array_append_vals(objects, &(uint64_t){ GPOINTER_TO_SIZE(key) }, 1);
	python_greenlets_living(g, objects, living);
	for (guint i = 0; i < living->len; i++) {
		const struct python_greenlet_object o = g_array_index(living, struct python_greenlet_object, i);

		if (python_greenlet_wait(o.type)->how)
			g_array_index(living, struct python_greenlet_object, kept++) = o;
	}
	for (guint i = 0; i < kept; i += AT_ONCE)
		note_objects(g, &g_array_index(living, struct python_greenlet_object, i), MIN(kept - i, AT_ONCE), h);
}

void python_greenlets_note(struct python_greenlets *g)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC), begun_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	g_autofree struct heads *h = NULL;

	if (!python_greenlets_may(now_ns, g->noted_ns, g->note_ns))
		return;
	h = g_new(struct heads, 1);
	g_hash_table_remove_all(g->waits);
	note_set(g, g->waited_for, h);
	note_set(g, g->greenlets, h);
	g->noted_ns = now_ns;
	g->note_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns;
}

const char *python_greenlets_waits_in(const struct python_greenlets *g, uint64_t greenlet)
{
	const struct python_greenlet_waiting *w = g_hash_table_lookup(g->waits, GSIZE_TO_POINTER(greenlet));
	uint64_t is[2], cnt = UINT64_MAX;
	bool is_read[3] = { false, false, true };

	if (!w)
		return NULL;
	const struct memory_piece pieces[] = { { w->at[0], &is[0], 8 },
					       { w->at[1], &is[1], 8 },
					       { w->cnt_at, &cnt, 8 } };

	memory_read_pieces(g->p.pid, pieces, w->cnt_at ? 3 : 2, is_read);
	if (!is_read[0] || !is_read[1] || !is_read[2] || is[0] != w->is[0] || is[1] != w->is[1])
		return NULL;
	return cnt > w->more_than ? w->method : NULL;
}
