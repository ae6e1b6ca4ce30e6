/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/pool.h"

#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/opener.h"

#define PORTS (UINT16_MAX + 1)

static bool take_socket(const struct opener_entry *e, void *data)
{
	GHashTable *inodes = data;
	uint64_t inode;

	if (e->link && sscanf(e->link, "socket:[%" SCNu64 "]", &inode) == 1)
		g_hash_table_add(inodes, g_memdup2(&inode, sizeof(inode)));
	return g_hash_table_size(inodes) < POOL_SOCKETS_MAX;
}

GHashTable *pool_sockets_new(const char *proc_dir, uint32_t pid)
{
	GHashTable *own = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, NULL);
	g_autofree char *path = g_strdup_printf("%s/%" PRIu32 "/fd", proc_dir, pid);

	if (opener_list(path, true, take_socket, own) && g_hash_table_size(own) &&
	    g_hash_table_size(own) < POOL_SOCKETS_MAX)
		return own;
	g_hash_table_unref(own);
	return NULL;
}

bool *pool_served_ports_new(const GArray *sockets)
{
	bool *served = g_new0(bool, PORTS);

	for (guint i = 0; i < sockets->len; i++) {
		const struct net_socket *s = &g_array_index(sockets, struct net_socket, i);

		if (s->is_tcp && s->state == TCP_LISTEN)
			served[s->local.port] = true;
	}
	return served;
}

struct counts {
	unsigned from_clients, made, most;
	const struct net_socket *best;	/* one of those that go where most do */
};

static struct counts count(const GArray *sockets, GHashTable *own)
{
	g_autofree bool *served = pool_served_ports_new(sockets);
	g_autoptr(GHashTable) cnts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	struct counts c = { 0 };

	for (guint i = 0; i < sockets->len; i++) {
		const struct net_socket *s = &g_array_index(sockets, struct net_socket, i);

		if (!s->is_tcp || s->state != TCP_ESTABLISHED || !g_hash_table_contains(own, &s->inode))
			continue;
		if (served[s->local.port]) {
			c.from_clients++;
			continue;
		}
		g_autofree char *there = net_end_text(&s->remote);
		unsigned cnt = GPOINTER_TO_UINT(g_hash_table_lookup(cnts, there)) + 1;

		g_hash_table_replace(cnts, g_steal_pointer(&there), GUINT_TO_POINTER(cnt));
		c.made++;
		if (cnt > c.most) {
			c.most = cnt;
			c.best = s;
		}
	}
	return c;
}

void pool_look(struct profile *p, struct net_tables *nets, const char *proc_dir, uint32_t pid)
{
	g_autoptr(GHashTable) own = pool_sockets_new(proc_dir, pid);
	const GArray *sockets = own ? net_tables_of(nets, pid) : NULL;
	const struct counts c = sockets ? count(sockets, own) : (struct counts){ 0 };

	if (!c.best || c.from_clients <= c.made)
		return;
	g_autofree char *there = net_end_text(&c.best->remote);
	g_autofree char *text = g_strdup_printf(LIMIT_POOL_FORMAT, c.most, c.made, there, c.from_clients);

	profile_add_limit(p, LIMIT_POOL, pid, 0, text);
}
