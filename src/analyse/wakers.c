/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/wakers.h"

#include <math.h>

#define CONNECTION_THREADS 8

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

void wakes_by_wait_free(struct wakes_by_wait *by)
{
	if (!by)
		return;
	g_free(by->first);
	g_free(by->order);
	g_free(by);
}

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

void wakes_add_queue(const struct profile *p, const struct wakes_by_wait *by, uint32_t wait, uint32_t *hist)
{
	for (uint32_t i = by->first[wait]; i < by->first[wait + 1]; i++)
		for (unsigned s = 0; s < PROFILE_HIST_SLOTS; s++)
			hist[s] += profile_wake(p, by->order[i])->hist[s];
}

uint64_t wait_percentile_ns(const uint64_t *hist, double share, uint64_t max_ns)
{
	uint64_t all = 0, below = 0;

	for (int i = 0; i < PROFILE_HIST_SLOTS; i++)
		all += hist[i];
	for (int i = 0; i < PROFILE_HIST_SLOTS; i++) {
		double want = share * (double)all - (double)below, low = (double)(UINT64_C(1) << i), high = 2 * low;

		if (hist[i] && want <= (double)hist[i]) {
			if (max_ns && below + hist[i] == all) {	/* the longest is one of these: so a single one is exact */
				want = ceil(want);
				high = MAX(MIN((double)max_ns, high), low);
			}
			uint64_t ns = (uint64_t)(low + (high - low) * want / (double)hist[i]);

			return max_ns ? MIN(ns, max_ns) : ns;
		}
		below += hist[i];
	}
	return 0;
}

uint64_t waker_percentile_ns(const uint64_t *hist, double share)
{
	return wait_percentile_ns(hist, share, 0);
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

bool wakers_are_connections(const struct profile *p, const char *process)
{
	g_autofree bool *is_connection = g_new(bool, (gsize)p->wakers->len + 1);
	g_autoptr(GHashTable) threads = g_hash_table_new(NULL, NULL);
	uint64_t all = 0, by_connections = 0;

	for (uint32_t i = 0; i < p->wakers->len; i++)
		is_connection[i] = waker_is_connection(p, profile_get_waker(p, i));
	for (guint i = 0; i < p->wakes->len; i++) {
		const struct wake *wake = profile_wake(p, i);
		uint32_t thread = profile_wait(p, wake->wait)->thread;

		if (profile_thread(p, thread)->process != process)
			continue;
		all += wake->count;
		if (!is_connection[wake->waker])
			continue;
		by_connections += wake->count;
		g_hash_table_add(threads, GUINT_TO_POINTER(thread));
	}
	return by_connections > all / 2 && g_hash_table_size(threads) >= CONNECTION_THREADS;
}
