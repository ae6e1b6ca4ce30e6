/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/roles.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/plumbing.h"
#include "analyse/strset.h"
#include "base/hash.h"
#include "base/order.h"

#define BEGINNINGS_MAX (1 << 20)	/* with more distinct beginnings, roles are determined by names only */
#define NONE UINT32_MAX

/* Time that a thread slept in stacks with the same beginning. */
struct beginning {
	uint32_t thread;
	uint32_t node;		/* at most ROLE_DEPTH_MAX deep */
	uint64_t ns;
};

/* Threads of one name with the same path so far. */
struct party {
	uint32_t node;
	GArray *threads;	/* uint32_t */
};

struct finder {
	const struct profile *p;
	struct roles *roles;
	struct plumbing *plumbing;
	uint32_t *longest;	/* by thread: user stack in which it slept longest, 0: none */
	GArray *blind;		/* threads without a complete stack */
	GArray *beginnings;	/* struct beginning, by thread */
	uint32_t *first;	/* by thread: index of its first beginning; one more at the end */
	GQueue parties;		/* struct party *, not finished yet */
};

char *role_kernel_name(const char *comm)
{
	const char *digits = comm + strlen(comm);

	if (g_str_has_prefix(comm, "kworker/") && strchr(comm, ':'))
		return g_strdup("kworker/*");
	while (digits > comm && g_ascii_isdigit(digits[-1]))
		digits--;
	if (!*digits || digits == comm || digits[-1] != '/')
		return g_strdup(comm);
	return g_strdup_printf("%.*s*", (int)(digits - comm), comm);
}

/* By node: its ancestor at most ROLE_DEPTH_MAX deep. */
static uint32_t *cut_nodes(const struct profile *p)
{
	uint32_t *cut = g_new0(uint32_t, (gsize)p->nodes->len + 1);

	for (uint32_t n = 1; n < p->nodes->len; n++) {
		const struct stack_node *node = profile_get_node(p, n);

		cut[n] = node->depth <= ROLE_DEPTH_MAX ? n : cut[node->parent];
	}
	return cut;
}

ORDER(compare_beginnings, struct beginning, ORDER_LOW(node))

static void sum_equal(GArray *beginnings)
{
	guint kept = 0;

	EACH_ROW(i, const struct beginning, b, beginnings) {
		struct beginning *last = kept ? &g_array_index(beginnings, struct beginning, kept - 1) : NULL;

		if (last && last->thread == b->thread && last->node == b->node)
			last->ns += b->ns;
		else
			g_array_index(beginnings, struct beginning, kept++) = *b;
	}
	g_array_set_size(beginnings, kept);
}

/* By thread and node.  Most threads have one or two. */
static void put_beginnings_in_order(struct finder *f)
{
	uint32_t threads_cnt = f->p->threads->len;
	g_autofree guint *place = g_new0(guint, (gsize)threads_cnt + 1);
	const struct beginning *from = (const struct beginning *)(void *)f->beginnings->data;
	g_autofree struct beginning *to = g_new(struct beginning, (gsize)f->beginnings->len + 1);

	for (guint i = 0; i < f->beginnings->len; i++)
		place[from[i].thread + 1]++;
	for (uint32_t t = 0; t < threads_cnt; t++)
		place[t + 1] += place[t];
	for (guint i = 0; i < f->beginnings->len; i++)
		to[place[from[i].thread]++] = from[i];
	if (f->beginnings->len)
		memcpy(f->beginnings->data, to, f->beginnings->len * sizeof(*to));
	for (guint i = 0, begin = 0; i < threads_cnt; begin = place[i++])
		if (place[i] > begin + 1)
			qsort(f->beginnings->data + begin * sizeof(*to), place[i] - begin, sizeof(*to),
			      compare_beginnings);
}

