/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/limits/limits.h"

#include <netinet/tcp.h>

#include "base/find.h"
#include "base/opener/opener.h"

#define LOOK_NS 1000000000ULL
#define LOOKS_SHARE 8	/* of the time so far: how seldom a long command is looked at */
#define PROCESSES_MAX 64

/* Per process, at the last look: the connection that has been silent longest. */
struct silence {
	char *there;
	uint64_t ns;
};

struct silent_peers {
	char *proc_dir;
	uint64_t looked_ns;
	GHashTable *silences;	/* pid -> struct silence */
};

FREES_DATA(silence_free, struct silence, s, g_free(s->there))

struct silent_peers *silent_peers_new(const char *proc_dir)
{
	struct silent_peers *s = g_new0(struct silent_peers, 1);

	s->proc_dir = g_strdup(proc_dir);
	s->silences = g_hash_table_new_full(NULL, NULL, NULL, silence_free);
	return s;
}

FREES(silent_peers_free, struct silent_peers, s, g_free(s->proc_dir); g_hash_table_unref(s->silences))

static void look_at(struct silent_peers *all, struct net_tables *nets, struct sock_peers *peers, uint32_t pid)
{
	g_autofree char *command = opener_process_text(all->proc_dir, pid, "cmdline");

	if (!command || !*command)	/* it has just ended, and is as it was looked at last */
		return;
	g_autoptr(GHashTable) own = pool_sockets_new(all->proc_dir, pid);
	/* the kernel walks all of its buckets for these tables: some ms */
	const GArray *sockets = own && g_hash_table_size(own) ? net_tables_of(nets, pid) : NULL;
	g_autofree bool *served = sockets ? pool_served_ports_new(sockets) : NULL;
	struct silence most = { 0 };

	EACH_ROW_WHILE(i, const struct net_socket, s, sockets, served) {
		uint64_t ns;

		if (!s->is_tcp || s->state != TCP_ESTABLISHED || served[s->local.port] ||
		    !g_hash_table_contains(own, &s->inode) || !sock_peers_is_silent(peers, pid, s, &ns) ||
		    ns <= most.ns)
			continue;
		g_free(most.there);
		most = (struct silence){ net_end_text(&s->remote), ns };
	}
	if (most.there)
		g_hash_table_insert(all->silences, GUINT_TO_POINTER(pid), g_memdup2(&most, sizeof(most)));
	else
		g_hash_table_remove(all->silences, GUINT_TO_POINTER(pid));
}

void silent_peers_look(struct silent_peers *s, uint32_t pid, uint64_t elapsed_ns)
{
	if (elapsed_ns < s->looked_ns + MAX(LOOK_NS, elapsed_ns / LOOKS_SHARE))
		return;
	s->looked_ns = elapsed_ns;
	g_autoptr(GArray) pids = processes_below(s->proc_dir, pid, PROCESSES_MAX);
	struct net_tables *nets = net_tables_new(s->proc_dir);
	struct sock_peers *peers = sock_peers_new(s->proc_dir, nets);

	for (guint i = 0; peers && i < pids->len; i++)
		look_at(s, nets, peers, g_array_index(pids, uint32_t, i));
	sock_peers_free(peers);
	net_tables_free(nets);
}

void silent_peers_put(const struct silent_peers *s, struct profile *p)
{
	GHashTableIter iter;
	gpointer pid, value;

	g_hash_table_iter_init(&iter, s->silences);
	while (g_hash_table_iter_next(&iter, &pid, &value)) {
		const struct silence *one = value;
		g_autofree char *text = g_strdup_printf(LIMIT_SILENT_FORMAT "%s", one->ns, one->there);

		profile_add_limit(p, LIMIT_SILENT, GPOINTER_TO_UINT(pid), 0, text);
	}
}
