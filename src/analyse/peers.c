/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/peers.h"

#include "base/proc/net_table.h"

static const char *const hows[PEER_HOW_COUNT] = {
	[PEER_NONE] = "none",	    [PEER_CONNECTION] = "connection", [PEER_REWRITTEN] = "rewritten",
	[PEER_ADDRESS] = "address", [PEER_APART] = "apart",	      [PEER_SEVERAL] = "several",
};

const char *peer_how_name(enum peer_how how)
{
	return hows[how];
}

char *peers_address_of(const struct object *o)
{
	const char *text = object_upstream(o);
	struct net_end end;

	if (!text && (o->kind == OBJECT_SOCKET || o->kind == OBJECT_POLL))
		text = o->name;
	return text && net_end_read(text, &end) && end.port ? g_strndup(text, strcspn(text, " ")) : NULL;
}

bool peers_is_for_client(const struct object *o)
{
	return *o->name == ':' && object_is_accepted(o);
}

const char **peers_locals(const struct profile *p, const struct selection *selection, const char *there)
{
	GPtrArray *locals = g_ptr_array_new();

	EACH_ROW(i, const struct connection, c, p->connections)
		if (c->side == CONNECTION_CLIENT && !strcmp(c->remote, there) &&
		    selection_has_process(selection, p, c->pid))
			g_ptr_array_add(locals, (gpointer)c->local);
	g_ptr_array_add(locals, NULL);
	return (const char **)g_ptr_array_free(locals, FALSE);
}

/* Whether it is the other end of one of our connections, with ports. */
static bool is_of_ours(const struct peer_ask *ask, const char *remote)
{
	struct net_end end;

	for (const char *const *local = ask->locals; *local; local++)
		if (!strcmp(*local, remote))
			return net_end_read(remote, &end);
	return false;
}

void peers_add_rows(GArray *rows, const struct profile *p, const struct peer_ask *ask)
{
	EACH_ROW(i, const struct connection, c, p->connections) {
		struct peer_row row = { .host = p->info.host, .process = "", .pid = c->pid, .local = c->local,
					.remote = c->remote, .from_unix_ns = p->info.start_unix_ns };

		row.to_unix_ns = row.from_unix_ns + p->info.duration_ns;
		if (c->side != CONNECTION_SERVER || (strcmp(c->local, ask->there) != 0 && !is_of_ours(ask, c->remote)))
			continue;
		for (guint k = 0; k < p->threads->len; k++)
			if (profile_thread(p, k)->pid == c->pid)
				row.process = profile_thread(p, k)->process;
		g_array_append_val(rows, row);
	}
}

static bool is_there(const struct profile *p, const struct peer *peer)
{
	for (guint i = 0; i < p->connections->len && !strcmp(p->info.host, peer->host); i++) {
		const struct connection *c = profile_connection(p, i);

		if (c->side == CONNECTION_SERVER && c->pid == peer->pids[0] && !strcmp(c->local, peer->local))
			return true;
	}
	return false;
}

const struct profile *peers_recording(const GPtrArray *profiles, const struct peer *peer)
{
	for (guint i = 0; i < profiles->len; i++)
		if (is_there(g_ptr_array_index(profiles, i), peer))
			return g_ptr_array_index(profiles, i);
	return NULL;
}

static bool overlaps(const struct peer_ask *ask, const struct peer_row *r)
{
	return r->from_unix_ns < ask->to_unix_ns && ask->from_unix_ns < r->to_unix_ns;
}

/* Loopback addresses are local to each host. */
static enum peer_how how_of(const struct peer_ask *ask, const struct peer_row *r)
{
	bool is_there = !strcmp(r->local, ask->there), is_ours = is_of_ours(ask, r->remote);
	bool is_here = net_text_is_loopback(ask->there) || (is_ours && net_text_is_loopback(r->remote));

	if ((!is_there && !is_ours) || (is_here && strcmp(r->host, ask->host) != 0))
		return PEER_NONE;
	if (!overlaps(ask, r))
		return PEER_APART;
	return is_there && is_ours ? PEER_CONNECTION : is_ours ? PEER_REWRITTEN : PEER_ADDRESS;
}

static uint64_t gap_of(const struct peer_ask *ask, const struct peer_row *r)
{
	if (r->from_unix_ns >= ask->to_unix_ns)
		return r->from_unix_ns - ask->to_unix_ns;
	return ask->from_unix_ns >= r->to_unix_ns ? ask->from_unix_ns - r->to_unix_ns : 0;
}

