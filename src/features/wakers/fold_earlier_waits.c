/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/wakers/fold_earlier.h"

#include <string.h>

struct teller {
	struct fold_wakers *fold;
	struct profile *profile;
	const GArray *nodes;
	GArray *stories;	/* struct story, one per chain; the first is that of the last sleeps */
	uint32_t wakers[PROFILE_CHAIN_MAX];
	uint64_t part, of;	/* scale of the answers: see scaled() */
	struct hop own[PROFILE_CHAIN_MAX];	/* of the path's wakers, not yet in a story */
	uint64_t told_ns;
};

uint32_t earlier_chain(struct profile *p, const uint32_t *wakers, unsigned cnt, uint8_t end, unsigned loop_to)
{
	uint32_t id = 0;

	for (unsigned i = cnt; i-- > 0;) {
		const struct chain_node c = {
			.waker = wakers[i], .next = i + 1 < cnt ? id + 1 : 0,
			.end = i + 1 < cnt ? CHAIN_GOES_ON : end,
			.loop_steps = i + 1 < cnt || end != CHAIN_LOOP ? 0 : (uint8_t)(cnt - loop_to),
		};
		id = profile_chain(p, &c);
	}
	return id;
}

static uint64_t scaled(const struct teller *t, uint64_t ns)
{
	return (uint64_t)((unsigned __int128)ns * t->part / t->of);
}

static struct story *story_of(struct teller *t, uint32_t chain)
{
	const uint32_t wake = g_array_index(t->stories, struct story, 0).wake;
	const struct story fresh = { .wake = wake, .chain = chain };

	for (guint i = 0; i < t->stories->len; i++)
		if (g_array_index(t->stories, struct story, i).chain == chain)
			return &g_array_index(t->stories, struct story, i);
	g_array_append_vals(t->stories, &fresh, 1);
	return &g_array_index(t->stories, struct story, t->stories->len - 1);
}

/* Ends a path. What its wakers did themselves goes into the first story that has them. */
static void end_path(struct teller *t, unsigned cnt, enum chain_end end, uint64_t rest_ns)
{
	struct story *s = story_of(t, earlier_chain(t->profile, t->wakers, cnt, (uint8_t)end, 0));
	uint64_t ns = rest_ns;

	for (unsigned i = 0; i < cnt; i++) {
		s->hop[i].ran_ns += t->own[i].ran_ns;
		s->hop[i].runnable_ns += t->own[i].runnable_ns;
		ns += t->own[i].ran_ns + t->own[i].runnable_ns;
		t->own[i] = (struct hop){ 0 };
	}
	s->rest_ns += rest_ns;
	s->blocked_ns += ns;
	t->told_ns += ns;
}

/* Recursion is bounded by a chain's length. cnt: wakers on the path, including this one. */
static void tell_node(struct teller *t, uint32_t node, unsigned cnt)
{
	const struct earlier_node *n = earlier_get(t->nodes, node);
	struct hop *own = &t->own[cnt - 1];

	own->ran_ns += scaled(t, n->ran_ns);
	own->runnable_ns += scaled(t, n->runnable_ns);
	for (unsigned end = CHAIN_GOES_ON + 1; end < CHAIN_END_COUNT; end++)
		if (n->rest_ns[end])
			end_path(t, cnt, end, scaled(t, n->rest_ns[end]));
	for (uint32_t i = n->first_below; i != EARLIER_NONE; i = earlier_get(t->nodes, i)->next) {
		uint64_t below_ns = scaled(t, earlier_total_ns(t->nodes, i));

		if (cnt == PROFILE_CHAIN_MAX) {
			end_path(t, cnt, CHAIN_CUT, below_ns);
		} else if (!fold_wakers_find(t->fold, earlier_get(t->nodes, i)->waker, &t->wakers[cnt])) {
			end_path(t, cnt, CHAIN_UNKNOWN, below_ns);
		} else if (profile_get_waker(t->profile, t->wakers[cnt])->irq) {
			end_path(t, cnt + 1, CHAIN_INTERRUPT, below_ns);
		} else {
			tell_node(t, i, cnt + 1);
		}
	}
	if (own->ran_ns || own->runnable_ns)
		end_path(t, cnt, CHAIN_AWAKE, 0);
}

/* Adds what one waker of the chain did earlier. */
static void tell_hop(struct teller *t, uint32_t node, unsigned cnt)
{
	const struct story *main = &g_array_index(t->stories, struct story, 0);
	uint64_t earlier_ns = main->hop[cnt - 1].earlier_ns, all_ns = earlier_total_ns(t->nodes, node);

	if (!earlier_ns || !all_ns)
		return;
	/* the two differ by losses, rounding and calibration */
	t->part = MIN(earlier_ns, all_ns);
	t->of = all_ns;
	t->told_ns = 0;
	tell_node(t, node, cnt);
	struct story *s = &g_array_index(t->stories, struct story, 0);
	s->hop[cnt - 1].earlier_ns -= MIN(t->told_ns, earlier_ns);
	s->blocked_ns -= MIN(t->told_ns, earlier_ns);
}

void earlier_add_stories(struct fold_wakers *f, struct profile *p, const GArray *nodes, const uint32_t *wakers,
			 unsigned cnt, const struct story *story)
{
	struct teller t = { .fold = f,
			    .profile = p,
			    .nodes = nodes,
			    .stories = g_array_new(FALSE, FALSE, sizeof(struct story)) };

	g_array_append_vals(t.stories, story, 1);
	for (uint32_t i = nodes->len ? 0 : EARLIER_NONE; i != EARLIER_NONE; i = earlier_get(nodes, i)->next) {
		uint64_t hop = earlier_get(nodes, i)->waker;

		if (hop >= cnt || profile_get_waker(p, wakers[hop])->irq)
			continue;
		memcpy(t.wakers, wakers, sizeof(*wakers) * (hop + 1));
		tell_hop(&t, i, (unsigned)hop + 1);
	}
	for (guint i = 0; i < t.stories->len; i++)
		profile_add_story(p, &g_array_index(t.stories, struct story, i));
	g_array_unref(t.stories);
}
