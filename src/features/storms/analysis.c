/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/storms/analysis.h"

#include <string.h>

#include "base/hash.h"
#include "base/order.h"
#include "features/wakers/analysis.h"
#include "profile/profile_schema.h"

#define IN_VAIN_PERCENT 50
#define PARTLY_PERCENT 20

const char *storm_kind_id(enum storm_kind kind)
{
	static const char *const ids[STORM_KIND_COUNT] = {
		"other", "unknown", "condition_broadcast", "futex", "epoll_herd", "epoll_accept_herd", "accept_herd",
		"poll_herd", "timers", "signal",
	};

	return ids[kind];
}

const char *storm_title(const struct storm_row *r)
{
	static const char *const texts[STORM_KIND_COUNT] = {
		"many threads woken at once",
		"many threads woken at once, whose stacks are not known",
		"condition variable broadcast",
		"futex with many waiters",
		"epoll herd: many epoll_wait, one file",
		"epoll herd on a listening socket",
		"accept herd: many wait for one listening socket",
		"poll herd: many poll or select one file",
		"timers due at the same time",
		"signal to, or end of, a process of many threads",
	};

	if (r->kind == STORM_CONDITION && r->one_by_one)
		return "condition variable, signalled one by one";
	if (r->kind == STORM_FUTEX && r->one_by_one)
		return "futexes, woken one by one";
	return texts[r->kind];
}

const char *storm_verdict_id(enum storm_verdict verdict)
{
	static const char *const ids[] = { "in_vain", "partly", "work", "unseen", "one_by_one" };

	return ids[verdict];
}

/* Determined by the kernel stack, else by functions of libc. */
static enum storm_kind kind_of(const struct profile *p, const struct waker *waker, const struct wait *w)
{
	static const char *const conditions[] = { "pthread_cond_", "__pthread_cond_", "cnd_wait", "cnd_timedwait",
						  "cnd_broadcast", "std::condition_variable", NULL };
	static const char *const futexes[] = { "futex_wait", "__futex_wait", "futex_do_wait", "__x64_sys_futex",
					       "__arm64_sys_futex", "do_futex", NULL };
	static const char *const epolls[] = { "ep_poll", "do_epoll_wait", "epoll_wait", "epoll_pwait", NULL };
	static const char *const accepts[] = { "inet_csk_accept", "inet_csk_wait_for_connect", "unix_accept",
					       "__sys_accept4", "do_accept", "accept", NULL };
	static const char *const polls[] = { "do_sys_poll", "do_select", "core_sys_select", "do_poll", "poll", "ppoll",
					     "select", "pselect", "__poll", "__select", NULL };
	static const char *const timers[] = { "hrtimer_nanosleep", "do_nanosleep", "schedule_timeout",
					      "schedule_hrtimeout", NULL };
	static const char *const signals[] = { "zap_other_threads", "complete_signal", "signal_wake_up_state",
					       "do_group_exit", "freeze_task", NULL };
	uint32_t node = w->kernel ? w->kernel : w->user;

	if (!w->user && !w->kernel)
		return STORM_UNKNOWN;
	if (profile_stack_names(p, waker->kernel, signals))
		return STORM_SIGNAL;
	if (waker_is_timer(waker))
		return STORM_TIMER;
	if (profile_stack_names(p, node, epolls))
		return waker_is_connection(p, waker) ? STORM_EPOLL_ACCEPT : STORM_EPOLL;
	if (profile_stack_names(p, node, accepts))
		return STORM_ACCEPT;
	if (profile_stack_names(p, node, polls))
		return waker_is_connection(p, waker) ? STORM_ACCEPT : STORM_POLL;
	if (profile_stack_names(p, w->user, conditions) || profile_stack_names(p, waker->user, conditions))
		return STORM_CONDITION;
	if (profile_stack_names(p, node, futexes))
		return STORM_FUTEX;
	return profile_stack_names(p, node, timers) && waker->irq ? STORM_TIMER : STORM_OTHER;
}

