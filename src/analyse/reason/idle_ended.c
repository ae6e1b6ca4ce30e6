/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/reason/idle_ended.h"

#include <string.h>

#include "analyse/actors.h"
#include "analyse/peers.h"
#include "base/each.h"
#include "base/hash.h"
#include "features/wakers/analysis.h"

#define PATH_MAX_NODES 256
#define NONE UINT32_MAX
#define STALL_NS 100000000ULL	/* people notice that */
#define STALLS_MIN 2	/* a single one may be due to anything */

/* A datagram socket with a path in the file system, like /dev/log: clients rarely have one. */
static bool is_unix_datagrams(const struct profile *p, const struct wait *w, const struct object *o)
{
	static const char *const functions[] = { "__skb_wait_for_more_packets", NULL };

	return o->kind == OBJECT_SOCKET && strcmp(o->place, "unix") == 0 && !g_str_has_prefix(o->name, "unix socket") &&
	       profile_stack_names(p, w->kernel, functions);
}

bool ended_is_served(const struct finder *f, uint32_t i)
{
	const struct wait *w = profile_wait(f->p, i);
	const struct object *o = profile_wait_object(f->p, w);
	const char *from = o && o->kind == OBJECT_SOCKET ? strstr(o->name, " from") : NULL;

	if (o && f->reason[i] == REASON_NETWORK_RECEIVE &&
	    (object_serves_datagrams(o) || is_unix_datagrams(f->p, w, o)))
		return true;
	/* which side asks is only a guess for these */
	if (!from || f->reason[i] != REASON_NETWORK_RECEIVE || strcmp(o->place, "udp") == 0)
		return false;
	return *o->name == ':' ? from[5] == ' ' : !from[5] || g_str_has_prefix(from + 5, " (");
}

bool ended_is_for_next_request(const struct finder *f, uint32_t i)
{
	const struct object *o = profile_wait_object(f->p, profile_wait(f->p, i));

	return o && peers_is_for_client(o);
}

uint16_t *ended_depths_new(const struct profile *p, const struct plumbing *pl)
{
	uint16_t *depth = g_new0(uint16_t, (gsize)p->nodes->len + 1);

	for (uint32_t n = 1; n < p->nodes->len; n++) {
		const struct stack_node *node = profile_get_node(p, n);
		const struct frame *frame = profile_get_frame(p, node->frame);

		/* the start function of a stripped program, outside libc, has no name */
		depth[n] = frame->name && g_str_has_prefix(frame->name, "__libc_start_") ? 0 : depth[node->parent];
		if (frame->kind == FRAME_USER && (frame->name || frame->module) &&
		    !plumbing_frame_is_runtime(pl, node->frame))
			depth[n]++;
	}
	return depth;
}

/* Writes the path from the outermost frame on; returns its length. */
static uint32_t path_of(const struct profile *p, uint32_t node, uint32_t *ret_path)
{
	uint32_t len = 0;

	for (uint32_t n = node; n && len < PATH_MAX_NODES; n = profile_get_node(p, n)->parent)
		ret_path[len++] = n;
	for (uint32_t i = 0; i < len / 2; i++) {
		uint32_t other = ret_path[len - 1 - i];

		ret_path[len - 1 - i] = ret_path[i];
		ret_path[i] = other;
	}
	return len;
}

/* Number of leading functions of the program that both paths share, whatever their lines. */
static uint16_t common_depth(const struct finder *f, uint32_t a, uint32_t b)
{
	uint32_t x[PATH_MAX_NODES], y[PATH_MAX_NODES];
	uint32_t x_len = path_of(f->p, a, x), y_len = path_of(f->p, b, y);
	uint16_t depth = 0;

	for (uint32_t i = 0; i < MIN(x_len, y_len); i++) {
		const struct frame *u = profile_get_frame(f->p, profile_get_node(f->p, x[i])->frame),
				   *v = profile_get_frame(f->p, profile_get_node(f->p, y[i])->frame);

		if (u != v && (!u->name || u->name != v->name || u->module != v->module))
			break;
		depth = f->depth[x[i]];
	}
	return depth;
}

/* Whether it waits in a queue, pool or lock of its language or a library, called by the program's function. */
static bool is_in_library(const struct finder *f, const struct wait *w)
{
	for (uint32_t n = w->user; n; n = profile_get_node(f->p, n)->parent) {
		uint32_t frame = profile_get_node(f->p, n)->frame;

		if (!plumbing_frame_is_runtime(f->pl, frame))
			return false;
		if (plumbing_frame_level(f->pl, frame) == RUNTIME_LIBRARY)
			return true;
	}
	return false;
}