static void find_beginnings(struct finder *f)
{
	const struct profile *p = f->p;
	g_autofree uint32_t *cut = cut_nodes(p);
	g_autofree uint64_t *longest_ns = g_new0(uint64_t, (gsize)p->threads->len + 1);

	f->beginnings = g_array_new(FALSE, FALSE, sizeof(struct beginning));
	EACH_ROW(i, const struct wait, w, p->waits) {
		struct beginning b = { .thread = w->thread, .node = cut[w->user], .ns = w->blocked_ns + 1 };

		if (w->state == 'R' || !w->user)
			continue;
		if (profile_get_node(p, w->user)->end == STACK_COMPLETE)
			g_array_append_val(f->beginnings, b);
		if (b.ns > longest_ns[w->thread]) {
			longest_ns[w->thread] = b.ns;
			f->longest[w->thread] = w->user;
		}
	}
	put_beginnings_in_order(f);
	sum_equal(f->beginnings);
	if (f->beginnings->len > BEGINNINGS_MAX)
		g_array_set_size(f->beginnings, 0);
	f->first = g_new0(uint32_t, (gsize)p->threads->len + 2);
	for (guint i = 0; i < f->beginnings->len; i++)
		f->first[(gsize)g_array_index(f->beginnings, struct beginning, i).thread + 1]++;
	for (uint32_t t = 0; t < p->threads->len; t++)
		f->first[t + 1] += f->first[t];
}

/* The ancestor of `node` at that depth, or 0 if it is not that deep. */
static uint32_t ancestor(const struct profile *p, uint32_t node, unsigned depth)
{
	if (profile_get_node(p, node)->depth < depth)
		return 0;
	while (profile_get_node(p, node)->depth > depth)
		node = profile_get_node(p, node)->parent;
	return node;
}

static void make_role(struct finder *f, const GArray *threads, uint32_t node)
{
	uint32_t first = g_array_index(threads, uint32_t, 0);
	const struct thread *t = profile_thread(f->p, first);
	struct role role = {
		.comm = t->comm, .process = t->process, .trunk = node, .first_thread = first,
		.threads_cnt = threads->len, .is_kernel = t->flags & THREAD_KERNEL,
	};

	if (role.is_kernel) {
		g_autofree char *name = role_kernel_name(t->comm);

		role.comm = role.process = strset_add(f->roles->names, name);
	}
	for (guint i = 0; i < threads->len; i++)
		f->roles->of_thread[g_array_index(threads, uint32_t, i)] = f->roles->rows->len;
	g_array_append_val(f->roles->rows, role);
}

/* A child to which a thread's stacks continue from a node, and its time there. */
struct way {
	uint32_t thread;	/* index in the party */
	uint32_t node;		/* the child; or the node itself: the stack ends there */
	uint64_t ns;
};

ORDER(compare_ways, struct way, ORDER_LOW(node) ORDER_LOW(thread))

/* The ways of one of the party's threads.  Drops those with less than a tenth of its time, except the longest. */
static void ways_of(const struct finder *f, const struct party *party, uint32_t index, GArray *ways)
{
	uint32_t thread = g_array_index(party->threads, uint32_t, index);
	unsigned depth = party->node ? profile_get_node(f->p, party->node)->depth : 0;
	guint start = ways->len, kept = start, longest = start;
	uint64_t all_ns = 0;

	/* beginnings are sorted by node, so equal children need not be adjacent: sort the ways */
	for (uint32_t i = f->first[thread]; i < f->first[thread + 1]; i++) {
		const struct beginning *b = &g_array_index(f->beginnings, struct beginning, i);
		struct way way = { .thread = index, .node = ancestor(f->p, b->node, depth + 1), .ns = b->ns };

		if (depth && ancestor(f->p, b->node, depth) != party->node)
			continue;
		if (!way.node)
			way.node = party->node;
		g_array_append_val(ways, way);
	}
	if (ways->len > start + 1)
		qsort(&g_array_index(ways, struct way, start), ways->len - start, sizeof(struct way), compare_ways);
	for (guint i = start; i < ways->len; i++) {
		struct way *w = &g_array_index(ways, struct way, i);

		all_ns += w->ns;
		if (kept > start && g_array_index(ways, struct way, kept - 1).node == w->node)
			g_array_index(ways, struct way, kept - 1).ns += w->ns;
		else
			g_array_index(ways, struct way, kept++) = *w;
	}
	g_array_set_size(ways, kept);
	for (guint i = start; i < ways->len; i++)
		if (g_array_index(ways, struct way, i).ns > g_array_index(ways, struct way, longest).ns)
			longest = i;
	kept = start;
	for (guint i = start; i < ways->len; i++)
		if (i == longest || g_array_index(ways, struct way, i).ns >= all_ns / 10)
			g_array_index(ways, struct way, kept++) = g_array_index(ways, struct way, i);
	g_array_set_size(ways, kept);
}

