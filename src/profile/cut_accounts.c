/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "profile/cut_accounts.h"

#include <string.h>

#define STATES "SDTtPIR"
#define STATE_CNT 7
#define GONE UINT32_MAX

struct sums {
	uint64_t count;
	uint64_t ns[3];	/* blocked, runnable, preempted */
};

/* Times before the range, up to its end, and in the whole window. */
enum until { UNTIL_FROM, UNTIL_TO, UNTIL_END, UNTIL_CNT };

struct member {
	uint32_t index;			/* among the threads of the range, or GONE */
	uint64_t listed_ns[UNTIL_CNT];
	uint64_t begun_q8[UNTIL_CNT];	/* waits that began in the window */
	uint64_t free_ns[UNTIL_CNT];
	struct sums listed[STATE_CNT], all_listed[STATE_CNT];	/* of listed waits: in the range, in the window */
	struct sums states[STATE_CNT];	/* the thread's states in the range */
	bool has_state[STATE_CNT];
	uint64_t rest_ns[3];		/* off-CPU time in no state, because it was filtered */
};

struct cut_accounts {
	struct profile *p;
	uint64_t from_ns, to_ns;	/* CLOCK_MONOTONIC */
	uint64_t start_ns;
	struct member *members;		/* of every thread of the window */
	GArray *threads;		/* struct thread: the threads of the range, before the cut */
	GArray *old_index;		/* uint32_t: the old index of each of these */
	bool is_estimated;
};

struct cut_accounts *cut_accounts_new(struct profile *p, uint64_t from_ns, uint64_t to_ns)
{
	struct cut_accounts *a = g_new0(struct cut_accounts, 1);

	a->p = p;
	a->start_ns = p->info.start_ns;
	a->from_ns = p->info.start_ns + from_ns;
	a->to_ns = p->info.start_ns + to_ns;
	a->members = g_new0(struct member, (gsize)p->threads->len + 1);
	a->threads = g_array_new(FALSE, FALSE, sizeof(struct thread));
	a->old_index = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	EACH_ROW(i, const struct thread, t, p->threads) {
		bool lives = t->from_ns < a->to_ns && (t->to_ns > a->from_ns || t->from_ns == t->to_ns);

		/* waits of threads whose account was lost share a row without a lifetime */
		a->members[i].index = lives || !t->tid ? a->threads->len : GONE;
		if (a->members[i].index == GONE)
			continue;
		g_array_append_vals(a->threads, t, 1);
		g_array_append_val(a->old_index, i);
	}
	return a;
}

FREES(cut_accounts_free, struct cut_accounts, a, g_free(a->members); g_array_unref(a->threads);
      g_array_unref(a->old_index))

bool cut_accounts_thread(const struct cut_accounts *a, uint32_t old_thread, uint32_t *ret_thread)
{
	*ret_thread = a->members[old_thread].index;
	return *ret_thread != GONE;
}

static void add_even(struct member *m, const struct profile *old, uint32_t old_thread, const struct slice_cell *cell,
		     const uint64_t *edges_ns)
{
	for (int i = 0; i < UNTIL_CNT; i++) {
		struct slice_cell part;

		slice_cell_even_within(old, cell, profile_thread(old, old_thread), 0, edges_ns[i], &part);
		m->listed_ns[i] += slice_cell_ns(&part);
		m->begun_q8[i] += part.count_q8;
	}
}

void cut_accounts_cell(struct cut_accounts *a, const struct profile *old, uint32_t old_thread,
		       const struct slice_cell *cell, uint64_t start_ns)
{
	struct member *m = &a->members[old_thread];
	const uint64_t edges_ns[UNTIL_CNT] = { a->from_ns - a->start_ns, a->to_ns - a->start_ns, UINT64_MAX };
	bool was_begun = start_ns > 0 || !cell->is_crossing;

	if (cell->is_even) {
		add_even(m, old, old_thread, cell, edges_ns);
		return;
	}

	for (int i = 0; i < UNTIL_CNT; i++) {
		struct slice_part part = { 0 };

		if (start_ns >= edges_ns[i])
			continue;
		slice_cell_within(cell, 0, cell->is_crossing ? edges_ns[i] - start_ns : UINT64_MAX, &part);
		m->listed_ns[i] += part.blocked_ns + part.runnable_ns + part.preempted_ns;
		m->begun_q8[i] += was_begun ? cell->count_q8 : 0;
	}
}

