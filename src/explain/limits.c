/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/limits.h"

#include <string.h>

#include "explain/findings_part.h"

#define KEPT_OFF_PART 3	/* of the time of threads restricted to few CPUs */
#define SLACK_PART 4	/* of an average sleep */

/*
 * Threads of the process that wait for a CPU and may not use all: the limit applies if they wait for half of the time.
 */
static struct finding_limit cpus_of(const struct findings *f, const struct finding *row)
{
	const struct profile *p = f->profile;
	struct finding_limit found = { .is_same = true };
	uint64_t ns = 0, on_cpu_ns = 0;

	EACH_ROW(i, const struct thread, t, p->threads) {
		const struct profile_limit *l =
			f->programs[i] == row->process && (!f->selection || f->selection->threads[i])
				? profile_find_limit(p, LIMIT_CPUS, t->pid, t->tid)
				: NULL;

		if (!l)
			continue;
		found.limit = found.limit ? found.limit : l;
		found.is_same = found.is_same && l->text == found.limit->text;
		found.threads_cnt++;
		ns += t->runnable_ns + t->preempted_ns;
		on_cpu_ns += t->on_cpu_ns;
	}
	found.is_others = found.is_same && on_cpu_ns < p->info.duration_ns / 2;
	return ns > row->time_ns / 2 ? found : (struct finding_limit){ 0 };
}

/* It waits for CPUs longer than it runs, in a control group that gets less of them than others. */
static struct finding_limit weight_of(const struct findings *f, const struct finding *row)
{
	EACH_ROW(i, const struct finding_class, c, f->classes)
		if (c->process == row->process && c->on_cpu_ns < row->time_ns)
			return (struct finding_limit){
				.limit = profile_find_limit(f->profile, LIMIT_WEIGHT, finding_pid(f, row), 0)
			};
	return (struct finding_limit){ 0 };
}

/* The wait was open at the recording's end, and who should end it is stopped. */
static const struct profile_limit *stopped_peer(const struct findings *f, const struct finding *row)
{
	return profile_stopped(f->profile, profile_wait(f->profile, row->wait));
}

/* The thread's timer slack is a considerable part of its sleeps. */
static bool slack_find(const struct findings *f, const struct finding *row, struct finding_limit *ret)
{
	const struct thread *t = profile_thread(f->profile, profile_wait(f->profile, row->wait)->thread);
	const struct profile_limit *l = row->reason == REASON_SLEEP
						? profile_find_limit(f->profile, LIMIT_SLACK, t->pid, t->tid)
						: NULL;

	if (!l || g_ascii_strtoull(l->text, NULL, 10) < row->time_ns / MAX(row->count, 1) / SLACK_PART)
		return false;
	*ret = (struct finding_limit){ .limit = l };
	return true;
}

/* For a lock: its holder is in the recording or in /proc/locks. */
static const struct profile_limit *gone_holder(const struct findings *f, const struct finding *row)
{
	const struct profile *p = f->profile;
	const struct wait *w = profile_wait(p, row->wait);
	const struct object *o = profile_wait_object(p, w);
	uint32_t pid = profile_thread(p, w->thread)->pid;
	uint32_t holder = wait_is_for_file_lock(p, w) ? profile_file_lock_holder(p, pid)
			  : o && object_is_lock(o)    ? o->holder_tid
						      : 0;

	return holder && (w->flags & WAIT_OPEN_AT_END) ? profile_find_limit(p, LIMIT_GONE, pid, holder) : NULL;
}

static struct finding_limit memory_of(const struct findings *f, uint32_t pid)
{
	struct finding_limit found = { .limit = profile_find_limit(f->profile, LIMIT_MEMORY, pid, 0) };

	if (found.limit)
		found.refaults = limit_refaults_read(profile_find_limit(f->profile, LIMIT_REFAULTS, pid, 0),
						     &found.kernel_pct);
	return found;
}

static struct finding_limit limit_of(const struct findings *f, const struct finding *row)
{
	const struct thread *t = profile_thread(f->profile, profile_wait(f->profile, row->wait)->thread);
	uint32_t pid = t->pid, tid = t->tid;
	/* a connection of gRPC's carries many requests at a time, so these queue for none */
	const bool is_one_each = strcmp(reasons_protocol(f->reasons, row->wait), "gRPC") != 0;
	/* more connections to a server that does one command at a time change nothing, and TCP sends again meanwhile */
	const bool is_busy = one_command_may_be(f, row);
	struct finding_limit found = { 0 };