static uint32_t leader(uint32_t *lead, uint32_t i)
{
	while (lead[i] != i)
		i = lead[i] = lead[lead[i]];
	return i;
}

/* Groups threads that share any way: sets lead[] and returns the number of groups. */
static uint32_t group_threads(const GArray *ways, uint32_t *lead, uint32_t cnt)
{
	uint32_t groups = cnt;

	for (uint32_t i = 0; i < cnt; i++)
		lead[i] = i;
	for (guint i = 1; i < ways->len; i++) {
		const struct way *a = &g_array_index(ways, struct way, i - 1), *b = &g_array_index(ways, struct way, i);

		if (a->node != b->node)
			continue;
		uint32_t x = leader(lead, a->thread), y = leader(lead, b->thread);
		if (x != y) {
			lead[MAX(x, y)] = MIN(x, y);
			groups--;
		}
	}
	return groups;
}

static struct party *party_new(uint32_t node)
{
	struct party *party = g_new(struct party, 1);

	party->node = node;
	party->threads = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	return party;
}

static void party_free(struct party *party)
{
	g_array_unref(party->threads);
	g_free(party);
}

/* If all threads continue to one node, the party moves there or is finished. */
static bool goes_on_as_one(struct finder *f, struct party *party, const GArray *ways)
{
	const struct way *first = &g_array_index(ways, struct way, 0);

	if (ways->len != party->threads->len)
		return false;
	for (guint i = 0; i < ways->len; i++)
		if (g_array_index(ways, struct way, i).node != first->node ||
		    g_array_index(ways, struct way, i).thread != i)
			return false;
	if (first->node == party->node) {
		make_role(f, party->threads, party->node);
		return true;
	}
	struct party *next = party_new(first->node);

	g_array_append_vals(next->threads, party->threads->data, party->threads->len);
	g_queue_push_tail(&f->parties, next);
	return true;
}

/* One step of a party: each group moves to the node that all its threads go to, or is finished. */
static void step_party(struct finder *f, struct party *party)
{
	uint32_t cnt = party->threads->len;
	g_autoptr(GArray) ways = g_array_new(FALSE, FALSE, sizeof(struct way));
	g_autofree uint32_t *lead = NULL, *node = NULL;
	g_autofree struct party **groups = NULL;

	for (uint32_t i = 0; i < cnt; i++)
		ways_of(f, party, i, ways);
	if (goes_on_as_one(f, party, ways))
		return;
	lead = g_new(uint32_t, (gsize)cnt + 1);
	node = g_new(uint32_t, (gsize)cnt + 1);
	groups = g_new0(struct party *, (gsize)cnt + 1);
	g_array_sort(ways, compare_ways);
	/* if nearly every thread is different, these are not roles */
	if (group_threads(ways, lead, cnt) > MAX(8, cnt / 2)) {
		make_role(f, party->threads, party->node);
		return;
	}
	for (uint32_t i = 0; i < cnt; i++)
		node[i] = NONE;
	EACH_ROW(i, const struct way, w, ways) {
		uint32_t *only = &node[leader(lead, w->thread)];

		*only = *only == NONE || *only == w->node ? w->node : party->node;
	}
	for (uint32_t i = 0; i < cnt; i++) {
		uint32_t l = leader(lead, i);

		if (!groups[l])
			groups[l] = party_new(node[l] == NONE ? party->node : node[l]);
		g_array_append_val(groups[l]->threads, g_array_index(party->threads, uint32_t, i));
	}
	for (uint32_t i = 0; i < cnt; i++) {
		if (!groups[i])
			continue;
		if (groups[i]->node != party->node) {
			g_queue_push_tail(&f->parties, groups[i]);
			continue;
		}
		make_role(f, groups[i]->threads, party->node);
		party_free(groups[i]);
	}
}

