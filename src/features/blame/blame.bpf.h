/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef FEATURES_BLAME_BLAME_BPF_H
#define FEATURES_BLAME_BLAME_BPF_H

#include "bpf/maps.bpf.h"
#include "bpf/threads.bpf.h"
#include "bpf/account.bpf.h"
#include "bpf/walk/remember.bpf.h"
#include "bpf/running.bpf.h"
#include "bpf/throttle.bpf.h"
#include "features/blame/abi.h"

/*
 * Which thread held the CPU while another one was queued. Each CPU keeps its last stretches: who was switched in, and
 * when; a stretch ends when the next one begins. When a thread gets the CPU, or is moved to another queue, its delay
 * is divided among the stretches of the CPU on which it was queued, newest first, and summed for each culprit.
 *
 * Throttling by a cgroup and idle CPUs have no culprit. Unknown parts are in no sum: older than the ring, or next to a
 * switch that was not seen. An interrupt's time counts for the thread it interrupted.
 *
 * A ring is written under its CPU's run-queue lock, and read under the same lock: at the switch, and when a queued
 * thread is moved away, which takes the lock of the queue it leaves.
 */

#define BLAME_STRETCHES 4096
#define BLAME_CELLS 16

struct blame_stretch {
	__u64 from_ns;		/* 0: unused */
	__u64 culprit;		/* as in the sums' key; BLAME_IDLE */
	__u32 pid, tid;
	__u64 comm[2];
	__u64 is_unsure;	/* a switch was missed: another thread ran, too */
};

struct blame_ring {
	__u64 newest;
	struct blame_stretch stretch[BLAME_STRETCHES];
};

MAP(blame_rings, ARRAY, __u32, struct blame_ring, 1);	/* one for each CPU, sized before load */

/*
 * Parts of one delay before they are summed: in a long queue the same few threads take turns many times, and finding a
 * sum costs more than all else.
 */
struct blame_cell {
	__u64 culprit;
	__u64 ns;
	__u32 cnt;
	__u32 tid;
	__u32 stretch;		/* one of its stretches */
	__u32 pad;
};

struct blame_cells {
	struct blame_cell cell[BLAME_CELLS];
	__u32 used;		/* bit mask */
	__u32 pad;
	struct blame_cell throttled;
	struct blame_sum fresh;	/* too large for a stack of 512 bytes */
	__u64 since_ns;		/* start of the wait, for its own record */
	__u32 tid, pad2;
};

MAP(blame_scratch, PERCPU_ARRAY, __u32, struct blame_cells, 1);

/* Two of these take turns together with the halves of the waits' sums. */
struct blame_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, struct blame_key);
	__type(value, struct blame_sum);
} blames_a SEC(".maps"), blames_b SEC(".maps");

/* Entries in the current map since user space last read one. */
__u64 blame_entries = 0;

static __always_inline struct blame_ring *blame_ring_of(__u32 cpu)
{
	return bpf_map_lookup_elem(&blame_rings, &cpu);
}

/*
 * A pid or tid from the thread's state, which is in our pid namespace, else the kernel's. Read separately: the
 * verifier refuses one instruction for either pointer.
 */
static __always_inline __u32 blame_number(const struct thread_state *st, bool is_process,
					  const struct task_struct *task)
{
	__u32 number = (__u32)(is_process ? task->tgid : task->pid);

	barrier_var(number);
	return st ? is_process ? st->pid : st->tid : number;
}

