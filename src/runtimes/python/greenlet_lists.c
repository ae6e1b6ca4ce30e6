/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Finds greenlets: all of them are in the garbage collector's lists. */
#include "runtimes/python/greenlets.h"

#include <string.h>

#include "base/clock.h"
#include "symbolize/runtime/memory.h"

#define PAGE_BYTES 4096
#define FLAGS 3u		/* the collector's flags in its list pointers */
#define HEAD_BYTES 16		/* the collector's header before each object */
#define NODE_WORDS PYTHON_GREENLET_NODE_WORDS
#define LIST_BYTES 24		/* list head, collection threshold, object count */
#define LIST_ALIGN 4		/* in 3.13 */
#define LISTS PYTHON_GREENLET_LISTS
#define THRESHOLD_MAX (1u << 24)
#define RUNTIME_MAX_BYTES (1u << 20)
#define PIECE_BYTES 4096
#define TRIES 3
#define OBJECTS_MAX (4u << 20)	/* per full walk */
#define ADDED_MAX (1u << 14)	/* per incremental walk */
#define COST_SHARE 200		/* 1/n of the time for each kind of walk */
#define WALK_SHARE 2		/* likewise for full walks */
#define WAITED_FOR_MAX (1u << 14)
#define TYPE_NAME_AT 24
#define TYPE_BASE_AT 256
#define BASES_MAX 16
#define TYPE_NAME_MAX 64

static uint64_t pointer_of(uint64_t word)
{
	return word & ~(uint64_t)FLAGS;
}

/* An empty list points to itself. */
static bool may_be_list(const GArray *lines, const uint8_t *bytes, uint64_t at)
{
	uint64_t next = pointer_of(memory_word(bytes, 0)), previous = pointer_of(memory_word(bytes, 8));

	if (memory_half(bytes, 16) > THRESHOLD_MAX || next == at || previous == at)
		return memory_half(bytes, 16) <= THRESHOLD_MAX && next == previous;
	return next % 8 == 0 && previous % 8 == 0 && python_is_of_heap(lines, next) &&
	       python_is_of_heap(lines, previous);
}

/* Checks the links of a ring: next's previous and previous's next lead back. */
static bool is_list(const struct python_program *p, uint64_t at)
{
	uint64_t head[2], next[2], before[2];
	struct memory_piece pieces[] = { { at, head, sizeof(head) } }, around[2];
	bool is_read[2];

	memory_read_pieces(p->pid, pieces, 1, is_read);
	if (!is_read[0])
		return false;
	around[0] = (struct memory_piece){ pointer_of(head[0]), next, sizeof(next) };
	around[1] = (struct memory_piece){ pointer_of(head[1]), before, sizeof(before) };
	memory_read_pieces(p->pid, around, 2, is_read);
	return is_read[0] && is_read[1] && pointer_of(next[1]) == at && pointer_of(before[0]) == at;
}

/* The interpreter, in _PyRuntime, contains three adjacent lists. */
static bool find_lists(struct python_greenlets *g, const GArray *lines)
{
	uint8_t bytes[PIECE_BYTES + LISTS * LIST_BYTES];
	const size_t more = sizeof(bytes) - PIECE_BYTES;

	for (uint64_t at = g->p.runtime; at < g->p.runtime + RUNTIME_MAX_BYTES; at += PIECE_BYTES) {
		if (!memory_read(g->p.pid, at, bytes, PIECE_BYTES))
			return false;
		if (!memory_read(g->p.pid, at + PIECE_BYTES, bytes + PIECE_BYTES, more))
			memset(bytes + PIECE_BYTES, 0, more);
		for (unsigned i = 0; i < PIECE_BYTES; i += LIST_ALIGN) {
			unsigned cnt = 0;

			while (cnt < LISTS &&
			       may_be_list(lines, bytes + i + cnt * LIST_BYTES, at + i + cnt * LIST_BYTES))
				cnt++;
			for (unsigned k = 0; cnt == LISTS && k < LISTS; k++) {
				g->lists[k] = at + i + k * LIST_BYTES;
				cnt = is_list(&g->p, g->lists[k]) ? cnt : 0;
			}
			if (cnt == LISTS)
				return true;
		}
	}
	return false;
}

/* The process is running, so a list may be changing. */
bool python_greenlet_lists_open(struct python_greenlets *g, const GArray *lines)
{
	for (unsigned i = 0; i < TRIES; i++) {
		if (find_lists(g, lines))
			return true;
		memory_keep_anew(g->p.pid);
	}
	return false;
}

