/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What the server that is waited for does meanwhile, as was seen from outside: it computes for most of these waits, by its
 * CPU time where it was not recorded, and by what PostgreSQL's sessions were seen to do; or its answers stay in its socket.
 */
#include "explain/limits.h"

#include <string.h>

#include "base/proc/net_table.h"
#include "explain/findings_part.h"
#include "explain/sentence.h"
#include "explain/text.h"

#define FULL_PERCENT 70	/* of all CPUs: as much as it gets where many statements run at a time */

/* Is that program the peer "127.0.0.1:5432 (postgres)", or its process? */
static bool is_peer(const struct limit_others *o, const char *peer, uint32_t pid)
{
	g_autofree char *name = g_strdup_printf("(%s)", o->name);

	return (pid && pid == o->pid) || (peer && strstr(peer, name));
}

static bool find(const struct profile *p, const char *peer, uint32_t pid, uint64_t waits_ns, struct limit_others *ret)
{
	if (!profile_cpu_others(p, ret) || !is_peer(ret, peer, pid))
		return false;
	return (double)ret->permille / 1e3 * (double)p->info.duration_ns >= (double)waits_ns / 2 ||
	       ret->permille >= p->info.cpus * 10 * FULL_PERCENT;
}

#define COMPUTES_ADVICE                                                                                                \
	"Its statements take CPU time, not locks or disks: see which (pg_stat_statements, SHOW PROCESSLIST, the slow query " \
	"log) and their plans (EXPLAIN): an index may be missing."

/* What most statements of a server do. */
struct statements {
	const char *says, *advice;
	uint32_t most, seen;
};

/* False: unknown, or several things. */
static bool find_statements(const struct profile *p, const char *peer, struct statements *ret)
{
	struct limit_statements st;

	if (!peer || !strstr(peer, "(postgres)") || !profile_statements(p, &st))
		return false;
	const struct statements each[] = {
		{ "computed", COMPUTES_ADVICE, st.ran, st.seen },
		{ "waited for the disk",
		  "Its statements read from the disk: see which (pg_stat_statements, EXPLAIN (ANALYZE, BUFFERS)): an index may be "
		  "missing, or memory (shared_buffers, work_mem).",
		  st.read, st.seen },
		{ "waited until what they wrote was safe on disk (fsync)",
		  "Each commit waits until its part of the WAL is safe on disk: do more in one transaction, synchronous_commit=off where "
		  "the last moments may be lost, or see why that disk is slow (offcpu io: its limit, other writers).",
		  st.flushed, st.seen },
	};
	const struct statements *most = FIRST(x, each, x->most * 2 >= st.seen, x, NULL);

	*ret = most ? *most : *ret;
	return most;
}

#define REST_PERCENT 75	/* of the looks at a server's threads */
#define MYSQL_LOOKS_MIN 6

/* What MariaDB's or MySQL's threads do: at most looks none of them ran or waited for a disk, or else one waited for that. */
struct threads_do {
	bool rests;
	uint32_t seen, all;
};

static bool find_threads_do(const struct profile *p, const char *peer, struct threads_do *ret)
{
	struct limit_threads_do t;

	if (!peer || (!strstr(peer, "(mariadbd)") && !strstr(peer, "(mysqld)")) || !profile_threads_do(p, &t) ||
	    t.looks < MYSQL_LOOKS_MIN)
		return false;
	const uint64_t rests = (uint64_t)t.looks - MIN(t.looks, (uint64_t)t.ran + t.read);

	*ret = (struct threads_do){ .rests = rests * 100 >= (uint64_t)t.looks * REST_PERCENT, .all = t.looks };
	ret->seen = ret->rests ? (uint32_t)rests : t.read;
	return ret->rests || (uint64_t)t.read * 2 >= t.looks;
}

/* The selected server with most answers whose ends Nagle's algorithm holds back; NULL: none.  peer: NULL is any, as is pid 0. */
static const struct profile_limit *find_held_back(const struct profile *p, const struct selection *sel,
						  const char *peer, uint32_t pid, struct limit_looks *ret)
{
	const struct profile_limit *found = NULL;

	EACH_ROW(i, const struct profile_limit, l, p->limits) {
		struct limit_looks looks;
		const char *there = limit_held_back_read(l, &looks);

		if (l->kind != LIMIT_HELD_BACK || !selection_has_process(sel, p, l->pid) || (pid && l->pid != pid) ||
		    (peer && !net_text_is_same(peer, there)) || (found && looks.seen <= ret->seen))
			continue;
		*ret = looks;
		found = l;
	}
	return found;
}

