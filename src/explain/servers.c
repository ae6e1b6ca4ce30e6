/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/servers.h"

#include <string.h>

#define OF_QUEUE                                                                                                  \
	"A command that waits for work (BRPOP, XREAD, SUBSCRIBE, reserve) is no problem on a connection of its own; others on "  \
	"that one wait behind it. Else see what that server runs: "
#define OF_MYSQL "See what its sessions do: SHOW PROCESSLIST, SHOW ENGINE INNODB STATUS, its slow query log."

/* What it is asked, it does one after the other. */
#define OF_BUSY "It does one command after another, and has been busy: see which take long: "

static const struct {
	const char *process, *advice, *busy;	/* the last: where it is seen to be; NULL: the same */
} servers[] = {
	{ "(redis-server)", OF_QUEUE "SLOWLOG GET.", OF_BUSY "SLOWLOG GET." },
	{ "(valkey-server)", OF_QUEUE "SLOWLOG GET.", OF_BUSY "SLOWLOG GET." },
	{ "(keydb-server)", OF_QUEUE "SLOWLOG GET.", OF_BUSY "SLOWLOG GET." },
	{ "(beanstalkd)", OF_QUEUE "stats.", NULL },
	{ "(postgres)", "See what its sessions wait for: wait_event in pg_stat_activity, pg_blocking_pids(). One that is idle in "
			"transaction holds its locks.", NULL },
	{ "(mariadbd)", OF_MYSQL, NULL },
	{ "(mysqld)", OF_MYSQL, NULL },
	{ "(mongod)", "See what it does: db.currentOp(), its log of slow operations.", NULL },
};

const char *servers_advice(const char *peer, bool is_busy)
{
	for (size_t i = 0; peer && i < G_N_ELEMENTS(servers); i++)
		if (strstr(peer, servers[i].process))
			return is_busy && servers[i].busy ? servers[i].busy : servers[i].advice;
	return NULL;
}

const char *servers_advice_of_wait(const struct reasons *r, uint32_t wait, const struct object *o, const char *by, bool is_busy)
{
	const struct rule *rule = reasons_rule(r, wait);
	bool is_asked = o && reasons_of(r, wait) == REASON_NETWORK_RECEIVE && !(rule && rule->advice);

	return is_asked ? servers_advice(o->name, is_busy) ?: servers_advice(by, is_busy) : NULL;
}
