/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/kinds/at_once.h"

#include "analyse/peers.h"
#include "base/hash.h"
#include "explain/findings_part.h"
#include "explain/sentence.h"
#include "explain/text.h"
#include "features/wakers/analysis.h"

#define ANSWERS_MIN 5
#define ANSWERS_PART 50	/* of the timers' waiting time: more is not at once */
#define TIMER_TIMES 20	/* times an average answer */
#define EACH_MOST 20	/* ratio of answers to timers, or the reverse: more are unrelated */

void at_once_add(struct at_once *a, const struct profile *p, const struct wake *wake)
{
	const struct waker *by = profile_get_waker(p, wake->waker);

	if (waker_is_timer(by)) {
		a->timers_cnt += wake->count;
		a->timers_ns += wake->blocked_ns;
		return;
	}
	if (by->pid == profile_thread(p, profile_wait(p, wake->wait)->thread)->pid)
		return;
	a->serves = a->serves || waker_is_connection(p, by);
	a->answers_cnt += wake->count;
	a->answers_ns += wake->blocked_ns;
	if (wake->count > a->most_cnt) {
		a->most_cnt = wake->count;
		a->most = by;
	}
}

bool at_once_is(const struct at_once *a)
{
	return a->answers_cnt >= ANSWERS_MIN && a->timers_cnt && a->answers_ns < a->timers_ns / ANSWERS_PART &&
	       a->answers_ns / a->answers_cnt < a->timers_ns / a->timers_cnt / TIMER_TIMES;
}

void at_once_append(GString *s, const struct at_once *a)
{
	text_safe_cut(s, waker_name(a->most), FINDING_NAME_COLUMNS);
	if (!a->most->irq)
		g_string_append_printf(s, "/%" G_GUINT32_FORMAT, a->most->pid);
	g_string_append_printf(s, " ended %s waits for its sockets, after %s on average, and timers ended all others",
			       TEXT_COUNT(a->answers_cnt), TEXT_NS(a->answers_ns / a->answers_cnt));
}

/* Event loop of one process. */
struct loop {
	struct at_once a;
	uint64_t longest_ns;
	uint32_t pid;
};

static bool is_of_loop(const struct findings *f, uint32_t i)
{
	const struct wait *w = profile_wait(f->profile, i);
	const struct object *o = profile_wait_object(f->profile, w);

	return reasons_of(f->reasons, i) == REASON_EVENT_LOOP && o && (!f->selection || f->selection->waits[i]);
}

static GHashTable *loops_new(const struct findings *f)
{
	const struct profile *p = f->profile;
	GHashTable *loops = g_hash_table_new_full(NULL, NULL, NULL, g_free);

	EACH_ROW(i, const struct wake, wake, p->wakes) {
		const struct wait *w = profile_wait(p, wake->wait);
		gpointer pid = GUINT_TO_POINTER(profile_thread(p, w->thread)->pid);

		if (!is_of_loop(f, wake->wait))
			continue;
		struct loop *loop = hash_row(loops, pid, sizeof(*loop));

		loop->pid = profile_thread(p, w->thread)->pid;
		at_once_add(&loop->a, p, wake);
		loop->longest_ns = MAX(loop->longest_ns, w->count > 1 ? w->max_ns : w->blocked_ns);
	}
	return loops;
}

static bool is_for_timers(const struct findings *f, const struct loop *loop)
{
	return loop->longest_ns >= FINDING_NOTICED_NS && loop->a.timers_ns > f->profile->info.duration_ns / 2;
}

/* Each answer has about one timer. */
static bool is_asker(const struct at_once *a)
{
	return at_once_is(a) && !a->serves && a->timers_cnt <= a->answers_cnt * EACH_MOST &&
	       a->answers_cnt <= a->timers_cnt * EACH_MOST;
}

/* Number of clients that wait for answers at the recording's end, if the process has asked nobody. */
static uint32_t clients_of(const struct findings *f, uint32_t pid)
{
	const char *there;
	uint32_t made, clients = limit_owed_read(profile_find_limit(f->profile, LIMIT_OWED, pid, 0), &made, &there);

	return made ? 0 : clients;
}

bool at_once_holds_clients(const struct findings *f, uint32_t pid)
{
	g_autoptr(GHashTable) loops = clients_of(f, pid) ? loops_new(f) : NULL;
	const struct loop *loop = loops ? g_hash_table_lookup(loops, GUINT_TO_POINTER(pid)) : NULL;

	return loop && is_for_timers(f, loop) && !is_asker(&loop->a);
}

static const struct loop *most_of(const struct findings *f, GHashTable *loops, bool is_held)
{
	const struct loop *most = NULL;

	EACH_VALUE(const struct loop, loop, loops) {
		bool is_one = is_asker(&loop->a) != is_held && (!is_held || clients_of(f, loop->pid));

		if (is_one && is_for_timers(f, loop) && (!most || loop->a.timers_ns >= most->a.timers_ns))
			most = loop;
	}
	return most;
}

/* ", or does not give back the 5 connections to 127.0.0.1:5432, which rest" */
static void append_resting(GString *s, const struct findings *f, uint32_t pid)
{
	const struct peer_ends ends = peer_ends_of(f->profile, pid);

	EACH_ROW(i, const struct connection, c, f->profile->connections) {
		if (c->pid != pid || c->side != CONNECTION_CLIENT || ends.asked_cnt < 2 || !ends.is_one)
			continue;
		g_string_append_printf(s, ", or does not give back the %s connections of its pool to ", TEXT_COUNT(ends.asked_cnt));
		text_safe_cut(s, c->remote, FINDING_NAME_COLUMNS);
		g_string_append(s, ", which rest meanwhile");
		return;
	}
}

bool at_once_append_held(GString *s, const struct findings *f, bool has_unseen)
{
	g_autoptr(GHashTable) loops = loops_new(f);
	const struct loop *most = most_of(f, loops, true);

	if (!most)
		return false;
	sentence_begin_process(s, finding_process_name(f, most->pid) ?: "it", FINDING_NAME_COLUMNS);
	g_string_append_printf(s, " waits for its own timers, and has asked nobody, while %s of its clients waited for answers as the recording "
			       "ended. ", TEXT_COUNT(clients_of(f, most->pid)));
	if (has_unseen) {
		g_string_append(s, "Threads do not show what these wait for, as said below, unless it is for events (a long poll).");
		return true;
	}
	g_string_append(s, "Else it holds them back itself, by a limit of their rate or a pause");
	append_resting(s, f, most->pid);
	g_string_append(s, ": its settings tell.");
	return true;
}

void at_once_append_most(GString *s, const struct findings *f)
{
	g_autoptr(GHashTable) loops = loops_new(f);
	const struct loop *most = most_of(f, loops, false);

	if (!most)
		return;
	g_string_append_c(s, ' ');
	sentence_begin_process(s, finding_process_name(f, most->pid) ?: "it", FINDING_NAME_COLUMNS);
	g_string_append(s, " waits in its event loop: ");
	at_once_append(s, &most->a);
	g_string_append(s, ". An interval may be meant; if these are time limits, or pauses between tries, questions are lost or refused: "
			   "see what is answered.");
}