static struct sums *of_state(struct sums *states, uint8_t letter)
{
	return &states[strchr(STATES, letter) - STATES];
}

static void add_wait(struct sums *sums, const struct wait *w)
{
	sums->count += w->count;
	sums->ns[0] += w->blocked_ns;
	sums->ns[1] += w->runnable_ns;
	sums->ns[2] += w->preempted_ns;
}

/* For each edge: how much of the thread's life before it is covered by no listed wait. */
static void find_free(const struct cut_accounts *a, struct member *m, const struct thread *t)
{
	const uint64_t edges_ns[UNTIL_CNT] = { a->from_ns, a->to_ns, UINT64_MAX };
	uint64_t least_ns = 0;

	for (int i = 0; i < UNTIL_CNT; i++) {
		uint64_t lived_ns = CLAMP(edges_ns[i], t->from_ns, t->to_ns) - t->from_ns;

		/* estimates of sampled waits may exceed the lifetime */
		least_ns = MAX(least_ns, lived_ns > m->listed_ns[i] ? lived_ns - m->listed_ns[i] : 0);
		m->free_ns[i] = least_ns;
	}
}

/* The part of `all` in the range's share of the free time. Without any free time, all of it is at the thread's end. */
static int64_t share_in_range(const struct member *m, int64_t all)
{
	const uint64_t free_ns = m->free_ns[UNTIL_END];

	if (!free_ns)
		return 0;
	return (int64_t)((__int128)all * m->free_ns[UNTIL_TO] / free_ns -
			 (__int128)all * m->free_ns[UNTIL_FROM] / free_ns);
}

static uint64_t plus_signed(uint64_t value, int64_t more)
{
	return more < 0 && (uint64_t)-more > value ? 0 : value + (uint64_t)more;
}

static uint64_t share_of(struct cut_accounts *a, const struct member *m, uint64_t known, uint64_t known_of_all,
			 uint64_t all)
{
	a->is_estimated |= known_of_all != all;
	return plus_signed(known, share_in_range(m, (int64_t)(all - known_of_all)));
}

/* Shares out the totals of the thread's states, which exceed the listed waits where waits were sampled or lost. */
static void share_states(struct cut_accounts *a, const struct profile *p)
{
	EACH_ROW(i, const struct state_total, total, p->states) {
		struct member *m = &a->members[total->thread];
		const struct sums *known = of_state(m->listed, total->state),
				  *all = of_state(m->all_listed, total->state);
		struct sums *sums = of_state(m->states, total->state);
		const uint64_t ns[3] = { total->blocked_ns, total->runnable_ns, total->preempted_ns };

		if (m->index == GONE)
			continue;
		*of_state(m->states, total->state) = (struct sums){ 0 };
		m->has_state[sums - m->states] = true;
		sums->count = share_of(a, m, known->count, all->count, total->count);
		for (int k = 0; k < 3; k++) {
			sums->ns[k] = share_of(a, m, known->ns[k], all->ns[k], ns[k]);
			m->rest_ns[k] = plus_signed(m->rest_ns[k], -(int64_t)ns[k]);
		}
	}
}

/* Estimates may exceed the thread's lifetime. Then all are reduced in proportion. */
static void fit_to_life(struct member *m, uint64_t lived_ns)
{
	uint64_t sum_ns = 0;

	for (int k = 0; k < 3; k++) {
		sum_ns += m->rest_ns[k];
		for (int s = 0; s < STATE_CNT; s++)
			sum_ns += m->states[s].ns[k];
	}
	for (int k = 0; sum_ns > lived_ns && k < 3; k++) {
		m->rest_ns[k] = (uint64_t)((unsigned __int128)m->rest_ns[k] * lived_ns / sum_ns);
		for (int s = 0; s < STATE_CNT; s++)
			m->states[s].ns[k] = (uint64_t)((unsigned __int128)m->states[s].ns[k] * lived_ns / sum_ns);
	}
}

static void sum_up(const struct member *m, struct thread *t)
{
	uint64_t ns[3];

	for (int k = 0; k < 3; k++) {
		ns[k] = m->rest_ns[k];
		for (int s = 0; s < STATE_CNT; s++)
			ns[k] += m->states[s].ns[k];
	}
	t->blocked_ns = ns[0];
	t->runnable_ns = ns[1];
	t->preempted_ns = ns[2];
}

