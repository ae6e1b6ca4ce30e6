/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/wakers/analysis_chains.h"

#include <string.h>

#include "analyse/rows.h"
#include "base/each.h"

struct stories_by_wake *stories_by_wake_new(const struct profile *p)
{
	struct stories_by_wake *by = g_new0(struct stories_by_wake, 1);
	g_autofree uint32_t *at = g_new0(uint32_t, (gsize)p->wakes->len + 1);

	by->first = g_new0(uint32_t, (gsize)p->wakes->len + 2);
	by->order = g_new0(uint32_t, (gsize)p->stories->len + 1);
	for (guint i = 0; i < p->stories->len; i++)
		by->first[profile_story(p, i)->wake + 1]++;
	for (guint i = 0; i < p->wakes->len; i++) {
		by->first[i + 1] += by->first[i];
		at[i] = by->first[i];
	}
	for (guint i = 0; i < p->stories->len; i++)
		by->order[at[profile_story(p, i)->wake]++] = i;
	return by;
}

FREES(stories_by_wake_free, struct stories_by_wake, by, g_free(by->first); g_free(by->order))

struct wake stories_rest(const struct profile *p, const struct stories_by_wake *by, uint32_t wake)
{
	struct wake rest = *profile_wake(p, wake);

	for (uint32_t i = by->first[wake]; i < by->first[wake + 1]; i++) {
		const struct story *s = profile_story(p, by->order[i]);

		rest.count -= s->count;
		rest.blocked_ns -= s->blocked_ns;
		rest.runnable_ns -= s->runnable_ns;
	}
	return rest;
}

unsigned chain_wakers(const struct profile *p, uint32_t chain, const struct waker **ret_wakers,
		      const struct chain_node **ret_last)
{
	const struct chain_node *c = profile_get_chain(p, chain);
	unsigned cnt = 0;

	ret_wakers[cnt++] = profile_get_waker(p, c->waker);
	while (c->next && cnt < PROFILE_CHAIN_MAX) {
		c = profile_get_chain(p, c->next - 1);
		ret_wakers[cnt++] = profile_get_waker(p, c->waker);
	}
	*ret_last = c;
	return cnt;
}

const char *chain_end_name(enum chain_end end)
{
	static const char *const names[CHAIN_END_COUNT] = {
		"goes_on", "awake", "loop", "interrupt", "depth", "start", "unknown",
	};

	return names[end];
}

const char *chain_end_text(enum chain_end end)
{
	switch (end) {
	case CHAIN_AWAKE: return "awake all the time";
	case CHAIN_LOOP: return "loop";
	case CHAIN_INTERRUPT: return "interrupt";
	case CHAIN_CUT: return "cut at the depth asked for";
	case CHAIN_START: return "awake since tracing began";
	case CHAIN_UNKNOWN: return "its waker is not known";
	default: return "";
	}
}

static guint row_hash(gconstpointer key)
{
	const struct chain_row *row = key;
	guint h = g_str_hash(row->target) ^ row->cnt << 8 ^ (guint)row->end ^ row->loop_to << 16;

	for (unsigned i = 0; i < row->cnt; i++)
		h = h * 31 + g_str_hash(row->names[i]);
	return h;
}

static gboolean row_equal(gconstpointer va, gconstpointer vb)
{
	const struct chain_row *a = va, *b = vb;

	if (a->cnt != b->cnt || a->end != b->end || a->loop_to != b->loop_to || strcmp(a->target, b->target) != 0)
		return FALSE;
	for (unsigned i = 0; i < a->cnt; i++)
		if (strcmp(a->names[i], b->names[i]) != 0)
			return FALSE;
	return TRUE;
}

static void add_to_row(struct chain_row *row, const struct story *s)
{
	ADD_MEMBERS(row, s, count, blocked_ns, runnable_ns, rest_ns);
	for (unsigned i = 0; i < row->cnt; i++) {
		row->hop[i].ran_ns += s->hop[i].ran_ns;
		row->hop[i].runnable_ns += s->hop[i].runnable_ns;
		row->hop[i].earlier_ns += s->hop[i].earlier_ns;
	}
}

static struct chain_row row_of(const struct profile *p, const struct actors *actors, const struct story *s)
{
	const struct chain_node *last = profile_get_chain(p, s->chain);
	const struct wait *wait = profile_wait(p, profile_wake(p, s->wake)->wait);
	struct chain_row row = { .target = actors_get(actors, actors->of_thread[wait->thread])->name };

	for (;;) {
		row.names[row.cnt++] = actors_get(actors, actors->of_waker[last->waker])->name;
		if (!last->next || row.cnt == PROFILE_CHAIN_MAX)
			break;
		last = profile_get_chain(p, last->next - 1);
	}
	row.end = last->end;
	if (row.end == CHAIN_LOOP && last->loop_steps <= row.cnt)
		row.loop_to = row.cnt - last->loop_steps;
	return row;
}

static int by_time(gconstpointer va, gconstpointer vb)
{
	const struct chain_row *a = va, *b = vb;

	if (a->blocked_ns != b->blocked_ns)
		return a->blocked_ns > b->blocked_ns ? -1 : 1;
	int order = strcmp(a->target, b->target);

	if (order || a->cnt != b->cnt)
		return order ? order : (int)a->cnt - (int)b->cnt;
	for (unsigned i = 0; !order && i < a->cnt; i++)
		order = strcmp(a->names[i], b->names[i]);
	return order;
}

struct chain_table *chain_table_new(const struct profile *p, const struct actors *actors,
				    const struct selection *selection)
{
	struct chain_table *t = g_new0(struct chain_table, 1);
	g_autoptr(GHashTable) rows = g_hash_table_new_full(row_hash, row_equal, g_free, NULL);

	EACH_ROW(i, const struct story, s, p->stories) {
		if (selection && !selection->waits[profile_wake(p, s->wake)->wait])
			continue;
		const struct chain_row key = row_of(p, actors, s);
		struct chain_row *found = g_hash_table_lookup(rows, &key);

		if (!found) {
			found = g_memdup2(&key, sizeof(key));
			g_hash_table_add(rows, found);
		}
		add_to_row(found, s);
		t->blocked_ns += s->blocked_ns;
	}
	t->rows = rows_in_order(rows, sizeof(struct chain_row), by_time);
	return t;
}

FREES(chain_table_free, struct chain_table, t, g_array_unref(t->rows))
