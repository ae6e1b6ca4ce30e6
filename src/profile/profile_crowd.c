/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Who stood in whose way: blame and storms. */
#include "profile/profile.h"

#include <assert.h>

#include "profile/id_index.h"
#include "profile/profile_schema.h"

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
	profile_merge_row(TABLE_BLAME, into, &own);
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
	profile_merge_row(TABLE_STORM, &g_array_index(p->storms, struct storm, (guint)id), s);
}