bool held_back_is_seen(const struct findings *f)
{
	struct limit_looks looks;

	return find_held_back(f->profile, f->selection, NULL, 0, &looks);
}

bool held_back_append_most(GString *s, const struct findings *f)
{
	struct limit_looks looks;
	const struct profile_limit *l = find_held_back(f->profile, f->selection, NULL, 0, &looks);

	if (!l)
		return false;
	text_safe_cut(s, finding_process_name(f, l->pid) ?: "a process", FINDING_NAME_COLUMNS);
	g_string_append_printf(s, " sends answers in pieces: at %" PRIu32 " of %" PRIu32 " looks at connections of clients " HELD_BACK_SAYS
				  ". " HELD_BACK_ADVICE, looks.seen, looks.all);
	return true;
}

void peer_runs_append(GString *s, const struct profile *p, const char *peer, uint32_t pid, uint64_t waits_ns)
{
	struct limit_looks looks;
	struct statements st;
	struct limit_others o;
	struct threads_do t;

	if (peer && find_held_back(p, NULL, peer, pid, &looks)) {
		g_string_append_printf(s, "; at %" PRIu32 " of %" PRIu32 " looks at connections there " HELD_BACK_SAYS, looks.seen, looks.all);
		return;
	}
	if (find_statements(p, peer, &st)) {
		g_string_append_printf(s, "; of %" PRIu32 " statements seen there %" PRIu32 " %s", st.seen, st.most, st.says);
		return;
	}
	if (find_threads_do(p, peer, &t)) {
		g_string_append_printf(s, "; at %" PRIu32 " of %" PRIu32 " looks %s", t.seen, t.all,
				       t.rests ? "no thread of that server ran or waited for a disk" : "that server waited for a disk");
		return;
	}
	if (!find(p, peer, pid, waits_ns, &o)) {
		owed_append_queue(s, p, pid, false);
		return;
	}
	g_string_append(s, "; ");
	text_safe_cut(s, o.name, FINDING_NAME_COLUMNS);
	if (o.processes > 1)
		g_string_append_printf(s, " (%" PRIu32 " processes)", o.processes);
	g_string_append_printf(s, " used %.2g CPUs meanwhile", o.permille / 1e3);
}

const char *peer_runs_advice(const struct profile *p, const char *peer, uint32_t pid, uint64_t waits_ns)
{
	struct statements st;
	struct threads_do t;
	struct limit_others o;
	struct limit_looks looks;

	if (peer && find_held_back(p, NULL, peer, pid, &looks))
		return HELD_BACK_ADVICE;
	if (find_statements(p, peer, &st))
		return st.advice;
	if (find_threads_do(p, peer, &t))
		return t.rests ?
			       "Its sessions wait for locks, or for one another: information_schema.innodb_trx and SHOW ENGINE INNODB STATUS tell "
			       "whose transaction stays open, SHOW PROCESSLIST who waits for a table. A transaction keeps its locks until it ends: "
			       "no other work in it." :
			       "See which statements read or write so much (slow query log, EXPLAIN: an index, innodb_buffer_pool_size), and whether "
			       "each commit syncs (innodb_flush_log_at_trx_commit); offcpu io tells of the disk.";
	if (!find(p, peer, pid, waits_ns, &o))
		return owed_queue_advice(p, pid);
	return servers_is_database(peer) ? COMPUTES_ADVICE : "It computes meanwhile: a CPU profile of it tells more (record --cpu).";
}

/* The peer's name; of connections that are short who answers is known by the wakers only. */
static char *peer_new(const struct object *o, const struct finding *row)
{
	return !strchr(o->name, '(') && row->by.pid && row->by.comm ? g_strdup_printf("%s (%s)", o->name, row->by.comm) :
								      g_strdup(o->name);
}

void peer_runs_append_evidence(GString *s, const struct findings *f, const struct finding *row)
{
	const struct object *o = finding_object(f, row);
	g_autofree char *peer = o ? peer_new(o, row) : NULL;

	if (row->reason == REASON_NETWORK_RECEIVE && o)
		peer_runs_append(s, f->profile, peer, o->pid, row->time_ns);
}

const char *peer_runs_advice_of(const struct findings *f, const struct finding *row)
{
	const struct object *o = finding_object(f, row);

	g_autofree char *peer = o ? peer_new(o, row) : NULL;

	if (row->reason != REASON_NETWORK_RECEIVE || !o)
		return NULL;
	return peer_runs_advice(f->profile, peer, o->pid, row->time_ns);
}