/* The thread that is switched in on this CPU. Called for every switch, whatever is selected. */
static __always_inline void blame_note(struct task_struct *prev, struct task_struct *next, __u64 now)
{
	struct blame_ring *ring = blame_ring_of(bpf_get_smp_processor_id());
	struct thread_state *st = NULL;
	struct blame_stretch *s;

	if (!ring || (now >= window.stop_ns && !is_cut))
		return;
	if (cfg.pidns_inum)
		st = thread_of(prev);
	s = &ring->stretch[ring->newest % BLAME_STRETCHES];
	if (s->tid != blame_number(st, false, prev))
		s->is_unsure = true;
	/* complete before it becomes the newest: a cut reads it from another CPU */
	s = &ring->stretch[(ring->newest + 1) % BLAME_STRETCHES];
	if (cfg.pidns_inum)
		st = thread_of(next);
	s->from_ns = now;
	s->pid = blame_number(st, true, next);
	s->tid = blame_number(st, false, next);
	copy_comm(s->comm, next);
	s->culprit = next->pid ? mix(mix(mix(STACK_MIX, s->pid), s->comm[0]), s->comm[1]) : BLAME_IDLE;
	s->is_unsure = false;
	barrier();
	ring->newest++;
}

/* State while a delay is divided among stretches. */
struct blame_walk {
	const struct blame_ring *ring;
	struct blame_cells *cells;
	__u64 newest;
	__u64 from_ns;		/* start of the delay */
	__u64 end_ns;		/* the time before this is still to be attributed */
	__u32 tno;
	__u16 is_preempted;
	__u16 is_second;	/* of the sums' halves */
};

/* The sum under the key, created if needed; s NULL: no culprit. */
static __always_inline struct blame_sum *blame_sum_of(struct blame_key *key, const struct blame_stretch *s, __u32 tid,
						      struct blame_sum *fresh, bool second)
{
	struct blame_sum *sum = second ? bpf_map_lookup_elem(&blames_b, key) : bpf_map_lookup_elem(&blames_a, key);

	if (sum)
		return sum;
	__builtin_memset(fresh, 0, sizeof(*fresh));
	if (s) {
		fresh->pid = s->pid;
		fresh->tid = tid;
		__builtin_memcpy(fresh->comm, s->comm, sizeof(fresh->comm));
	}
	if (second ? bpf_map_update_elem(&blames_b, key, fresh, BPF_NOEXIST) :
		     bpf_map_update_elem(&blames_a, key, fresh, BPF_NOEXIST))
		return NULL;
	__sync_fetch_and_add(&blame_entries, 1);
	return second ? bpf_map_lookup_elem(&blames_b, key) : bpf_map_lookup_elem(&blames_a, key);
}

/* A part of one wait, whose own record follows at its end. */
static __always_inline void blame_send(const struct blame_walk *w, __u32 kind, const struct blame_stretch *s,
				       const struct blame_cell *cell)
{
	struct offcpu_rec_blame *rec = ring_reserve(sizeof(*rec));

	if (!rec) {
		count_loss(OFFCPU_LOSS_BLAME_MAP, cell->ns);
		return;
	}
	__builtin_memset(rec, 0, sizeof(*rec));
	rec->type = OFFCPU_REC_BLAME;
	rec->kind = kind;
	rec->tid = w->cells->tid;
	rec->since_ns = w->cells->since_ns;
	rec->ns = cell->ns;
	rec->stretch_cnt = cell->cnt;
	if (s) {
		rec->by_pid = s->pid;
		rec->by_tid = cell->tid;
		__builtin_memcpy(rec->by_comm, s->comm, sizeof(rec->by_comm));
	}
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
}

/* No other CPU adds to this thread's sums: it is in one queue at a time. */
static __always_inline void blame_add(const struct blame_walk *w, __u32 kind, const struct blame_stretch *s,
				      const struct blame_cell *cell)
{
	struct blame_key key = { .tno = w->tno, .kind = kind, .culprit = s ? cell->culprit : 0 };
	struct blame_sum *sum;

	if (cfg.want_events) {
		blame_send(w, kind, s, cell);
		return;
	}
	sum = blame_sum_of(&key, s, cell->tid, &w->cells->fresh, w->is_second);
	if (!sum) {
		count_loss(OFFCPU_LOSS_BLAME_MAP, cell->ns);
		return;
	}
	sum->stretch_cnt += cell->cnt;
	if (sum->tid != cell->tid)
		sum->tid = 0;
	if (w->is_preempted)
		sum->preempted_ns += cell->ns;
	else
		sum->runnable_ns += cell->ns;
}

