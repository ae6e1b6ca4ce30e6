/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A service that waits for an answer of its own: the address that it asks is one where it accepts connections. */
#include "explain/limits.h"

#include <string.h>

#include "base/proc/net_table.h"
#include "explain/findings_part.h"
#include "profile/limits.h"

#define LISTENING " listening"

/* ":8018" of "127.0.0.1:8018 (uwsgi)"; NULL: none. */
static const char *port_of(const char *address)
{
	return memrchr(address, ':', strcspn(address, " "));
}

/* `where` is the address that is asked, or a port of this machine, ":8018", "*:8018 listening", that is asked by loopback. */
static bool is_there(const char *asked, const char *where)
{
	const char *port = port_of(where), *asked_port = port_of(asked);
	const bool is_of_all = port && port == where + (*where == '*');

	return net_text_is_same(asked, where) ||
	       (is_of_all && asked_port && net_text_is_loopback(asked) && net_text_is_same(port, asked_port));
}

static bool accepts_there(const struct profile *p, uint32_t pid, const char *asked)
{
	const char *where;

	EACH_ROW(i, const struct connection, c, p->connections)
		if (c->side == CONNECTION_SERVER && c->pid == pid && is_there(asked, c->local))
			return true;
	if (limit_backlog_read(profile_find_limit(p, LIMIT_BACKLOG, pid, 0), &where) && is_there(asked, where))
		return true;
	EACH_ROW(i, const struct wait, w, p->waits) {
		const struct object *o = profile_thread(p, w->thread)->pid == pid ? profile_wait_object(p, w) : NULL;

		if (o && o->kind == OBJECT_SOCKET && strstr(o->name, LISTENING) && is_there(asked, o->name))
			return true;
	}
	return false;
}

bool self_is_asked(const struct findings *f, const struct finding *row)
{
	const struct object *o = finding_object(f, row);

	if ((row->reason != REASON_NETWORK_RECEIVE && row->reason != REASON_NETWORK_CONNECT) || row->busy || !o ||
	    (o->kind != OBJECT_SOCKET && o->kind != OBJECT_POLL) || object_is_accepted(o))
		return false;
	return !g_str_has_prefix(o->name + strcspn(o->name, " "), LISTENING) &&
	       accepts_there(f->profile, finding_pid(f, row), o->name);
}

const char *self_is_mostly_asked(const struct profile *p, uint32_t pid)
{
	const struct profile_limit *l = profile_find_limit(p, LIMIT_OWED, pid, 0);
	const char *there = NULL;
	uint32_t made;

	if (!limit_owed_read(l, &made, &there) || !there || !g_str_has_suffix(there, " (" LIMIT_ITSELF ")"))
		return NULL;
	const struct limit_looks looks = limit_looks_read(l);

	return looks.asked * 2 >= looks.connections ? there : NULL;
}
