/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/pool.h"

#include <netinet/tcp.h>

#include "base/unix_table.h"
#include "profile/limits.h"

struct backlog {
	const GArray *tcp, *locals;	/* of what the process can see */
	uint32_t queued;
	const struct net_socket *tcp_best;
	const struct unix_socket *unix_best;
};

/* own: inodes of the process's sockets; NULL: those of all. */
static void find(struct backlog *b, GHashTable *own)
{
	b->queued = BACKLOG_MIN - 1;
	for (guint i = 0; b->tcp && i < b->tcp->len; i++) {
		const struct net_socket *s = &g_array_index(b->tcp, struct net_socket, i);

		if (!s->is_tcp || s->state != TCP_LISTEN || s->queued <= b->queued ||
		    (own && !g_hash_table_contains(own, &s->inode)))
			continue;
		b->queued = s->queued;
		b->tcp_best = s;
	}
	for (guint i = 0; b->locals && i < b->locals->len; i++) {
		const struct unix_socket *s = &g_array_index(b->locals, struct unix_socket, i);

		if (!s->listens || s->queued <= b->queued || (own && !g_hash_table_contains(own, &s->inode)))
			continue;
		b->queued = s->queued;
		b->unix_best = s;
	}
}

void backlog_look(struct profile *p, struct net_tables *nets, const char *proc_dir, uint32_t pid)
{
	struct backlog all = { .tcp = net_tables_of(nets, pid), .locals = net_tables_unix(nets) }, found = all;

	/* mostly nobody waits anywhere, and then no process's descriptors need to be read */
	find(&all, NULL);
	if (!all.tcp_best && !all.unix_best)
		return;
	g_autoptr(GHashTable) own = pool_sockets_new(proc_dir, pid);
	if (!own)
		return;
	find(&found, own);
	if (!found.tcp_best && !found.unix_best)
		return;
	g_autofree char *where = found.unix_best ? g_strdup(*found.unix_best->name ? found.unix_best->name : "a Unix socket") :
						   g_strdup_printf(":%u", found.tcp_best->local.port);
	g_autofree char *text = g_strdup_printf(LIMIT_BACKLOG_FORMAT "%s", found.queued, where);

	profile_add_limit(p, LIMIT_BACKLOG, pid, 0, text);
}