static const struct python_greenlet_wait python_greenlet_waits[] = {
	{ NULL, NULL, PYTHON_GREENLET_NONE },
	{ "gevent._gevent_c_semaphore.Semaphore", "Semaphore.acquire", PYTHON_GREENLET_LINKS },
	{ "gevent._gevent_cevent.Event", "Event.wait", PYTHON_GREENLET_LINKS },
	{ "gevent._gevent_cevent.AsyncResult", "AsyncResult.get", PYTHON_GREENLET_LINKS },
	{ "gevent._gevent_cgreenlet.Greenlet", "Greenlet.join", PYTHON_GREENLET_LINKS },
	{ "gevent._gevent_cqueue.Queue", NULL, PYTHON_GREENLET_QUEUE },
	{ "gevent._gevent_cqueue.SimpleQueue", NULL, PYTHON_GREENLET_QUEUE },
	{ "gevent._gevent_cqueue.ItemWaiter", "Queue.put", PYTHON_GREENLET_WAITER },
	{ "gevent._gevent_c_waiter.Waiter", "Queue.get", PYTHON_GREENLET_WAITER },
	{ "collections.deque", NULL, PYTHON_GREENLET_DEQUE },
	{ NULL, NULL, PYTHON_GREENLET_NONE },
};

const struct python_greenlet_wait *python_greenlet_wait(uint32_t type)
{
	return &python_greenlet_waits[type >> PYTHON_TYPE_WAIT_SHIFT & UINT8_MAX];
}

static uint32_t classify(struct python_greenlets *g, uint64_t type)
{
	uint32_t is = PYTHON_TYPE_KNOWN | (uint32_t)MIN(python_word(&g->p, type + PYTHON_TYPE_SIZE_AT) / 8, UINT8_MAX)
						  << PYTHON_TYPE_WORDS_SHIFT;

	for (unsigned i = 0; type > PAGE_BYTES && i < BASES_MAX; i++, type = python_word(&g->p, type + TYPE_BASE_AT)) {
		char name[TYPE_NAME_MAX] = "";
		uint64_t at = python_word(&g->p, type + TYPE_NAME_AT);

		is |= type == g->greenlet_type ? PYTHON_TYPE_GREENLET : 0;
		if (at <= PAGE_BYTES || !memory_text(g->p.pid, at, name, sizeof(name)))
			continue;
		is |= strcmp(name, "Hub") ? 0 : PYTHON_TYPE_HUB;
		for (uint32_t k = 1; python_greenlet_waits[k].type; k++)
			if (!python_greenlet_wait(is)->how && !strcmp(name, python_greenlet_waits[k].type))
				is |= k << PYTHON_TYPE_WAIT_SHIFT;
	}
	return is;
}

uint32_t python_greenlet_type(struct python_greenlets *g, uint64_t type)
{
	gpointer key = GSIZE_TO_POINTER(type);
	uint32_t is = GPOINTER_TO_UINT(g_hash_table_lookup(g->types, key));

	if (is)
		return is;
	is = classify(g, type);
	g_hash_table_insert(g->types, key, GUINT_TO_POINTER(is));
	return is;
}

static bool has_waiters(uint32_t type)
{
	enum python_greenlet_how how = python_greenlet_wait(type)->how;

	return how == PYTHON_GREENLET_LINKS || how == PYTHON_GREENLET_QUEUE;
}

static void keep_object(struct python_greenlets *g, uint64_t object, uint32_t is)
{
	if (is & PYTHON_TYPE_GREENLET && !(is & PYTHON_TYPE_HUB) &&
	    g_hash_table_size(g->greenlets) < PYTHON_GREENLETS_MAX)
		g_hash_table_add(g->greenlets, GSIZE_TO_POINTER(object));
	else if (has_waiters(is) && g_hash_table_size(g->waited_for) < WAITED_FOR_MAX)
		g_hash_table_add(g->waited_for, GSIZE_TO_POINTER(object));
}

/* Reads the current links: an object is in a list if its next one links back. */
static bool is_linked(const struct python_greenlets *g, uint64_t at, uint64_t node[NODE_WORDS])
{
	uint64_t back;
	struct memory_piece piece = { at, node, NODE_WORDS * sizeof(*node) }, next = { 0, &back, sizeof(back) };
	bool is_read;

	memory_read_pieces(g->p.pid, &piece, 1, &is_read);
	if (!is_read)
		return false;
	next.addr = pointer_of(node[0]) + 8;
	memory_read_pieces(g->p.pid, &next, 1, &is_read);
	return is_read && pointer_of(back) == at;
}

static bool is_head(const struct python_greenlets *g, uint64_t at)
{
	return at == g->lists[0] || at == g->lists[1] || at == g->lists[2];
}

/* The link to follow. */
enum way { TO_NEXT, TO_PREVIOUS };

/*
 * Walks a list from one end to an object or the other end, while objects come and go. False: a link is broken, as
 * while the collector works, or more than *left objects.
 */
static bool walk_from(struct python_greenlets *g, uint64_t list, enum way way, uint64_t until, uint64_t *left)
{
	uint64_t before = list, at = pointer_of(python_word(&g->p, list + 8 * way)), node[NODE_WORDS];

	while (!is_head(g, at) && at != until && *left) {
		bool is_read = memory_read(g->p.pid, at, node, sizeof(node)) && pointer_of(node[!way]) == before;

		if (!is_read && !is_linked(g, at, node))
			return false;
		--*left;
		keep_object(g, at + HEAD_BYTES, python_greenlet_type(g, node[3]));
		before = at;
		at = pointer_of(node[way]);
	}
	return at == list || at == until;
}

