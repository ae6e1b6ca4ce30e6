/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/reason/idle.h"

#include <string.h>

#include "analyse/actors.h"
#include "analyse/peers.h"
#include "analyse/reason/reasons.h"
#include "base/hash.h"
#include "features/wakers/analysis.h"

#define WITHHELD_NS 10000000 /* servers with all data in memory answer faster, except for blocking commands */
#define SERVER_BUSY_SHARE 10 /* of its time: a busier server is what its clients wait for */
#define PIPELINE_MAX 8 /* parts of `tail -F | grep | ..` */
#define LISTENS_NS 200000000 /* on average: what comes in pieces faster than that is read from somebody slow */
#define LISTENS_SHARE 10 /* of its time: less is for anything else */
#define RESTS_PART 5 /* of its time: more is not waiting for others */
#define OTHERS_PART 10 /* of what another client would have waited, too, had the server worked for this one */

/* The main thread of a process, if it works alone. */
struct leisure {
	uint64_t idle_ns, observed_ns;
};

static struct leisure *leisure_of(GHashTable *of_pid, uint32_t pid)
{
	return hash_row(of_pid, GUINT_TO_POINTER(pid), sizeof(struct leisure));
}

static GHashTable *leisure_new(const struct profile *p, const uint8_t *idle)
{
	GHashTable *of_pid = g_hash_table_new_full(NULL, NULL, NULL, g_free);

	EACH_ROW(i, const struct thread, t, p->threads)
		if (t->pid == t->tid)
			leisure_of(of_pid, t->pid)->observed_ns += thread_observed_ns(t);
	for (uint32_t i = 0; i < p->waits->len; i++) {
		const struct thread *t = profile_thread(p, profile_wait(p, i)->thread);

		if (t->pid == t->tid && (idle[i] == IDLE_LOOP || idle[i] == IDLE_POOL))
			leisure_of(of_pid, t->pid)->idle_ns += profile_wait(p, i)->blocked_ns;
	}
	return of_pid;
}

/* Whether nearly all its time is idle.  False: not recorded. */
static bool is_at_leisure(const struct leisure *l)
{
	return l && l->observed_ns && l->idle_ns > l->observed_ns - l->observed_ns / SERVER_BUSY_SHARE;
}

static bool is_of_memory_server(const struct withheld_input *in, uint32_t i)
{
	return in->rule[i] && g_str_has_prefix(in->rule[i]->name, RULES_MEMORY_SERVER);
}

/* Total waits of a thread for a server. */
struct client {
	uint64_t ns, count;
	uint32_t pid;	/* of the server */
	uint32_t thread;
};

/* Keyed by thread and server. */
static GHashTable *clients_new(const struct profile *p, const struct withheld_input *in)
{
	GHashTable *clients = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, g_free);

	EACH_ROW(i, const struct wait, w, p->waits) {
		const struct object *o = profile_wait_object(p, w);
		uint64_t key = o ? (uint64_t)o->pid << 32 | w->thread : 0;
		struct client *c = is_of_memory_server(in, i) && key >> 32 ? g_hash_table_lookup(clients, &key) : NULL;

		if (!is_of_memory_server(in, i) || !(key >> 32))
			continue;
		if (!c) {
			c = g_new0(struct client, 1);
			*c = (struct client){ .pid = o->pid, .thread = w->thread };
			g_hash_table_insert(clients, g_memdup2(&key, sizeof(key)), c);
		}
		c->ns += w->blocked_ns;
		c->count += w->count;
	}
	return clients;
}

/* For each server the client that asks most often. */
static GHashTable *busiest_new(GHashTable *clients)
{
	GHashTable *busiest = g_hash_table_new(NULL, NULL);	/* pid -> struct client */

	EACH_VALUE(struct client, c, clients) {
		const struct client *most = g_hash_table_lookup(busiest, GUINT_TO_POINTER(c->pid));

		if (!most || c->count > most->count || (c->count == most->count && c->thread < most->thread))
			g_hash_table_insert(busiest, GUINT_TO_POINTER(c->pid), c);
	}
	return busiest;
}

/*
 * Such a server does one thing at a time. If it had worked for this client, another one that asks repeatedly would
 * have waited, too: on average for half of the current request, and in total no longer than that.
 */
