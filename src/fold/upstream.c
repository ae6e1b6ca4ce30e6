/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/upstream.h"

#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <glib.h>

#include "base/hash.h"
#include "base/opener.h"
#include "base/unix_table.h"

/* Inodes of the sockets that the set watches, as a set of numbers. */
static GHashTable *watched_new(const char *proc_dir, uint32_t pid, int epoll_fd)
{
	GHashTable *inodes = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, NULL);
	g_autofree char *path = g_strdup_printf("%s/%" PRIu32 "/fdinfo/%d", proc_dir, pid, epoll_fd);
	FILE *file = opener_file(path);
	char line[256];

	for (unsigned left = UPSTREAM_WATCHED_MAX; file && left && fgets(line, sizeof(line), file);) {
		int fd;

		if (sscanf(line, "tfd: %d", &fd) != 1)
			continue;
		left--;	/* of whatever kind: each is asked for */
		g_autofree char *link = g_strdup_printf("%s/%" PRIu32 "/fd/%d", proc_dir, pid, fd);
		g_autofree char *text = opener_link(link);
		uint64_t inode;

		if (text && sscanf(text, "socket:[%" SCNu64 "]", &inode) == 1)
			g_hash_table_add(inodes, g_memdup2(&inode, sizeof(inode)));
	}
	if (file)
		fclose(file);
	return inodes;
}

/* It was made by who connected to us: some socket listens there. */
static bool is_of_server(const GArray *sockets, uint16_t port)
{
	for (guint i = 0; i < sockets->len; i++) {
		const struct net_socket *s = &g_array_index(sockets, struct net_socket, i);

		if (s->is_tcp && s->state == TCP_LISTEN && s->local.port == port)
			return true;
	}
	return false;
}

/* The other end of that connection, or else who listens there. */
static uint64_t inode_at(const GArray *sockets, const struct net_socket *of)
{
	const struct net_socket *found = net_table_peer(sockets, true, &of->local, &of->remote);

	if (!found)
		found = net_table_listener(sockets, &of->remote);
	return found ? found->inode : 0;
}

static uint64_t listener_of(const GArray *sockets, const char *name)
{
	for (guint i = 0; i < sockets->len; i++) {
		const struct unix_socket *s = &g_array_index(sockets, struct unix_socket, i);

		if (s->listens && strcmp(s->name, name) == 0)
			return s->inode;
	}
	return 0;
}

/*
 * By Unix sockets: who connects has no name, who accepted has that of the listener. Such a connection often is one to a
 * bus or a display, which sends events. So only a loop that serves others, too, is taken to have asked.
 */
static void find_by_unix(const GArray *sockets, GHashTable *watched, bool serves, struct upstream *ret)
{
	g_autoptr(GHashTable) cnts = g_hash_table_new(g_str_hash, g_str_equal);
	const struct unix_socket *best = NULL;

	for (guint i = 0; sockets && i < sockets->len; i++) {
		const struct unix_socket *s = &g_array_index(sockets, struct unix_socket, i), *peer;

		if (s->listens || !g_hash_table_contains(watched, &s->inode))
			continue;
		serves = serves || *s->name;
		peer = *s->name ? NULL : unix_table_find(sockets, s->peer);
		if (!peer || !*peer->name)
			continue;
		unsigned cnt = GPOINTER_TO_UINT(g_hash_table_lookup(cnts, peer->name)) + 1;

		g_hash_table_replace(cnts, (gpointer)peer->name, GUINT_TO_POINTER(cnt));
		if (cnt > ret->cnt) {
			ret->cnt = cnt;
			best = peer;
		}
	}
	if (!best || !serves)
		return;
	g_free(ret->address);
	ret->address = g_strdup(best->name);
	ret->inode = best->inode;
	ret->listener = listener_of(sockets, best->name);
}

uint64_t upstream_listener(struct net_tables *tables, uint32_t pid, const char *there)
{
	const GArray *sockets = net_tables_of(tables, pid);
	struct net_end end;
	const struct net_socket *listener = sockets && net_end_read(there, &end) ? net_table_listener(sockets, &end) : NULL;

	return listener ? listener->inode : 0;
}

bool upstream_find(struct net_tables *tables, const char *proc_dir, uint32_t pid, int epoll_fd, struct upstream *ret)
{
	g_autoptr(GHashTable) watched = watched_new(proc_dir, pid, epoll_fd);
	g_autoptr(GHashTable) cnts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	const GArray *sockets = g_hash_table_size(watched) ? net_tables_of(tables, pid) : NULL;
	const struct net_socket *best = NULL;
	bool serves = false;

	*ret = (struct upstream){ 0 };
	for (guint i = 0; sockets && i < sockets->len; i++) {
		const struct net_socket *s = &g_array_index(sockets, struct net_socket, i);

		if (!s->is_tcp || s->state != TCP_ESTABLISHED || !g_hash_table_contains(watched, &s->inode))
			continue;
		if (is_of_server(sockets, s->local.port)) {
			serves = true;
			continue;
		}
		g_autofree char *there = net_end_text(&s->remote);
		unsigned cnt = GPOINTER_TO_UINT(g_hash_table_lookup(cnts, there)) + 1;

		g_hash_table_replace(cnts, g_steal_pointer(&there), GUINT_TO_POINTER(cnt));
		if (cnt > ret->cnt) {
			ret->cnt = cnt;
			best = s;
		}
	}
	if (best) {
		ret->address = net_end_text(&best->remote);
		const struct net_socket *listener = net_table_listener(sockets, &best->remote);

		ret->inode = inode_at(sockets, best);
		ret->listener = listener ? listener->inode : 0;
	}
	if (g_hash_table_size(watched))
		find_by_unix(net_tables_unix(tables), watched, serves, ret);
	return ret->address != NULL;
}
