/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What those do as the window ends for whom others wait: they are stopped, or busy. */
#include "base/find.h"
#include "fold/limits/limits.h"

#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "base/opener/opener.h"
#include "base/proc/status.h"
#include "fold/targets/part.h"
#include "symbolize/process/maps.h"

#define STILL_US 5000	/* who is traced stops at each call, but not for so long */
#define WORKERS_MAX 64	/* of a server */
#define SHARERS_MAX 64	/* pairs of processes whose memory is compared */
#define QUEUED_MAX 32	/* waits at connections that nobody has accepted */
#define LONG_SHARE 2	/* 1/n of the window: minimum wait before looking who listens, or shares the memory */
#define SIGNAL_SHARE 10	/* 1/n of the window: what a thread has ended before it is looked at */
#define SIGNAL_LOOKS 7
#define SIGNAL_PAUSE_US 7000

struct scene {
	struct profile *p;
	struct net_tables *nets;
	struct sock_peers *ends;
	const char *proc_dir;
};

static char *status_of(const struct scene *l, uint32_t pid)
{
	g_autofree char *name = g_strdup_printf("task/%" PRIu32 "/status", pid);

	return opener_process_text(l->proc_dir, pid, name);
}

static char state_of(const char *status)
{
	const char *at = status ? proc_status_field(status, "State") : NULL;

	return at ? at[strspn(at, " \t")] : '\0';
}

static bool is_stop(char state)
{
	return state == 'T' || state == 't';
}

static uint64_t switches_of(const char *status)
{
	return proc_status_number(status, "voluntary_ctxt_switches") + proc_status_number(status, "nonvoluntary_ctxt_switches");
}

/* Its status, if it is stopped and stays so; NULL: it is not. Free with g_free(). */
static char *stopped_status(const struct scene *l, uint32_t pid)
{
	g_autofree char *status = pid ? status_of(l, pid) : NULL;

	if (!is_stop(state_of(status)))
		return NULL;
	g_usleep(STILL_US);
	g_autofree char *again = status_of(l, pid);

	return is_stop(state_of(again)) && switches_of(again) == switches_of(status) ? g_steal_pointer(&again) : NULL;
}

static bool is_told(const struct profile *p, uint32_t awaited)
{
	return ANY_ROW(const struct profile_limit, l, p->limits, l->kind == LIMIT_STOPPED && l->pid == awaited);
}

/* by: the process or thread that is stopped, and for which `awaited` stands. */
static void tell(const struct scene *l, uint32_t awaited, uint32_t by)
{
	g_autofree char *status = is_told(l->p, awaited) ? NULL : stopped_status(l, by);
	const uint64_t process = status ? proc_status_number(status, "Tgid") : 0;
	const uint32_t pid = process ? (uint32_t)process : by;
	g_autofree char *name = status ? opener_process_text(l->proc_dir, pid, "comm") : NULL;
	const char *own = status ? proc_status_field(status, "Name") : NULL;
	g_autofree char *field = own ? g_strndup(own + strspn(own, " \t"), strcspn(own + strspn(own, " \t"), "\n")) : NULL;

	if (name ? *g_strchomp(name) : field != NULL)
		profile_add_limit(l->p, LIMIT_STOPPED, awaited, pid == awaited ? 0 : pid, name ? name : field);
}

/* The inode of the socket where the object's peer listens, if connections wait there to be accepted. 0: none do. */
static uint64_t queue_of(const struct scene *l, uint32_t waiter, const struct object *o)
{
	const char *there = object_upstream(o) ?: o->kind == OBJECT_SOCKET && !object_is_accepted(o) ? o->name : NULL;
	const GArray *sockets = there ? net_tables_of(l->nets, waiter) : NULL, *locals;
	struct net_end end;

	if (there && *there == '/') {
		const char *after = strstr(there, " (");
		const size_t len = after ? (size_t)(after - there) : strlen(there);

		locals = net_tables_unix(l->nets);
		return FIRST_ROW(const struct unix_socket, s, locals,
				 s->listens && s->queued && strlen(s->name) == len &&
					 strncmp(s->name, there, len) == 0, s->inode, 0);
	}
	/* a listener on any address does not show where the peer is */
	if (!sockets || !net_end_read(there, &end) ||
	    !ANY_ROW(const struct net_socket, s, sockets,
		     memcmp(s->local.address, end.address, sizeof(end.address)) == 0))
		return 0;
	const struct net_socket *found = net_table_listener(sockets, &end);

	return found && found->queued ? found->inode : 0;
}

