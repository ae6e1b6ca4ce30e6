/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/traces/fold.h"

#include <string.h>

#include "base/hash.h"
#include "base/parse.h"

struct fold_traces {
	GHashTable *longest;	/* struct offcpu_rec_trace, by its key */
};

/* Clears the parts of the key that sums are not grouped by. */
static struct offcpu_wait_key key_of(const struct offcpu_wait_key *key)
{
	struct offcpu_wait_key k = *key;

	k.flags &= (uint8_t) ~(OFFCPU_KEY_CROSSING | OFFCPU_KEY_SECOND);
	k.slice = 0;
	return k;
}

static guint trace_hash(gconstpointer p)
{
	const struct offcpu_rec_trace *t = p;

	return hash_end(
		hash_more(hash_more(t->key.ustack, t->key.kstack), t->key.object ^ t->key.waker << 1 ^ t->key.tno));
}

static gboolean trace_equal(gconstpointer a, gconstpointer b)
{
	const struct offcpu_rec_trace *x = a, *y = b;

	return memcmp(&x->key, &y->key, sizeof(x->key)) == 0;
}

struct fold_traces *fold_traces_new(void)
{
	struct fold_traces *t = g_new0(struct fold_traces, 1);

	t->longest = g_hash_table_new_full(trace_hash, trace_equal, NULL, g_free);
	return t;
}

FREES(fold_traces_free, struct fold_traces, t, g_hash_table_destroy(t->longest))

bool fold_traces_add(struct fold_traces *t, const struct offcpu_rec_trace *rec, size_t size)
{
	struct offcpu_rec_trace own, *known;

	if (size < sizeof(*rec))
		return false;
	own = *rec;
	own.key = key_of(&rec->key);
	known = g_hash_table_lookup(t->longest, &own);
	if (!known)
		g_hash_table_add(t->longest, g_memdup2(&own, sizeof(own)));
	else if (own.duration_ns > known->duration_ns)
		*known = own;
	return true;
}

const char *fold_trace_text(struct profile *p, const uint8_t *bytes, size_t cnt)
{
	char text[33];

	hex_text(text, bytes, cnt);
	return profile_string(p, text);
}

void fold_traces_tell(struct fold_traces *t, struct profile *p, const struct offcpu_wait_key *key, uint32_t wait)
{
	const struct offcpu_rec_trace sought = { .key = key_of(key) },
				      *found = g_hash_table_lookup(t->longest, &sought);
	struct wait_trace own = { .wait = wait };

	if (!found || found->start_ns < p->info.start_ns)
		return;
	own.trace = fold_trace_text(p, found->trace, sizeof(found->trace));
	own.span = fold_trace_text(p, found->span, sizeof(found->span));
	own.start_ns = found->start_ns - p->info.start_ns;
	own.ns = found->duration_ns;
	profile_add_trace(p, &own);
}

void fold_traces_finish(struct fold_traces *t, struct profile *p)
{
	g_hash_table_remove_all(t->longest);
	profile_sort_traces(p);
}
