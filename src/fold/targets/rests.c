/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/targets/part.h"

#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "base/find.h"
#include "base/opener/opener.h"
#include "base/order.h"
#include "base/proc/status.h"
#include "fold/limits/limits.h"
#include "fold/targets/sock_peers.h"
#include "profile/limits.h"

#define SERVERS_MAX 8
#define CLIENTS_MAX 128	/* of a server, that are looked at */
#define UNREAD_NS 20000000ULL	/* so long it did not come back to its event loop, which reads what has come */
#define ERROR_NS 10000000ULL	/* of the kernel's times since data came */
#define RUNS_PAUSE_US 2000
#define RUNS_PART 4	/* of that time: it runs, and does not wait for a CPU */
#define RUNS_TRIES 2	/* others may have its CPU for a moment */

/* A program whose command ran. */
struct commander {
	uint32_t pid, cnt;
	uint32_t look;	/* the last one that counted */
	char *name;
};

struct looked_at {
	uint32_t pid, looks, rests;
	uint32_t held;	/* looks at which one command ran, and others waited */
	GArray *commanders;	/* struct commander */
};

struct server_rests {
	char *proc_dir;
	GArray *servers;	/* struct looked_at */
	struct fd_owners *owners;
	bool has_sought, has_named;	/* the latter: those of others, too */
};

static void clear_commander(void *data)
{
	g_free(((struct commander *)data)->name);
}

static void clear_server(void *data)
{
	g_array_unref(((struct looked_at *)data)->commanders);
}

struct server_rests *server_rests_new(const char *proc_dir)
{
	struct server_rests *r = g_new0(struct server_rests, 1);

	r->proc_dir = g_strdup(proc_dir);
	r->servers = g_array_new(FALSE, FALSE, sizeof(struct looked_at));
	g_array_set_clear_func(r->servers, clear_server);
	r->owners = fd_owners_new(proc_dir);
	return r;
}

FREES(server_rests_free, struct server_rests, r, g_free(r->proc_dir); g_array_unref(r->servers);
      fd_owners_free(r->owners))

/* By their names: who is at the other end of a connection may be known only at the window's end. */
static void seek(struct server_rests *r, struct backends *b)
{
	g_autoptr(GArray) pids = process_ids();

	EACH_ROW(i, const uint32_t, pid, pids) {
		g_autofree char *name = opener_process_text(r->proc_dir, *pid, "comm");
		struct looked_at fresh = { .pid = *pid };

		if (!name)
			continue;
		g_strchomp(name);
		if (b)
			backends_note_named(b, *pid, name);
		if (r->has_sought || r->servers->len >= SERVERS_MAX || !peer_is_memory_server(name))
			continue;
		fresh.commanders = g_array_new(FALSE, FALSE, sizeof(struct commander));
		g_array_set_clear_func(fresh.commanders, clear_commander);
		g_array_append_val(r->servers, fresh);
	}
	r->has_sought = true;
	r->has_named |= b != NULL;
}

/* Its first thread does all commands, but of gearmand, where others carry what comes. Stopped, throttled, computing or in an fsync() it does not rest. */
static bool rests(const struct server_rests *r, uint32_t pid)
{
	static const long waits[] = {
#ifdef SYS_epoll_wait	/* x86 */
		SYS_epoll_wait,
#endif
		SYS_epoll_pwait,
	};
	g_autofree char *call = opener_process_text(r->proc_dir, pid, "syscall");	/* "running", or "232 0x5 .." */
	const long nr = call && g_ascii_isdigit(*call) ? strtol(call, NULL, 10) : -1;

	return process_state(r->proc_dir, pid) == 'S' && ANY(x, waits, *x == nr);
}

/* A connection of such a server, by what came last. */
struct came {
	uint64_t ns;	/* ago */
	uint64_t inode;	/* at the other end; 0: unknown */
	bool is_unread, is_owed;
};

static GArray *came_new(const struct server_rests *r, uint32_t pid, struct net_tables *nets)
{
	struct sock_peers *peers = sock_peers_new(r->proc_dir, nets);
	GArray *all = g_array_new(FALSE, FALSE, sizeof(struct came));
	g_autoptr(GHashTable) own = peers ? pool_sockets_new(r->proc_dir, pid) : NULL;
	const GArray *sockets = own ? net_tables_of(nets, pid) : NULL;

	EACH_ROW_OF(i, const struct net_socket, s, sockets) {
		if (all->len >= CLIENTS_MAX || !s->is_tcp || s->state != TCP_ESTABLISHED ||
		    !g_hash_table_contains(own, &s->inode))
			continue;
		const struct client c = sock_peers_client(peers, pid, s);
		const struct net_socket *there = net_table_peer(sockets, true, &s->local, &s->remote);
		const struct came one = { .ns = c.received_ns, .inode = there ? there->inode : 0,
					  .is_unread = c.unread_bytes, .is_owed = c.owes != OWES_NOT };

		g_array_append_val(all, one);
	}
	sock_peers_free(peers);
	return all;
}

