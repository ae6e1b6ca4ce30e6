/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/nagle.h"

#include <netinet/tcp.h>
#include <string.h>

#include "fold/pool.h"
#include "fold/sock_peers.h"
#include "profile/limits.h"

#define LOOKS 4		/* between a write that is sent at last and the next one there is a moment */
#define PAUSE_US 5000
#define SOCKETS_MAX 32	/* that are asked about */

static bool holds_back(struct sock_peers *peers, uint32_t pid, const GArray *sockets, GHashTable *own,
		       const struct net_end *there)
{
	unsigned left = SOCKETS_MAX;

	for (guint i = 0; i < sockets->len && left; i++) {
		const struct net_socket *s = &g_array_index(sockets, struct net_socket, i);

		if (!s->is_tcp || s->state != TCP_ESTABLISHED || memcmp(&s->remote, there, sizeof(*there)) != 0 ||
		    !g_hash_table_contains(own, &s->inode))
			continue;
		left--;
		if (sock_peers_holds_back(peers, pid, s))
			return true;
	}
	return false;
}

static void look_at(struct profile *p, struct sock_peers *peers, struct net_tables *nets, const char *proc_dir,
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
		g_usleep(PAUSE_US);
	}
}

void nagle_look(struct profile *p, struct net_tables *nets, struct sock_peers *peers, const char *proc_dir)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);

	for (guint i = 0; i < p->waits->len && g_hash_table_size(seen) < NAGLE_PROCESSES_MAX; i++) {
		const struct wait *w = profile_wait(p, i);
		const struct object *o = profile_wait_object(p, w);
		uint32_t pid = profile_thread(p, w->thread)->pid;
		struct net_end there;

		if (w->hist[DELAYED_ACK_SLOT] < DELAYED_ACKS_MIN || !o || o->kind != OBJECT_SOCKET ||
		    strcmp(o->place, "tcp") != 0 || !net_end_read(o->name, &there) ||
		    !g_hash_table_add(seen, GUINT_TO_POINTER(pid)))
			continue;
		look_at(p, peers, nets, proc_dir, pid, &there);
	}
}
