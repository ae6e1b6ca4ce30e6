/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/limits.h"

#include <inttypes.h>

#include "analyse/reason/idle.h"
#include "base/find.h"
#include "base/proc/net_table.h"
#include "explain/kinds/at_once.h"
#include "explain/findings_part.h"
#include "explain/sentence.h"
#include "explain/text.h"
#include "features/tasks/findings.h"

#define QUEUE_TIMES 2	/* ratio of clients to connections: fewer may have just arrived */
#define OWED_QUEUE_ADVICE \
	"If a connection there carries one request at a time, the others queue: allow more connections (maxconn, maxSockets, a " \
	"pool's size) if the server there has room for more. Else look at that server."
#define WAKES_EACH 5	/* minimum wakings of a server's threads per request */

/* Most of its connections there were owed nothing at most looks: nobody queues for them. */
static bool are_free(const struct profile_limit *l)
{
	const struct limit_looks looks = limit_looks_read(l);

	return looks.asked * 2 < looks.connections;
}

/* There are many more clients than connections to that server, and these are busy. */
static bool is_queue(const struct profile_limit *l)
{
	const char *there;
	uint32_t made, clients = limit_owed_read(l, &made, &there);

	return there && clients >= QUEUE_TIMES * made && !are_free(l);
}

/* A single look may have met connections that are mostly free. */
static bool is_seen_queue(const struct profile_limit *l)
{
	return is_queue(l) && limit_looks_read(l).connections;
}

/* Threads wait for results, which others take from a connection, as a library's: what is known is who asks whom. */
static bool waits_for_results(const struct findings *f, const struct finding *row, uint32_t made)
{
	return finding_is_by(f, row, "*-future*") && !row->by.does_ns && row->threads_cnt >= QUEUE_TIMES * made;
}

bool owed_find(const struct findings *f, const struct finding *row, struct finding_limit *ret)
{
	const struct object *o = finding_object(f, row);
	const struct profile_limit *l =
		profile_find_limit(f->profile, LIMIT_OWED, finding_pid(f, row), 0);
	const char *upstream = o ? profile_upstream(f->profile, profile_wait(f->profile, row->wait)) : NULL, *there;
	uint32_t made, clients = limit_owed_read(l, &made, &there);

	if (clients && waits_for_results(f, row, made) && is_seen_queue(l)) {
		*ret = (struct finding_limit){ .limit = l };
		return true;
	}
	if (!clients || row->reason != REASON_NETWORK_RECEIVE || !upstream || !there ||
	    !net_text_is_same(upstream, there))
		return false;
	*ret = (struct finding_limit){ .limit = l };
	return true;
}

const char *owed_upstream(const struct finding *row)
{
	const char *there;
	uint32_t made;

	return limit_owed_read(row->limit.limit, &made, &there) ? there : NULL;
}

/* Connections of the process to another server than the one that is asked, as to a database. */
static bool pool_beside(const struct profile *p, const struct profile_limit *owed, struct limit_pool *ret)
{
	const char *there;
	uint32_t made, clients = limit_owed_read(owed, &made, &there);

	return clients && limit_pool_read(profile_find_limit(p, LIMIT_POOL, owed->pid, 0), ret) &&
	       !net_text_is_same(ret->there, there);
}

/* ", which was busy in 7 of 7 looks", ", of which 3.9 were busy on average"; false: unknown */
static bool append_busy(GString *s, const struct profile_limit *l, uint32_t made)
{
	const struct limit_looks looks = limit_looks_read(l);

	if (!looks.connections)
		return false;
	if (made == 1)
		g_string_append_printf(s, ", which was busy in %" PRIu32 " of %" PRIu32 " looks", looks.asked, looks.connections);
	else
		g_string_append_printf(s, ", of which %.1f were busy on average", (double)looks.asked / looks.connections * made);
	return true;
}

const char *owed_advice(const struct findings *f, const struct finding *row)
{
	const char *there;
	struct limit_pool pool;
	uint32_t made, clients = limit_owed_read(row->limit.limit, &made, &there);

	if (one_command_may_be(f, row))
		return NULL;
	if (there && pool_beside(f->profile, row->limit.limit, &pool) && made <= pool.cnt &&
	    clients >= QUEUE_TIMES * pool.cnt)
		return "If a request keeps one of the other connections (a pool's) while it waits for this answer, the others queue for "
		       "those: give it back before asking, or raise that pool. Else look at the server that is asked.";
	return is_queue(row->limit.limit) ? OWED_QUEUE_ADVICE : NULL;
}