static enum storm_verdict verdict_of(const struct storm *s, bool one_by_one)
{
	uint64_t percent = s->ended_cnt ? (uint64_t)(100.0 * (double)s->again_cnt / (double)s->ended_cnt) : 0;

	if (s->ended_cnt < s->woken_cnt - s->ended_cnt)
		return STORM_UNSEEN;
	if (percent < PARTLY_PERCENT)
		return STORM_WORK;
	if (one_by_one)
		return STORM_ONE_BY_ONE;
	return percent >= IN_VAIN_PERCENT ? STORM_IN_VAIN : STORM_PARTLY;
}

/* Strings of a profile are interned, so pointers can be compared. */
static int compare_places(gconstpointer va, gconstpointer vb, gpointer data)
{
	const struct wait *a = profile_wait(data, ((const struct storm_sleepers *)va)->wait);
	const struct wait *b = profile_wait(data, ((const struct storm_sleepers *)vb)->wait);
	const char *a_comm = profile_thread(data, a->thread)->comm, *b_comm = profile_thread(data, b->thread)->comm;

	ORDER_LOW(kernel)
	ORDER_LOW(user)
	return a_comm == b_comm ? 0 : strcmp(a_comm, b_comm);
}

/* By what distinguishes threads, also after an exec and when a tid is reused. */
ORDER(compare_threads, struct thread, ORDER_LOW(pid) ORDER_LOW(tid) ORDER_LOW(start_ns))

static const struct thread *thread_of(const struct profile *p, const struct storm_sleepers *s)
{
	return profile_thread(p, profile_wait(p, s->wait)->thread);
}

static int compare_places_and_threads(gconstpointer va, gconstpointer vb, gpointer data)
{
	int by_place = compare_places(va, vb, data);

	return by_place ? by_place : compare_threads(thread_of(data, va), thread_of(data, vb));
}

/*
 * Merges rows with the same place and name.  A thread may have several rows: a wait that was open at the window's
 * start has its own, and so have waits for another lock.
 */
static void group_sleepers(const struct profile *p, GArray *sleepers)
{
	const struct thread *last_thread = NULL;
	guint kept = 0;

	g_array_sort_with_data(sleepers, compare_places_and_threads, (gpointer)p);
	EACH_ROW(i, struct storm_sleepers, s, sleepers) {
		struct storm_sleepers *last = kept ? &g_array_index(sleepers, struct storm_sleepers, kept - 1) : NULL;
		const struct thread *thread = thread_of(p, s);

		if (last && compare_places(last, s, (gpointer)p) == 0) {
			last->threads += compare_threads(last_thread, thread) != 0;
			last->count += s->count;
			last->wait = MIN(last->wait, s->wait);
		} else {
			g_array_index(sleepers, struct storm_sleepers, kept++) = *s;
		}
		last_thread = thread;
	}
	g_array_set_size(sleepers, kept);
}

ORDER(compare_sleepers, struct storm_sleepers, ORDER_HIGH(count) ORDER_LOW(wait))

/* Severity of each verdict, worst first. */
static const uint8_t rank_of[] = {
	[STORM_IN_VAIN] = 0, [STORM_PARTLY] = 1, [STORM_ONE_BY_ONE] = 2, [STORM_UNSEEN] = 3, [STORM_WORK] = 4,
};

static uint8_t rank(const struct storm_row *r)
{
	return rank_of[r->verdict];
}

ORDER(compare_rows, struct storm_row, ORDER_LOW_OF(rank) ORDER_HIGH(storm.again_cnt) ORDER_HIGH(storm.woken_cnt)
      ORDER_LOW(storm.waker))

/* Strings of a profile are interned. */
HASH_KEY(place, struct waker, comm, irq, user, kernel)

