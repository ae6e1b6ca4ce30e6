/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/limits.h"

#include <string.h>

#include "analyse/plumbing.h"
#include "base/hash.h"
#include "explain/sentence.h"
#include "explain/text.h"

#define UNEVEN 3	/* times as busy as the others that do the same */
#define CPUS_OWN 0.1 /* of all CPUs' time */
#define RAN_PART 4 /* of the window: less does not keep others from a CPU for long */

static bool is_asked(const struct findings *f, const struct finding *row)
{
	return row->reason == REASON_CPU_QUEUE && row->limit.limit && row->limit.limit->kind == LIMIT_CPUS &&
	       row->limit.is_others && !f->profile->info.imported && profile_is_of_machine(f->profile);
}

static void add(GHashTable *all, const struct findings *f, uint32_t i, bool is_same)
{
	const struct thread *t = profile_thread(f->profile, i);
	struct ran *r = hash_row(all, f->programs[i], sizeof(*r));

	if (!r->program)
		*r = (struct ran){ .program = f->programs[i], .thread = i, .is_same = true };
	r->ns += t->on_cpu_ns;
	if (t->on_cpu_ns < f->profile->info.duration_ns / RAN_PART / 2)
		return;
	r->threads_cnt++;
	r->is_same = r->is_same && is_same;
	r->thread = t->on_cpu_ns > profile_thread(f->profile, r->thread)->on_cpu_ns ? i : r->thread;
	r->policy = r->policy ?: profile_find_limit(f->profile, LIMIT_REALTIME, t->pid, t->tid);
}

struct ran ran_of(const struct findings *f, const struct finding *row)
{
	g_autoptr(GHashTable) all = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	const struct profile *p = f->profile;
	struct ran best = { 0 };

	for (uint32_t i = 0; i < p->threads->len && is_asked(f, row); i++) {
		const struct thread *t = profile_thread(p, i);
		const struct profile_limit *l = profile_find_limit(p, LIMIT_CPUS, t->pid, t->tid);

		if (!(t->flags & THREAD_KERNEL) && f->programs[i] != row->process)
			add(all, f, i, row->limit.is_same && l && !strcmp(l->text, row->limit.limit->text));
	}
	EACH_VALUE(const struct ran, r, all) {
		bool is_known = r->is_same || r->policy, best_is = best.is_same || best.policy;

		if (r->threads_cnt && r->ns >= p->info.duration_ns / RAN_PART &&
		    (!best.program || (is_known == best_is ? r->ns > best.ns : is_known)))
			best = *r;
	}
	return best;
}

#define OTHERS_PART 2	/* 1/n of all CPUs: who used less left some free */

/* Another program used CPUs, one that is not recorded, or on a whole machine one that computes all the time. */
static bool find_others(const struct findings *f, const struct finding *row, struct limit_others *ret)
{
	if (row->is_for_hog) {
		*ret = (struct limit_others){
			.permille = (uint32_t)(f->hog->on_cpu_ns / MAX(f->profile->info.duration_ns / 1000, 1)),
			.processes = f->hog->processes_cnt, .pid = f->hog->pid, .name = f->hog->process };
		return true;
	}
	return finding_wants_cpu(row) && profile_cpu_others(f->profile, ret);
}

bool ran_others(const struct findings *f, const struct finding *row)
{
	const bool is_bound = row->limit.limit && row->limit.limit->kind == LIMIT_CPUS;
	struct limit_others others;

	return find_others(f, row, &others) &&
	       (is_bound || others.permille * OTHERS_PART >= f->profile->info.cpus * 1000);
}

/* "; all CPUs were 97% busy meanwhile, 12% with what is recorded" */
static void append_busy(GString *s, const struct profile *p)
{
	const int permille = profile_cpus_busy(p);

	if (permille >= 0)
		g_string_append_printf(s, "; all CPUs were %.0f%% busy meanwhile, %.0f%% with what is recorded", permille / 10.0,
				       ran_share(p) * 100);
}

