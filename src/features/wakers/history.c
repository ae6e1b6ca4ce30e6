/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/wakers/history.h"

#include "base/each.h"
#include "base/order.h"
#include "store/blob.h"

uint32_t *chains_copy(const struct profile *from, struct profile *to, uint32_t (*waker)(void *data, uint32_t waker),
		      void *data)
{
	uint32_t *own = g_new(uint32_t, from->chains->len + 1);

	for (guint i = 0; i < from->chains->len; i++) {
		struct chain_node c = *profile_get_chain(from, i);

		c.waker = waker(data, c.waker);
		c.next = c.next ? own[c.next - 1] + 1 : 0;
		own[i] = profile_chain(to, &c);
	}
	return own;
}

/* The last waker of the chain that can have done something, which excludes interrupts. */
void story_begins_earlier(const struct profile *p, struct story *s, uint64_t ns)
{
	const struct chain_node *c = profile_get_chain(p, s->chain);
	unsigned step = 0;

	s->blocked_ns += ns;
	if (profile_get_waker(p, c->waker)->irq) {
		s->rest_ns += ns;
		return;
	}
	while (c->next && step + 1 < PROFILE_CHAIN_MAX) {
		c = profile_get_chain(p, c->next - 1);
		if (profile_get_waker(p, c->waker)->irq)
			break;
		step++;
	}
	s->hop[step].earlier_ns += ns;
}

enum { COUNT, BLOCKED, RUNNABLE, NUMBERS };

/* State for one wake. */
struct fit {
	uint64_t before[NUMBERS], after[NUMBERS];
	uint64_t told[NUMBERS], given[NUMBERS];	/* sums over its stories: before and after */
	uint32_t last;				/* index of its last story + 1 */
};

static uint64_t *story_number(struct story *s, int i)
{
	uint64_t *const numbers[NUMBERS] = { &s->count, &s->blocked_ns, &s->runnable_ns };

	return numbers[i];
}

static uint64_t scaled(uint64_t n, uint64_t to, uint64_t from)
{
	return from ? (uint64_t)((unsigned __int128)n * to / from) : 0;
}

static void scale(struct story *s, const struct fit *f)
{
	const uint64_t to = f->after[BLOCKED], from = f->before[BLOCKED];

	s->count = scaled(s->count, f->after[COUNT], f->before[COUNT]);
	s->runnable_ns = scaled(s->runnable_ns, f->after[RUNNABLE], f->before[RUNNABLE]);
	s->blocked_ns = s->rest_ns = scaled(s->rest_ns, to, from);
	for (unsigned i = 0; i < STORY_TIMES; i++)
		s->blocked_ns += story_times(s)[i] = scaled(story_times(s)[i], to, from);
}

/* Adds the remainder where most of the time is. */
static void take_left(struct story *s, const uint64_t left[NUMBERS])
{
	uint64_t *most = &s->rest_ns;

	for (unsigned i = 0; i < STORY_TIMES; i++)
		most = story_times(s)[i] > *most ? &story_times(s)[i] : most;
	*most += left[BLOCKED];
	for (int i = 0; i < NUMBERS; i++)
		*story_number(s, i) += left[i];
}

void stories_fit(struct profile *p, const struct wake *before)
{
	g_autofree struct fit *fits = g_new0(struct fit, (gsize)p->wakes->len + 1);

	for (guint i = 0; i < p->wakes->len && p->stories->len; i++) {
		const struct wake *was = &before[i], *is = profile_wake(p, i);

		fits[i] = (struct fit){ .before = { was->count, was->blocked_ns, was->runnable_ns },
					.after = { is->count, is->blocked_ns, is->runnable_ns } };
	}
	EACH_ROW(i, struct story, s, p->stories) {
		struct fit *f = &fits[s->wake];

		for (int n = 0; n < NUMBERS; n++)
			f->told[n] += *story_number(s, n);
		scale(s, f);
		for (int n = 0; n < NUMBERS; n++)
			f->given[n] += *story_number(s, n);
		f->last = i + 1;
	}
	for (guint i = 0; i < p->wakes->len && p->stories->len; i++) {
		const struct fit *f = &fits[i];
		uint64_t left[NUMBERS] = { 0 };

		for (int n = 0; n < NUMBERS; n++)
			if (f->told[n] == f->before[n])
				left[n] = f->after[n] - f->given[n];
		if (f->last)
			take_left(&g_array_index(p->stories, struct story, f->last - 1), left);
	}
}

static void shorten(struct profile *p, struct story *s)
{
	const struct chain_node *c = profile_get_chain(p, s->chain);
	const struct chain_node first = { .waker = c->waker, .end = CHAIN_CUT };
	uint64_t whole_ns = profile_wake(p, s->wake)->blocked_ns;

	if (!c->next || s->blocked_ns >= MAX(STORY_TOLD_NS, whole_ns / STORY_TOLD_PART))
		return;
	s->chain = profile_chain(p, &first);
	for (unsigned i = STORY_HOP_TIMES; i < STORY_TIMES; i++) {
		s->rest_ns += story_times(s)[i];
		story_times(s)[i] = 0;
	}
}

static uint64_t rounded(uint64_t n)
{
	unsigned bits = blob_bits(n), drop = bits > STORY_BITS ? bits - STORY_BITS : 0;

	return n >> drop << drop;
}

static void round_down(struct story *s)
{
	s->runnable_ns = rounded(s->runnable_ns);
	s->blocked_ns = s->rest_ns = rounded(s->rest_ns);
	for (unsigned i = 0; i < STORY_TIMES; i++)
		s->blocked_ns += story_times(s)[i] = rounded(story_times(s)[i]);
}

void story_add(struct story *into, const struct story *s)
{
	ADD_MEMBERS(into, s, count, blocked_ns, runnable_ns, rest_ns);
	for (unsigned i = 0; i < PROFILE_CHAIN_MAX; i++)
		ADD_MEMBERS(&into->hop[i], &s->hop[i], ran_ns, runnable_ns, earlier_ns);
}

ORDER(by_wake, struct story, ORDER_LOW(wake) ORDER_LOW(chain))

/* Merges equal neighbours. */
static void join_equal(GArray *stories)
{
	guint kept = 0;

	EACH_ROW(i, const struct story, s, stories) {
		struct story *last = kept ? &g_array_index(stories, struct story, kept - 1) : NULL;

		if (last && last->wake == s->wake && last->chain == s->chain)
			story_add(last, s);
		else
			g_array_index(stories, struct story, kept++) = *s;
	}
	g_array_set_size(stories, kept);
}

void stories_coarse(struct profile *p)
{
	uint64_t left[NUMBERS] = { 0 };

	for (guint i = 0; i < p->stories->len; i++)
		shorten(p, &g_array_index(p->stories, struct story, i));
	g_array_sort(p->stories, by_wake);
	join_equal(p->stories);
	EACH_ROW(i, struct story, s, p->stories) {
		const struct story was = *s;

		round_down(s);
		left[BLOCKED] += was.blocked_ns - s->blocked_ns;
		left[RUNNABLE] += was.runnable_ns - s->runnable_ns;
		if (i + 1 < p->stories->len && s[1].wake == s->wake)
			continue;
		take_left(s, left);
		left[BLOCKED] = left[RUNNABLE] = 0;
	}
}