static void add_process(struct peer *peer, const struct peer_ask *ask, const struct peer_row *r, enum peer_how how)
{
	if (peer->how != PEER_NONE && strcmp(peer->host, r->host) != 0) {
		peer->how = PEER_SEVERAL;
		return;
	}
	if (peer->how == PEER_NONE) {
		peer->how = how;
		peer->host = r->host;
		peer->process = r->process;
		peer->local = r->local;
		peer->gap_ns = gap_of(ask, r);
	}
	peer->gap_ns = MIN(peer->gap_ns, gap_of(ask, r));
	for (guint i = 0; i < peer->pid_cnt; i++)
		if (peer->pids[i] == r->pid)
			return;
	if (peer->pid_cnt < PEERS_MAX)
		peer->pids[peer->pid_cnt++] = r->pid;
}

struct peer peers_find(const struct peer_ask *ask, const GArray *rows)
{
	struct peer found[PEER_HOW_COUNT] = { 0 };

	EACH_ROW(i, const struct peer_row, r, rows) {
		enum peer_how how = how_of(ask, r);

		if (how != PEER_NONE)
			add_process(&found[how], ask, r, how);
	}
	for (int how = PEER_CONNECTION; how <= PEER_APART; how++)
		if (found[how].how != PEER_NONE)
			return found[how];
	return found[PEER_NONE];
}

struct peer_ends peer_ends_of(const struct profile *p, uint32_t pid)
{
	struct peer_ends e = { .is_one = true };
	const char *there = NULL;

	EACH_ROW(i, const struct connection, c, p->connections) {
		if (c->pid != pid)
			continue;
		e.listens = e.listens || (c->side == CONNECTION_SERVER && !*c->remote);
		if (!*c->remote)
			continue;
		if (c->side == CONNECTION_SERVER) {
			e.clients_cnt++;
			continue;
		}
		e.asked_cnt++;
		e.is_one = e.is_one && (!there || strcmp(there, c->remote) == 0);
		there = c->remote;
	}
	e.is_one = e.is_one && e.asked_cnt;
	return e;
}

#define ASKED_SHARE 10	/* of the time without a question: less may be for an answer */

bool peer_sends_unasked(const struct tcp_wait *t)
{
	return t->direction == TCP_WAIT_RECEIVE && t->silent_ns && t->silent_ns >= t->blocked_ns / 2 &&
	       t->peer_ns + t->network_ns + t->unclear_ns <= t->silent_ns / ASKED_SHARE;
}

bool peers_send_unasked(const struct profile *p, uint32_t pid)
{
	g_autoptr(GHashTable) sets = g_hash_table_new(NULL, NULL);
	struct tcp_wait all = { .direction = TCP_WAIT_RECEIVE };

	EACH_ROW(i, const struct wait, w, p->waits) {
		const struct object *o = profile_wait_object(p, w);

		if (o && o->kind == OBJECT_EPOLL && profile_thread(p, w->thread)->pid == pid)
			g_hash_table_add(sets, GUINT_TO_POINTER(w->object));
	}
	EACH_ROW(i, const struct tcp_wait, t, p->tcp_waits) {
		if (t->direction == TCP_WAIT_RECEIVE && g_hash_table_contains(sets, GUINT_TO_POINTER(t->object + 1)))
			ADD_MEMBERS(&all, t, count, blocked_ns, silent_ns, peer_ns, network_ns, unclear_ns);
	}
	return peer_sends_unasked(&all) && all.blocked_ns / MAX(all.count, 1) >= PEER_UNASKED_NS;
}

bool peers_serves(const struct profile *p, uint32_t pid)
{
	const struct peer_ends ends = peer_ends_of(p, pid);

	return ends.clients_cnt || ends.listens;
}

uint32_t peers_awaited(const struct profile *p, uint32_t pid, bool asks)
{
	uint64_t longest_ns = 0;
	uint32_t found = 0;

	EACH_ROW(i, const struct wait, w, p->waits) {
		const struct object *o = profile_wait_object(p, w);

		if (profile_thread(p, w->thread)->pid != pid || w->blocked_ns <= longest_ns || !o || !o->pid ||
		    o->pid == pid)
			continue;
		const bool is_connection = (o->kind == OBJECT_SOCKET || o->kind == OBJECT_EPOLL) &&
					   !object_is_accepted(o);

		if (asks ? !is_connection : object_is_lock(o))
			continue;
		longest_ns = w->blocked_ns;
		found = o->pid;
	}
	return found;
}

GHashTable *peers_servers_new(const struct profile *p)
{
	GHashTable *servers = g_hash_table_new(NULL, NULL);

	EACH_ROW(i, const struct wait, w, p->waits) {
		const struct object *o = profile_wait_object(p, w);

		if (o && object_is_accepted(o))
			g_hash_table_add(servers, GUINT_TO_POINTER(profile_thread(p, w->thread)->pid));
		else if (o && (o->kind == OBJECT_SOCKET || o->kind == OBJECT_EPOLL) && o->pid)
			g_hash_table_add(servers, GUINT_TO_POINTER(o->pid));
	}
	return servers;
}