static bool has_socket(const struct scene *l, uint32_t pid, uint64_t inode)
{
	g_autoptr(GHashTable) own = pool_sockets_new(l->proc_dir, pid);

	return own && g_hash_table_contains(own, &inode);
}

/*
 * A server's children accept what comes at its address, which it only watches. One of them that is stopped while
 * connections wait there; 0: none is, or another one goes on.
 */
static uint32_t stopped_worker(const struct scene *l, uint32_t waiter, const struct object *o)
{
	g_autoptr(GArray) pids = processes_below(l->proc_dir, o->pid, WORKERS_MAX);
	g_autofree bool *are = g_new0(bool, (gsize)pids->len + 1);
	uint32_t found = 0;

	for (guint i = 1; i < pids->len; i++) {
		g_autofree char *status = status_of(l, g_array_index(pids, uint32_t, i));

		are[i] = is_stop(state_of(status));
		found = are[i] ? g_array_index(pids, uint32_t, i) : found;
	}
	const uint64_t inode = found ? queue_of(l, waiter, o) : 0;

	found = 0;
	for (guint i = 1; inode && i < pids->len; i++) {
		const uint32_t pid = g_array_index(pids, uint32_t, i);

		if (!has_socket(l, pid, inode))
			continue;
		if (!are[i])
			return 0;
		found = pid;
	}
	return found;
}

/* One of the connections that the process has made to there lacks an answer. */
static bool has_asked(const struct scene *l, uint32_t pid, const char *there)
{
	struct net_end end;
	const GArray *sockets = l->ends && there && net_end_read(there, &end) ? net_tables_of(l->nets, pid) : NULL;
	g_autoptr(GHashTable) own = sockets ? pool_sockets_new(l->proc_dir, pid) : NULL;

	EACH_ROW_WHILE(i, const struct net_socket, s, sockets, own)
		if (s->is_tcp && memcmp(&s->remote, &end, sizeof(end)) == 0 && g_hash_table_contains(own, &s->inode) &&
		    sock_peers_asked(l->ends, pid, s).owes == OWES)
			return true;
	return false;
}

/* The object's process, or who accepts at its address, if that is stopped, but not by the waiter, a debugger. 0: it is not. */
static uint32_t stopped_in(const struct scene *l, uint32_t waiter, const struct object *o)
{
	g_autofree char *status = o->pid ? status_of(l, o->pid) : NULL;

	if (!is_stop(state_of(status)))
		return o->pid ? stopped_worker(l, waiter, o) : 0;
	return proc_status_number(status, "TracerPid") == waiter ? 0 : o->pid;
}

static bool may_be_queued(const struct profile *p, const struct wait *w)
{
	const struct object *o = profile_wait_object(p, w);

	return o && o->kind == OBJECT_SOCKET && !o->pid && strcmp(o->place, "tcp") == 0 && !object_is_accepted(o) &&
	       w->flags & WAIT_OPEN_AT_END && w->max_ns >= p->info.duration_ns / LONG_SHARE;
}

/* A connection that nobody has accepted has no process: it gets the one that listens, if that, or who accepts, is stopped. */
static void look_at_queued(const struct scene *l, struct wait *w, struct fd_owners **owners)
{
	const struct object *o = profile_wait_object(l->p, w);
	const uint32_t pid = profile_thread(l->p, w->thread)->pid;
	const uint64_t inode = net_tables_are_ours(l->proc_dir, pid) ? queue_of(l, pid, o) : 0;
	struct object known = *o;
	unsigned others;

	if (!inode)
		return;
	if (!*owners) {
		*owners = fd_owners_new(l->proc_dir);
		fd_owners_read(*owners, true);
	}
	known.pid = fd_owners_find(*owners, inode, FD_READS | FD_WRITES, 0, &others);
	const uint32_t by = stopped_in(l, pid, &known);
	g_autofree char *name = by ? fd_owners_name(*owners, known.pid) : NULL;
	g_autofree char *text = name ? g_strdup_printf("%s (%s)", o->name, name) : NULL;

	if (!text)
		return;
	known.name = text;
	w->object = 1 + profile_object(l->p, &known);
	tell(l, known.pid, by);
}

