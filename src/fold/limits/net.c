/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/find.h"
#include "fold/limits/limits.h"

#include <netinet/tcp.h>
#include <string.h>

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
		if (sock_peers_client(peers, pid, s).is_held_back)
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
