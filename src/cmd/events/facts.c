/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/events/events.h"

#include "analyse/locks.h"
#include "analyse/plumbing.h"
#include "analyse/reason/reasons.h"
#include "base/hash.h"

#define FACTS_MAX 16384	/* beyond, the cache is cleared: an event stream may run for days */

/* What facts depend on.  Ids are content hashes. */
struct key {
	uint64_t ustack, kstack, object;
	uint8_t state;
	bool is_preempted, is_runnable, is_throttled, is_open, ends_open, is_kernel;
};

struct facts {
	char *where, *object, *route;
	enum reason reason;
};

struct event_facts {
	struct event_source source;
	GHashTable *facts;	/* struct key -> struct facts */
	GHashTable *wakers;	/* id -> index in the profile + 1 */
	struct facts *unfinished;	/* facts of the last wait whose stack had not arrived */
};

static guint key_hash(gconstpointer key)
{
	const struct key *k = key;
	const uint64_t flags = (uint64_t)k->state << 6 | k->ends_open << 5 | k->is_kernel << 4 | k->is_open << 3 |
			       k->is_preempted << 2 | k->is_runnable << 1 | k->is_throttled;

	return hash_end(hash_more(hash_more(k->ustack, k->kstack), k->object ^ flags));
}

static gboolean key_equal(gconstpointer va, gconstpointer vb)
{
	const struct key *a = va, *b = vb;

	return a->ustack == b->ustack && a->kstack == b->kstack && a->object == b->object && a->state == b->state &&
	       a->is_preempted == b->is_preempted && a->is_runnable == b->is_runnable &&
	       a->is_throttled == b->is_throttled && a->is_open == b->is_open && a->ends_open == b->ends_open &&
	       a->is_kernel == b->is_kernel;
}

static void facts_free(gpointer data)
{
	struct facts *f = data;

	if (!f)
		return;
	g_free(f->where);
	g_free(f->object);
	g_free(f->route);
	g_free(f);
}

struct event_facts *event_facts_new(const struct event_source *source)
{
	struct event_facts *n = g_new0(struct event_facts, 1);

	n->source = *source;
	n->facts = g_hash_table_new_full(key_hash, key_equal, g_free, facts_free);
	n->wakers = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, NULL);
	return n;
}

FREES(event_facts_free, struct event_facts, n, g_hash_table_unref(n->facts); g_hash_table_unref(n->wakers);
      facts_free(n->unfinished))

static uint32_t copy_stack(const struct profile *from, uint32_t node, struct profile *to)
{
	const struct frame *frames[OFFCPU_MAX_DEPTH];
	unsigned cnt = 0;
	uint32_t copy = 0;

	for (; node && cnt < OFFCPU_MAX_DEPTH; node = profile_get_node(from, node)->parent)
		frames[cnt++] = profile_get_frame(from, profile_get_node(from, node)->frame);
	while (cnt--)
		copy = profile_node(to, copy, profile_frame(to, frames[cnt]));
	return copy;
}

/* Makes a recording of this single wait, to apply the rules of reports. */
static struct facts *make_facts(const struct profile *from, const struct offcpu_rec_event *e, const struct wait *wait)
{
	const struct object *object = profile_wait_object(from, wait);
	const struct thread t = { .pid = e->pid, .tid = e->tid, .flags = e->is_kernel ? THREAD_KERNEL : 0 };
	struct facts *f = g_new0(struct facts, 1);
	g_autoptr(GString) route = g_string_new(NULL);
	struct profile *p = profile_new();
	struct wait w = *wait;

	w.thread = profile_add_thread(p, &t);
	w.user = copy_stack(from, wait->user, p);
	w.kernel = copy_stack(from, wait->kernel, p);
	w.object = object ? profile_object(p, object) + 1 : 0;
	profile_add_wait(p, &w);
	struct reasons *r = reasons_new(p, NULL);

	f->reason = reasons_by_rule(r, 0);
	f->where = g_strdup(plumbing_leaf(reasons_plumbing(r), &w));
	if (object) {
		GString *text = g_string_new(NULL);

		object_append_short(text, object);
		f->object = g_string_free(text, FALSE);
	}
	if (context_append_route(p, w.user, route))
		f->route = g_strdup(route->str);
	reasons_free(r);
	profile_free(p);
	return f;
}

static const struct facts *facts_of(struct event_facts *n, const struct offcpu_rec_event *e)
{
	const struct key key = {
		.ustack = e->ustack, .kstack = e->kstack, .object = e->object, .state = e->state,
		.is_preempted = e->preempted_ns != 0, .is_runnable = e->runnable_ns != 0,
		.is_throttled = e->is_throttled, .is_open = e->open_at_start,
		.ends_open = e->open_at_end, .is_kernel = e->is_kernel,
	};
	struct facts *known = g_hash_table_lookup(n->facts, &key);
	struct wait wait;

	if (known)
		return known;
	bool is_whole = n->source.wait(e, &wait, n->source.data);

	known = make_facts(n->source.profile(n->source.data), e, &wait);
	if (!is_whole) {
		facts_free(n->unfinished);
		return n->unfinished = known;
	}
	if (g_hash_table_size(n->facts) >= FACTS_MAX)
		g_hash_table_remove_all(n->facts);
	g_hash_table_insert(n->facts, g_memdup2(&key, sizeof(key)), known);
	return known;
}

const struct waker *event_facts_waker(struct event_facts *n, uint64_t id)
{
	guint row = id ? GPOINTER_TO_UINT(g_hash_table_lookup(n->wakers, &id)) : 0;

	if (id && !row && (row = n->source.waker(id, n->source.data))) {
		if (g_hash_table_size(n->wakers) >= FACTS_MAX)
			g_hash_table_remove_all(n->wakers);
		g_hash_table_insert(n->wakers, g_memdup2(&id, sizeof(id)), GUINT_TO_POINTER(row));
	}
	return row ? profile_get_waker(n->source.profile(n->source.data), row - 1) : NULL;
}

void event_facts_find(struct event_facts *n, const struct offcpu_rec_event *e, struct wait_event *ret_event)
{
	const struct facts *f = facts_of(n, e);

	*ret_event = (struct wait_event){
		.rec = e, .where = f->where, .object = f->object, .route = f->route, .reason = f->reason,
		.waker = event_facts_waker(n, e->waker),
	};
}
