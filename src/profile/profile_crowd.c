/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Who stood in whose way: blame and storms. */
#include "profile/profile.h"

#include <assert.h>

#include "profile/id_index.h"
#include "profile/profile_sum.h"

/* Strings are interned, so compared by pointer. */
static bool same_blame(const void *ctx, const void *key, uint32_t id)
{
	const struct blame *a = profile_blame(ctx, id), *b = key;

	return a->thread == b->thread && a->kind == b->kind && a->pid == b->pid && a->comm == b->comm;
}

void profile_add_blame(struct profile *p, const struct blame *b)
{
	assert(b->thread < p->threads->len);
	struct blame own = *b;

	own.comm = profile_string(p, b->comm ? b->comm : "");
	const uint64_t key[] = { (uint64_t)own.thread << 8 | own.kind, own.pid, (uintptr_t)own.comm };
	uint64_t hash = id_index_hash(p->blame_index, key, sizeof(key));
	int64_t id = id_index_find(p->blame_index, hash, same_blame, p, &own);

	if (id < 0) {
		id_index_add(p->blame_index, hash, p->blames->len);
		g_array_append_val(p->blames, own);
		return;
	}
	struct blame *into = &g_array_index(p->blames, struct blame, (guint)id);

	if (into->tid != own.tid)
		into->tid = 0;
	into->count = profile_sum(into->count, own.count);
	into->runnable_ns = profile_sum(into->runnable_ns, own.runnable_ns);
	into->preempted_ns = profile_sum(into->preempted_ns, own.preempted_ns);
}

static bool same_storm(const void *ctx, const void *key, uint32_t id)
{
	return profile_storm(ctx, id)->waker == *(const uint32_t *)key;
}

void profile_add_storm(struct profile *p, const struct storm *s)
{
	assert(s->waker < p->wakers->len);
	uint64_t hash = id_index_hash(p->storm_index, &s->waker, sizeof(s->waker));
	int64_t id = id_index_find(p->storm_index, hash, same_storm, p, &s->waker);

	if (id < 0) {
		id_index_add(p->storm_index, hash, p->storms->len);
		g_array_append_vals(p->storms, s, 1);
		return;
	}
	struct storm *into = &g_array_index(p->storms, struct storm, (guint)id);

	into->event_cnt = profile_sum(into->event_cnt, s->event_cnt);
	into->call_cnt = profile_sum(into->call_cnt, s->call_cnt);
	into->woken_cnt = profile_sum(into->woken_cnt, s->woken_cnt);
	into->most_cnt = MAX(into->most_cnt, s->most_cnt);
	into->ended_cnt = profile_sum(into->ended_cnt, s->ended_cnt);
	into->again_cnt = profile_sum(into->again_cnt, s->again_cnt);
	into->cpu_ns = profile_sum(into->cpu_ns, s->cpu_ns);
	into->again_ns = profile_sum(into->again_ns, s->again_ns);
	into->delay_ns = profile_sum(into->delay_ns, s->delay_ns);
}
