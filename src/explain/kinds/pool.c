/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/limits.h"

#include <inttypes.h>
#include <string.h>

#include "analyse/peers.h"
#include "analyse/reason/idle.h"
#include "base/find.h"
#include "base/proc/net_table.h"
#include "explain/sentence.h"
#include "explain/text.h"
#include "features/wakers/analysis.h"
#include "profile/profile.h"

#define BUSY_PERCENT 90	/* of the window: less is not a full pool */
#define ASKS_PERCENT 80	/* of the window: less is a loop that is idle in between */
#define ANSWERS_EACH 5	/* for each request, on average */
#define ANSWER_NS 10000000

/* Waits at both ends of the process's sockets. */
struct ends {
	uint64_t clients_ns;	/* others wait for it: one request each */
	uint64_t idle_ns;	/* others wait for its next request */
	GHashTable *servers;	/* indices of such threads */
	const char *server;
};

/* ":5432 from 127.0.0.1 (pgbouncer)": the server at that port waits for what the process sends. */
static bool is_at_port(const struct object *o, const char *there)
{
	const char *port = strrchr(there, ':');
	size_t len = port ? strlen(port) : 0;

	return len && strncmp(o->name, port, len) == 0 && g_str_has_prefix(o->name + len, " from ");
}

static struct ends ends_of(const struct findings *f, uint32_t pid, const char *there)
{
	const struct profile *p = f->profile;
	struct ends e = { .servers = g_hash_table_new(NULL, NULL) };

	EACH_ROW(i, const struct wait, w, p->waits) {
		const struct object *o = profile_wait_object(p, w);

		if (!o || o->kind != OBJECT_SOCKET || o->pid != pid)
			continue;
		if (is_at_port(o, there)) {
			e.idle_ns += w->blocked_ns;
			e.server = profile_thread(p, w->thread)->process;
			g_hash_table_add(e.servers, GUINT_TO_POINTER(w->thread + 1));
		} else if (*o->name != ':' && reasons_of(f->reasons, i) == REASON_NETWORK_RECEIVE &&
			   !reasons_is_idle(f->reasons, i)) {
			e.clients_ns += w->blocked_ns;
		}
	}
	return e;
}

/* The waker waits for an answer itself: it does not compute the result. */
static bool has_asked(const struct findings *f, const struct finding *row, uint32_t pid)
{
	uint32_t own = finding_pid(f, row);
	uint32_t object = row->by.does_wait ? reasons_object(f->reasons, row->by.does_wait - 1) : 0;

	if (own == pid)
		return row->reason == REASON_NETWORK_RECEIVE;
	return row->by.pid == pid && row->by.does_ns && row->by.does == REASON_NETWORK_RECEIVE && object &&
	       object_upstream(profile_get_object(f->profile, object - 1));
}

static const struct profile_limit *limit_of(const struct findings *f, const struct finding *row)
{
	const struct object *o = finding_object(f, row);
	const struct profile_limit *l = NULL;

	if (!o || row->reason != REASON_NETWORK_RECEIVE)
		return NULL;
	if (o->pid)
		l = profile_find_limit(f->profile, LIMIT_POOL, o->pid, 0);
	if (!l && object_upstream(o))
		l = profile_find_limit(f->profile, LIMIT_POOL,
				       finding_pid(f, row), 0);
	return l;
}

/* Its clients wait for an answer from elsewhere, and whoever ends the waits is not at the other end of this pool. */
static bool is_asked_elsewhere(const struct findings *f, const struct finding *row, const struct limit_pool *pool)
{
	const struct profile_limit *owed = profile_find_limit(f->profile, LIMIT_OWED, finding_pid(f, row), 0);
	const struct waker by = { .pid = row->by.pid, .comm = row->by.comm };
	const char *there;
	uint32_t made;

	return limit_owed_read(owed, &made, &there) && there && !net_text_is_same(pool->there, there) &&
	       (!by.pid || (by.pid != finding_object(f, row)->pid && row->by.blocked_ns > row->time_ns / 2 &&
			    idle_is_asked(f->profile, profile_wait(f->profile, row->wait), &by)));
}

bool pool_find(const struct findings *f, const struct finding *row, struct finding_limit *ret)
{
	const struct profile_limit *l = limit_of(f, row);
	struct limit_pool pool;

	if (!limit_pool_read(l, &pool) || !f->profile->info.duration_ns || is_asked_elsewhere(f, row, &pool))
		return false;
	const uint64_t window_ns = f->profile->info.duration_ns, all_ns = window_ns * pool.cnt;
	struct ends e = ends_of(f, l->pid, pool.there);
	uint32_t servers = g_hash_table_size(e.servers);
	bool is_known = servers && servers <= pool.cnt;	/* each connection has one waiting thread, or none ever */

	g_hash_table_unref(e.servers);
	*ret = (struct finding_limit){
		.limit = l,
		.waiting = (double)e.clients_ns / (double)window_ns,
		.is_full = is_known && e.idle_ns <= all_ns / 100 * (100 - BUSY_PERCENT),
		.server = e.server,
		.pool = pool,
	};
	/* half as many again wait than could be served; an event loop's wait counts as one */
	if (MAX(ret->waiting, pool.waiting) < 1.5 * pool.made && (!ret->is_full || pool.from_clients < 2 * pool.made))
		return false;
	return ret->is_full ||
	       (!is_known && (has_asked(f, row, l->pid) || poolers_advice(finding_object(f, row)->name)));
}

