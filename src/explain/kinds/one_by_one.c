/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#include <inttypes.h>

#include "analyse/actors.h"
#include "base/order.h"
#include "explain/findings_part.h"
#include "explain/sentence.h"
#include "explain/text.h"

#define ROWS_MAX 6		/* maximum rows on the first screen */
#define THREADS_MIN 8
#define BOTH_PART 20		/* of their time: one may begin while the other ends */
#define WINDOW_PART 2
#define NONE UINT32_MAX

struct life {
	uint64_t from_ns, to_ns;
};

ORDER(compare_lives, struct life, ORDER_LOW(from_ns))

/* The threads that wait there; false: one of them is a main thread, or of another process. */
static bool find_members(const struct findings *f, const struct finding *row, bool *is_member, GArray *lives)
{
	const struct profile *p = f->profile;

	for (uint32_t i = 0; i < p->waits->len; i++) {
		uint32_t at = profile_wait(p, i)->thread;
		const struct thread *t = profile_thread(p, at);

		if (f->blocked_in[i] != row->id || is_member[at])
			continue;
		if (t->pid != row->pid || t->tid == t->pid)
			return false;
		const struct life life = { t->from_ns, t->to_ns };
		g_array_append_val(lives, life);
		is_member[at] = true;
	}
	return lives->len >= THREADS_MIN;
}

static bool are_apart(const struct findings *f, GArray *lives)
{
	uint64_t sum_ns = 0, both_ns = 0, end_ns = 0;

	g_array_sort(lives, compare_lives);
	EACH_ROW(i, const struct life, l, lives) {
		sum_ns += l->to_ns - l->from_ns;
		both_ns += end_ns > l->from_ns ? MIN(end_ns, l->to_ns) - l->from_ns : 0;
		end_ns = MAX(end_ns, l->to_ns);
	}
	return both_ns <= sum_ns / BOTH_PART && sum_ns >= f->profile->info.duration_ns / WINDOW_PART;
}

/* The wait, index + 1, in which a thread of that process waits for them most of the time; 0: none. */
static uint32_t waiter_of(const struct findings *f, const struct finding *row, const uint32_t *of_waker,
			  const bool *is_member)
{
	const struct profile *p = f->profile;
	uint64_t sum_ns = 0, most_ns = 0;
	uint32_t best = 0;

	EACH_ROW(i, const struct wake, wake, p->wakes) {
		uint32_t by = of_waker[wake->waker], sleeper = profile_wait(p, wake->wait)->thread;

		enum reason reason = reasons_of(f->reasons, wake->wait);

		/* a thread that uses a connection to them may not have created them */
		if (by == NONE || !is_member[by] || is_member[sleeper] || profile_thread(p, sleeper)->pid != row->pid ||
		    reason_family(reason) == FAMILY_NETWORK || reason == REASON_PIPE || reason == REASON_EVENT_LOOP)
			continue;
		sum_ns += wake->blocked_ns;
		if (wake->blocked_ns > most_ns) {
			most_ns = wake->blocked_ns;
			best = wake->wait + 1;
		}
	}
	return sum_ns > row->time_ns / 2 ? best : 0;
}

void one_by_one_find(struct findings *f)
{
	g_autofree uint32_t *of_waker = NULL;

	EACH_FIRST(i, row, f, ROWS_MAX) {
		g_autofree bool *is_member = g_new0(bool, (gsize)f->profile->threads->len + 1);
		g_autoptr(GArray) lives = g_array_new(FALSE, FALSE, sizeof(struct life));

		if (row->busy || row->threads_cnt < THREADS_MIN || !row->pid || row->reason == REASON_CPU_QUEUE ||
		    !find_members(f, row, is_member, lives) || !are_apart(f, lives))
			continue;
		of_waker = of_waker ? of_waker : actors_threads_of_wakers(f->profile);
		row->one_by_one = waiter_of(f, row, of_waker, is_member);
	}
}

void one_by_one_append_evidence(GString *s, const struct findings *f, const struct finding *row)
{
	if (!row->one_by_one)
		return;
	const struct thread *t = profile_thread(f->profile, profile_wait(f->profile, row->one_by_one - 1)->thread);

	g_string_append_printf(s, "; no two of these %" PRIu32 " threads live at once: ", row->threads_cnt);
	text_who(s, t->comm, t->tid, FINDING_NAME_COLUMNS);
	g_string_append(s, " waits for each");
	sentence_function(s, f, finding_frame(f, row->one_by_one - 1), " in ");
}