/* Strings are interned; pointers are their identity, so a recording cannot make them collide. */
struct name_key {
	const char *comm, *process;
	bool is_kernel;
};

HASH_KEY(name, struct name_key, is_kernel, comm, process)

/* Adds the thread to the party of its name. */
static void sort_in(struct finder *f, GHashTable *names, uint32_t thread)
{
	const struct thread *t = profile_thread(f->p, thread);
	struct name_key key = { .comm = t->comm, .process = t->process, .is_kernel = t->flags & THREAD_KERNEL };
	g_autofree char *kernel_name = key.is_kernel ? role_kernel_name(t->comm) : NULL;
	struct party *party;

	if (key.is_kernel)
		key.comm = key.process = strset_add(f->roles->names, kernel_name);
	party = g_hash_table_lookup(names, &key);
	if (!party) {
		party = party_new(0);
		g_hash_table_insert(names, g_memdup2(&key, sizeof(key)), party);
		g_queue_push_tail(&f->parties, party);
	}
	g_array_append_val(party->threads, thread);
}

/* Kernel threads stay together, threads without usable stacks wait, the others start. */
static void set_out(struct finder *f, struct party *party)
{
	struct party *going = party_new(0), *staying = party_new(0);

	for (guint i = 0; i < party->threads->len; i++) {
		uint32_t thread = g_array_index(party->threads, uint32_t, i);

		if (profile_thread(f->p, thread)->flags & THREAD_KERNEL)
			g_array_append_val(staying->threads, thread);
		else if (f->first[thread] < f->first[thread + 1])
			g_array_append_val(going->threads, thread);
		else
			g_array_append_val(f->blind, thread);
	}
	if (staying->threads->len)
		make_role(f, staying->threads, 0);
	party_free(staying);
	if (going->threads->len)
		g_queue_push_tail(&f->parties, going);
	else
		party_free(going);
}

/* Threads of one name that sleep longest in the same function. */
struct sleep_key {
	const char *comm, *process;
	int64_t frame;		/* plumbing_user_parent(); -1: none */
};

HASH_KEY(sleep, struct sleep_key, comm, process, frame)

static struct sleep_key sleep_of(const struct finder *f, uint32_t thread)
{
	const struct thread *t = profile_thread(f->p, thread);
	uint32_t node = f->longest[thread];

	return (struct sleep_key){ t->comm, t->process, node ? plumbing_user_parent(f->plumbing, node) : -1 };
}

/* The role that sleeps in each function: index + 1 in roles->rows, or NONE if several do. */
static GHashTable *roles_by_sleep(const struct finder *f)
{
	GHashTable *by = g_hash_table_new_full(sleep_hash, sleep_equal, g_free, NULL);

	for (uint32_t t = 0; f->blind->len && t < f->p->threads->len; t++) {
		struct sleep_key key = sleep_of(f, t);

		if (f->first[t] == f->first[t + 1] || key.frame < 0)
			continue;
		uint32_t role = f->roles->of_thread[t] + 1, known = GPOINTER_TO_UINT(g_hash_table_lookup(by, &key));
		if (known != role)
			g_hash_table_insert(by, g_memdup2(&key, sizeof(key)), GUINT_TO_POINTER(known ? NONE : role));
	}
	return by;
}