/*
 * Whether a thread of the same name ends the wait in the function that also calls for it.  Threads starved for a place
 * that others take in turns sleep elsewhere, so they have another role.  A function in which all threads of the
 * program begin proves nothing.
 */
static bool passes_on(const struct finder *f, const struct wait *w, const struct waker *waker, uint32_t by)
{
	const struct thread *sleeper = profile_thread(f->p, w->thread), *t = profile_thread(f->p, by);

	if (!w->user || !waker->user || !actors_same_kind(t->comm, sleeper->comm) || t->pid != sleeper->pid)
		return false;
	uint32_t common = common_depth(f, w->user, waker->user);
	return (common >= 2 && common + 1 >= f->depth[w->user]) ||
	       (common && common == f->depth[w->user] && is_in_library(f, w));
}

bool idle_is_asked(const struct profile *p, const struct wait *w, const struct waker *waker)
{
	const char *who = profile_upstream(p, w), *name = who ? strstr(who, " (") : NULL;
	size_t len = waker->comm ? strcspn(waker->comm, " ") : 0;

	if (!name)
		return false;
	return waker->pid == profile_wait_object(p, w)->pid ||
	       (len && strcmp(waker->comm, profile_thread(p, w->thread)->comm) != 0 &&
		!strncmp(name + 2, waker->comm, len) && (name[2 + len] == ')' || name[2 + len] == ' '));
}

/* It had sent a question for most of the time in which data came; true if that is not known. */
static bool had_asked(const struct profile *p, const struct wait *w)
{
	uint64_t all_ns = 0, silent_ns = 0;

	EACH_ROW(i, const struct tcp_wait, t, p->tcp_waits) {
		const bool is_its = t->object + 1 == w->object && t->direction == TCP_WAIT_RECEIVE;

		all_ns += is_its ? t->blocked_ns : 0;
		silent_ns += is_its ? t->silent_ns : 0;
	}
	return silent_ns <= all_ns / 2;
}

bool idle_has_stalls(const struct profile *p, const struct wait *w, bool by_timer)
{
	const struct waker *waker = w->max_waker ? profile_get_waker(p, w->max_waker - 1) : NULL;
	uint64_t cnt = 0;

	for (unsigned s = profile_hist_slot(STALL_NS); s < PROFILE_HIST_SLOTS; s++)
		cnt += w->hist[s];
	return cnt >= STALLS_MIN && waker && w->max_ns >= STALL_NS &&
	       (idle_is_asked(p, w, waker) || (by_timer && waker_is_timer(waker))) && had_asked(p, w);
}

/* Facts about a waker. */
struct waker_facts {
	bool is_broadcast, is_notice, gives_room, brings_by_tcp, works;
};

static struct waker_facts *waker_facts_new(const struct profile *p)
{
	static const char *const notices[] = { "ProcessNotifyInterrupt", NULL }; /* PostgreSQL's LISTEN */
	/* net/unix/af_unix.c, net/core/stream.c, fs/pipe.c */
	static const char *const room[] = { "unix_write_space", "sk_stream_write_space", "unix_stream_read_generic", "anon_pipe_read",
					    "pipe_read", NULL };
	struct waker_facts *facts = g_new0(struct waker_facts, (gsize)p->wakers->len + 1);

	EACH_ROW(i, const struct waker, waker, p->wakers) {
		facts[i].is_broadcast = waker_is_broadcast(p, waker);
		facts[i].brings_by_tcp = waker_brings_by_tcp(p, waker);
		facts[i].gives_room = profile_stack_names(p, waker->kernel, room);
		facts[i].works = profile_signaller_works(p, waker->pid, waker->tid);
		facts[i].is_notice = waker->user && profile_stack_names(p, waker->user, notices);
	}
	return facts;
}

/*
 * Whether it does what the one that waits does: roles are equal, or have names that differ by a number, "web-3", and
 * begin in the same function of the program.  Those of one name do other things wherever they begin, unless both wait
 * for the same; but who serves clients waits for what it has asked another for.
 */
static bool is_peer(const struct finder *f, uint32_t by, const struct wait *w)
{
	const struct thread *t = profile_thread(f->p, by), *sleeper = profile_thread(f->p, w->thread);
	uint32_t role = f->roles->of_thread[by], of_sleeper = f->roles->of_thread[w->thread];
	const gpointer same = GSIZE_TO_POINTER((gsize)by << 32 | w->object);

	if (role == of_sleeper)
		return true;
	return t->pid == sleeper->pid && actors_same_kind(t->comm, sleeper->comm) &&
	       (strcmp(t->comm, sleeper->comm) != 0 || f->facts[of_sleeper].serves ||
		(w->object && g_hash_table_contains(f->waits_for, same))) &&
	       common_depth(f, g_array_index(f->roles->rows, struct role, role).trunk,
			    g_array_index(f->roles->rows, struct role, of_sleeper).trunk);
}

