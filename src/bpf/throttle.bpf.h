/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_THROTTLE_BPF_H
#define BPF_THROTTLE_BPF_H

#include "bpf/account.bpf.h"
#include "bpf/maps.bpf.h"

/*
 * The part of a thread's time that is due to a cgroup's CPU quota. The kernel counts for each run queue of a cgroup
 * its total throttled time. This count is noted when a thread is put on a queue. When it gets the CPU, the increase
 * since then is the throttled part of its preempted or runnable time.
 *
 * A preempted thread's queue is always read: it is in the cache, as the scheduler has just used it. A woken thread's
 * only where some cgroup had a quota as the recording began (cfg.has_quota), as this adds to each waking.
 */

/* Total throttled time of a cgroup's run queue on one CPU; 0 where the kernel does not count it. */
static __always_inline __u64 throttled_ns_of(const struct cfs_rq *queue)
{
	if (bpf_core_field_exists(queue->throttled_clock_self_time))
		return queue->throttled_clock_self_time;
	if (bpf_core_field_exists(queue->throttled_clock_pelt_time))
		return queue->throttled_clock_pelt_time;
	return 0;
}

/* The same of a queue that may have been freed. */
static __always_inline __u64 throttled_ns_read(const struct cfs_rq *queue)
{
	if (bpf_core_field_exists(queue->throttled_clock_self_time))
		return BPF_CORE_READ(queue, throttled_clock_self_time);
	if (bpf_core_field_exists(queue->throttled_clock_pelt_time))
		return BPF_CORE_READ(queue, throttled_clock_pelt_time);
	return 0;
}

/* When a thread is put on a queue: notes the queue's throttled time so far. */
static __always_inline void note_queue(struct task_struct *task, struct thread_state *st)
{
	const struct cfs_rq *queue = plain(task)->se.cfs_rq;

	if (!bpf_core_field_exists(task->se.cfs_rq) || !queue)
		return;
	st->queue = queue;
	st->queue_throttled_ns = throttled_ns_of(queue);
}

/* Throttled time since it was put on the queue, if that is still the same one. */
static __always_inline __u64 throttled_since(struct task_struct *task, const struct thread_state *st)
{
	const struct cfs_rq *queue = plain(task)->se.cfs_rq;
	__u64 now_ns;

	if (!bpf_core_field_exists(task->se.cfs_rq) || !queue || queue != st->queue)
		return 0;
	now_ns = throttled_ns_of(queue);
	return now_ns > st->queue_throttled_ns ? now_ns - st->queue_throttled_ns : 0;
}

/* The same; a preempted thread that has migrated since was throttled on the queue it left. */
static __always_inline __u64 throttled_before(struct task_struct *task, const struct thread_state *st)
{
	__u64 now_ns;

	if (!bpf_core_field_exists(task->se.cfs_rq) || !st->queue)
		return 0;
	if (st->mode == MODE_ASLEEP || st->queue == plain(task)->se.cfs_rq)
		return throttled_since(task, st);
	now_ns = throttled_ns_read(st->queue);
	return now_ns > st->queue_throttled_ns ? now_ns - st->queue_throttled_ns : 0;
}

/*
 * Is it throttled now? Since Linux 6.18 (2cd571245b43) threads are throttled one by one, as they return to user mode;
 * before, with their queue.
 */
static __always_inline bool is_throttled_now(struct task_struct *task)
{
	const struct cfs_rq *queue = plain(task)->se.cfs_rq;

	if (bpf_core_field_exists(task->throttled))
		return plain(task)->throttled;
	if (!bpf_core_field_exists(task->se.cfs_rq) || !bpf_core_field_exists(queue->throttle_count))
		return false;
	return queue && queue->throttle_count > 0;
}

enum { BY_QUOTA = 1, BY_POLICY = 2 };

/*
 * A real-time thread yields to a thread of a lower class only if its own policy takes the CPU away: SCHED_DEADLINE has
 * used up its runtime, or SCHED_FIFO and _RR their share of the CPU (rt_throttled, since Linux 6.12 the deadline
 * server of the fair class). `next` with priority 0 may be the stopper, which is above all classes.
 */
static __always_inline bool gives_way_by_policy(const struct task_struct *task, const struct task_struct *next)
{
	return task->prio < 0 ? next->prio > 0 : task->prio < RT_PRIO_END && next->prio >= RT_PRIO_END;
}

/* Goes off CPU while runnable. */
static __always_inline void note_preempted(struct task_struct *task, struct thread_state *st,
					   const struct task_struct *next)
{
	note_queue(task, st);
	st->out_throttled = gives_way_by_policy(task, next) ? BY_POLICY : is_throttled_now(task) ? BY_QUOTA : 0;
}

/*
 * The throttled part of a wait up to `now`: at most its run-queue delay. A wait that is more than half throttled is
 * flagged as throttled.
 */
static __always_inline __u64 name_throttled(struct thread_state *st, __u64 throttled_ns, __u64 now)
{
	__u64 total = now - st->since_ns, delay = total;

	st->is_throttled = 0;
	if (st->mode == MODE_ASLEEP) {
		if (!st->wake_ns || st->wake_ns < st->on_ns || st->wake_ns > now)
			return 0;
		delay = st->wake_ns > st->since_ns ? now - st->wake_ns : total;
	}
	if (throttled_ns > delay)
		throttled_ns = delay;
	if (st->mode != MODE_ASLEEP && throttled_ns > total / 2)
		st->is_throttled = 1;
	return throttled_ns;
}

/* A wait ends. A global function: this is rare, and the verifier checks it once. */
__noinline int add_throttled(struct thread_state *st, __u64 throttled_ns, __u64 now)
{
	if (!st)
		return 0;
	throttled_ns = name_throttled(st, throttled_ns, now);
	if (st->mode == MODE_QUEUED)
		st->throttled_preempted_ns += throttled_ns;
	else
		st->throttled_runnable_ns += throttled_ns;
	return 0;
}

static __always_inline void end_throttled(struct task_struct *task, struct thread_state *st, __u64 now)
{
	bool is_by_policy = st->mode == MODE_QUEUED && st->out_throttled == BY_POLICY;
	__u64 throttled_ns = is_by_policy ? now - st->since_ns : throttled_before(task, st);

	st->is_throttled = 0;
	st->queue = NULL;
	if (rarely(throttled_ns))
		add_throttled(st, throttled_ns, now);
}

/* A wait that is open as the window ends. */
static __always_inline void close_throttled(struct task_struct *task, struct thread_state *st,
					    struct offcpu_rec_thread *rec, bool stands_still, __u64 end)
{
	bool is_throttled = st->mode == MODE_QUEUED && stands_still &&
			    (st->out_throttled == BY_POLICY || (st->out_throttled && is_throttled_now(task)));
	__u64 throttled_ns = name_throttled(st, is_throttled ? end - st->since_ns : throttled_before(task, st), end);

	if (st->mode == MODE_QUEUED)
		rec->throttled_preempted_ns += throttled_ns;
	else
		rec->throttled_runnable_ns += throttled_ns;
}

#endif
