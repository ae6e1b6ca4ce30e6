/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "push/clickhouse.h"

/* Spreads expiry, so that hosts that began together do not send everything again together. */
#define JITTER_S (6 * 3600)

/*
 * Two tables.  When the young one is full it becomes the old one, and the former old one is dropped.  Lookups move ids
 * to the young table, so the least recently used are dropped.
 */
struct sent {
	GMutex lock;
	GHashTable *young, *old;	/* id -> Unix seconds, each in the pointer itself */
};

struct sent *sent_new(void)
{
	struct sent *s = g_new0(struct sent, 1);

	G_STATIC_ASSERT(sizeof(gpointer) == sizeof(uint64_t));
	g_mutex_init(&s->lock);
	s->young = g_hash_table_new(NULL, NULL);
	s->old = g_hash_table_new(NULL, NULL);
	return s;
}

FREES(sent_free, struct sent, s, g_hash_table_unref(s->young); g_hash_table_unref(s->old); g_mutex_clear(&s->lock))

/* Call with the lock held. */
static void put_young(struct sent *s, uint64_t id, gpointer at_s)
{
	if (g_hash_table_size(s->young) >= SENT_MAX / 2) {
		g_hash_table_unref(s->old);
		s->old = s->young;
		s->young = g_hash_table_new(NULL, NULL);
	}
	g_hash_table_insert(s->young, (gpointer)id, at_s);
}

/* A window older than the time of sending is covered too: rows are kept from the day they were sent. */
static bool is_fresh(uint64_t id, uint64_t sent_s, uint64_t at_s)
{
	return at_s >= sent_s && at_s - sent_s < SENT_S - id % JITTER_S;
}

bool sent_has(struct sent *s, uint64_t id, uint64_t at_s)
{
	gpointer value;
	bool is_there;

	g_mutex_lock(&s->lock);
	is_there = g_hash_table_lookup_extended(s->young, (gpointer)id, NULL, &value);
	if (!is_there && g_hash_table_lookup_extended(s->old, (gpointer)id, NULL, &value)) {
		is_there = true;
		put_young(s, id, value);
	}
	is_there = is_there && is_fresh(id, GPOINTER_TO_SIZE(value), at_s);
	g_mutex_unlock(&s->lock);
	return is_there;
}

void sent_add(struct sent *s, const uint64_t *ids, gsize cnt, uint64_t at_s)
{
	g_mutex_lock(&s->lock);
	for (gsize i = 0; i < cnt; i++)
		put_young(s, ids[i], GSIZE_TO_POINTER(at_s));
	g_mutex_unlock(&s->lock);
}

void sent_forget(struct sent *s)
{
	g_mutex_lock(&s->lock);
	g_hash_table_remove_all(s->young);
	g_hash_table_remove_all(s->old);
	g_mutex_unlock(&s->lock);
}