static bool is_answering(const struct profile *p, const struct client *c, const struct client *other)
{
	double window_ns = (double)thread_observed_ns(profile_thread(p, c->thread));
	double expected_ns = window_ns > 0 ? (double)other->count * ((double)c->ns / window_ns) * (double)c->ns /
						     (double)c->count / 2
					   : 0;

	return other != c && (double)other->ns < MIN(expected_ns, (double)c->ns) / OTHERS_PART;
}

static bool may_be_withheld(const struct profile *p, const struct withheld_input *in, const uint8_t *idle, uint32_t i)
{
	const struct wait *w = profile_wait(p, i);
	const struct object *o = profile_wait_object(p, w);

	if (idle[i] || !o || !o->pid || w->state == 'R')
		return false;
	if (in->reason[i] == REASON_PIPE)
		return o->pid != profile_thread(p, w->thread)->pid &&
		       g_str_has_prefix(plumbing_syscall(in->pl, w), "read");
	return is_of_memory_server(in, i);
}

/* By object: a connection on which peers send unasked. */
static bool *unasked_new(const struct profile *p)
{
	bool *is_unasked = g_new0(bool, (gsize)p->objects->len + 1);

	EACH_ROW(i, const struct tcp_wait, t, p->tcp_waits)
		is_unasked[t->object + 1] = is_unasked[t->object + 1] || peer_sends_unasked(t);
	return is_unasked;
}

/* Whether the process was recorded and computes what it sends. */
static bool computes(const struct profile *p, uint32_t pid)
{
	EACH_ROW(i, const struct thread, t, p->threads)
		if (t->pid == pid && t->on_cpu_ns > thread_observed_ns(t) / SERVER_BUSY_SHARE)
			return true;
	return false;
}

/* Per thread: how long it waited for others to bring something. A thread that timers wake paces itself. */
static uint64_t *rests_new(const struct profile *p, const uint8_t *idle)
{
	uint64_t *ns = g_new0(uint64_t, (gsize)p->threads->len + 1);

	EACH_ROW(i, const struct wake, wake, p->wakes) {
		if (idle_kind_is_rest((enum idle_kind)idle[wake->wait]) &&
		    !waker_is_timer(profile_get_waker(p, wake->waker)))
			ns[profile_wait(p, wake->wait)->thread] += wake->blocked_ns;
	}
	return ns;
}

/* Per thread: its waits for such peers, its other waits, and how many of those its own time limit ends. */
struct listens {
	uint64_t ns, cnt, others_cnt, timed_cnt;
	uint64_t ended_ns, by_resting_ns;	/* by others; and of that by threads that have nothing to do but that */
};

/*
 * It listens all the time to what a peer sends on its own: changes, events, prices.  That one has nothing else to do,
 * or sends it now and then.
 */
static bool listens(const struct profile *p, const struct listens *l, uint32_t i)
{
	const struct wait *w = profile_wait(p, i);
	uint64_t observed_ns = thread_observed_ns(profile_thread(p, w->thread));
	bool is_of_resting = l->ended_ns && l->by_resting_ns >= l->ended_ns - l->ended_ns / OTHERS_PART;
	bool is_seldom = l->ns / MAX(l->cnt - l->timed_cnt, 1) >= LISTENS_NS;

	return l->ns >= observed_ns - observed_ns / LISTENS_SHARE && l->others_cnt <= l->cnt / 2 &&
	       (is_of_resting || (is_seldom && !computes(p, profile_wait_object(p, w)->pid)));
}

static void count_ends(const struct profile *p, const uint8_t *idle, const bool *is_listening, struct listens *threads)
{
	g_autofree uint64_t *rests_ns = rests_new(p, idle);
	g_autofree uint32_t *by_thread = actors_threads_of_wakers(p);

	EACH_ROW(i, const struct wake, wake, p->wakes) {
		struct listens *l = &threads[profile_wait(p, wake->wait)->thread];
		uint32_t by = by_thread[wake->waker];

		if (!is_listening[wake->wait])
			continue;
		if (waker_is_timer(profile_get_waker(p, wake->waker))) {
			l->timed_cnt += wake->count;
			continue;
		}
		l->ended_ns += wake->blocked_ns;
		if (by == UINT32_MAX)
			continue;
		uint64_t observed_ns = thread_observed_ns(profile_thread(p, by));
		l->by_resting_ns += rests_ns[by] >= observed_ns - observed_ns / RESTS_PART ? wake->blocked_ns : 0;
	}
}

