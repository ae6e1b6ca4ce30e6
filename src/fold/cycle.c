/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/cycle.h"

#include <netinet/tcp.h>
#include <string.h>

#include "base/hash.h"
#include "fold/pool.h"
#include "profile/limits.h"

/* Nobody has a descriptor of a connection that is not accepted yet, so its socket has no inode. */
static bool is_queued_at(const GArray *sockets, const struct net_socket *s, GHashTable *own)
{
	if (!s->is_tcp || s->inode || s->state != TCP_ESTABLISHED)
		return false;
	for (guint i = 0; i < sockets->len; i++) {
		const struct net_socket *l = &g_array_index(sockets, struct net_socket, i);

		if (l->is_tcp && l->state == TCP_LISTEN && l->queued && l->local.port == s->local.port &&
		    g_hash_table_contains(own, &l->inode))
			return true;
	}
	return false;
}

static void look_at(struct profile *p, struct net_tables *nets, const char *proc_dir, uint32_t pid, uint32_t peer)
{
	const GArray *sockets = net_tables_of(nets, pid);
	bool is_any = false;

	for (guint i = 0; sockets && i < sockets->len; i++)
		is_any = is_any || g_array_index(sockets, struct net_socket, i).queued;
	/* mostly nobody waits anywhere, and then no process's descriptors need to be read */
	g_autoptr(GHashTable) own = is_any ? pool_sockets_new(proc_dir, pid) : NULL;
	g_autoptr(GHashTable) others = own ? pool_sockets_new(proc_dir, peer) : NULL;

	for (guint i = 0; others && i < sockets->len; i++) {
		const struct net_socket *s = &g_array_index(sockets, struct net_socket, i);
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

	for (guint i = 0; i < p->waits->len && g_hash_table_size(seen) < CYCLES_PAIRS_MAX; i++) {
		const struct wait *w = profile_wait(p, i);
		const struct object *o = profile_wait_object(p, w);
		uint32_t pid = profile_thread(p, w->thread)->pid;

		if (!(w->flags & WAIT_OPEN_AT_END) || !o || o->kind != OBJECT_SOCKET || !o->pid || o->pid == pid ||
		    strcmp(o->place, "tcp") != 0 || strstr(o->name, " from"))
			continue;
		const uint64_t pair = (uint64_t)pid << 32 | o->pid;

		if (g_hash_table_add(seen, g_memdup2(&pair, sizeof(pair))))
			look_at(p, nets, proc_dir, pid, o->pid);
	}
}