/* And it is not answered yet. */
static bool is_read(const struct came *c, uint64_t unread_ns)
{
	return !c->is_unread && c->is_owed && c->ns + ERROR_NS >= unread_ns;
}

static uint64_t ran_ns(const struct server_rests *r, uint32_t pid)
{
	g_autofree char *text = opener_process_text(r->proc_dir, pid, "schedstat");

	return text ? g_ascii_strtoull(text, NULL, 10) : 0;
}

/* Stopped, throttled, or short of a CPU it does not. */
static bool runs(const struct server_rests *r, uint32_t pid)
{
	for (unsigned i = 0; i < RUNS_TRIES; i++) {
		const uint64_t begin_ns = clock_ns(CLOCK_MONOTONIC), before_ns = ran_ns(r, pid);

		g_usleep(RUNS_PAUSE_US);
		if ((ran_ns(r, pid) - before_ns) * RUNS_PART >= clock_ns(CLOCK_MONOTONIC) - begin_ns)
			return true;
	}
	return false;
}

static void note_commander(struct server_rests *r, struct looked_at *s, uint64_t inode)
{
	unsigned others;
	const uint32_t pid = inode ? fd_owners_find(r->owners, inode, FD_READS | FD_WRITES, 0, &others) : 0;
	char *name = pid ? process_called(r->proc_dir, pid) : NULL;
	struct commander *known =
		FIRST_ROW(struct commander, x, s->commanders, name && strcmp(x->name, name) == 0, x, NULL);
	const struct commander fresh = { .pid = pid, .cnt = 1, .look = s->held, .name = name };

	if (known) {
		known->cnt += known->look != s->held;
		known->look = s->held;
	}
	if (!known && name)
		g_array_append_val(s->commanders, fresh);
	else
		g_free(name);
}

/*
 * What came before anything that is still unread has been read, and of that the latest is being done: an older one
 * waits for work (BRPOP). What was read at once with it may be done already, but its answer goes out with the others:
 * of several looks the one is meant that is among these at most.
 */
static void note_commanders(struct server_rests *r, struct looked_at *s, const GArray *all, uint64_t unread_ns)
{
	uint64_t latest_ns = UINT64_MAX;

	fd_owners_read(r->owners, false);	/* a program that runs for one command is gone soon */
	EACH_ROW(i, const struct came, c, all)
		if (is_read(c, unread_ns))
			latest_ns = MIN(latest_ns, c->ns);
	EACH_ROW(i, const struct came, c, all)
		if (is_read(c, unread_ns) && c->ns <= latest_ns + ERROR_NS)
			note_commander(r, s, c->inode);
}

/* It does one command after another: while one takes long nothing is read of what others send. */
static void look_at_command(struct server_rests *r, struct looked_at *s)
{
	if (!net_tables_are_ours(r->proc_dir, s->pid))
		return;
	struct net_tables *nets = net_tables_new(r->proc_dir);
	g_autoptr(GArray) all = came_new(r, s->pid, nets);
	uint64_t unread_ns = 0;

	EACH_ROW(i, const struct came, c, all)
		unread_ns = MAX(unread_ns, c->is_unread ? c->ns : 0);
	if (unread_ns >= UNREAD_NS && runs(r, s->pid)) {
		s->held++;
		if (all->len < CLIENTS_MAX)	/* else it may be one that was not looked at */
			note_commanders(r, s, all, unread_ns);
	}
	net_tables_free(nets);
}

void server_rests_look(struct server_rests *r, struct backends *b)
{
	if (!r->has_sought || (b && !r->has_named))
		seek(r, b);
	EACH_ROW(i, struct looked_at, s, r->servers) {
		const bool is_at_rest = rests(r, s->pid);

		s->looks++;
		s->rests += is_at_rest;
		if (!is_at_rest)
			look_at_command(r, s);
	}
}

ORDER(by_cnt, struct commander, ORDER_HIGH(cnt) ORDER_LOW(pid))

/* "8 of 15 looks", "8 of 15 looks, 6 in a command, 5 of 4711 redis-cli" */
static void put_server(const struct looked_at *s, struct profile *p)
{
	g_autoptr(GString) text = g_string_new(NULL);

	g_string_append_printf(text, LIMIT_RESTS_FORMAT, s->rests, s->looks);
	if (s->held)
		g_string_append_printf(text, LIMIT_RESTS_HELD, s->held);
	g_array_sort(s->commanders, by_cnt);
	const struct commander *most = &g_array_index(s->commanders, struct commander, 0);

	if (s->commanders->len && (s->commanders->len == 1 || most[1].cnt < most->cnt))
		g_string_append_printf(text, LIMIT_RESTS_COMMANDER "%s", most->cnt, most->pid, most->name);
	profile_add_limit(p, LIMIT_RESTS, s->pid, 0, text->str);
}

void server_rests_put(struct server_rests *r, struct profile *p)
{
	EACH_ROW(i, struct looked_at, s, r->servers)
		if (s->looks)
			put_server(s, p);
	g_array_set_size(r->servers, 0);
	r->has_sought = false;
}