static void append_name(GString *s, const struct findings *f, const struct finding *row)
{
	const uint32_t pid = row->limit.limit->pid;
	const struct object *o = finding_object(f, row);
	const char *begin = o->pid == pid ? strstr(o->name, " (") : NULL, *end = begin ? strrchr(begin, ')') : NULL;
	g_autofree char *there = end ? g_strndup(begin + 2, (gsize)(end - begin - 2)) : NULL;
	const char *name = finding_process_name(f, pid) ?: there;

	if (name)
		text_safe_cut(s, name, FINDING_NAME_COLUMNS);
	else
		g_string_append_printf(s, "process %" PRIu32, pid);
}

void pool_append(GString *s, const struct findings *f, const struct finding *row)
{
	const struct finding_limit *l = &row->limit;

	g_string_append(s, ": ");
	append_name(s, f, row);
	g_string_append(s, l->is_full ? "'s " : " has ");
	if (l->pool.cnt == 1)
		g_string_append(s, l->is_full ? "only connection to " : "one connection to ");
	else
		g_string_append_printf(s, "%u connections to ", l->pool.cnt);
	text_safe_cut(s, l->pool.there, FINDING_NAME_COLUMNS);
	if (l->server) {
		g_string_append(s, " (");
		text_safe_cut(s, l->server, FINDING_NAME_COLUMNS);
		g_string_append_c(s, ')');
	}
	if (l->is_full)
		g_string_append(s, l->pool.cnt == 1 ? " is busy" : " are all busy");
	else if (l->pool.cnt < l->pool.made)
		g_string_append_printf(s, " and %" PRIu32 " elsewhere", l->pool.made - l->pool.cnt);
}

void pool_append_evidence(GString *s, const struct findings *f, const struct finding *row)
{
	const struct finding_limit *l = &row->limit;

	g_string_append(s, "; ");
	append_name(s, f, row);
	g_string_append_printf(s, " has %" PRIu32 " connections from clients", l->pool.from_clients);
	if (l->waiting >= l->pool.made)
		g_string_append_printf(s, ", of which %.1f wait on average", MIN(l->waiting, (double)l->pool.from_clients));
	else if (l->pool.waiting)
		g_string_append_printf(s, ", of which %" PRIu32 " waited for an answer as the recording ended", l->pool.waiting);
}

/* For a database that runs one statement per connection at a time, whose client's loop always has one running. */
void pool_append_connections(GString *s, const struct findings *f, const struct finding *row)
{
	static const char *const servers[] = { "(postgres)", "(mariadbd)", "(mysqld)" };
	const char *there = owed_upstream(row) ?: object_upstream(finding_object(f, row));
	unsigned cnt = 0;

	if (!there || !ANY(x, servers, strstr(there, *x)))
		return;
	if (row->threads_cnt > 1 || row->time_ns < f->profile->info.duration_ns / 100 * ASKS_PERCENT)
		return;
	EACH_ROW(i, const struct connection, c, f->profile->connections) {
		size_t len = strlen(c->remote);

		if (c->side != CONNECTION_CLIENT || c->pid != finding_pid(f, row) ||
		    strncmp(there, c->remote, len) != 0 || there[len] != ' ')
			continue;
		if (!strchr(c->local, ':'))	/* not counted */
			return;
		cnt++;
	}
	if (cnt == 1)
		g_string_append(s, "; it has one connection there, which does one statement at a time: further ones wait for that");
	else if (cnt)
		g_string_append_printf(s, "; it has %u connections there, and each does one statement at a time: further ones wait "
					  "in its pool", cnt);
}

const char *pool_advice(const struct findings *f, const struct finding *row)
{
	const char *of_pooler = poolers_advice(finding_object(f, row)->name);

	return row->limit.is_full ?
		       "Requests queue for one of these connections: raise that pool if the server there has room for more, or "
		       "shorten what the server does for each." :
	       of_pooler ? of_pooler :
		       "Where a connection carries one request at a time the others queue: for a pool of that size (raise it if the "
		       "server there has room for more), or for a lock or queue of its own. Else shorten what the server does for each.";
}

/* Answers that ended waits of the process, and in *ret_requests_cnt what others ended. */
static uint64_t answers_of(const struct profile *p, uint32_t pid, uint64_t *ret_requests_cnt)
{
	uint64_t answers_cnt = 0;

	*ret_requests_cnt = 0;
	EACH_ROW(i, const struct wake, wake, p->wakes) {
		const struct wait *w = profile_wait(p, wake->wait);
		const struct waker *by = profile_get_waker(p, wake->waker);

		if (profile_thread(p, w->thread)->pid != pid || by->pid == pid || waker_is_timer(by))
			continue;
		*(idle_is_asked(p, w, by) ? &answers_cnt : ret_requests_cnt) += wake->count;
	}
	return answers_cnt;
}

bool pool_is_many_small(const struct findings *f, const struct finding *row)
{
	const uint32_t pid = row->limit.limit->pid;
	uint64_t requests_cnt, answers_cnt = answers_of(f->profile, pid, &requests_cnt);

	return finding_pid(f, row) == pid && answers_cnt >= ANSWERS_EACH * MAX(requests_cnt, 1) &&
	       row->time_ns / MAX(row->count, 1) <= ANSWER_NS;
}

bool pool_asks_one_by_one(const struct findings *f, uint32_t pid, const char *there)
{
	const struct profile *p = f->profile;
	const struct peer_ends ends = peer_ends_of(p, pid);
	uint64_t requests_cnt, answers_cnt = answers_of(p, pid, &requests_cnt);
	unsigned made = 0;

	EACH_ROW(i, const struct connection, c, p->connections)
		made += c->pid == pid && c->side == CONNECTION_CLIENT && there && net_text_is_same(c->remote, there);
	/* clients that ask again at once need not wake it, so their requests are not counted */
	return made <= 1 && ((!ends.clients_cnt && !ends.listens) || answers_cnt >= ANSWERS_EACH * requests_cnt);
}
