/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/find.h"
#include "fold/limits/limits.h"

#include <netinet/tcp.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "fold/targets/part.h"

/* A connection that is not accepted yet has no inode, because no descriptor refers to it. */
static bool is_queued_at(const GArray *sockets, const struct net_socket *s, GHashTable *own)
{
	if (!s->is_tcp || s->inode || s->state != TCP_ESTABLISHED)
		return false;
	return ANY_ROW(const struct net_socket, l, sockets,
		       l->is_tcp && l->state == TCP_LISTEN && l->queued && l->local.port == s->local.port &&
		       g_hash_table_contains(own, &l->inode));
}

static void look_at_cycle(struct profile *p, struct net_tables *nets, const char *proc_dir, uint32_t pid, uint32_t peer)
{
	const GArray *sockets = net_tables_of(nets, pid);
	bool is_any = false;

	for (guint i = 0; sockets && i < sockets->len; i++)
		is_any = is_any || g_array_index(sockets, struct net_socket, i).queued;
	/* usually nothing waits, and then no descriptors need to be read */
	g_autoptr(GHashTable) own = is_any ? pool_sockets_new(proc_dir, pid) : NULL;
	g_autoptr(GHashTable) others = own ? pool_sockets_new(proc_dir, peer) : NULL;

	EACH_ROW_WHILE(i, const struct net_socket, s, sockets, others) {
		const struct net_socket *from = is_queued_at(sockets, s, own) ?
							net_table_peer(sockets, true, &s->local, &s->remote) : NULL;

		if (!from || !g_hash_table_contains(others, &from->inode))
			continue;
		g_autofree char *text = g_strdup_printf(LIMIT_CYCLE_FORMAT ":%u", peer, s->local.port);

		profile_add_limit(p, LIMIT_CYCLE, pid, 0, text);
		return;
	}
}

void cycle_look(struct profile *p, struct net_tables *nets, const char *proc_dir)
{
	g_autoptr(GHashTable) seen = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, NULL);

	EACH_ROW_WHILE(i, const struct wait, w, p->waits, g_hash_table_size(seen) < CYCLES_PAIRS_MAX) {
		const struct object *o = profile_wait_object(p, w);
		uint32_t pid = profile_thread(p, w->thread)->pid;

		if (!(w->flags & WAIT_OPEN_AT_END) || !o || o->kind != OBJECT_SOCKET || !o->pid || o->pid == pid ||
		    strcmp(o->place, "tcp") != 0 || object_is_accepted(o))
			continue;
		const uint64_t pair = (uint64_t)pid << 32 | o->pid;

		if (g_hash_table_add(seen, g_memdup2(&pair, sizeof(pair))))
			look_at_cycle(p, nets, proc_dir, pid, o->pid);
	}
}

struct search {
	struct profile *p;
	const char *proc_dir;
	struct net_tables *nets;
	struct sock_peers *peers;
	struct fd_owners *owners;
};

/* A listener on any address does not show where the peer is. */
static bool is_of_this_machine(const GArray *sockets, const struct net_end *there)
{
	return ANY_ROW(const struct net_socket, s, sockets,
		       memcmp(s->local.address, there->address, sizeof(there->address)) == 0);
}

static void look_at_queue(struct search *s, uint32_t pid, const struct net_end *there)
{
	const GArray *sockets = net_tables_of(s->nets, pid);
	const struct net_socket *l = sockets && is_of_this_machine(sockets, there) ? net_table_listener(sockets, there)
										   : NULL;
	unsigned others;
	uint32_t room;

	if (!l || !l->queued || !sock_peers_room(s->peers, pid, l, &room) || l->queued < room)
		return;
	if (!s->owners) {
		s->owners = fd_owners_new(s->proc_dir);
		fd_owners_read(s->owners, true);
	}
	uint32_t owner = fd_owners_find(s->owners, l->inode, FD_READS | FD_WRITES, 0, &others);
	g_autofree char *name = owner ? fd_owners_name(s->owners, owner) : NULL, *address = net_end_text(there);
	g_autofree char *text = g_strdup_printf(LIMIT_FULL_FORMAT "%s%s%s%s", l->queued, room, address, name ? " (" : "",
						name ? name : "", name ? ")" : "");

	profile_add_limit(s->p, LIMIT_FULL, owner, 0, text);
}

