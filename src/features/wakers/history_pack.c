/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "store/pack_part.h"

#include "base/order.h"
#include "features/wakers/history.h"
#include "store/blob.h"
#include "store/pack.h"

/* For each chain with a story: its number among these + 1. */
static uint32_t *used_chains(const struct profile *p, uint32_t *ret_cnt)
{
	uint32_t *number = g_new0(uint32_t, p->chains->len + 1);

	*ret_cnt = 0;
	for (guint i = 0; i < p->stories->len; i++)
		for (uint32_t at = profile_story(p, i)->chain + 1; at && !number[at - 1];
		     at = profile_get_chain(p, at - 1)->next)
			number[at - 1] = 1;
	for (guint i = 0; i < p->chains->len; i++)
		if (number[i])
			number[i] = ++*ret_cnt;
	return number;
}

static void put_nodes(struct dict_writer *w, const struct profile *p, const uint32_t *number, uint32_t cnt,
		      GByteArray *into)
{
	blob_put(into, cnt);
	EACH_ROW(i, const struct chain_node, c, p->chains) {
		if (!number[i])
			continue;
		blob_put(into, dict_writer_waker(w, c->waker));
		blob_put(into, c->next ? number[i] - number[c->next - 1] : 0);	/* distance backwards */
		blob_put(into, c->end);
		blob_put(into, c->loop_steps);
	}
}

static unsigned hops_of(const struct profile *p, const struct story *s)
{
	return MIN(profile_chain_len(p, s->chain), PROFILE_CHAIN_MAX);
}

static void put_hops(const struct profile *p, const GArray *order, GByteArray *into)
{
	for (unsigned n = 0; n < PROFILE_CHAIN_MAX; n++)
		for (guint i = 0; i < order->len; i++) {
			const struct story *s = profile_story(p, g_array_index(order, struct pack_row, i).at);
			const unsigned cnt = n < hops_of(p, s) ? STORY_HOP_TIMES : 0;

			for (unsigned k = 0; k < cnt; k++)
				blob_put_short(into, story_times(s)[n * STORY_HOP_TIMES + k], STORY_BITS);
		}
}

ORDER(by_wake, struct pack_row, ORDER_LOW(id) ORDER_LOW(at))

#define COLUMN(put)                                                                                                    \
	for (guint i = 0; i < order->len; i++) {                                                                       \
		const struct pack_row *row = &g_array_index(order, struct pack_row, i);                                \
		const struct story *s = profile_story(p, row->at);                                                     \
                                                                                                                       \
		(void)s;                                                                                               \
		put;                                                                                                   \
	}

void pack_chains(struct dict_writer *w, const struct profile *p, const GArray *wakes, GByteArray *into)
{
	g_autofree uint32_t *wake_at = g_new0(uint32_t, p->wakes->len + 1);
	g_autoptr(GArray) order = g_array_new(FALSE, FALSE, sizeof(struct pack_row));
	uint32_t cnt, last = 0;

	if (!p->stories->len)
		return;
	for (guint i = 0; i < wakes->len; i++)
		wake_at[g_array_index(wakes, struct pack_row, i).at] = i;
	for (guint i = 0; i < p->stories->len; i++) {
		const struct pack_row row = { wake_at[profile_story(p, i)->wake], i };

		g_array_append_val(order, row);
	}
	g_array_sort(order, by_wake);
	g_autofree uint32_t *number = used_chains(p, &cnt);

	put_nodes(w, p, number, cnt, into);
	blob_put(into, order->len);
	COLUMN((blob_put(into, row->id - last), last = row->id));
	COLUMN(blob_put(into, number[s->chain] - 1));
	COLUMN(blob_put(into, s->count));
	COLUMN(blob_put_short(into, s->runnable_ns, STORY_BITS));
	COLUMN(blob_put_short(into, s->rest_ns, STORY_BITS));
	put_hops(p, order, into);
}

/* The profile's row of each node. */
static uint32_t *get_nodes(struct dict_map *m, struct cursor *c, struct profile *rows, uint32_t *ret_cnt)
{
	uint32_t *own;

	*ret_cnt = blob_get_cnt(c, PACK_ROWS_MAX);
	own = g_new0(uint32_t, *ret_cnt + 1);
	for (uint32_t i = 0; i < *ret_cnt && !c->bad; i++) {
		uint32_t waker = blob_get_id(c, dict_cnt(dict_map_dict(m), DICT_WAKERS)),
			 back = blob_get_id(c, (uint64_t)i + 1);
		struct chain_node node = { .next = back ? own[i - back] + 1 : 0 };

		node.end = (uint8_t)blob_get(c, CHAIN_END_COUNT - 1);
		node.loop_steps = (uint8_t)blob_get(c, PROFILE_CHAIN_MAX);
		if (c->bad || !node.next != (node.end != CHAIN_GOES_ON) ||
		    (node.next && profile_chain_len(rows, node.next - 1) >= PROFILE_CHAIN_MAX)) {
			c->bad = true;
			break;
		}
		node.waker = dict_map_waker(m, waker);
		own[i] = profile_chain(rows, &node);
	}
	return own;
}

static uint64_t get_ns(struct cursor *c)
{
	uint64_t value = blob_get_short(c, STORY_BITS);

	c->bad = c->bad || value > PROFILE_NS_MAX;
	return c->bad ? 0 : value;
}

static void get_hops(struct cursor *c, const struct profile *rows, struct story *stories, uint32_t cnt)
{
	for (unsigned n = 0; n < PROFILE_CHAIN_MAX; n++)
		for (uint32_t i = 0; i < cnt && !c->bad; i++) {
			struct story *s = &stories[i];
			const unsigned times = n < hops_of(rows, s) ? STORY_HOP_TIMES : 0;

			for (unsigned k = 0; k < times; k++) {
				const uint64_t ns = story_times(s)[n * STORY_HOP_TIMES + k] = get_ns(c);

				s->blocked_ns = profile_sum(s->blocked_ns, ns);
			}
		}
}

bool unpack_chains(struct dict_map *m, struct cursor *c, struct profile *rows)
{
	uint32_t nodes, cnt;
	uint64_t wake = 0;

	if (c->at == c->end)
		return true;
	g_autofree uint32_t *own = get_nodes(m, c, rows, &nodes);

	cnt = blob_get_cnt(c, PACK_ROWS_MAX);
	g_autofree struct story *stories = g_new0(struct story, (gsize)cnt + 1);

	for (uint32_t i = 0; i < cnt; i++) {
		wake += blob_get_id(c, rows->wakes->len);
		c->bad = c->bad || wake >= rows->wakes->len;
		stories[i].wake = (uint32_t)wake;
	}
	for (uint32_t i = 0; i < cnt; i++)
		stories[i].chain = own[blob_get_id(c, nodes)];
	for (uint32_t i = 0; i < cnt; i++)
		stories[i].count = blob_get(c, PROFILE_NS_MAX);
	for (uint32_t i = 0; i < cnt; i++)
		stories[i].runnable_ns = get_ns(c);
	for (uint32_t i = 0; i < cnt; i++)
		stories[i].blocked_ns = stories[i].rest_ns = get_ns(c);
	if (!c->bad)
		get_hops(c, rows, stories, cnt);
	for (uint32_t i = 0; i < cnt && !c->bad; i++)
		profile_add_story(rows, &stories[i]);
	return !c->bad;
}