/* m->rest_ns starts as the window's time in no state, and becomes the range's. */
static void cut_account(struct cut_accounts *a, struct member *m, struct thread *t)
{
	const int64_t residual_ns = thread_residual_ns(t);
	const uint64_t begun[2] = { m->begun_q8[UNTIL_TO] / SLICE_COUNT_Q8 - m->begun_q8[UNTIL_FROM] / SLICE_COUNT_Q8,
				    m->begun_q8[UNTIL_END] / SLICE_COUNT_Q8 };

	for (int k = 0; k < 3; k++) {
		uint64_t known = 0, known_of_all = 0;

		for (int s = 0; s < STATE_CNT; s++) {
			if (m->has_state[s])
				continue;
			known += m->listed[s].ns[k];
			known_of_all += m->all_listed[s].ns[k];
		}
		m->rest_ns[k] = share_of(a, m, known, known_of_all, m->rest_ns[k]);
	}
	t->switches = plus_signed(begun[0], share_in_range(m, (int64_t)(t->switches - begun[1])));
	if (!t->tid) {
		t->from_ns = a->from_ns;
		t->to_ns = a->from_ns + m->listed_ns[UNTIL_TO] - m->listed_ns[UNTIL_FROM];
		sum_up(m, t);
		return;
	}
	a->is_estimated |= residual_ns != 0;
	t->flags &= ~(uint32_t)((t->to_ns > a->to_ns ? THREAD_EXITED | THREAD_EXECED | THREAD_OPEN_AT_END : 0) |
				(t->from_ns < a->from_ns ? THREAD_OPEN_AT_START : 0));
	t->from_ns = CLAMP(t->from_ns, a->from_ns, a->to_ns);
	t->to_ns = CLAMP(t->to_ns, t->from_ns, a->to_ns);
	fit_to_life(m, thread_observed_ns(t));
	sum_up(m, t);
	t->on_cpu_ns = (uint64_t)MAX(share_in_range(m, (int64_t)t->on_cpu_ns), 0);
	if (!residual_ns)
		t->on_cpu_ns = thread_observed_ns(t) - thread_off_cpu_ns(t);
	if (t->filtered_ns)
		t->filtered_ns = m->rest_ns[0] + m->rest_ns[1] + m->rest_ns[2];
	t->lost_ns = (uint64_t)MAX(share_in_range(m, (int64_t)t->lost_ns), 0);
}

static void put_states(struct cut_accounts *a)
{
	g_array_set_size(a->p->states, 0);
	for (guint i = 0; i < a->threads->len; i++) {
		const struct member *m = &a->members[g_array_index(a->old_index, uint32_t, i)];

		for (int s = 0; s < STATE_CNT; s++) {
			const struct sums *sums = &m->states[s];
			const struct state_total total = {
				.thread = i,
				.state = (uint8_t)STATES[s],
				.count = sums->count,
				.blocked_ns = sums->ns[0],
				.runnable_ns = sums->ns[1],
				.preempted_ns = sums->ns[2],
			};

			if (total.count || total.blocked_ns || total.runnable_ns || total.preempted_ns)
				profile_add_state(a->p, &total);
		}
	}
}

bool cut_accounts_apply(struct cut_accounts *a, const GArray *old_waits)
{
	struct profile *p = a->p;

	EACH_ROW(i, const struct wait, w, old_waits)
		add_wait(of_state(a->members[w->thread].all_listed, w->state), w);
	EACH_ROW(i, const struct wait, w, p->waits)
		add_wait(of_state(a->members[g_array_index(a->old_index, uint32_t, w->thread)].listed, w->state), w);
	EACH_ROW(i, const struct thread, t, a->threads) {
		struct member *m = &a->members[g_array_index(a->old_index, uint32_t, i)];

		find_free(a, m, t);
		m->rest_ns[0] = t->blocked_ns;
		m->rest_ns[1] = t->runnable_ns;
		m->rest_ns[2] = t->preempted_ns;
	}
	share_states(a, p);
	for (guint i = 0; i < a->threads->len; i++)
		cut_account(a, &a->members[g_array_index(a->old_index, uint32_t, i)],
			    &g_array_index(a->threads, struct thread, i));
	EACH_ROW(i, const struct wait, w, p->waits)
		g_array_index(a->threads, struct thread, w->thread).flags |=
			(w->flags & WAIT_OPEN_AT_START ? THREAD_OPEN_AT_START : 0) |
			(w->flags & WAIT_OPEN_AT_END ? THREAD_OPEN_AT_END : 0);
	g_array_unref(p->threads);
	p->threads = g_array_ref(a->threads);
	put_states(a);
	return a->is_estimated;
}
