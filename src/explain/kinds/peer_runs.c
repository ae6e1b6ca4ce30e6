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

/* Most of its statements compute, or wait for a disk. */
static bool find_statements(const struct profile *p, const char *peer, struct limit_statements *ret)
{
	return peer && strstr(peer, "(postgres)") && profile_statements(p, ret) &&
	       (ret->ran * 2 >= ret->seen || ret->read * 2 >= ret->seen);
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
	struct limit_statements st;
	struct limit_others o;

	if (peer && find_held_back(p, NULL, peer, pid, &looks)) {
		g_string_append_printf(s, "; at %" PRIu32 " of %" PRIu32 " looks at connections there " HELD_BACK_SAYS, looks.seen, looks.all);
		return;
	}
	if (find_statements(p, peer, &st)) {
		g_string_append_printf(s, "; of %" PRIu32 " statements seen there %" PRIu32 " %s", st.seen, MAX(st.ran, st.read),
				       st.ran >= st.read ? "computed" : "waited for the disk");
		return;
	}
	if (!find(p, peer, pid, waits_ns, &o)) {
		owed_append_queue(s, p, pid);
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
	struct limit_statements st;
	struct limit_others o;
	struct limit_looks looks;

	if (peer && find_held_back(p, NULL, peer, pid, &looks))
		return HELD_BACK_ADVICE;
	const bool has_statements = find_statements(p, peer, &st);

	if (has_statements && st.read > st.ran)
		return "Its statements read from the disk: see which (pg_stat_statements, EXPLAIN (ANALYZE, BUFFERS)): an index may be missing, "
		       "or memory (shared_buffers, work_mem).";
	if (!has_statements && !find(p, peer, pid, waits_ns, &o))
		return owed_queue_advice(p, pid);
	return servers_is_database(peer) ?
		       "Its statements take CPU time, not locks or disks: see which (pg_stat_statements, SHOW PROCESSLIST, the slow query "
		       "log) and their plans (EXPLAIN): an index may be missing." :
		       "It computes meanwhile: a CPU profile of it tells more (record --cpu).";
}

void peer_runs_append_evidence(GString *s, const struct findings *f, const struct finding *row)
{
	const struct object *o = finding_object(f, row);

	if (row->reason == REASON_NETWORK_RECEIVE && o)
		peer_runs_append(s, f->profile, o->name, o->pid, row->time_ns);
}

const char *peer_runs_advice_of(const struct findings *f, const struct finding *row)
{
	const struct object *o = finding_object(f, row);

	if (row->reason != REASON_NETWORK_RECEIVE || !o)
		return NULL;
	return peer_runs_advice(f->profile, o->name, o->pid, row->time_ns);
}
