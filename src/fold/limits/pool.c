/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/find.h"
#include "fold/limits/limits.h"

#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/opener/opener.h"

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

	EACH_ROW(i, const struct net_socket, s, sockets)
		if (s->is_tcp && s->state == TCP_LISTEN)
			served[s->local.port] = true;
	return served;
}

struct counts {
	unsigned from_clients, waiting, made, most;
	GHashTable *cnts;	/* peer of outgoing connections -> how many */
	const char *there;	/* the most frequent peer */
};

static void count_made(struct counts *c, const char *there)
{
	unsigned cnt = GPOINTER_TO_UINT(g_hash_table_lookup(c->cnts, there)) + 1;
	char *key = g_strdup(there);

	g_hash_table_replace(c->cnts, key, GUINT_TO_POINTER(cnt));
	c->there = cnt > c->most || strcmp(c->there, key) == 0 ? key : c->there;
	c->most = MAX(c->most, cnt);
	c->made++;
}

static void count_tcp(struct counts *c, const GArray *sockets, GHashTable *own, struct sock_peers *peers, uint32_t pid)
{
	g_autofree bool *served = pool_served_ports_new(sockets);

	EACH_ROW(i, const struct net_socket, s, sockets) {
		if (!s->is_tcp || s->state != TCP_ESTABLISHED || !g_hash_table_contains(own, &s->inode))
			continue;
		if (served[s->local.port]) {
			c->from_clients++;
			c->waiting += peers && sock_peers_may_owe(peers, pid, s);
			continue;
		}
		g_autofree char *there = net_end_text(&s->remote);
		count_made(c, there);
	}
}

/* The connecting side has no name; the accepting side has the listener's. */
static void count_unix(struct counts *c, const GArray *sockets, GHashTable *own)
{
	EACH_ROW_OF(i, const struct unix_socket, s, sockets) {
		const struct unix_socket *peer = !*s->name && s->peer ? unix_table_find(sockets, s->peer) : NULL;

		if (s->listens || !g_hash_table_contains(own, &s->inode))
			continue;
		c->from_clients += *s->name && s->peer;
		if (peer && *peer->name)
			count_made(c, peer->name);
	}
}

void pool_look(struct profile *p, struct net_tables *nets, struct sock_peers *peers, const char *proc_dir, uint32_t pid)
{
	g_autoptr(GHashTable) own = pool_sockets_new(proc_dir, pid);
	const GArray *sockets = own ? net_tables_of(nets, pid) : NULL;
	g_autoptr(GHashTable) cnts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	struct counts c = { .cnts = cnts, .there = "" };

	if (sockets)
		count_tcp(&c, sockets, own, peers, pid);
	if (own)
		count_unix(&c, net_tables_unix(nets), own);
	if (!c.made || c.from_clients <= c.made)
		return;
	g_autofree char *text = g_strdup_printf(LIMIT_POOL_FORMAT, c.most, c.made, c.there, c.from_clients);
	g_autofree char *waiting = g_strdup_printf(LIMIT_POOL_WAITING, c.waiting);
	g_autofree char *both = g_strconcat(text, c.waiting ? waiting : "", NULL);

	profile_add_limit(p, LIMIT_POOL, pid, 0, both);
}