static __always_inline void blame_flush(const struct blame_walk *w, const struct blame_cell *cell)
{
	if (cell->culprit == BLAME_IDLE)
		blame_add(w, BLAME_IDLE, NULL, cell);
	else
		blame_add(w, BLAME_THREAD, &w->ring->stretch[cell->stretch % BLAME_STRETCHES], cell);
}

static __always_inline void blame_note_part(const struct blame_walk *w, const struct blame_stretch *s, __u32 at,
					    __u64 ns)
{
	__u32 i = s->culprit % BLAME_CELLS;
	struct blame_cell *cell = &w->cells->cell[i];

	if (w->cells->used >> i & 1 && cell->culprit == s->culprit) {
		cell->ns += ns;
		cell->cnt++;
		if (cell->tid != s->tid)
			cell->tid = 0;
		return;
	}
	if (w->cells->used >> i & 1)
		blame_flush(w, cell);
	w->cells->used |= 1U << i;
	cell->culprit = s->culprit;
	cell->ns = ns;
	cell->cnt = 1;
	cell->tid = s->tid;
	cell->stretch = at;
}

/* The i-th last stretch; 1 ends the loop. */
static long blame_step(__u32 i, struct blame_walk *w)
{
	__u32 at = (w->newest - i) % BLAME_STRETCHES;
	const struct blame_stretch *s = &w->ring->stretch[at];
	__u64 from = s->from_ns;

	if (!from)
		return 1;
	if (from >= w->end_ns)
		return 0;
	if (from < w->from_ns)
		from = w->from_ns;
	if (!s->is_unsure)
		blame_note_part(w, s, at, w->end_ns - from);
	w->end_ns = from;
	return from == w->from_ns;
}

static long blame_flush_step(__u32 i, struct blame_walk *w)
{
	if (i < BLAME_CELLS && w->cells->used >> i & 1)
		blame_flush(w, &w->cells->cell[i]);
	return !(w->cells->used >> i >> 1);
}

#define BLAME_PREEMPTED (1U << 31)	/* flag in the CPU's number */

/*
 * The thread was queued on a CPU for [from, to); throttling came first. A global function: its stack is apart from the
 * caller's, which Linux 6.1 counts in full.
 */
__noinline int blame_span(__u32 tno, __u32 cpu, __u64 from, __u64 to, __u64 throttled_ns)
{
	__u32 zero = 0;

	if (!cfg.want_blame)
		return 0;	/* the verifier checks it even if it is never called */
	struct blame_walk w = {
		.ring = blame_ring_of(cpu & ~BLAME_PREEMPTED),
		.cells = bpf_map_lookup_elem(&blame_scratch, &zero),
		.from_ns = from,
		.end_ns = to,
		.tno = tno,
		.is_preempted = !!(cpu & BLAME_PREEMPTED),
		.is_second = is_second_half(to - 1),
	};

	if (!w.ring || !w.cells || from >= to)
		return 0;
	if (throttled_ns) {
		if (throttled_ns > to - from)
			throttled_ns = to - from;
		w.cells->throttled.ns = throttled_ns;
		w.cells->throttled.cnt = 1;
		blame_add(&w, BLAME_THROTTLED, NULL, &w.cells->throttled);
		w.from_ns += throttled_ns;
	}
	w.newest = w.ring->newest;
	if (w.from_ns >= to)
		return 0;
	w.cells->used = 0;
	bpf_loop(BLAME_STRETCHES, blame_step, &w, 0);
	bpf_loop(BLAME_CELLS, blame_flush_step, &w, 0);
	return 0;
}

/* A delay of this length ends at `to`; time on queues of other CPUs was attributed already. */
static __always_inline void blame_wait(struct task_struct *task, struct thread_state *st, __u32 cpu, __u64 delay_ns,
				       __u64 to)
{
	__u64 from = to - delay_ns;
	struct blame_cells *cells;
	__u32 zero = 0;

	if (!cfg.want_blame || !delay_ns)
		return;
	if (cfg.want_events) {
		cells = bpf_map_lookup_elem(&blame_scratch, &zero);
		if (!cells)
			return;
		cells->since_ns = st->since_ns;
		cells->tid = st->tid;
	}
	if (st->mode == MODE_QUEUED)
		cpu |= BLAME_PREEMPTED;
	blame_span(st->tno, cpu, st->moved_ns > from ? st->moved_ns : from, to, throttled_since(task, st));
}