/* If broken somewhere, continues from the other end. */
static bool walk_list(struct python_greenlets *g, uint64_t list, uint64_t until, uint64_t *left)
{
	return walk_from(g, list, TO_PREVIOUS, until, left) || walk_from(g, list, TO_NEXT, 0, left);
}

/*
 * New objects go to the end of the youngest list, survivors of a collection to the end of the next one. The youngest
 * list is never complete while the process runs.
 */
static bool walk_lists(struct python_greenlets *g, bool is_whole)
{
	uint64_t left = is_whole ? OBJECTS_MAX : ADDED_MAX;
	bool is_complete = true;

	walk_list(g, g->lists[0], 0, &left);
	for (size_t i = 1; i < LISTS; i++) {
		uint64_t end = pointer_of(python_word(&g->p, g->lists[i] + 8));
		bool is_walked = walk_list(g, g->lists[i], is_whole ? 0 : g->ends[i], &left);

		for (unsigned k = 1; k < TRIES && !is_walked && is_whole; k++) {
			memory_keep_anew(g->p.pid);
			is_walked = walk_list(g, g->lists[i], 0, &left);
		}
		g->ends[i] = is_walked ? end : g->ends[i];
		is_complete = is_complete && is_walked;
	}
	return is_complete;
}

/* False: the lists were not walked completely, so the old result is kept. */
static bool walk_anew(struct python_greenlets *g)
{
	g_autoptr(GHashTable) greenlets = g_hash_table_ref(g->greenlets), waited_for = g_hash_table_ref(g->waited_for);
	bool is_complete;

	python_greenlets_forget(g);
	is_complete = walk_lists(g, true);
	for (unsigned i = 0; i < 2 && !is_complete; i++) {
		GHashTableIter iter;
		gpointer key;

		g_hash_table_iter_init(&iter, i ? waited_for : greenlets);
		while (g_hash_table_iter_next(&iter, &key, NULL))
			g_hash_table_add(i ? g->waited_for : g->greenlets, key);
	}
	return is_complete;
}

bool python_greenlets_may(uint64_t now_ns, uint64_t last_ns, uint64_t cost_ns)
{
	return !last_ns || now_ns - last_ns >= COST_SHARE * cost_ns;
}

bool python_greenlet_lists_read(struct python_greenlets *g)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC), begun_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	bool is_whole = python_greenlets_may(now_ns, g->walked_ns, WALK_SHARE * g->walk_ns), is_complete = true;

	if (is_whole) {
		memory_keep_around(true);
		is_complete = walk_anew(g);
		memory_keep_around(false);
		g->walked_ns = now_ns;
		g->walk_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns;
	} else if (python_greenlets_may(now_ns, g->listed_ns, g->added_ns)) {
		walk_lists(g, false);
		g->listed_ns = now_ns;
		g->added_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns;
	}
	return is_complete;
}

void python_greenlets_living(struct python_greenlets *g, const GArray *objects, GArray *into)
{
	const guint cnt = objects->len;
	g_autofree struct memory_piece *pieces = g_new(struct memory_piece, MAX(cnt, 1));
	g_autofree struct memory_piece *nexts = g_new(struct memory_piece, MAX(cnt, 1));
	g_autofree struct python_greenlet_object *all = g_new0(struct python_greenlet_object, MAX(cnt, 1));
	g_autofree bool *is_read = g_new(bool, MAX(cnt, 1)), *is_next_read = g_new(bool, MAX(cnt, 1));

	for (guint i = 0; i < cnt; i++) {
		all[i].address = g_array_index(objects, uint64_t, i);
		pieces[i] = (struct memory_piece){ all[i].address - HEAD_BYTES, all[i].node, sizeof(all[i].node) };
	}
	memory_read_pieces(g->p.pid, pieces, cnt, is_read);
	for (guint i = 0; i < cnt; i++)
		nexts[i] = (struct memory_piece){ pointer_of(all[i].node[0]) + 8, &all[i].back, sizeof(all[i].back) };
	memory_read_pieces(g->p.pid, nexts, cnt, is_next_read);
	for (guint i = 0; i < cnt; i++) {
		all[i].type = is_read[i] ? python_greenlet_type(g, all[i].node[3]) : 0;
		if (!(all[i].type & PYTHON_TYPE_GREENLET || has_waiters(all[i].type))) {
			g_hash_table_remove(g->greenlets, GSIZE_TO_POINTER(all[i].address));
			g_hash_table_remove(g->waited_for, GSIZE_TO_POINTER(all[i].address));
		} else if (is_next_read[i] && pointer_of(all[i].back) == all[i].address - HEAD_BYTES) {
			g_array_append_val(into, all[i]);
		}
	}
}
