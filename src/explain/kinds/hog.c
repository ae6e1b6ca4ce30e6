/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A program that computes all the time, and so has the CPUs for which others wait, in a recording of the whole machine:
 * a backup, a build.  One that others ask works for them, and its own wait for a CPU is what is told.
 */
#include "analyse/peers.h"
#include "base/find.h"
#include "explain/findings_part.h"
#include "explain/limits.h"

#define RAN_PART 4	/* 1/n of the window, in all its threads: less keeps nobody from a CPU for long */
#define COMPUTES_PERCENT 75	/* of its threads' time, with what they wait for a CPU */
#define VICTIM_PART 10	/* 1/n of the window: others that are asked wait that long, so that one need know who has the CPUs */

static bool serves(const struct findings *f, const char *process, GHashTable *servers)
{
	const GArray *threads = f->profile->threads;

	for (guint i = 0; i < threads->len; i++)
		if (f->programs[i] == process &&
		    g_hash_table_contains(servers, GUINT_TO_POINTER(profile_thread(f->profile, i)->pid)))
			return true;
	return false;
}

static bool computes(const struct findings *f, const struct finding_class *c)
{
	return c->on_cpu_ns >= f->profile->info.duration_ns / RAN_PART &&
	       c->on_cpu_ns + c->queue_ns > c->observed_ns / 100 * COMPUTES_PERCENT;
}

static const struct finding_class *hog_of(const struct findings *f, GHashTable *servers)
{
	const struct finding_class *most = NULL;

	EACH_ROW(i, const struct finding_class, c, f->classes)
		if ((!most || c->on_cpu_ns > most->on_cpu_ns) && computes(f, c) && !serves(f, c->process, servers))
			most = c;
	return most;
}

/* For CPUs that the hog has, as all are used, or these threads may use few. */
static bool is_for_it(const struct findings *f, const struct finding *row)
{
	const bool is_bound = row->limit.limit && row->limit.limit->kind == LIMIT_CPUS;

	return finding_wants_cpu(row) && row->process != f->hog->process &&
	       (is_bound || ran_share(f->profile) >= CPUS_FULL);
}

void hog_find(struct findings *f)
{
	const struct profile_info *info = &f->profile->info;
	bool has_victim = false;

	if (info->imported || info->looks.rounds || !profile_is_of_machine(f->profile))
		return;
	g_autoptr(GHashTable) servers = peers_servers_new(f->profile);

	f->hog = hog_of(f, servers);
	EACH_ROW_WHILE(i, struct finding, row, f->rows, f->hog) {
		row->is_for_hog = is_for_it(f, row);
		has_victim = has_victim || (row->is_for_hog && row->time_ns >= info->duration_ns / VICTIM_PART &&
					    serves(f, row->process, servers));
	}
	EACH_ROW_WHILE(k, struct finding, row, f->rows, has_victim)
		row->is_hogs = row->reason == REASON_CPU_QUEUE && row->process == f->hog->process;
}