/* The CPU of a task's queue. */
static __always_inline __u32 cpu_of(struct task_struct *task)
{
	if (bpf_core_field_exists(task->thread_info.cpu))
		return task->thread_info.cpu;
	return BPF_CORE_READ((struct task_struct___with_cpu *)task, cpu);
}

/*
 * A queued thread is moved to another CPU's queue. (A waking sleeper is placed, too, but before it is put on any
 * queue.)
 */
SEC("tp_btf/sched_migrate_task")
int BPF_PROG(blame_migrate, struct task_struct *task, int to_cpu)
{
	struct thread_state *st;
	struct wait_parts parts;
	__u64 now;

	if (!task->pid || !may_be_selected(task))
		return 0;
	st = thread_of(task);
	if (!st || !st->selected)
		return 0;
	now = bpf_ktime_get_ns();
	if (now >= window.stop_ns && !is_cut && !st->end_cpu)
		st->end_cpu = cpu_of(task) + 1;
	if (now < window.start_ns || (now >= window.stop_ns && !is_cut) || on_rq_of(task) != TASK_ON_RQ_MIGRATING)
		return 0;
	if (st->mode != MODE_QUEUED && st->mode != MODE_ASLEEP && st->mode != MODE_NEW)
		return 0;
	/* it is asleep and waits for no CPU */
	if (bpf_core_field_exists(task->se.sched_delayed) && task->se.sched_delayed)
		return 0;
	/* After a cut that has not handled it yet: who held the CPU until the cut stays unknown */
	if (now < window.stop_ns || st->since_ns >= window.stop_ns) {
		split_wait(st, now, false, &parts);
		blame_wait(task, st, cpu_of(task), parts.runnable_ns + parts.preempted_ns, now);
	}
	st->moved_ns = now;
	st->queue = NULL;
	return 0;
}

/* A thread that was queued as the window ended: the rings have not changed since. */
static __always_inline void blame_open(struct task_struct *task, struct thread_state *st,
				       const struct wait_parts *parts, __u64 end)
{
	if (cfg.want_blame && !cfg.want_events)
		blame_wait(task, st, st->end_cpu ? st->end_cpu - 1 : cpu_of(task),
			   parts->runnable_ns + parts->preempted_ns, end);
}

/*
 * A thread that was queued at a cut, by its copy. Others run meanwhile: their stretches after the edge are skipped.
 * Called after the sums of waits are read, but before the cut is over.
 */
static __always_inline void blame_cut(struct task_struct *task, struct thread_state *copy,
				      const struct offcpu_rec_thread *rec, __u32 cpu, __u64 edge)
{
	if (cfg.want_blame && !cfg.want_events && copy->moved_ns < edge)
		blame_wait(task, copy, cpu, rec->open_runnable_ns + rec->open_preempted_ns, edge);
}

/* The thread on the CPU changes its name. */
SEC("tp_btf/task_rename")
int BPF_PROG(blame_rename, struct task_struct *task, const char *comm)
{
	struct blame_ring *ring = blame_ring_of(bpf_get_smp_processor_id());
	struct blame_stretch *s;

	if (!ring || task != bpf_get_current_task_btf())
		return 0;
	s = &ring->stretch[ring->newest % BLAME_STRETCHES];
	if (!s->tid || s->is_unsure)
		return 0;
	s->comm[0] = s->comm[1] = 0;
	bpf_probe_read_kernel_str(s->comm, sizeof(s->comm), comm);
	s->culprit = mix(mix(mix(STACK_MIX, s->pid), s->comm[0]), s->comm[1]);
	return 0;
}

#endif
