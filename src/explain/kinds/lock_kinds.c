/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#include <string.h>

#include "analyse/locks.h"
#include "base/hash.h"
#include "explain/findings_part.h"

/* Facts about a lock: from its longest row, and from all rows. */
struct lock_facts {
	uint64_t most_ns, max_ns;
	uint32_t wait; /* + 1 */
	bool is_in_ring;
};

struct kind {
	const char *process, *function;
	char *array; /* "": none of them has a name */
	uint32_t frame, reason;
	bool is_stuck, is_in_ring;
};

static guint kind_hash(gconstpointer key)
{
	const struct kind *k = key;
	uint64_t h = hash_more(hash_more(hash_pointer(k->process), hash_pointer(k->function)), g_str_hash(k->array));

	return hash_end(hash_more(h, (uint64_t)k->frame << 32 | k->reason));
}

static gboolean kind_equal(gconstpointer va, gconstpointer vb)
{
	const struct kind *a = va, *b = vb;

	return a->process == b->process && a->function == b->function && a->frame == b->frame &&
	       a->reason == b->reason && a->is_stuck == b->is_stuck && a->is_in_ring == b->is_in_ring &&
	       strcmp(a->array, b->array) == 0;
}

FREES_DATA(kind_free, struct kind, k, g_free(k->array))

size_t lock_array_bytes(const struct object *o)
{
	const char *plus = lock_is_nameless(o) ? NULL : strstr(o->name, "+0x");

	return plus ? (size_t)(plus - o->name) : 0;
}

static struct lock_facts *facts_new(const struct findings *f, const uint32_t *locks, const uint32_t *rings)
{
	const struct profile *p = f->profile;
	struct lock_facts *facts = g_new0(struct lock_facts, (gsize)p->objects->len + 1);

	EACH_ROW(i, const struct wait, w, p->waits) {
		struct lock_facts *of = &facts[locks[w->object]];

		if (!locks[w->object] || reasons_is_idle(f->reasons, i) || (f->selection && !f->selection->waits[i]))
			continue;
		of->max_ns = MAX(of->max_ns, w->max_ns);
		of->is_in_ring = of->is_in_ring || rings[i];
		if (!of->wait || w->blocked_ns > of->most_ns) {
			of->most_ns = w->blocked_ns;
			of->wait = i + 1;
		}
	}
	return facts;
}

/* NULL: it is distinct from all others. */
static struct kind *kind_of(const struct findings *f, const struct object *o, const struct lock_facts *of)
{
	const struct profile *p = f->profile;
	int64_t frame = of->wait ? finding_frame(f, of->wait - 1) : -1;
	size_t array = lock_array_bytes(o);

	if (frame < 0 || !object_is_lock(o) || (!array && !lock_is_nameless(o)))
		return NULL;
	const char *function = profile_get_frame(p, (uint32_t)frame)->name;
	const struct kind kind = {
		.process = f->programs[profile_wait(p, of->wait - 1)->thread],
		.function = function,
		.frame = function ? 0 : (uint32_t)frame,
		.array = g_strndup(o->name, array),
		.reason = reasons_of(f->reasons, of->wait - 1),
		.is_stuck = finding_fills_window(p, of->max_ns),
		.is_in_ring = of->is_in_ring,
	};

	return g_memdup2(&kind, sizeof(kind));
}

uint32_t *lock_kinds_new(const struct findings *f, const uint32_t *locks, const uint32_t *rings)
{
	const struct profile *p = f->profile;
	uint32_t *kinds = g_memdup2(locks, ((gsize)p->objects->len + 1) * sizeof(*locks));
	g_autofree struct lock_facts *facts = facts_new(f, locks, rings);
	g_autoptr(GHashTable) known = g_hash_table_new_full(kind_hash, kind_equal, kind_free, NULL); /* kind -> id */

	for (uint32_t id = 1; id <= p->objects->len; id++) {
		struct kind *kind = locks[id] == id ? kind_of(f, profile_get_object(p, id - 1), &facts[id]) : NULL;
		gpointer first = kind ? g_hash_table_lookup(known, kind) : NULL;

		if (first) {
			kinds[id] = GPOINTER_TO_UINT(first);
			kind_free(kind);
		} else if (kind) {
			g_hash_table_insert(known, kind, GUINT_TO_POINTER(id));
		}
	}
	for (uint32_t id = 1; id <= p->objects->len; id++)
		kinds[id] = kinds[locks[id]];
	return kinds;
}
