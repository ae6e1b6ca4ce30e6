/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/limits.h"

#include <string.h>

#include "explain/sentence.h"
#include "explain/text.h"

#define FEW 2
#define PAUSE_NS 2000000000ULL	/* retries after a longer pause are not urgent */

static const struct {
	const char *says_before, *says_behind, *evidence, *advice;	/* the address stands between the first two */
} words[CONNECT_FAILURE_COUNT] = {
	[CONNECT_REFUSED] = { "", " refuses connections", "were refused",
		"Nobody listens there: see whether that service runs, and whether its address and port are right. The sleeps only "
		"hide that." },
	[CONNECT_RESET] = { "", " resets connections", "were reset",
		"That service, or what stands before it, ends connections before they are set up: see its log and limits. The "
		"sleeps only hide that." },
	[CONNECT_UNANSWERED] = { "", " does not answer", "were not answered",
		"Nobody takes the connection: the host is down, packets are dropped (a firewall), or the listener's accept queue is "
		"full. The sleeps only hide that." },
	[CONNECT_UNREACHABLE] = { "", " cannot be reached", "found no way there",
		"The host is down, or there is no route to it: see its address and the routes. The sleeps only hide that." },
	[CONNECT_NO_PORT] = { "no local port is free to connect to ", "", "found no free port",
		"Closed connections to there keep their ports for a minute (TIME_WAIT): keep connections open, or widen "
		"ip_local_port_range." },
	[CONNECT_FAILED] = { "connections to ", " fail", "failed", NULL },
};

/* The key of who sleeps: a process for sleeps that a rule knows as retries, else a thread. */
static gpointer sleeper(uint32_t pid, uint32_t tid, bool is_retry)
{
	return GSIZE_TO_POINTER(is_retry ? pid : (gsize)pid << 32 | tid);
}

/* The sleepers of the finding's waits. */
static GHashTable *sleepers_new(const struct findings *f, const struct finding *row, bool is_retry)
{
	GHashTable *ids = g_hash_table_new(NULL, NULL);

	for (uint32_t i = 0; i < f->profile->waits->len; i++) {
		const struct thread *t = profile_thread(f->profile, profile_wait(f->profile, i)->thread);

		if (f->blocked_in[i] == row->id)
			g_hash_table_add(ids, sleeper(t->pid, t->tid, is_retry));
	}
	return ids;
}

/* Keeps the address that failed most often in one thread; the failures of all threads there are summed. */
static void add_failures(struct finding_limit *best, const struct profile_limit *l, const struct limit_connect *failed)
{
	struct limit_connect known;

	if (best->limit && limit_connect_read(best->limit, &known) && known.failure == failed->failure &&
	    strcmp(known.there, failed->there) == 0) {
		best->failed.cnt += failed->cnt;
		return;
	}
	if (best->limit && best->failed.cnt >= failed->cnt)
		return;
	best->limit = l;
	best->failed = *failed;
}

bool connects_find(const struct findings *f, const struct finding *row, struct finding_limit *ret)
{
	const bool is_retry = finding_is_by(f, row, RULES_RETRY "*");
	g_autoptr(GHashTable) sleepers = NULL;
	uint64_t all = 0;

	*ret = (struct finding_limit){ 0 };
	if (row->reason != REASON_SLEEP)
		return false;
	EACH_ROW(i, const struct profile_limit, l, f->profile->limits) {
		struct limit_connect failed;

		if (!limit_connect_read(l, &failed))
			continue;
		sleepers = sleepers ? sleepers : sleepers_new(f, row, is_retry);
		if (!g_hash_table_contains(sleepers, sleeper(l->pid, l->tid, is_retry)))
			continue;
		all += failed.cnt;
		add_failures(ret, l, &failed);
	}
	/* a thread may connect occasionally and sleep for other reasons */
	return ret->limit && (is_retry || all >= row->count / 2);
}

void connects_append(GString *s, const struct finding *row)
{
	const struct limit_connect *failed = &row->limit.failed;

	g_string_append(s, ": ");
	g_string_append(s, words[failed->failure].says_before);
	text_safe_cut(s, failed->there, FINDING_NAME_COLUMNS);
	g_string_append(s, words[failed->failure].says_behind);
}

void connects_append_failed(GString *s, const struct limit_connect *failed)
{
	text_thousands(s, failed->cnt);
	g_string_append(s, failed->cnt == 1 ? " connection to " : " connections to ");
	text_safe_cut(s, failed->there, FINDING_NAME_COLUMNS);
	g_string_append_c(s, ' ');
	if (failed->cnt == 1 && g_str_has_prefix(words[failed->failure].evidence, "were "))
		g_string_append_printf(s, "was %s", words[failed->failure].evidence + strlen("were "));
	else
		g_string_append(s, words[failed->failure].evidence);
}

void connects_append_evidence(GString *s, const struct finding *row)
{
	g_string_append(s, "; ");
	connects_append_failed(s, &row->limit.failed);
}

/* Often enough to be urgent. */
static bool are_many(const struct profile *p, const struct limit_connect *failed)
{
	return failed->cnt >= FEW && failed->cnt >= p->info.duration_ns / PAUSE_NS;
}

bool connects_of_process(const struct profile *p, uint32_t pid, struct limit_connect *ret)
{
	struct finding_limit most = { 0 };
	struct limit_connect failed;

	EACH_ROW(i, const struct profile_limit, l, p->limits)
		if (l->pid == pid && limit_connect_read(l, &failed))
			add_failures(&most, l, &failed);
	*ret = most.failed;
	return are_many(p, ret);
}

static bool is_selected(const struct findings *f, const struct profile_limit *l)
{
	for (uint32_t i = 0; f->selection && i < f->profile->threads->len; i++)
		if (profile_thread(f->profile, i)->tid == l->tid)
			return f->selection->threads[i];
	return !f->selection;
}

bool connects_append_most(GString *s, const struct findings *f, uint32_t *ret_pid)
{
	struct limit_connect most = { 0 }, failed;

	EACH_ROW(i, const struct profile_limit, l, f->profile->limits) {
		if (!limit_connect_read(l, &failed) || failed.cnt <= most.cnt || !is_selected(f, l))
			continue;
		most = failed;
		*ret_pid = l->pid;
	}
	if (!are_many(f->profile, &most))
		return false;
	connects_append_failed(s, &most);
	g_string_append(s, ", and little is found in the threads of ");
	text_safe_cut(s, finding_process_name(f, *ret_pid) ?: "that program", FINDING_NAME_COLUMNS);
	return true;
}

const char *connects_advice(const struct finding *row)
{
	return words[row->limit.failed.failure].advice;
}