void full_queue_look(struct profile *p, struct net_tables *nets, struct sock_peers *peers, const char *proc_dir)
{
	struct search s = { .p = p, .proc_dir = proc_dir, .nets = nets, .peers = peers };
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

	EACH_ROW_WHILE(i, const struct wait, w, p->waits, g_hash_table_size(seen) < FULL_QUEUES_MAX) {
		const struct object *o = profile_wait_object(p, w);
		struct net_end there;

		if (!o || o->kind != OBJECT_SOCKET || strcmp(o->place, "tcp") != 0 || !net_end_read(o->name, &there) ||
		    !g_hash_table_add(seen, net_end_text(&there)))
			continue;
		look_at_queue(&s, profile_thread(p, w->thread)->pid, &there);
	}
	fd_owners_free(s.owners);
}

#define LOOKS 4		/* a delayed write is sent before the next one is made, so look several times */
#define NAGLE_PAUSE_US 5000
#define SOCKETS_MAX 32	/* limit of sockets to query */

static bool holds_back(struct sock_peers *peers, uint32_t pid, const GArray *sockets, GHashTable *own,
		       const struct net_end *there)
{
	unsigned left = SOCKETS_MAX;

	EACH_ROW_WHILE(i, const struct net_socket, s, sockets, left) {
		if (!s->is_tcp || s->state != TCP_ESTABLISHED || memcmp(&s->remote, there, sizeof(*there)) != 0 ||
		    !g_hash_table_contains(own, &s->inode))
			continue;
		left--;
		if (sock_peers_holds_back(peers, pid, s))
			return true;
	}
	return false;
}

static void look_at_nagle(struct profile *p, struct sock_peers *peers, struct net_tables *nets, const char *proc_dir,
		    uint32_t pid, const struct net_end *there)
{
	const GArray *sockets = net_tables_of(nets, pid);
	g_autoptr(GHashTable) own = sockets ? pool_sockets_new(proc_dir, pid) : NULL;
	g_autofree char *address = net_end_text(there);

	for (unsigned i = 0; own && i < LOOKS; i++) {
		if (holds_back(peers, pid, sockets, own, there)) {
			profile_add_limit(p, LIMIT_NAGLE, pid, 0, address);
			return;
		}
		g_usleep(NAGLE_PAUSE_US);
	}
}

void nagle_look(struct profile *p, struct net_tables *nets, struct sock_peers *peers, const char *proc_dir)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);

	EACH_ROW_WHILE(i, const struct wait, w, p->waits, g_hash_table_size(seen) < NAGLE_PROCESSES_MAX) {
		const struct object *o = profile_wait_object(p, w);
		uint32_t pid = profile_thread(p, w->thread)->pid;
		struct net_end there;

		if (w->hist[DELAYED_ACK_SLOT] < DELAYED_ACKS_MIN || !o || o->kind != OBJECT_SOCKET ||
		    strcmp(o->place, "tcp") != 0 || !net_end_read(o->name, &there) ||
		    !g_hash_table_add(seen, GUINT_TO_POINTER(pid)))
			continue;
		look_at_nagle(p, peers, nets, proc_dir, pid, &there);
	}
}

#define AGAIN 8	/* number of looks, because connections may exist only briefly and change while they are read */
#define OWED_PAUSE_US 7000
#define ASKED_MIN 8	/* answers: fewer do not tell that each is one segment */

struct look {
	uint32_t clients, old;	/* clients waiting for an answer; those waiting since before the window */
	/* the peer that most of the process's own connections wait for, else go to; NULL: it has made none */
	char *there;
	struct asked_end {
		uint32_t made_cnt, asked_cnt;
		uint64_t inode;	/* of the listener there; 0: not on this machine */
	} upstream;
};

/*
 * Clients that ask again as soon as they have an answer mostly do so within one clock tick, so the order is not known.
 * Where each of many questions and answers was one segment, those that wait have sent one more than they received.
 */