static void append_made(GString *s, uint32_t made)
{
	if (made == 1)
		g_string_append(s, "one");
	else
		text_thousands(s, made);
	g_string_append(s, made == 1 ? " connection to " : " connections to ");
}

/* "as the recording ended", "in 7 of 9 looks about" */
static void append_when(GString *s, const struct profile_limit *l)
{
	const struct limit_looks looks = limit_looks_read(l);

	if (looks.all)
		g_string_append_printf(s, "in %" PRIu32 " of %" PRIu32 " looks about", looks.seen, looks.all);
	else
		g_string_append(s, "as the recording ended");
}

/* ", and 2 to 127.0.0.1:5432 (postgres)": connections of a pool that it may hold meanwhile. */
static void append_others(GString *s, const struct findings *f, const struct finding *row)
{
	const char *upstream = object_upstream(finding_object(f, row));
	struct limit_pool pool;

	if (!pool_beside(f->profile, row->limit.limit, &pool))
		return;
	g_string_append_printf(s, ", and %" PRIu32 " to ", pool.cnt);
	text_safe_cut(s, upstream && net_text_is_same(upstream, pool.there) ? upstream : pool.there,
		      FINDING_NAME_COLUMNS);
}

void owed_append_evidence(GString *s, const struct findings *f, const struct finding *row)
{
	const char *there;
	uint32_t made, clients = limit_owed_read(row->limit.limit, &made, &there);

	if (!clients)
		return;
	g_string_append(s, "; ");
	append_when(s, row->limit.limit);
	g_string_append_printf(s, " %s clients waited for answers, with ", TEXT_COUNT(clients));
	append_made(s, made);
	text_safe_cut(s, row->reason == REASON_NETWORK_RECEIVE ? "there" : there, FINDING_NAME_COLUMNS);
	append_busy(s, row->limit.limit, made);
	append_others(s, f, row);
}

/* The process that is asked has a queue itself. */
static const struct profile_limit *queue_of(const struct profile *p, uint32_t pid)
{
	const struct profile_limit *l = pid ? profile_find_limit(p, LIMIT_OWED, pid, 0) : NULL;

	return l && is_seen_queue(l) ? l : NULL;
}

void owed_append_queue(GString *s, const struct profile *p, uint32_t pid, bool is_own)
{
	const struct profile_limit *l = queue_of(p, pid);
	const char *there;
	uint32_t made, clients = l ? limit_owed_read(l, &made, &there) : 0;

	if (!clients)
		return;
	g_string_append(s, "; ");
	append_when(s, l);
	g_string_append_printf(s, " %s clients waited %s ", TEXT_COUNT(clients),
			       is_own ? "for answers, with" : "there, and that server had");
	append_made(s, made);
	text_safe_cut(s, there, FINDING_NAME_COLUMNS);
	append_busy(s, l, made);
}

const char *owed_queue_advice(const struct profile *p, uint32_t pid)
{
	return queue_of(p, pid) ? OWED_QUEUE_ADVICE : NULL;
}

/* By how often its threads wake: the number of concurrent requests and their rate give the time of each. */
static bool are_quick(const struct findings *f, uint32_t pid, uint32_t clients)
{
	uint64_t wakes = 0;

	EACH_ROW(i, const struct wait, w, f->profile->waits)
		wakes += profile_thread(f->profile, w->thread)->pid == pid ? w->count : 0;
	return (double)f->profile->info.duration_ns * clients * WAKES_EACH < (double)wakes * FINDING_NOTICED_NS;
}

bool owed_is_quick(const struct findings *f, const struct finding *row)
{
	const char *there;
	uint32_t made = 0, clients = limit_owed_read(row->limit.limit, &made, &there);

	return clients && clients < QUEUE_TIMES * made && are_quick(f, finding_pid(f, row), clients) &&
	       !idle_has_stalls(f->profile, profile_wait(f->profile, row->wait), false);
}

/* Number of threads that mostly wait for requests on connections of their own, if no thread waits for work; else 0. */
static uint32_t kept_threads(const struct findings *f, uint32_t pid)
{
	const struct profile *p = f->profile;
	g_autofree uint64_t *client_ns = g_new0(uint64_t, (gsize)p->threads->len + 1);
	uint32_t cnt = 0;

	EACH_ROW(i, const struct wait, w, p->waits) {
		const enum idle_kind idle = reasons_idle(f->reasons, i);

		if (profile_thread(p, w->thread)->pid != pid)
			continue;
		client_ns[w->thread] += idle == IDLE_CLIENT ? w->blocked_ns : 0;
		if (idle == IDLE_POOL && w->blocked_ns > p->info.duration_ns / 10)
			return 0;
	}
	for (uint32_t i = 0; i < p->threads->len; i++)
		cnt += client_ns[i] > p->info.duration_ns / 2;
	return cnt;
}

