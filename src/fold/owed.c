/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/owed.h"

#include <netinet/tcp.h>
#include <string.h>

#include "base/clock.h"
#include "fold/fd_owners.h"
#include "fold/pool.h"
#include "fold/sock_peers.h"
#include "profile/limits.h"

#define AGAIN 8	/* looks in all: connections may be there only while an answer is due, and change while they are looked at */
#define PAUSE_US 7000

struct look {
	uint32_t clients, old;	/* that wait for an answer; since before the window */
	uint32_t there_cnt;
	char *there;	/* where most connections go that the process made itself; NULL: it has made none */
	uint64_t inode;	/* of who listens there; 0: not on this machine */
};

static void count_client(struct look *l, const struct profile *p, struct sock_peers *peers, uint32_t pid,
			 const struct net_socket *s)
{
	uint64_t received_ns;

	if (sock_peers_owes(peers, pid, s, &received_ns) && received_ns >= OWED_AGE_NS)
		*(clock_ns(CLOCK_MONOTONIC) - received_ns < p->info.start_ns ? &l->old : &l->clients) += 1;
}

static void count_made(struct look *l, GHashTable *cnts, const GArray *sockets, const struct net_socket *s)
{
	g_autofree char *there = net_end_text(&s->remote);
	uint32_t cnt = GPOINTER_TO_UINT(g_hash_table_lookup(cnts, there)) + 1;
	const struct net_socket *listener = net_table_listener(sockets, &s->remote);

	if (cnt > l->there_cnt) {
		g_free(l->there);
		l->there = g_strdup(there);
		l->there_cnt = cnt;
		l->inode = listener ? listener->inode : 0;
	}
	g_hash_table_replace(cnts, g_steal_pointer(&there), GUINT_TO_POINTER(cnt));
}

static struct look look(const struct profile *p, struct sock_peers *peers, const char *proc_dir, uint32_t pid)
{
	struct net_tables *nets = net_tables_new(proc_dir);
	const GArray *sockets = net_tables_of(nets, pid);
	g_autoptr(GHashTable) own = sockets ? pool_sockets_new(proc_dir, pid) : NULL;
	g_autoptr(GHashTable) cnts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autofree bool *served = own ? pool_served_ports_new(sockets) : NULL;
	struct look l = { 0 };

	for (guint i = 0; own && i < sockets->len; i++) {
		const struct net_socket *s = &g_array_index(sockets, struct net_socket, i);

		if (!s->is_tcp || (s->state != TCP_ESTABLISHED && s->state != TCP_SYN_SENT) ||
		    !g_hash_table_contains(own, &s->inode))
			continue;
		if (served[s->local.port])
			count_client(&l, p, peers, pid, s);
		else
			count_made(&l, cnts, sockets, s);
	}
	net_tables_free(nets);
	return l;
}

/* Who waits for longer may have come for events, which are due when there are any. */
static bool is_owing(const struct look *l)
{
	return l->clients >= OWED_MIN && l->old <= l->clients / 4;
}

static void look_at(struct profile *p, struct sock_peers *peers, const char *proc_dir, uint32_t pid, unsigned *again)
{
	struct look l = look(p, peers, proc_dir, pid);
	unsigned others;

	for (; *again && l.clients && (!is_owing(&l) || !l.there); (*again)--) {
		g_usleep(PAUSE_US);
		g_free(l.there);
		l = look(p, peers, proc_dir, pid);
	}
	g_autofree char *there = l.there;
	if (l.clients + l.old < OWED_MIN)
		return;
	/* these may have come for events, so nobody is told to owe them */
	if (!is_owing(&l))
		g_clear_pointer(&there, g_free);
	struct fd_owners *owners = fd_owners_new(proc_dir);

	fd_owners_read(owners, true);
	uint32_t owner = there && l.inode ? fd_owners_find(owners, l.inode, FD_READS | FD_WRITES, 0, &others) : 0;
	g_autofree char *name = owner ? fd_owners_name(owners, owner) : NULL;
	g_autofree char *text = g_strdup_printf(LIMIT_OWED_FORMAT "%s%s%s%s", l.clients + l.old, there ? l.there_cnt : 0,
						there ? there : "nobody", name ? " (" : "",
						name ? name : "", name ? ")" : "");

	profile_add_limit(p, LIMIT_OWED, pid, 0, text);
	fd_owners_free(owners);
}

void owed_look(struct profile *p, struct sock_peers *peers, const char *proc_dir)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
	const bool is_chosen = p->info.filters && *p->info.filters;
	unsigned again = AGAIN;

	for (guint i = 0; i < p->waits->len && g_hash_table_size(seen) < OWED_PROCESSES_MAX; i++) {
		const struct wait *w = profile_wait(p, i);
		const struct object *o = profile_wait_object(p, w);
		uint32_t pid = profile_thread(p, w->thread)->pid;

		/* who waits for sockets, and of the whole machine those that do so often */
		if (o && o->kind == OBJECT_EPOLL && strstr(o->name, "socket") && (is_chosen || w->count >= OWED_WAITS_MIN) &&
		    g_hash_table_add(seen, GUINT_TO_POINTER(pid)))
			look_at(p, peers, proc_dir, pid, &again);
	}
}