/* Merges wakers at the same place; ret_row_of: row + 1, by waker. */
static GArray *group_wakers(const struct profile *p, uint32_t *ret_row_of)
{
	GArray *rows = g_array_new(FALSE, FALSE, sizeof(struct storm_row));
	g_autoptr(GHashTable) by_place = g_hash_table_new(place_hash, place_equal);	/* struct waker -> row + 1 */

	EACH_ROW(i, const struct storm, s, p->storms) {
		const struct waker *place = profile_get_waker(p, s->waker);
		uint32_t row = GPOINTER_TO_UINT(g_hash_table_lookup(by_place, place));

		if (!row) {
			const struct storm_row new_row = {
				.storm = { .waker = s->waker },
				.sleepers = g_array_new(FALSE, FALSE, sizeof(struct storm_sleepers)),
			};

			g_array_append_val(rows, new_row);
			row = rows->len;
			g_hash_table_insert(by_place, (gpointer)place, GUINT_TO_POINTER(row));
		}
		ret_row_of[s->waker] = row;
		g_array_index(rows, struct storm_row, row - 1).wakers++;
		profile_merge_row(TABLE_STORM, &g_array_index(rows, struct storm_row, row - 1).storm, s);
	}
	return rows;
}

/* Finds the threads that each storm's waker woke, and where these slept. */
static void find_sleepers(const struct profile *p, const struct selection *selection, GArray *rows,
			  const uint32_t *row_of)
{
	EACH_ROW(i, const struct wake, k, p->wakes) {
		const struct storm_sleepers s = { .wait = k->wait, .threads = 1, .count = k->count };
		uint32_t row = row_of[k->waker];

		if (row && (!selection || selection->waits[k->wait]))
			g_array_append_val(g_array_index(rows, struct storm_row, row - 1).sleepers, s);
	}
}

static void judge_storm(const struct profile *p, struct storm_row *r)
{
	const struct waker *waker = profile_get_waker(p, r->storm.waker);

	group_sleepers(p, r->sleepers);
	g_array_sort(r->sleepers, compare_sleepers);
	/* usually there is about one call per event */
	r->one_by_one = !waker->irq && r->storm.call_cnt > r->storm.woken_cnt / 2;
	r->verdict = verdict_of(&r->storm, r->one_by_one);
	r->kind = STORM_UNKNOWN;
	if (r->sleepers->len)
		r->kind = kind_of(p, waker, profile_wait(p, g_array_index(r->sleepers, struct storm_sleepers, 0).wait));
}

static void row_clear(gpointer row)
{
	g_array_unref(((struct storm_row *)row)->sleepers);
}

struct storm_table *storm_table_new(const struct profile *p, const struct selection *selection)
{
	struct storm_table *t = g_new0(struct storm_table, 1);
	g_autofree uint32_t *row_of = g_new0(uint32_t, (gsize)p->wakers->len + 1);
	GArray *all = group_wakers(p, row_of);

	find_sleepers(p, selection, all, row_of);
	t->rows = g_array_new(FALSE, FALSE, sizeof(struct storm_row));
	g_array_set_clear_func(t->rows, row_clear);
	EACH_ROW(i, struct storm_row, row, all) {
		if (selection && !selection->whole && !row->sleepers->len) {
			row_clear(row);
			continue;
		}
		judge_storm(p, row);
		g_array_append_vals(t->rows, row, 1);
	}
	g_array_unref(all);
	g_array_sort(t->rows, compare_rows);
	return t;
}

FREES(storm_table_free, struct storm_table, t, g_array_unref(t->rows))

const char *storm_advice(const struct storm_row *r)
{
	if (r->verdict != STORM_IN_VAIN && r->verdict != STORM_PARTLY)
		return NULL;
	switch (r->kind) {
	case STORM_CONDITION:
		return "wake one at a time (signal), or so many as there is work for; or release the lock they need first";
	case STORM_EPOLL:
	case STORM_EPOLL_ACCEPT: return "add the file with EPOLLEXCLUSIVE, or share one epoll file among the threads";
	case STORM_ACCEPT:
	case STORM_POLL: return "one thread should poll and hand out, or each have a socket of its own (SO_REUSEPORT)";
	case STORM_TIMER: return "spread the timers' expiry";
	case STORM_FUTEX: return "wake one at a time";
	default: return NULL;
	}
}