static bool has_asked_once_more(const struct client *c)
{
	return c->sent_cnt >= ASKED_MIN && c->received_cnt == c->sent_cnt + 1;
}

static void count_clients(struct look *l, const struct profile *p, const GArray *clients)
{
	const uint64_t window_ns = clock_ns(CLOCK_MONOTONIC) - p->info.start_ns;
	uint32_t likely = 0;
	bool is_telling = true;

	EACH_ROW(i, const struct client, c, clients) {
		const bool is_old = c->received_ns > window_ns;

		is_telling = is_telling && !(c->owes == OWES_NOT && has_asked_once_more(c));
		if (c->owes == OWES_NOT || c->received_ns < OWED_AGE_NS)
			continue;
		if (c->owes == OWES)
			*(is_old ? &l->old : &l->clients) += 1;
		else
			likely += !is_old && has_asked_once_more(c);
	}
	l->clients += is_telling ? likely : 0;
}

/* It has sent something since the last data came. A session that rests in a transaction has not. */
static bool has_asked(struct sock_peers *peers, uint32_t pid, const struct net_socket *s)
{
	uint64_t received_ns, sent_ns;

	return s->state == TCP_SYN_SENT ||
	       (sock_peers_last_data(peers, pid, s, &received_ns, &sent_ns) && sent_ns < received_ns);
}

static void count_made(struct look *l, GHashTable *upstreams, const GArray *sockets, const struct net_socket *s,
		       bool is_asked)
{
	g_autofree char *there = net_end_text(&s->remote);
	struct asked_end *u = g_hash_table_lookup(upstreams, there);

	if (!u) {
		const struct net_socket *listener = net_table_listener(sockets, &s->remote);

		u = g_new0(struct asked_end, 1);
		u->inode = listener ? listener->inode : 0;
		g_hash_table_insert(upstreams, g_strdup(there), u);
	}
	u->made_cnt++;
	u->asked_cnt += is_asked;
	if (u->asked_cnt < l->upstream.asked_cnt ||
	    (u->asked_cnt == l->upstream.asked_cnt && u->made_cnt <= l->upstream.made_cnt))
		return;
	g_free(l->there);
	l->there = g_steal_pointer(&there);
	l->upstream = *u;
}

static struct look read_owed(const struct profile *p, struct sock_peers *peers, const char *proc_dir, uint32_t pid)
{
	struct net_tables *nets = net_tables_new(proc_dir);
	const GArray *sockets = net_tables_of(nets, pid);
	g_autoptr(GHashTable) own = sockets ? pool_sockets_new(proc_dir, pid) : NULL;
	g_autoptr(GHashTable) upstreams = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	g_autofree bool *served = own ? pool_served_ports_new(sockets) : NULL;
	g_autoptr(GArray) clients = g_array_new(FALSE, FALSE, sizeof(struct client));
	struct look l = { 0 };

	EACH_ROW_WHILE(i, const struct net_socket, s, sockets, own) {
		if (!s->is_tcp || (s->state != TCP_ESTABLISHED && s->state != TCP_SYN_SENT) ||
		    !g_hash_table_contains(own, &s->inode))
			continue;
		if (served[s->local.port]) {
			const struct client c = sock_peers_client(peers, pid, s);

			g_array_append_val(clients, c);
		} else {
			count_made(&l, upstreams, sockets, s, has_asked(peers, pid, s));
		}
	}
	count_clients(&l, p, clients);
	net_tables_free(nets);
	return l;
}

/* Clients that wait for long may be waiting for events, which come when there are any. */
static bool is_owing(const struct look *l)
{
	return l->clients >= OWED_MIN && l->old <= l->clients / 4;
}

