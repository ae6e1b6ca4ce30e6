/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/wakers/analysis.h"

#include <math.h>

#include "base/hash.h"

#define CONNECTION_THREADS 8
#define EPOLL_SETS 8
#define IN_VAIN_NS 100000 /* as for storms: less CPU time than this after a wakeup */

struct wakes_by_wait *wakes_by_wait_new(const struct profile *p)
{
	struct wakes_by_wait *by = g_new0(struct wakes_by_wait, 1);
	g_autofree uint32_t *at = NULL;

	by->first = g_new0(uint32_t, (gsize)p->waits->len + 1);
	by->order = g_new0(uint32_t, (gsize)p->wakes->len + 1);
	for (uint32_t i = 0; i < p->wakes->len; i++)
		by->first[profile_wake(p, i)->wait + 1]++;
	for (uint32_t i = 0; i < p->waits->len; i++)
		by->first[i + 1] += by->first[i];
	at = g_memdup2(by->first, ((gsize)p->waits->len + 1) * sizeof(*at));
	for (uint32_t i = 0; i < p->wakes->len; i++)
		by->order[at[profile_wake(p, i)->wait]++] = i;
	return by;
}

FREES(wakes_by_wait_free, struct wakes_by_wait, by, g_free(by->first); g_free(by->order))

void wakes_unknown(const struct profile *p, const struct wakes_by_wait *by, uint32_t wait, struct wake *ret)
{
	const struct wait *w = profile_wait(p, wait);

	*ret = (struct wake){ .wait = wait, .count = w->count, .blocked_ns = w->blocked_ns,
			      .runnable_ns = w->runnable_ns };
	for (uint32_t i = by->first[wait]; i < by->first[wait + 1]; i++) {
		const struct wake *k = profile_wake(p, by->order[i]);

		ret->count -= k->count;
		ret->blocked_ns -= k->blocked_ns;
		ret->runnable_ns -= k->runnable_ns;
	}
}

uint64_t wakes_add_queue(const struct profile *p, const struct wakes_by_wait *by, uint32_t wait, uint32_t *hist)
{
	uint64_t sum_ns = 0;

	for (uint32_t i = by->first[wait]; i < by->first[wait + 1]; i++) {
		const struct wake *k = profile_wake(p, by->order[i]);

		for (unsigned s = 0; s < PROFILE_HIST_SLOTS; s++)
			hist[s] += k->hist[s];
		sum_ns += k->runnable_ns;
	}
	return sum_ns;
}

static double slot_low(int slot)
{
	return (double)(UINT64_C(1) << slot);
}

static double slot_high(int slot, uint64_t max_ns)
{
	double high = 2 * slot_low(slot);

	return max_ns ? MAX(MIN(high, (double)max_ns), slot_low(slot)) : high;
}

/* The minimum and maximum sum of the durations in all slots but one. */
static void others_bounds(const uint64_t *hist, int but, int last, uint64_t max_ns, double *ret_least, double *ret_most)
{
	*ret_least = *ret_most = 0;
	for (int i = 0; i <= last; i++) {
		if (i == but)
			continue;
		*ret_least += i ? (double)hist[i] * slot_low(i) : 0;	/* the first slot also has durations of 0 */
		*ret_most += (double)hist[i] * slot_high(i, max_ns);
	}
	if (max_ns && but != last)
		*ret_least += MAX((double)max_ns - slot_low(last), 0);
}

/*
 * Clamps `ns` to what the sum leaves for the duration with this rank in its slot if all others are as long, or as
 * short, as possible. last: the slot of the longest one.
 */
static double within_sum(const uint64_t *hist, int slot, double rank, int last, double ns, uint64_t sum_ns,
			 uint64_t max_ns)
{
	double low = slot ? slot_low(slot) : 0, high = slot_high(slot, max_ns), n = (double)hist[slot], least, most;
	double longest = max_ns && slot == last ? high : 0;

	others_bounds(hist, slot, last, max_ns, &least, &most);
	double at_least = (double)sum_ns - most, at_most = (double)sum_ns - least; /* sum of this slot's durations */

	if (at_most < (n - 1) * low + MAX(longest, low) || at_least > n * high)
		return ns;	/* the sum is not that of these durations */
	double floor = (at_least - (n - rank) * high) / rank, ceiling = high, behind = n - rank + (longest > 0 ? 0 : 1);

	if (behind > 0)
		ceiling = (at_most - longest - (rank - 1) * low) / behind;
	return MAX(MIN(ns, ceiling), floor);
}

