/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/limits/limits.h"

#include <sys/stat.h>

#include "base/find.h"
#include "base/hash.h"
#include "base/opener/opener.h"

struct datagram_drops {
	char *proc_dir;
	GHashTable *before;	/* inode -> datagrams dropped until the begin */
};

/* The namespaces whose tables were read, and the sockets found there. */
struct reading {
	const char *proc_dir;
	struct stat seen[DROPS_NAMESPACES_MAX];
	unsigned cnt;
	GArray *sockets;	/* struct net_socket */
};

/* who: "self", or a process id. */
static void read_namespace(struct reading *r, const char *who)
{
	static const char *const names[] = { "udp", "udp6" };
	g_autofree char *ns = g_build_filename(r->proc_dir, who, "ns", "net", NULL);
	struct stat st;

	if (r->cnt == DROPS_NAMESPACES_MAX || !opener_stat(ns, &st))
		return;
	for (unsigned i = 0; i < r->cnt; i++)
		if (r->seen[i].st_ino == st.st_ino && r->seen[i].st_dev == st.st_dev)
			return;
	r->seen[r->cnt++] = st;
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *path = g_build_filename(r->proc_dir, who, "net", names[i], NULL);
		FILE *file = opener_file(path);

		if (!file)
			continue;
		net_table_add(r->sockets, file, false);
		fclose(file);
	}
}

static GArray *read_sockets(const char *proc_dir, const GArray *pids)
{
	struct reading r = { .proc_dir = proc_dir, .sockets = g_array_new(FALSE, FALSE, sizeof(struct net_socket)) };

	read_namespace(&r, "self");
	for (guint i = 0; pids && i < MIN(pids->len, LIMITS_COUNTED_MAX); i++) {
		g_autofree char *who = g_strdup_printf("%u", g_array_index(pids, uint32_t, i));

		read_namespace(&r, who);
	}
	return r.sockets;
}

struct datagram_drops *datagram_drops_begin(const char *proc_dir, const GArray *pids)
{
	struct datagram_drops *d = g_new0(struct datagram_drops, 1);
	g_autoptr(GArray) sockets = read_sockets(proc_dir, pids);

	d->proc_dir = g_strdup(proc_dir);
	d->before = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, NULL);
	EACH_ROW(i, const struct net_socket, s, sockets)
		if (s->dropped)
			g_hash_table_insert(d->before, g_memdup2(&s->inode, sizeof(s->inode)),
					    GUINT_TO_POINTER(s->dropped));
	return d;
}

/* Leaves in `dropped` what was dropped since the begin. */
static GArray *losers_new(const struct datagram_drops *d, const GArray *pids)
{
	g_autoptr(GArray) sockets = read_sockets(d->proc_dir, pids);
	GArray *losers = g_array_new(FALSE, FALSE, sizeof(struct net_socket));

	EACH_ROW(i, struct net_socket, s, sockets) {
		s->dropped -= GPOINTER_TO_UINT(g_hash_table_lookup(d->before, &s->inode));
		if (s->inode && s->dropped >= DROPS_MIN && s->dropped <= INT32_MAX)
			g_array_append_val(losers, *s);
	}
	return losers;
}

static void look_at(struct profile *p, const char *proc_dir, const GArray *losers, uint32_t pid)
{
	g_autoptr(GHashTable) own = pool_sockets_new(proc_dir, pid);
	const struct net_socket *most = NULL;

	EACH_ROW_WHILE(i, const struct net_socket, s, losers, own)
		if (g_hash_table_contains(own, &s->inode) && (!most || s->dropped > most->dropped))
			most = s;
	if (!most)
		return;
	g_autofree char *text = g_strdup_printf(LIMIT_DROPPED_FORMAT ":%u", most->dropped, most->local.port);

	profile_add_limit(p, LIMIT_DROPPED, pid, 0, text);
}

static GArray *pids_new(const struct profile *p)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
	GArray *pids = g_array_new(FALSE, FALSE, sizeof(uint32_t));

	EACH_ROW_WHILE(i, const struct thread, t, p->threads, pids->len < LIMITS_COUNTED_MAX)
		if (!(t->flags & THREAD_KERNEL) && g_hash_table_add(seen, GUINT_TO_POINTER(t->pid)))
			g_array_append_val(pids, t->pid);
	return pids;
}

void datagram_drops_end(struct datagram_drops *d, struct profile *p)
{
	g_autoptr(GArray) pids = d ? pids_new(p) : NULL;
	g_autoptr(GArray) losers = d ? losers_new(d, pids) : NULL;

	for (guint i = 0; losers && losers->len && i < pids->len; i++)
		look_at(p, d->proc_dir, losers, g_array_index(pids, uint32_t, i));
	datagram_drops_free(d);
}

FREES(datagram_drops_free, struct datagram_drops, d, g_free(d->proc_dir); g_hash_table_unref(d->before))