static void look_at_owed(struct profile *p, struct sock_peers *peers, const char *proc_dir, uint32_t pid,
			 unsigned *again)
{
	struct look l = read_owed(p, peers, proc_dir, pid);
	unsigned others;

	for (; *again && l.clients && (!is_owing(&l) || !l.there); (*again)--) {
		g_usleep(OWED_PAUSE_US);
		g_free(l.there);
		l = read_owed(p, peers, proc_dir, pid);
	}
	g_autofree char *there = l.there;
	if (l.clients + l.old < OWED_MIN)
		return;
	/* these may wait for events, so they are owed nothing */
	if (!is_owing(&l))
		g_clear_pointer(&there, g_free);
	struct fd_owners *owners = fd_owners_new(proc_dir);

	fd_owners_read(owners, true);
	const uint64_t inode = there ? l.upstream.inode : 0;
	uint32_t owner = inode ? fd_owners_find(owners, inode, FD_READS | FD_WRITES, 0, &others) : 0;
	g_autofree char *name = owner ? fd_owners_name(owners, owner) : NULL;
	g_autofree char *text = g_strdup_printf(LIMIT_OWED_FORMAT "%s%s%s%s", l.clients + l.old, there ? l.upstream.made_cnt : 0,
						there ? there : "nobody", name ? " (" : "",
						name ? name : "", name ? ")" : "");

	profile_add_limit(p, LIMIT_OWED, pid, 0, text);
	fd_owners_free(owners);
}

/* Its process may have clients: an event loop, or a thread for each connection that it has accepted. */
static bool serves(const struct object *o)
{
	if (o->kind == OBJECT_EPOLL)
		return strstr(o->name, "socket");
	return strcmp(o->place, "tcp") == 0 && object_is_accepted(o);
}

void owed_look(struct profile *p, struct sock_peers *peers, const char *proc_dir)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
	const bool is_chosen = !profile_is_of_machine(p);
	unsigned again = AGAIN;

	EACH_ROW_WHILE(i, const struct wait, w, p->waits, g_hash_table_size(seen) < OWED_PROCESSES_MAX) {
		const struct object *o = profile_wait_object(p, w);
		uint32_t pid = profile_thread(p, w->thread)->pid;

		/* for a recording of the whole machine only if it waits for sockets often */
		if (o && serves(o) && (is_chosen || w->count >= OWED_WAITS_MIN) &&
		    g_hash_table_add(seen, GUINT_TO_POINTER(pid)))
			look_at_owed(p, peers, proc_dir, pid, &again);
	}
}

struct backlog {
	const GArray *tcp, *locals;	/* sockets that the process can see */
	uint32_t queued;
	const struct net_socket *tcp_best;
	const struct unix_socket *unix_best;
};

/* own: inodes of the process's sockets; NULL: of all processes. */
static void find_backlog(struct backlog *b, GHashTable *own)
{
	b->queued = BACKLOG_MIN - 1;
	EACH_ROW_OF(i, const struct net_socket, s, b->tcp) {
		if (!s->is_tcp || s->state != TCP_LISTEN || s->queued <= b->queued ||
		    (own && !g_hash_table_contains(own, &s->inode)))
			continue;
		b->queued = s->queued;
		b->tcp_best = s;
	}
	EACH_ROW_OF(i, const struct unix_socket, s, b->locals) {
		if (!s->listens || s->queued <= b->queued || (own && !g_hash_table_contains(own, &s->inode)))
			continue;
		b->queued = s->queued;
		b->unix_best = s;
	}
}

void backlog_look(struct profile *p, struct net_tables *nets, const char *proc_dir, uint32_t pid)
{
	struct backlog all = { .tcp = net_tables_of(nets, pid), .locals = net_tables_unix(nets) }, found = all;

	/* usually nothing waits, and then no descriptors need to be read */
	find_backlog(&all, NULL);
	if (!all.tcp_best && !all.unix_best)
		return;
	g_autoptr(GHashTable) own = pool_sockets_new(proc_dir, pid);
	if (!own)
		return;
	find_backlog(&found, own);
	if (!found.tcp_best && !found.unix_best)
		return;
	g_autofree char *where = found.unix_best ? g_strdup(*found.unix_best->name ? found.unix_best->name : "a Unix socket") :
						   g_strdup_printf(":%u", found.tcp_best->local.port);
	g_autofree char *text = g_strdup_printf(LIMIT_BACKLOG_FORMAT "%s", found.queued, where);

	profile_add_limit(p, LIMIT_BACKLOG, pid, 0, text);
}