void stopped_peers_look(struct profile *p, struct net_tables *nets, struct sock_peers *ends, const char *proc_dir)
{
	const struct scene l = { .p = p, .nets = nets, .ends = ends, .proc_dir = proc_dir };
	g_autoptr(GHashTable) seen = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, NULL);
	unsigned left = STOPPED_MAX, queued_left = QUEUED_MAX;
	struct fd_owners *owners = NULL;

	EACH_ROW_WHILE(i, struct wait, w, p->waits, left && g_hash_table_size(seen) < LIMITS_PEERS_MAX) {
		const struct object *o = profile_wait_object(p, w);
		const uint32_t pid = profile_thread(p, w->thread)->pid;
		const bool is_loop = o && o->kind == OBJECT_EPOLL;
		const uint64_t key = o ? o->pid | (is_loop ? (uint64_t)pid << 32 : 0) : 0;

		if (queued_left && may_be_queued(p, w)) {
			look_at_queued(&l, w, &owners);
			queued_left--;
			continue;
		}
		if (!o || object_is_lock(o) || !o->pid || !(w->flags & WAIT_OPEN_AT_END) ||
		    !g_hash_table_add(seen, g_memdup2(&key, sizeof(key))) || is_told(p, o->pid))
			continue;
		const uint32_t by = stopped_in(&l, pid, o);

		if (!by || (is_loop && !has_asked(&l, pid, object_upstream(o))))
			continue;
		tell(&l, o->pid, by);
		left--;
	}
	fd_owners_free(owners);
}

struct search {
	const struct scene *l;
	GArray *pids;	/* NULL: not listed yet */
};

static bool take_stopped(const struct opener_entry *e, void *data)
{
	struct search *search = data;
	uint32_t pid = g_ascii_isdigit(*e->name) ? (uint32_t)g_ascii_strtoull(e->name, NULL, 10) : 0;
	g_autofree char *status = pid ? status_of(search->l, pid) : NULL;

	if (is_stop(state_of(status)))
		g_array_append_val(search->pids, pid);
	return search->pids->len < STOPPED_MAX;
}

/* struct maps_line; the text has their paths. NULL: unreadable. */
static GArray *mappings_of(const struct scene *l, uint32_t pid, char **ret_text)
{
	*ret_text = living_maps(l->proc_dir, pid, MAPS_TEXT_MAX);
	return *ret_text ? maps_lines(*ret_text) : NULL;
}

/* The place of what is waited for is in memory that both have. */
static bool shares(const struct scene *l, uint32_t pid, uint32_t other, const char *place)
{
	g_autofree char *text = NULL, *others_text = NULL;
	g_autoptr(GArray) own = mappings_of(l, pid, &text);
	g_autoptr(GArray) others = own ? mappings_of(l, other, &others_text) : NULL;

	EACH_ROW_WHILE(i, const struct maps_line, m, own, others) {
		const struct maps_file file = maps_file_of(m);

		if (!m->is_shared || (strcmp(m->path, place) != 0 && !g_pattern_match_simple(place, m->path)))
			continue;
		EACH_ROW(k, const struct maps_line, n, others) {
			const struct maps_file there = maps_file_of(n);

			if (n->is_shared && maps_file_equal(&file, &there))
				return true;
		}
	}
	return false;
}