static void find_listeners(const struct profile *p, const uint8_t *reason, uint8_t *idle)
{
	g_autofree bool *is_unasked = unasked_new(p), *is_listening = g_new0(bool, (gsize)p->waits->len + 1);
	g_autofree struct listens *threads = g_new0(struct listens, (gsize)p->threads->len + 1);

	EACH_ROW(i, const struct wait, w, p->waits) {
		struct listens *l = &threads[w->thread];

		if (!wait_is_asleep(w))
			continue;
		is_listening[i] = reason[i] == REASON_NETWORK_RECEIVE && is_unasked[w->object];
		l->ns += is_listening[i] ? w->blocked_ns : 0;
		*(is_listening[i] ? &l->cnt : &l->others_cnt) += w->count;
	}
	count_ends(p, idle, is_listening, threads);
	EACH_ROW(i, const struct wait, w, p->waits)
		if (!idle[i] && is_listening[i] && listens(p, &threads[w->thread], i))
			idle[i] = IDLE_CLIENT;
}

/* Waits that are found to be idle may make others idle.  False: none was found. */
static bool find_once(const struct profile *p, const struct withheld_input *in, GHashTable *clients, uint8_t *idle)
{
	g_autoptr(GHashTable) of_pid = leisure_new(p, idle), busiest = busiest_new(clients);
	bool has_found = false;

	EACH_ROW(i, const struct wait, w, p->waits) {
		const struct object *o = profile_wait_object(p, w);

		if (!may_be_withheld(p, in, idle, i))
			continue;
		uint64_t key = (uint64_t)o->pid << 32 | w->thread;
		const struct client *c = g_hash_table_lookup(clients, &key);
		bool is_long = w->blocked_ns / MAX(w->count, 1) >= WITHHELD_NS;

		/* single answers for a client with mostly long waits may have come soon */
		if ((is_long && is_at_leisure(g_hash_table_lookup(of_pid, GUINT_TO_POINTER(o->pid)))) ||
		    (c && (is_long || c->ns / MAX(c->count, 1) >= WITHHELD_NS) &&
		     is_answering(p, c, g_hash_table_lookup(busiest, GUINT_TO_POINTER(o->pid))))) {
			idle[i] = IDLE_POOL;
			has_found = true;
		}
	}
	return has_found;
}

/* By the program's function: waits there for a turn to take from a queue, and for its pipe. */
struct taking {
	uint64_t turns_ns, pipe_ns;
};

/*
 * Processes take work from one pipe in turns.  Where others wait for their turn in the same function the queue is empty,
 * and who has the turn waits for work as they do.
 */
static void find_takers(const struct profile *p, const struct withheld_input *in, uint8_t *idle)
{
	g_autoptr(GHashTable) of_frame = g_hash_table_new_full(NULL, NULL, NULL, g_free);

	for (unsigned is_found = 0; is_found < 2; is_found++) {
		EACH_ROW(i, const struct wait, w, p->waits) {
			const bool is_turn = idle[i] && in->rule[i] && strcmp(in->rule[i]->name, RULES_QUEUE_TURN) == 0,
				   is_pipe = in->reason[i] == REASON_PIPE && may_be_withheld(p, in, idle, i);
			const int64_t frame = is_turn || is_pipe ? plumbing_user_parent(in->pl, w->user) : -1;
			struct taking *t = frame < 0 ? NULL :
						       hash_row(of_frame, GUINT_TO_POINTER((guint)frame), sizeof(*t));

			if (t && !is_found)
				*(is_turn ? &t->turns_ns : &t->pipe_ns) += w->blocked_ns;
			else if (t && is_pipe && t->turns_ns > t->pipe_ns / 2)
				idle[i] = IDLE_POOL;
		}
	}
}

void withheld_find(const struct profile *p, const struct withheld_input *in, uint8_t *idle)
{
	g_autoptr(GHashTable) clients = clients_new(p, in);

	for (unsigned i = 0; i < PIPELINE_MAX && find_once(p, in, clients, idle); i++)
		;
	find_takers(p, in, idle);
	find_listeners(p, in->reason, idle);
}
