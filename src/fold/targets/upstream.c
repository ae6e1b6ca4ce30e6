/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/find.h"
#include "fold/targets/part.h"

#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/opener/opener.h"

#define WATCHED_SCAN "tfd: %*d events: %" SCNx32 " data: %*x pos:%*d ino:%" SCNx64

/*
 * Inodes of what the set watches, and as values those that it is to be told of room at.  A loop that sleeps at one
 * would be told at once if there was any.  Where each change is told only once (EPOLLET) programs ask for that always.
 */
static GHashTable *watched_new(const char *proc_dir, uint32_t pid, int epoll_fd, bool *ret_wants_room)
{
	GHashTable *inodes = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, NULL);
	g_autofree char *path = g_strdup_printf("%s/%" PRIu32 "/fdinfo/%d", proc_dir, pid, epoll_fd);
	FILE *file = opener_file(path);
	char line[256];

	*ret_wants_room = false;
	for (unsigned left = UPSTREAM_WATCHED_MAX; file && left && fgets(line, sizeof(line), file);) {
		uint32_t events;
		uint64_t inode;

		if (sscanf(line, WATCHED_SCAN, &events, &inode) != 2)
			continue;
		left--;
		bool wants_room = events & EPOLLOUT && !(events & EPOLLET);

		*ret_wants_room = *ret_wants_room || wants_room;
		g_hash_table_insert(inodes, g_memdup2(&inode, sizeof(inode)), GUINT_TO_POINTER(wants_room));
	}
	if (file)
		fclose(file);
	return inodes;
}

/* Was it made by a client? Something listens at its port. */
static bool is_of_server(const GArray *sockets, uint16_t port)
{
	return ANY_ROW(const struct net_socket, s, sockets,
		       s->is_tcp && s->state == TCP_LISTEN && s->local.port == port);
}

/* The listener there, in the namespace of these sockets or another one. */
static uint64_t listener_at(const GArray *sockets, struct net_homes *homes, const struct net_end *there)
{
	const struct net_socket *found = sockets ? net_table_listener(sockets, there) : NULL;

	return found ? found->inode : net_homes_listener(homes, there);
}

/* Sets the inode of the connection's other end, or of the listener there. */
static void find_inodes(const GArray *sockets, struct net_homes *homes, const struct net_socket *of,
			struct upstream *ret)
{
	const struct net_socket copy = *of;	/* reading other namespaces' tables may free `of` */
	const struct net_socket *found = net_table_peer(sockets, true, &copy.local, &copy.remote);

	ret->inode = found ? found->inode : 0;
	ret->listener = listener_at(sockets, homes, &copy.remote);
	if (!ret->inode)
		ret->inode = net_homes_peer(homes, true, &copy.local, &copy.remote);
	if (!ret->inode)
		ret->inode = ret->listener;
}

static bool wants_room(GHashTable *watched, uint64_t inode)
{
	return GPOINTER_TO_UINT(g_hash_table_lookup(watched, &inode));
}

static uint64_t listener_of(const GArray *sockets, const char *name)
{
	if (!sockets)
		return 0;
	return FIRST_ROW(const struct unix_socket, s, sockets, strcmp(s->name, name) == 0 && s->listens, s->inode, 0);
}

static void set_by_unix(const GArray *sockets, const struct unix_socket *peer, struct upstream *ret)
{
	g_free(ret->address);
	ret->address = g_strdup(*peer->name ? peer->name : "unix socket");
	ret->inode = peer->inode;
	ret->listener = *peer->name ? listener_of(sockets, peer->name) : 0;
}

/*
 * Unix sockets: the connecting side has no name, the accepting side has the listener's. Such connections often lead
 * to a bus or a display, which sends events. So only a loop that also serves others is assumed to have asked.
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
		if (peer && wants_room(watched, s->inode)) {
			ret->is_full = true;
			set_by_unix(sockets, peer, ret);
			return;
		}
		if (!peer || !*peer->name)
			continue;
		unsigned cnt = GPOINTER_TO_UINT(g_hash_table_lookup(cnts, peer->name)) + 1;

		g_hash_table_replace(cnts, (gpointer)peer->name, GUINT_TO_POINTER(cnt));
		if (cnt > ret->cnt) {
			ret->cnt = cnt;
			best = peer;
		}
	}
	if (best && serves)
		set_by_unix(sockets, best, ret);
}

static void add_socket(GArray *ret_sockets, const struct net_socket *s, bool is_server)
{
	const struct upstream_socket one = { .local = s->local, .remote = s->remote, .is_server = is_server };

	if (ret_sockets->len < UPSTREAM_SOCKETS_MAX && (s->state == TCP_ESTABLISHED || s->state == TCP_LISTEN))
		g_array_append_val(ret_sockets, one);
}

uint64_t upstream_unix_listener(struct net_tables *tables, const char *name)
{
	return listener_of(net_tables_unix(tables), name);
}

uint64_t upstream_listener(struct net_tables *tables, struct net_homes *homes, uint32_t pid, const char *there)
{
	struct net_end end;

	return net_end_read(there, &end) ? listener_at(net_tables_of(tables, pid), homes, &end) : 0;
}

bool upstream_wants_room(const char *proc_dir, uint32_t pid, int epoll_fd)
{
	bool is_one;

	g_hash_table_unref(watched_new(proc_dir, pid, epoll_fd, &is_one));
	return is_one;
}

bool upstream_find(struct net_tables *tables, struct net_homes *homes, const char *proc_dir, uint32_t pid, int epoll_fd,
		   struct upstream *ret, GArray *ret_sockets)
{
	bool serves = false, is_any;
	g_autoptr(GHashTable) watched = watched_new(proc_dir, pid, epoll_fd, &is_any);
	g_autoptr(GHashTable) cnts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	const GArray *sockets = g_hash_table_size(watched) ? net_tables_of(tables, pid) : NULL;
	const struct net_socket *best = NULL;

	*ret = (struct upstream){ 0 };
	EACH_ROW_OF(i, const struct net_socket, s, sockets) {
		if (!s->is_tcp || !g_hash_table_contains(watched, &s->inode))
			continue;
		bool is_server = is_of_server(sockets, s->local.port);

		add_socket(ret_sockets, s, is_server);
		if (s->state != TCP_ESTABLISHED || ret->is_full)
			continue;
		if (is_server) {
			serves = true;
			continue;
		}
		g_autofree char *there = net_end_text(&s->remote);
		unsigned cnt = GPOINTER_TO_UINT(g_hash_table_lookup(cnts, there)) + 1;

		g_hash_table_replace(cnts, g_steal_pointer(&there), GUINT_TO_POINTER(cnt));
		ret->is_full = s->is_shut_out || wants_room(watched, s->inode);
		if (cnt > ret->cnt || ret->is_full) {
			ret->cnt = cnt;
			best = s;
		}
	}
	if (best) {
		ret->address = net_end_text(&best->remote);
		find_inodes(sockets, homes, best, ret);
	}
	if (g_hash_table_size(watched) && !ret->is_full)
		find_by_unix(net_tables_unix(tables), watched, serves, ret);
	return ret->address != NULL;
}
