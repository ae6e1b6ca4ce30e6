/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Whom a goroutine asks whose process asks several servers: no look tells which connection it waits at, but the library
 * that it calls speaks to one kind of server only.
 */
#include "base/find.h"
#include "base/proc/net_table.h"
#include "explain/sentence.h"
#include "features/tasks/findings_kind.h"
#include "profile/limits.h"

#define PEERS_MAX 8

/* "127.0.0.1:5432 (postgres)", of the address alone; NULL: the server there is not known. */
static const char *name_of(const struct profile *p, const char *there)
{
	EACH_ROW(i, const struct object, o, p->objects) {
		const char *name = o->kind == OBJECT_SOCKET ? o->name : object_upstream(o);

		if (name && net_text_is_same(name, there) && strchr(name, '('))
			return name;
	}
	EACH_ROW(i, const struct profile_limit, l, p->limits) {
		const char *name;
		uint32_t made;

		if (limit_owed_read(l, &made, &name) && name && net_text_is_same(name, there) && strchr(name, '('))
			return name;
	}
	return NULL;
}

static bool is_among(const char *const *texts, unsigned cnt, const char *text)
{
	return FIRST_OF(x, texts, cnt, strcmp(*x, text) == 0, true, false);
}

/* The addresses that the process has connected to; at most PEERS_MAX. */
static unsigned peers_of(const struct profile *p, uint32_t pid, const char *ret[PEERS_MAX])
{
	unsigned cnt = 0;

	EACH_ROW(i, const struct connection, c, p->connections)
		if (c->pid == pid && c->side == CONNECTION_CLIENT && c->remote && cnt < PEERS_MAX &&
		    !is_among(ret, cnt, c->remote))
			ret[cnt++] = c->remote;
	return cnt;
}

const char *task_peer_of_call(const struct profile *p, const struct task_wait *w)
{
	const bool is_sql = g_str_has_prefix(w->call, "database/sql."), is_http = g_str_has_prefix(w->call, "net/http.");
	const char *peers[PEERS_MAX], *found = NULL;
	const unsigned cnt = is_sql || is_http ? peers_of(p, w->pid, peers) : 0;

	for (unsigned i = 0; i < cnt; i++) {
		const char *name = name_of(p, peers[i]);

		if (servers_is_database(name) != is_sql)
			continue;
		if (found)	/* two of a kind */
			return NULL;
		found = name ?: peers[i];
	}
	return found;
}
