/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A service that waits for an answer of its own: the address that it asks is one where it accepts connections. */
#include "explain/limits.h"

#include <string.h>

#include "base/proc/net_table.h"
#include "explain/findings_part.h"
#include "profile/limits.h"

#define LISTENING " listening"

/* The address that is asked, "127.0.0.1:8018" or "/run/app.sock", without what follows in the object's name. */
struct asked {
	const char *name;
	size_t len;
};

/* `where` is that address, or a port of this machine, ":8018", "*:8018 listening", that is asked by loopback. */
static bool is_there(const struct asked *a, const char *where)
{
	const size_t len = strcspn(where, " ");
	const char *port = memrchr(where, ':', len), *asked_port = memrchr(a->name, ':', a->len);

	if (len == a->len && memcmp(where, a->name, len) == 0)
		return true;
	return port && (port == where || (*where == '*' && port == where + 1)) && asked_port &&
	       net_text_is_loopback(a->name) && where + len - port == a->name + a->len - asked_port &&
	       memcmp(port, asked_port, (size_t)(where + len - port)) == 0;
}

static bool accepts_there(const struct profile *p, uint32_t pid, const struct asked *a)
{
	const char *where;

	EACH_ROW(i, const struct connection, c, p->connections)
		if (c->side == CONNECTION_SERVER && c->pid == pid && is_there(a, c->local))
			return true;
	if (limit_backlog_read(profile_find_limit(p, LIMIT_BACKLOG, pid, 0), &where) && is_there(a, where))
		return true;
	EACH_ROW(i, const struct wait, w, p->waits) {
		const struct object *o = profile_thread(p, w->thread)->pid == pid ? profile_wait_object(p, w) : NULL;

		if (o && o->kind == OBJECT_SOCKET && strstr(o->name, LISTENING) && is_there(a, o->name))
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
	const struct asked a = { .name = o->name, .len = strcspn(o->name, " ") };

	return !g_str_has_prefix(a.name + a.len, LISTENING) && accepts_there(f->profile, finding_pid(f, row), &a);
}
