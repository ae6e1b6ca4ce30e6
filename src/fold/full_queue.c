/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/full_queue.h"

#include <string.h>

#include "fold/fd_owners.h"
#include "fold/sock_peers.h"
#include "profile/limits.h"

struct search {
	struct profile *p;
	const char *proc_dir;
	struct net_tables *nets;
	struct sock_peers *peers;
	struct fd_owners *owners;
};

/* A listener at any address says nothing of where the other one is. */
static bool is_of_this_machine(const GArray *sockets, const struct net_end *there)
{
	for (guint i = 0; i < sockets->len; i++) {
		const struct net_socket *s = &g_array_index(sockets, struct net_socket, i);

		if (memcmp(s->local.address, there->address, sizeof(there->address)) == 0)
			return true;
	}
	return false;
}

static void look_at(struct search *s, uint32_t pid, const struct net_end *there)
{
	const GArray *sockets = net_tables_of(s->nets, pid);
	const struct net_socket *l = sockets && is_of_this_machine(sockets, there) ? net_table_listener(sockets, there) : NULL;
	unsigned others;
	uint32_t room;

	if (!l || !l->queued || !sock_peers_room(s->peers, pid, l, &room) || l->queued < room)
		return;
	if (!s->owners) {
		s->owners = fd_owners_new(s->proc_dir);
		fd_owners_read(s->owners, true);
	}
	uint32_t owner = fd_owners_find(s->owners, l->inode, FD_READS | FD_WRITES, 0, &others);
	g_autofree char *name = owner ? fd_owners_name(s->owners, owner) : NULL, *address = net_end_text(there);
	g_autofree char *text = g_strdup_printf(LIMIT_FULL_FORMAT "%s%s%s%s", l->queued, room, address, name ? " (" : "",
						name ? name : "", name ? ")" : "");

	profile_add_limit(s->p, LIMIT_FULL, owner, 0, text);
}

void full_queue_look(struct profile *p, struct net_tables *nets, struct sock_peers *peers, const char *proc_dir)
{
	struct search s = { .p = p, .proc_dir = proc_dir, .nets = nets, .peers = peers };
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

	for (guint i = 0; i < p->waits->len && g_hash_table_size(seen) < FULL_QUEUES_MAX; i++) {
		const struct wait *w = profile_wait(p, i);
		const struct object *o = profile_wait_object(p, w);
		struct net_end there;

		if (!o || o->kind != OBJECT_SOCKET || strcmp(o->place, "tcp") != 0 || !net_end_read(o->name, &there) ||
		    !g_hash_table_add(seen, net_end_text(&there)))
			continue;
		look_at(&s, profile_thread(p, w->thread)->pid, &there);
	}
	fd_owners_free(s.owners);
}