/*
 * Whether the waker wakes from the function in which the other one waits: a queue that still has work, or something
 * shared.
 */
static bool is_passed(const struct finder *f, const struct wait *w, const struct waker *waker)
{
	return w->user && waker->user && f->depth[waker->user] == f->depth[w->user] &&
	       common_depth(f, w->user, waker->user) == f->depth[w->user] && !is_in_library(f, w);
}

/* Adds one kind of waker of a wait row. */
static void count_wake(struct finder *f, const struct wake *wake, const uint32_t *threads,
		       const struct waker_facts *facts)
{
	const struct waker *waker = profile_get_waker(f->p, wake->waker);
	const struct wait *w = profile_wait(f->p, wake->wait);
	const struct thread *sleeper = profile_thread(f->p, w->thread);
	uint32_t by = threads[wake->waker];
	struct ended *e = &f->ended[wake->wait];
	uint64_t ns = wake->blocked_ns + 1;

	e->cnt += wake->count;
	e->timer_cnt += waker_is_timer(waker) ? wake->count : 0;
	if (waker->irq)
		*(waker_is_timer(waker) ? &e->timer_ns : &e->others_ns) += ns;
	else if (by != NONE && (is_peer(f, by, w) || passes_on(f, w, waker, by)))
		*(is_passed(f, w, waker) ? &e->passed_ns : &e->peers_ns) += ns;
	else if (waker->pid == sleeper->pid)
		e->process_ns += ns;
	else
		e->others_ns += ns;
	bool is_younger = waker->pid != sleeper->pid && waker->start_ns > sleeper->start_ns;

	if (f->is_command && by != NONE && is_younger)
		e->children_ns += ns;
	if (is_younger && waker->start_ns > f->p->info.start_ns)
		e->begun_ns += ns;
	if (!waker->irq && idle_is_asked(f->p, w, waker)) {
		e->upstream_ns += ns;
		e->upstream_cnt += wake->count;
	}
	if (facts[wake->waker].is_broadcast)
		e->broadcast_ns += ns;
	if (facts[wake->waker].brings_by_tcp)
		e->tcp_ns += ns;
	if (facts[wake->waker].gives_room)
		e->room_ns += ns;
	if (facts[wake->waker].works && waker->pid != sleeper->pid && wait_is_for_signal_of_others(f->p, w))
		e->busy_ns += ns;
	if (facts[wake->waker].is_notice)
		e->notice_ns += ns;
}

static void add_ended(struct ended *sum, const struct ended *e)
{
	ADD_MEMBERS(sum, e, peers_ns, passed_ns, process_ns, timer_ns, others_ns, upstream_ns, room_ns, notice_ns);
	ADD_MEMBERS(sum, e, busy_ns, cnt, timer_cnt, upstream_cnt);
}

/*
 * A datagram socket whose port nobody chose: who asks by one that is made for each question waits for answers.  One that
 * is kept may be a server's, on a port above those that are given out.
 */
static void note_question(struct finder *f, const struct wait *w)
{
	const struct object *o = profile_wait_object(f->p, w);
	struct ended *e = &f->of_place[w->user];

	if (!o || o->kind != OBJECT_SOCKET || strcmp(o->place, "udp") != 0 || !strstr(o->name, OBJECT_BOUND) ||
	    object_serves_datagrams(o))
		return;
	e->asks_anew = e->asks_anew || (e->asks_by && e->asks_by != w->object);
	e->asks_by = w->object;
}

bool ended_is_udp_question(const struct finder *f, const struct wait *w)
{
	return w->user && f->of_place[w->user].asks_anew;
}

void ended_find(struct finder *f)
{
	const struct profile *p = f->p;
	g_autofree uint32_t *threads = actors_threads_of_wakers(p);
	g_autofree struct waker_facts *facts = waker_facts_new(p);

	f->waits_for = g_hash_table_new(hash_number, NULL);
	EACH_ROW(i, const struct wait, w, p->waits) {
		hash_new_pair(f->waits_for, w->thread, w->object);
		if (ended_is_served(f, i) || ended_is_for_next_request(f, i))
			f->facts[f->roles->of_thread[w->thread]].serves = true;
	}
	for (guint i = 0; i < p->wakes->len; i++)
		count_wake(f, profile_wake(p, i), threads, facts);
	for (uint32_t i = 0; i < p->waits->len; i++) {
		add_ended(&f->of_object[profile_wait(p, i)->object], &f->ended[i]);
		add_ended(&f->of_place[profile_wait(p, i)->user], &f->ended[i]);
		note_question(f, profile_wait(p, i));
	}
}