uint64_t wait_percentile_ns(const uint64_t *hist, double share, uint64_t sum_ns, uint64_t max_ns)
{
	uint64_t all = 0, below = 0;
	int last = 0;

	for (int i = 0; i < PROFILE_HIST_SLOTS; i++) {
		all += hist[i];
		last = hist[i] ? i : last;
	}
	for (int i = 0; i <= last; i++) {
		double want = share * (double)all - (double)below, rank = MAX(ceil(want), 1);

		if (hist[i] && want <= (double)hist[i]) {
			bool has_longest = max_ns && i == last;	/* so a single one is exact */
			double low = slot_low(i), high = has_longest ? slot_high(i, max_ns) : 2 * low;
			double ns = low + (high - low) * (has_longest ? ceil(want) : want) / (double)hist[i];

			if (sum_ns)
				ns = within_sum(hist, i, rank, last, ns, sum_ns, max_ns);
			return max_ns ? MIN((uint64_t)ns, max_ns) : (uint64_t)ns;
		}
		below += hist[i];
	}
	return 0;
}

uint64_t waker_percentile_ns(const uint64_t *hist, double share)
{
	return wait_percentile_ns(hist, share, 0, 0);
}

bool waker_is_timer(const struct waker *waker)
{
	return waker->irq && strcmp(waker->irq, "timer") == 0;
}

bool waker_is_broadcast(const struct profile *p, const struct waker *waker)
{
	static const char *const broadcasts[] = {
		"pthread_cond_broadcast", "___pthread_cond_broadcast", "__pthread_cond_broadcast",
		"cnd_broadcast", "std::condition_variable::notify_all", NULL,
	};

	return waker->user && profile_stack_names(p, waker->user, broadcasts);
}

bool waker_is_connection(const struct profile *p, const struct waker *waker)
{
	static const char *const connects[] = { "tcp_child_process", "unix_stream_connect", "unix_dgram_connect",
						"vsock_connect", "mptcp_subflow", NULL };

	return profile_stack_names(p, waker->kernel, connects);
}

bool waker_brings_by_tcp(const struct profile *p, const struct waker *waker)
{
	static const char *const brings[] = { "tcp_data_queue", "tcp_data_ready", NULL };

	return profile_stack_names(p, waker->kernel, brings);
}

bool wakers_are_connections(const struct profile *p, const char *const *programs, const char *program)
{
	g_autofree bool *is_connection = g_new(bool, (gsize)p->wakers->len + 1);
	g_autoptr(GHashTable) threads = g_hash_table_new(NULL, NULL);
	uint64_t all = 0, by_connections = 0;

	for (uint32_t i = 0; i < p->wakers->len; i++)
		is_connection[i] = waker_is_connection(p, profile_get_waker(p, i));
	EACH_ROW(i, const struct wake, wake, p->wakes) {
		uint32_t thread = profile_wait(p, wake->wait)->thread;

		if (programs[thread] != program)
			continue;
		all += wake->count;
		if (!is_connection[wake->waker])
			continue;
		by_connections += wake->count;
		g_hash_table_add(threads, GUINT_TO_POINTER(thread));
	}
	return by_connections > all / 2 && g_hash_table_size(threads) >= CONNECTION_THREADS;
}

bool wakers_watch_apart(const struct profile *p, const char *const *programs, const char *program)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(hash_number, NULL);
	g_autofree uint32_t *sets = g_new0(uint32_t, (gsize)p->wakers->len + 1);
	uint64_t all = 0, apart = 0, on_cpu_ns = 0;

	EACH_ROW(i, const struct wake, wake, p->wakes) {
		const struct wait *w = profile_wait(p, wake->wait);
		const struct object *o = profile_wait_object(p, w);

		if (programs[w->thread] == program && o && o->kind == OBJECT_EPOLL)
			sets[wake->waker] += hash_new_pair(seen, wake->waker, w->object);
	}
	EACH_ROW(i, const struct wake, wake, p->wakes) {
		if (programs[profile_wait(p, wake->wait)->thread] != program)
			continue;
		all += wake->count;
		apart += sets[wake->waker] >= EPOLL_SETS ? wake->count : 0;
	}
	for (uint32_t i = 0; i < p->threads->len; i++)
		on_cpu_ns += programs[i] == program ? profile_thread(p, i)->on_cpu_ns : 0;
	return apart > all / 2 && on_cpu_ns / IN_VAIN_NS < all;
}
