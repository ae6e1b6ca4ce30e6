/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/event_names.h"

#include <string.h>

#include "analyse/plumbing.h"
#include "base/hash.h"

#define NAMES_MAX 16384	/* then they are made anew: an event stream may run for days */

/* What a name depends on; stack ids are hashes of what is in them. */
struct key {
	uint64_t ustack, kstack;
	uint8_t state;
	bool is_preempted, is_runnable, is_throttled, is_open;
};

struct event_names {
	event_stack_fn stack;
	void *data;
	GHashTable *names;	/* struct key -> char * */
	char *unfinished;	/* the last name of a stack that had not arrived */
};

static guint key_hash(gconstpointer key)
{
	const struct key *k = key;

	return hash_end(hash_more(hash_more(k->ustack, k->kstack), (uint64_t)k->state << 4 | k->is_open << 3 |
									   k->is_preempted << 2 | k->is_runnable << 1 |
									   k->is_throttled));
}

static gboolean key_equal(gconstpointer va, gconstpointer vb)
{
	const struct key *a = va, *b = vb;

	return a->ustack == b->ustack && a->kstack == b->kstack && a->state == b->state &&
	       a->is_preempted == b->is_preempted && a->is_runnable == b->is_runnable &&
	       a->is_throttled == b->is_throttled && a->is_open == b->is_open;
}

struct event_names *event_names_new(event_stack_fn stack, void *data)
{
	struct event_names *n = g_new0(struct event_names, 1);

	n->stack = stack;
	n->data = data;
	n->names = g_hash_table_new_full(key_hash, key_equal, g_free, g_free);
	return n;
}

void event_names_free(struct event_names *n)
{
	if (!n)
		return;
	g_hash_table_unref(n->names);
	g_free(n->unfinished);
	g_free(n);
}

/* The stack as a node of the profile; false: it has not arrived. */
static bool copy_stack(struct event_names *n, struct profile *p, uint64_t id, uint32_t *ret_node)
{
	const struct frame *frames[OFFCPU_MAX_DEPTH];
	unsigned cnt = n->stack(id, frames, OFFCPU_MAX_DEPTH, n->data);

	*ret_node = 0;
	while (cnt--)
		*ret_node = profile_node(p, *ret_node, profile_frame(p, frames[cnt]));
	return *ret_node || id <= OFFCPU_STACK_LOST;
}

/* By way of a recording of this one wait, so that the rules of reports apply. */
static char *make_name(struct event_names *n, const struct offcpu_rec_event *e, bool *ret_is_whole)
{
	struct profile *p = profile_new();
	const struct thread t = { .pid = e->pid, .tid = e->tid };
	struct wait w = {
		.thread = profile_add_thread(p, &t), .state = e->state, .count = 1,
		.flags = (e->is_throttled ? WAIT_THROTTLED : 0) | (e->open_at_start ? WAIT_OPEN_AT_START : 0),
		.blocked_ns = e->blocked_ns, .runnable_ns = e->runnable_ns, .preempted_ns = e->preempted_ns,
	};
	bool has_user = copy_stack(n, p, e->ustack, &w.user), has_kernel = copy_stack(n, p, e->kstack, &w.kernel);
	struct plumbing *pl = plumbing_new(p);
	char *name = g_strdup(plumbing_leaf(pl, &w));

	*ret_is_whole = has_user && has_kernel;
	plumbing_free(pl);
	profile_free(p);
	return name;
}

const char *event_name(struct event_names *n, const struct offcpu_rec_event *e)
{
	const struct key key = {
		.ustack = e->ustack, .kstack = e->kstack, .state = e->state, .is_preempted = e->preempted_ns != 0,
		.is_runnable = e->runnable_ns != 0, .is_throttled = e->is_throttled, .is_open = e->open_at_start,
	};
	const char *known = g_hash_table_lookup(n->names, &key);
	bool is_whole;

	if (known)
		return known;
	char *name = make_name(n, e, &is_whole);
	if (!is_whole) {
		g_free(n->unfinished);
		return n->unfinished = name;
	}
	if (g_hash_table_size(n->names) >= NAMES_MAX)
		g_hash_table_remove_all(n->names);
	g_hash_table_insert(n->names, g_memdup2(&key, sizeof(key)), name);
	return name;
}
