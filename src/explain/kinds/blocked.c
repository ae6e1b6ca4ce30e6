/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Who waits for PostgreSQL whose sessions wait for locks: whose session was idle in a transaction meanwhile. */
#include "explain/limits.h"

#include <string.h>

#include "base/find.h"
#include "explain/findings_part.h"
#include "explain/sentence.h"
#include "explain/text.h"

#define LOOKS_PART 4	/* of all looks, at which somebody waited for a lock: fewer are no reason of most waits */

/* Of that session, else of the only server that has any; false: none waited for locks, or at few looks only. */
static bool find(const struct profile *p, uint32_t session, struct limit_blocked *ret)
{
	const struct profile_limit *l = profile_find_limit(p, LIMIT_BLOCKED, session, 0), *any = NULL;
	bool is_one = true;

	EACH_ROW(i, const struct profile_limit, x, p->limits) {
		if (x->kind != LIMIT_BLOCKED)
			continue;
		is_one = is_one && (!any || any->tid == x->tid);
		any = x;
		l = x->pid == session ? x : l;
	}
	return limit_blocked_read(l ?: is_one ? any : NULL, ret) && ret->seen > 1 && ret->seen * LOOKS_PART >= ret->all;
}

static bool is_at_postgres(const char *peer)
{
	return peer && strstr(peer, "(postgres)");
}

bool blocked_append(GString *s, const struct profile *p, const char *peer, uint32_t session)
{
	struct limit_blocked b;

	if (!is_at_postgres(peer) || !find(p, session, &b))
		return false;
	g_string_append_printf(s, "; sessions there waited for locks at %" PRIu32 " of %" PRIu32 " looks", b.seen, b.all);
	if (!b.held)
		return true;
	g_string_append(s, ", while one of ");
	text_who(s, b.name, b.holder, FINDING_NAME_COLUMNS);
	g_string_append_printf(s, " was idle in transaction (at %" PRIu32 ")", b.held);
	return true;
}

const char *blocked_advice(const struct profile *p, const char *peer, uint32_t session)
{
	struct limit_blocked b;

	if (!is_at_postgres(peer) || !find(p, session, &b))
		return NULL;
	return b.held * 2 >= b.seen ?
		       SESSION_ADVICE " pg_blocking_pids() tells whose locks they are." :
		       "Statements that run, or transactions that are left open, have these locks: pg_blocking_pids() tells whose, and "
		       "pg_stat_activity what these do.";
}

/* The session that the row waits for, or is; 0: neither. */
static const char *peer_of(const struct findings *f, const struct finding *row, uint32_t *ret_session)
{
	const struct object *o = finding_object(f, row);

	*ret_session = o ? o->pid : 0;
	if (finding_is_by(f, row, "postgres-row-lock") || finding_is_by(f, row, "postgres-advisory-lock")) {
		*ret_session = finding_pid(f, row);
		return "(postgres)";
	}
	if (row->reason != REASON_NETWORK_RECEIVE || !o)
		return NULL;
	/* of connections that are short who answers is known by the wakers only */
	return !strchr(o->name, '(') && row->by.pid && strcmp(row->by.comm, "postgres") == 0 ? "(postgres)" : o->name;
}

void blocked_append_evidence(GString *s, const struct findings *f, const struct finding *row)
{
	uint32_t session;
	const char *peer = peer_of(f, row, &session);

	blocked_append(s, f->profile, peer, session);
}

const char *blocked_advice_of(const struct findings *f, const struct finding *row)
{
	uint32_t session;
	const char *peer = peer_of(f, row, &session);

	return blocked_advice(f->profile, peer, session);
}