/* Whoever shares the memory of what the thread waits for may be the one to end that: it is stopped. */
static void look_at_sharers(const struct scene *l, const struct wait *w, const GArray *stopped, unsigned *left)
{
	const struct thread *t = profile_thread(l->p, w->thread);
	const char *place = profile_wait_object(l->p, w)->place;

	EACH_ROW_WHILE(i, const uint32_t, pid, stopped, *left) {
		if (*pid == t->pid)
			continue;
		(*left)--;
		if (!shares(l, t->pid, *pid, place))
			continue;
		tell(l, *pid, *pid);
		const struct profile_limit *told = FIRST_ROW(const struct profile_limit, one, l->p->limits,
							     one->kind == LIMIT_STOPPED && one->pid == *pid, one, NULL);
		g_autofree char *text = told ? g_strdup_printf("%" PRIu32 " %s", *pid, told->text) : NULL;

		if (text)
			profile_add_limit(l->p, LIMIT_SEMAPHORE, t->pid, t->tid, text);
		return;
	}
}

void stopped_holders_look(struct profile *p, const char *proc_dir)
{
	const struct scene l = { .p = p, .proc_dir = proc_dir };
	struct search search = { .l = &l };
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
	unsigned left = SHARERS_MAX;

	EACH_ROW_WHILE(i, const struct wait, w, p->waits, g_hash_table_size(seen) < LIMITS_PEERS_MAX) {
		const struct object *o = profile_wait_object(p, w);

		if (!(w->flags & WAIT_OPEN_AT_END))
			continue;
		if (wait_is_for_signal_of_others(p, w) && w->max_ns >= p->info.duration_ns / LONG_SHARE) {
			if (!search.pids) {
				search.pids = g_array_new(FALSE, FALSE, sizeof(uint32_t));
				opener_list(proc_dir, false, take_stopped, &search);
			}
			look_at_sharers(&l, w, search.pids, &left);
			continue;
		}
		const bool is_held = wait_is_for_file_lock(p, w) || (o && object_is_lock(o));
		const uint32_t awaited = is_held ? profile_awaited(p, w) : 0;

		if (awaited && g_hash_table_add(seen, GUINT_TO_POINTER(awaited)))
			tell(&l, awaited, awaited);
	}
	g_clear_pointer(&search.pids, g_array_unref);
}

struct signaller {
	uint32_t pid, tid, busy;
	uint64_t ended_ns;
};

static GArray *signallers_new(const struct profile *p)
{
	GArray *all = g_array_new(FALSE, FALSE, sizeof(struct signaller));

	EACH_ROW(i, const struct wake, wake, p->wakes) {
		const struct wait *w = profile_wait(p, wake->wait);
		const struct waker *by = profile_get_waker(p, wake->waker);

		if (by->irq || !by->pid || by->pid == profile_thread(p, w->thread)->pid ||
		    !wait_is_for_signal_of_others(p, w))
			continue;
		struct signaller *known = FIRST_ROW(struct signaller, s, all, s->tid == by->tid, s, NULL);
		const struct signaller fresh = { .pid = by->pid, .tid = by->tid, .ended_ns = wake->blocked_ns };

		if (known)
			known->ended_ns += wake->blocked_ns;
		else if (all->len < SIGNALLERS_MAX)
			g_array_append_val(all, fresh);
	}
	return all;
}

void signallers_look(struct profile *p, const char *proc_dir)
{
	const struct scene l = { .p = p, .proc_dir = proc_dir };
	g_autoptr(GArray) all = signallers_new(p);

	for (unsigned i = 0; i < SIGNAL_LOOKS && all->len; i++) {
		EACH_ROW(k, struct signaller, s, all) {
			g_autofree char *name = g_strdup_printf("task/%" PRIu32 "/status", s->tid);
			g_autofree char *status = opener_process_text(l.proc_dir, s->pid, name);
			const char state = state_of(status);

			s->busy += state == 'R' || state == 'D';
		}
		g_usleep(SIGNAL_PAUSE_US);
	}
	EACH_ROW(k, const struct signaller, s, all) {
		g_autofree char *text = g_strdup_printf(LIMIT_RESTS_FORMAT, s->busy, (uint32_t)SIGNAL_LOOKS);

		if (s->ended_ns >= p->info.duration_ns / SIGNAL_SHARE)
			profile_add_limit(p, LIMIT_SIGNALLER, s->pid, s->tid, text);
	}
}