void ran_append_others(GString *s, const struct findings *f, const struct finding *row)
{
	struct limit_others others;

	if (!find_others(f, row, &others)) {
		if (finding_wants_cpu(row))
			append_busy(s, f->profile);
		return;
	}
	g_string_append(s, "; meanwhile ");
	if (others.processes > 1) {
		text_safe_cut(s, others.name, FINDING_NAME_COLUMNS);
		g_string_append_printf(s, " (%" PRIu32 " processes)", others.processes);
	} else {
		text_who(s, others.name, others.pid, FINDING_NAME_COLUMNS);
	}
	g_string_append_printf(s, " used %.2g CPUs", others.permille / 1e3);
}

void ran_append_evidence(GString *s, const struct findings *f, const struct finding *row)
{
	const struct ran r = ran_of(f, row);

	if (!r.program) {
		ran_append_others(s, f, row);
		return;
	}
	g_string_append(s, r.is_same || r.policy ? "; " : "; meanwhile ");
	text_safe_cut(s, r.program, FINDING_NAME_COLUMNS);
	if (r.threads_cnt == 1)
		g_string_append_printf(s, "/%u", profile_thread(f->profile, r.thread)->tid);
	if (r.policy) {
		g_string_append(s, " (");
		text_safe_cut(s, r.policy->text, FINDING_NAME_COLUMNS);
		g_string_append_c(s, ')');
	}
	if (r.is_same)
		g_string_append(s, r.threads_cnt == 1 ? " may use only the same, too, and ran for " :
							" threads may use only the same, too, and ran for ");
	else
		g_string_append(s, r.policy ? " ran meanwhile for " : " ran most of all, for ");
	text_duration(s, r.ns);
}

double ran_share(const struct profile *p)
{
	uint64_t on_cpu_ns = 0;

	for (uint32_t i = 0; i < p->threads->len; i++)
		on_cpu_ns += profile_thread(p, i)->on_cpu_ns;
	return p->info.cpus && p->info.duration_ns ?
		       (double)on_cpu_ns / p->info.cpus / (double)p->info.duration_ns : 0;
}

bool ran_little(const struct profile *p)
{
	return !p->info.imported && !profile_is_of_machine(p) && ran_share(p) < CPUS_OWN;
}

/* Name of the program's function in which the thread waited longest for a CPU; NULL: unknown. */
static const char *runs_in(const struct findings *f, uint32_t thread)
{
	const struct wait *most = NULL;

	EACH_ROW(i, const struct wait, w, f->profile->waits)
		if (w->thread == thread && w->state == 'R' && w->user && (!most || w->preempted_ns > most->preempted_ns))
			most = w;
	const int64_t frame = most ? plumbing_user_parent(reasons_plumbing(f->reasons), most->user) : -1;

	return frame >= 0 ? profile_get_frame(f->profile, (uint32_t)frame)->name : NULL;
}

static uint64_t busy_ns(const struct thread *t)
{
	return t->on_cpu_ns + t->runnable_ns + t->preempted_ns;
}

static bool has_no_work(const struct findings *f, uint32_t thread)
{
	uint64_t ns = 0;

	EACH_ROW(i, const struct wait, w, f->profile->waits)
		ns += w->thread == thread && reasons_idle(f->reasons, i) == IDLE_POOL ? w->blocked_ns : 0;
	return ns > thread_observed_ns(profile_thread(f->profile, thread)) / 2;
}

bool ran_uneven(const struct findings *f, const struct finding *row)
{
	const struct profile *p = f->profile;
	uint32_t most = 0, cnt = 0;

	if (!profile_is_of_command(p) || !row->pid)
		return false;
	EACH_ROW(i, const struct thread, t, p->threads)
		if (t->pid == row->pid &&
		    (profile_thread(p, most)->pid != row->pid || busy_ns(t) > busy_ns(profile_thread(p, most))))
			most = i;
	const char *function = runs_in(f, most);

	for (uint32_t i = 0; function && i < p->threads->len; i++) {
		const struct thread *t = profile_thread(p, i);

		if (i == most || t->pid != row->pid || g_strcmp0(runs_in(f, i), function) != 0)
			continue;
		if (busy_ns(t) >= busy_ns(profile_thread(p, most)) / UNEVEN || !has_no_work(f, i))
			return false;
		cnt++;
	}
	return cnt && busy_ns(profile_thread(p, most)) > p->info.duration_ns / 2;
}
