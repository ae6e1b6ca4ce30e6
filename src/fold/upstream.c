/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/upstream.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <glib.h>

#include "base/clock.h"

#define ESTABLISHED 1	/* include/net/tcp_states.h */
#define LISTENS 10
#define FRESH_NS 1000000000ULL
#define ADDRESS_HEX 32	/* digits of an IPv6 address */

struct end {
	char address[ADDRESS_HEX + 1];	/* as the kernel writes it: words of the host's byte order in hexadecimal */
	unsigned port;
};

struct connection {
	struct end local, remote;
	unsigned state;
	uint64_t inode;
};

struct upstreams {
	char *proc_dir;
	GArray *table;	/* struct connection */
	uint64_t read_ns;	/* 0: never */
	ino_t net;	/* the namespace that it is of */
};

struct upstreams *upstreams_new(const char *proc_dir)
{
	struct upstreams *u = g_new0(struct upstreams, 1);

	u->proc_dir = g_strdup(proc_dir);
	u->table = g_array_new(FALSE, FALSE, sizeof(struct connection));
	return u;
}

void upstreams_free(struct upstreams *u)
{
	if (!u)
		return;
	g_free(u->proc_dir);
	g_array_unref(u->table);
	g_free(u);
}

static void read_table(struct upstreams *u, uint32_t pid, const char *name)
{
	g_autofree char *path = g_strdup_printf("%s/%" PRIu32 "/net/%s", u->proc_dir, pid, name);
	FILE *file = fopen(path, "re");
	char line[512];
	size_t bytes = 0;

	while (file && bytes < UPSTREAM_TABLE_BYTES && fgets(line, sizeof(line), file)) {
		struct connection c = { 0 };

		bytes += strlen(line);
		if (sscanf(line, " %*u: %32[0-9A-F]:%x %32[0-9A-F]:%x %x %*x:%*x %*x:%*x %*x %*u %*u %" SCNu64,
			   c.local.address, &c.local.port, c.remote.address, &c.remote.port, &c.state, &c.inode) == 6 &&
		    (c.state == ESTABLISHED || c.state == LISTENS))
			g_array_append_val(u->table, c);
	}
	if (file)
		fclose(file);
}

static void read_tables(struct upstreams *u, uint32_t pid)
{
	g_autofree char *net = g_strdup_printf("%s/%" PRIu32 "/ns/net", u->proc_dir, pid);
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	struct stat st = { 0 };

	if (stat(net, &st) == 0 && u->read_ns && st.st_ino == u->net && now_ns - u->read_ns < FRESH_NS)
		return;
	g_array_set_size(u->table, 0);
	read_table(u, pid, "tcp");
	read_table(u, pid, "tcp6");
	u->read_ns = now_ns;
	u->net = st.st_ino;
}

/* Inodes of the sockets that the set watches, as a set of numbers. */
static GHashTable *watched_new(const struct upstreams *u, uint32_t pid, int epoll_fd)
{
	GHashTable *inodes = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	g_autofree char *path = g_strdup_printf("%s/%" PRIu32 "/fdinfo/%d", u->proc_dir, pid, epoll_fd);
	FILE *file = fopen(path, "re");
	char line[256];

	while (file && g_hash_table_size(inodes) < UPSTREAM_WATCHED_MAX && fgets(line, sizeof(line), file)) {
		char text[64];
		int fd;

		if (sscanf(line, "tfd: %d", &fd) != 1)
			continue;
		g_autofree char *link = g_strdup_printf("%s/%" PRIu32 "/fd/%d", u->proc_dir, pid, fd);
		ssize_t len = readlink(link, text, sizeof(text) - 1);
		uint64_t inode;

		text[MAX(len, 0)] = '\0';
		if (sscanf(text, "socket:[%" SCNu64 "]", &inode) == 1)
			g_hash_table_add(inodes, g_memdup2(&inode, sizeof(inode)));
	}
	if (file)
		fclose(file);
	return inodes;
}

static bool same_end(const struct end *a, const struct end *b)
{
	return a->port == b->port && strcmp(a->address, b->address) == 0;
}

/* 0 digits only: any address. */
static bool is_any(const struct end *e)
{
	return e->address[strspn(e->address, "0")] == '\0';
}

static bool listens(const struct upstreams *u, unsigned port)
{
	for (guint i = 0; i < u->table->len; i++) {
		const struct connection *c = &g_array_index(u->table, struct connection, i);

		if (c->state == LISTENS && c->local.port == port)
			return true;
	}
	return false;
}

/* The other end of that connection, or else who listens there. */
static uint64_t inode_at(const struct upstreams *u, const struct connection *of)
{
	uint64_t found = 0;

	for (guint i = 0; i < u->table->len; i++) {
		const struct connection *c = &g_array_index(u->table, struct connection, i);

		if (c->state == ESTABLISHED && c->inode && same_end(&c->local, &of->remote) &&
		    same_end(&c->remote, &of->local))
			return c->inode;
		if (c->state == LISTENS && c->local.port == of->remote.port &&
		    (is_any(&c->local) || same_end(&c->local, &of->remote)))
			found = c->inode;
	}
	return found;
}

static char *address_text(const struct end *e)
{
	char text[INET6_ADDRSTRLEN];
	bool is_v6 = strlen(e->address) == ADDRESS_HEX;
	uint32_t words[4] = { 0 };

	for (unsigned i = 0; i < (is_v6 ? 4U : 1U); i++) {
		char word[9] = { 0 };

		memcpy(word, e->address + (size_t)8 * i, 8);
		words[i] = (uint32_t)g_ascii_strtoull(word, NULL, 16);
	}
	if (!inet_ntop(is_v6 ? AF_INET6 : AF_INET, words, text, sizeof(text)))
		return NULL;
	return g_strdup_printf(is_v6 ? "[%s]:%u" : "%s:%u", text, e->port);
}

bool upstreams_find(struct upstreams *u, uint32_t pid, int epoll_fd, struct upstream *ret)
{
	g_autoptr(GHashTable) watched = watched_new(u, pid, epoll_fd);
	g_autoptr(GHashTable) cnts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	const struct connection *best = NULL;

	*ret = (struct upstream){ 0 };
	if (!g_hash_table_size(watched))
		return false;
	read_tables(u, pid);
	for (guint i = 0; i < u->table->len; i++) {
		const struct connection *c = &g_array_index(u->table, struct connection, i);

		if (c->state != ESTABLISHED || !g_hash_table_contains(watched, &c->inode) || listens(u, c->local.port))
			continue;
		g_autofree char *key = g_strdup_printf("%s:%u", c->remote.address, c->remote.port);
		unsigned cnt = GPOINTER_TO_UINT(g_hash_table_lookup(cnts, key)) + 1;

		g_hash_table_replace(cnts, g_steal_pointer(&key), GUINT_TO_POINTER(cnt));
		if (cnt > ret->cnt) {
			ret->cnt = cnt;
			best = c;
		}
	}
	if (!best)
		return false;
	ret->address = address_text(&best->remote);
	ret->inode = inode_at(u, best);
	return ret->address;
}