/* Are these the clients of requests that tasks tell to wait for events? */
static bool wait_for_events(const struct task_findings *tasks, uint32_t pid, uint32_t clients)
{
	double cnt = 0;

	EACH_ROW(i, const struct task_wait, w, tasks->rows)
		cnt += w->pid == pid && w->meant && w->answers_request ? w->tasks : 0;
	return clients < cnt + 1;
}

/* A server in memory, which answers at once what it can, and was seen to rest. */
static bool rests_meanwhile(const struct profile *p, const char *there)
{
	return peer_is_memory_server(there) &&
	       ANY_ROW(const struct profile_limit, l, p->limits, l->kind == LIMIT_RESTS) &&
	       !ANY_ROW(const struct profile_limit, l, p->limits,
			l->kind == LIMIT_RESTS && profile_server_does(p, l->pid) != SERVER_RESTS);
}

bool owed_append_most(GString *s, const struct findings *f, const struct task_findings *tasks)
{
	uint32_t most_cnt = 0, most_made = 0;
	const char *advice = NULL;
	const struct profile_limit *most = NULL;
	const char *most_there = NULL;

	EACH_ROW(i, const struct profile_limit, l, f->profile->limits) {
		const char *there;
		uint32_t made, clients = limit_owed_read(l, &made, &there);

		/* clients of a server in memory may have asked for work that is not there yet */
		if (clients <= most_cnt || !selection_has_process(f->selection, f->profile, l->pid) ||
		    peer_is_memory_server(finding_process_name(f, l->pid)) ||
		    (clients < QUEUE_TIMES * made && are_quick(f, l->pid, clients)) ||
		    at_once_holds_clients(f, l->pid) || wait_for_events(tasks, l->pid, clients))
			continue;
		most = l;
		most_cnt = clients;
		most_made = made;
		most_there = there;
	}
	if (!most_cnt)
		return false;
	const struct limit_looks looks = limit_looks_read(most);

	g_string_append_printf(s, "%s%s clients of ", looks.all ? "About " : "", TEXT_COUNT(most_cnt));
	text_safe_cut(s, finding_process_name(f, most->pid) ?: "a process", FINDING_NAME_COLUMNS);
	if (looks.all)
		g_string_append_printf(s, " waited for answers in %" PRIu32 " of %" PRIu32 " looks", looks.seen, looks.all);
	else
		g_string_append(s, " waited for answers as the recording ended");
	if (helpers_append_busy(s, f->profile, most->pid))
		return true;
	if (most_there) {
		g_string_append(s, ", with ");
		append_made(s, most_made);
		text_safe_cut(s, most_there, FINDING_NAME_COLUMNS);
		const bool is_known = append_busy(s, most, most_made);

		if (most_cnt >= QUEUE_TIMES * most_made && !are_free(most))
			g_string_append_printf(s, "%s for which the others queue if %s one request at a time", is_known ? " and" : ",",
					       most_made == 1 ? "it carries" : "each carries");
		if (!blocked_append(s, f->profile, most_there, 0))
			peer_runs_append(s, f->profile, most_there, 0, f->profile->info.duration_ns);
		advice = blocked_advice(f->profile, most_there, 0) ?:
			 peer_runs_advice(f->profile, most_there, 0, f->profile->info.duration_ns);
	}
	const uint32_t kept_cnt = most_there ? 0 : kept_threads(f, most->pid);

	sentence_tasks_there(s, tasks, most->pid, "; ");
	const bool rests = most_there && rests_meanwhile(f->profile, most_there);

	if (rests && most_cnt < QUEUE_TIMES * most_made)
		g_string_append(s, ". That server had nothing to do, so what was asked for is not there yet: a command that waits for work "
				   "(BRPOP, XREAD, SUBSCRIBE) waits for who sends it: look at that. Else little is found");
	else if (rests)
		g_string_append(s, ". That server had nothing to do: a command that waits for work (BRPOP, XREAD, SUBSCRIBE) keeps all behind "
				   "it waiting, so give it a connection of its own. Else little is found");
	else if (kept_cnt)
		g_string_append_printf(s,
				       ". Its threads that serve (%s) wait for requests of other clients, on connections that these "
				       "keep open: more threads, or keep connections open for less time. Else little is found",
				       TEXT_COUNT(kept_cnt));
	else if (advice)
		g_string_append_printf(s, ". %s Else little is found", advice);
	else
		g_string_append(s, ", and little is found in its threads");
	return true;
}