	if (row->busy || row->is_yield || !f->profile->limits->len)
		return found;
	found.limit = gone_holder(f, row);
	if (found.limit)
		return found;
	switch (row->reason) {
	case REASON_CPU_QUEUE:
		found = cpus_of(f, row);
		return found.limit ? found : weight_of(f, row);
	case REASON_CPU_THROTTLED:
		found.limit = profile_find_limit(f->profile, LIMIT_POLICY, pid, tid);
		if (!found.limit)
			found.limit = profile_find_limit(f->profile, LIMIT_QUOTA, pid, 0);
		if (!limit_used_read(profile_find_limit(f->profile, LIMIT_USED, pid, 0), &found.used))
			found.used = (struct limit_used){ 0 };
		return found;
	case REASON_MEMORY_SWAP:
	case REASON_MEMORY_RECLAIM:
	case REASON_MEMORY_FILE:
		found = memory_of(f, pid);
		break;
	case REASON_STOPPED:
		found.limit = reasons_is_anywhere(f->reasons, row->wait)
				      ? profile_find_limit(f->profile, LIMIT_FROZEN, pid, 0)
				      : stopped_peer(f, row);
		return found;
	case REASON_DISK_READ:
	case REASON_DISK_WRITE:
	case REASON_DISK_SYNC:
	case REASON_DISK_METADATA:
		if (!finding_is_by(f, row, "fuse*"))
			break;
		found.limit = stopped_peer(f, row);	/* a process serves it, no disk */
		return found;
	default:
		found.limit = stopped_peer(f, row);
		if (!found.limit && !child_find(f, row, &found) && !cycle_find(f, row, &found) &&
		    !helpers_find(f, row, &found) &&
		    !(is_one_each && !is_busy && pool_find(f, row, &found)) && !connects_find(f, row, &found) &&
		    !(!is_busy && loss_find(f, row, &found)) && !tries_find(f, row, &found) &&
		    !(is_one_each && owed_find(f, row, &found)) && !nagle_find(f, row, &found) &&
		    !slack_find(f, row, &found) && !full_find(f, row, &found))
			found = (struct finding_limit){ 0 };
		return found;
	}
	if (!found.limit)
		found.limit = profile_find_limit(f->profile, LIMIT_DISK, pid, 0);
	if (!found.limit && row->reason == REASON_DISK_READ && profile_find_limit(f->profile, LIMIT_REFAULTS, pid, 0))
		found = memory_of(f, pid);
	return found;
}

/* For a third of their time, while somebody else ran there. */
static bool is_kept_off(const struct findings *f, const struct finding *row)
{
	uint64_t observed_ns = 0;

	if (!ran_of(f, row).program)
		return false;
	EACH_ROW(i, const struct thread, t, f->profile->threads)
		if (f->programs[i] == row->process && profile_find_limit(f->profile, LIMIT_CPUS, t->pid, t->tid))
			observed_ns += thread_observed_ns(t);
	return row->time_ns > observed_ns / KEPT_OFF_PART;
}

/* Whoever holds the GIL, and does not wait, is runnable: its waiters wait for a CPU, too. */
static bool is_held_up(const struct finding *row)
{
	return row->reason == REASON_LOCK_GIL && (!row->by.does_ns || row->by.does == REASON_CPU_QUEUE);
}

/* Others took the CPUs, and the program also waits for something that it can change. */
static bool is_others_load(const struct findings *f, const struct finding *row)
{
	bool has_own = false;

	if (row->reason != REASON_CPU_QUEUE || !ran_little(f->profile))
		return false;
	EACH_ROW(i, const struct finding, own, f->rows)
		has_own = has_own ||
			  (own->process == row->process && own->reason != REASON_CPU_QUEUE &&
			   own->reason != REASON_SLEEP && !own->is_told_elsewhere && !is_held_up(own) &&
			   own->time_ns < row->time_ns && own->time_ns >= row->time_ns / OTHERS_QUEUE_WEIGHT);
	return has_own;
}

void limits_find(struct findings *f)
{
	EACH_FIRST(i, row, f, FINDINGS_TOLD_MAX) {
		row->limit = limit_of(f, row);
		row->is_kept_off = is_kept_off(f, row);
		row->is_others_load = is_others_load(f, row);
		row->asks_itself = self_is_asked(f, row);
	}
	backlog_find(f);
}
