/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/waitgraph/analysis.h"

#include "base/hash.h"

#define NONE UINT32_MAX

struct far_ends {
	const struct profile *p;
	const uint32_t *threads_of_wakers;
	/* for two processes: waiter << 32 | peer -> GUINT_TO_POINTER(thread + 1), 0 for NONE */
	GHashTable *found;
};

struct far_ends *far_ends_new(const struct profile *p, const uint32_t *threads_of_wakers)
{
	struct far_ends *f = g_new0(struct far_ends, 1);

	f->p = p;
	f->threads_of_wakers = threads_of_wakers;
	f->found = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, NULL);
	return f;
}

FREES(far_ends_free, struct far_ends, f, g_hash_table_unref(f->found))

/* The process at the other end of the connection that the wait is for; 0: unknown. */
static uint32_t peer_of(const struct profile *p, const struct wait *w)
{
	const struct object *o = profile_wait_object(p, w);

	return o && (o->kind == OBJECT_SOCKET || object_upstream(o)) ? o->pid : 0;
}

/*
 * The thread with most of that time, unless threads of several names share it: threads of one name do the same, each
 * for its own connections; otherwise it is unknown whose it is.
 */
static uint32_t most_of(const struct profile *p, const uint64_t *ns)
{
	uint32_t best = NONE;
	uint64_t of_others_ns = 0;

	for (uint32_t i = 0; i < p->threads->len; i++)
		if (ns[i] && (best == NONE || ns[i] > ns[best]))
			best = i;
	for (uint32_t i = 0; best != NONE && i < p->threads->len; i++)
		of_others_ns += profile_thread(p, i)->comm != profile_thread(p, best)->comm ? ns[i] : 0;
	return best != NONE && of_others_ns < ns[best] / 2 ? best : NONE;
}

/* The peer's thread that waits for a socket connected to the waiter. */
static uint32_t by_socket(const struct profile *p, uint32_t waiter, uint32_t peer)
{
	g_autofree uint64_t *ns = g_new0(uint64_t, (gsize)p->threads->len + 1);

	EACH_ROW(i, const struct wait, w, p->waits)
		if (profile_thread(p, w->thread)->pid == peer && peer_of(p, w) == waiter)
			ns[w->thread] += wait_off_cpu_ns(w);
	return most_of(p, ns);
}

/* The peer's thread that was seen to wake the waiter at such sockets. */
static uint32_t by_wakings(const struct far_ends *f, uint32_t waiter, uint32_t peer)
{
	const struct profile *p = f->p;
	g_autofree uint64_t *ns = g_new0(uint64_t, (gsize)p->threads->len + 1);

	EACH_ROW(i, const struct wake, k, p->wakes) {
		const struct wait *w = profile_wait(p, k->wait);
		uint32_t thread = f->threads_of_wakers[k->waker];

		if (thread != NONE && profile_thread(p, thread)->pid == peer &&
		    profile_thread(p, w->thread)->pid == waiter && peer_of(p, w) == peer)
			ns[thread] += k->blocked_ns;
	}
	return most_of(p, ns);
}

static uint32_t only_thread(const struct profile *p, uint32_t pid)
{
	uint32_t found = NONE;

	for (uint32_t i = 0; i < p->threads->len; i++) {
		if (profile_thread(p, i)->pid != pid)
			continue;
		if (found != NONE)
			return NONE;
		found = i;
	}
	return found;
}

static uint32_t find_thread(const struct far_ends *f, uint32_t waiter, uint32_t peer)
{
	uint32_t thread = waiter == peer ? NONE : by_socket(f->p, waiter, peer);

	thread = thread == NONE && waiter != peer ? by_wakings(f, waiter, peer) : thread;
	return thread == NONE && waiter != peer ? only_thread(f->p, peer) : thread;
}

uint32_t far_ends_thread(struct far_ends *f, uint32_t wait)
{
	const struct wait *w = profile_wait(f->p, wait);
	uint32_t waiter = profile_thread(f->p, w->thread)->pid, peer = peer_of(f->p, w);
	uint64_t key = (uint64_t)waiter << 32 | peer;
	gpointer found;

	if (!peer)
		return NONE;
	if (!g_hash_table_lookup_extended(f->found, &key, NULL, &found)) {
		found = GUINT_TO_POINTER(find_thread(f, waiter, peer) + 1);
		g_hash_table_insert(f->found, g_memdup2(&key, sizeof(key)), found);
	}
	return GPOINTER_TO_UINT(found) - 1;
}

static bool carries_packets(const struct waker *w)
{
	if (w->irq)
		return g_str_has_prefix(w->irq, "softirq:NET_");
	return !w->user && (g_str_has_prefix(w->comm, "ksoftirqd/") || g_str_has_prefix(w->comm, "napi/"));
}

uint32_t far_ends_behind(struct far_ends *f, uint32_t wait, uint32_t waker)
{
	return carries_packets(profile_get_waker(f->p, waker)) ? far_ends_thread(f, wait) : NONE;
}