/* Assigns threads without a beginning to the only role that sleeps in the same function, or makes roles of these. */
static void settle_blind(struct finder *f)
{
	g_autoptr(GHashTable) by = roles_by_sleep(f);
	g_autoptr(GHashTable)
		parties = g_hash_table_new_full(sleep_hash, sleep_equal, g_free, (GDestroyNotify)party_free);
	g_autoptr(GPtrArray) in_order = g_ptr_array_new();

	for (guint i = 0; i < f->blind->len; i++) {
		uint32_t thread = g_array_index(f->blind, uint32_t, i);
		struct sleep_key key = sleep_of(f, thread);
		uint32_t role = GPOINTER_TO_UINT(g_hash_table_lookup(by, &key));

		if (role && role != NONE) {
			struct role *joined = &g_array_index(f->roles->rows, struct role, role - 1);

			joined->threads_cnt++;
			joined->first_thread = MIN(joined->first_thread, thread);
			f->roles->of_thread[thread] = role - 1;
			continue;
		}
		struct party *party = g_hash_table_lookup(parties, &key);
		if (!party) {
			party = party_new(key.frame < 0 ? 0 : f->longest[thread]);
			g_hash_table_insert(parties, g_memdup2(&key, sizeof(key)), party);
			g_ptr_array_add(in_order, party);
		}
		g_array_append_val(party->threads, thread);
	}
	EACH_POINTER(i, const struct party, party, in_order)
		make_role(f, party->threads, party->node);
}

ORDER(compare_roles, struct role, ORDER_LOW(first_thread))

/* Sorts roles by their first thread. */
static void put_in_order(struct roles *r, uint32_t threads_cnt)
{
	g_autofree uint32_t *first = g_new(uint32_t, (gsize)r->rows->len + 1);
	g_autofree uint32_t *now = g_new(uint32_t, (gsize)threads_cnt + 1);

	for (guint i = 0; i < r->rows->len; i++)
		first[i] = g_array_index(r->rows, struct role, i).first_thread;
	g_array_sort(r->rows, compare_roles);
	for (guint i = 0; i < r->rows->len; i++)
		now[g_array_index(r->rows, struct role, i).first_thread] = i;
	for (uint32_t t = 0; t < threads_cnt; t++)
		r->of_thread[t] = now[first[r->of_thread[t]]];
}

struct roles *roles_new(const struct profile *p, struct plumbing *plumbing)
{
	struct roles *r = g_new0(struct roles, 1);
	struct finder f = { .p = p, .roles = r, .parties = G_QUEUE_INIT };
	g_autoptr(GHashTable) names = g_hash_table_new_full(name_hash, name_equal, g_free, NULL);
	struct party *party;

	r->rows = g_array_new(FALSE, TRUE, sizeof(struct role));
	r->of_thread = g_new0(uint32_t, (gsize)p->threads->len + 1);
	r->names = strset_new();
	f.plumbing = plumbing ? plumbing_ref(plumbing) : plumbing_new(p);
	f.longest = g_new0(uint32_t, (gsize)p->threads->len + 1);
	f.blind = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	find_beginnings(&f);
	for (uint32_t t = 0; t < p->threads->len; t++)
		sort_in(&f, names, t);
	for (guint left = f.parties.length; left; left--) {
		party = g_queue_pop_head(&f.parties);
		set_out(&f, party);
		party_free(party);
	}
	while ((party = g_queue_pop_head(&f.parties))) {
		step_party(&f, party);
		party_free(party);
	}
	settle_blind(&f);
	put_in_order(r, p->threads->len);
	plumbing_free(f.plumbing);
	g_free(f.longest);
	g_array_unref(f.blind);
	g_array_unref(f.beginnings);
	g_free(f.first);
	return r;
}

FREES(roles_free, struct roles, r, g_array_unref(r->rows); g_free(r->of_thread); strset_free(r->names))
