/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef FEATURES_REQUESTS_WAIT_BPF_H
#define FEATURES_REQUESTS_WAIT_BPF_H

#include "features/requests/request.bpf.h"

/* What the scheduler's programs do for requests: they are not interrupted. */

static __always_inline void move_total(struct offcpu_state_total *from, struct offcpu_state_total *to,
				       const struct wait_parts *parts)
{
	from->count--;
	from->preempted_ns -= parts->preempted_ns;
	from->blocked_ns -= parts->blocked_ns;
	from->runnable_ns -= parts->runnable_ns;
	add_parts(to, parts);
}

/* Lists a wait of a slow request that began at since_ns or later. Returns whether it was listed. */
__noinline int list_kept_wait(struct thread_state *st, struct request_waits *waits, __u32 i, __u64 due_since_ns)
{
	struct request_wait *w;
	struct kept_wait kept;
	__u64 since_ns;

	if (!st || !waits || i >= OFFCPU_REQUEST_WAITS_MAX)
		return 0;
	w = &waits->wait[i];
	if (w->since_ns < due_since_ns)
		return 0;
	sample_keep_alone(&w->parts, &kept);
	move_total(&st->account.filtered, total_of(&st->account, w->state), &w->parts);
	since_ns = st->since_ns;
	st->since_ns = w->since_ns;	/* sum_wait() takes it for the wait's */
	if (!sum_wait(st, &w->key, &kept)) {
		count_loss(OFFCPU_LOSS_WAIT_MAP, kept.duration_ns);
		st->account.lost_ns += kept.duration_ns;
	}
	st->since_ns = since_ns;
	return 1;
}

__noinline int list_kept_waits(struct thread_state *st, struct request_state *r)
{
	struct request_waits *waits;
	__u32 number, older = 0;

	if (!cfg.want_requests || !cfg.request_slower_ns || !st || !r)
		return 0;
	number = st->request - 1;
	waits = bpf_map_lookup_elem(&request_waits, &number);
	for (__u32 i = 0; waits && i < OFFCPU_REQUEST_WAITS_MAX; i++) {
		if (i >= r->due_cnt)
			break;
		if (!list_kept_wait(st, waits, i, r->due_since_ns))
			older = i + 1;
	}
	r->due_cnt = 0;
	if (!r->is_active) {
		older = 0;
	} else if (older > OFFCPU_REQUEST_WAITS_MAX / 2) {	/* makes room */
		r->gone_cnt += older;
		r->gone_before_ns = r->due_since_ns;
		older = 0;
	}
	r->wait_cnt = older;	/* of another open request on a connection, which may still become slow */
	return 0;
}

#define RETURN_BYTES 96		/* a return probe is at most this far after the return address */

/* It has returned, but has not reached the return probe, or the probe's program has not run. */
static __always_inline bool is_returning(const struct request_state *r, __u64 ip, __u64 sp)
{
	return sp == r->sp + RETURN_POPS && ip - r->ret <= RETURN_BYTES;
}

/*
 * For a request without a return probe at its start. While it is open its return address stays on the stack: the next
 * call from the same place overwrites it.
 */
static __always_inline bool is_overwritten(const struct request_state *r, __u64 sp)
{
	__u64 ret;

	if (r->knows_site || !r->has_sp || sp > r->sp)
		return false;
	return !bpf_probe_read_user(&ret, sizeof(ret), (const void *)r->sp) && ret != r->ret;
}

/* The current thread goes off CPU; ip, sp: its user registers. */
__noinline int request_off(struct thread_state *st, __u64 ip, __u64 sp, bool is_last, __u64 now)
{
	struct request_state *r;

	if (!cfg.want_requests || !st)
		return 0;
	r = request_of(st);
	if (!r)
		return 0;
	if (r->due_cnt)
		list_kept_waits(st, r);
	if (r->is_active && (is_last || (is_above(r, sp) && !is_returning(r, ip, sp)) || is_overwritten(r, sp)))
		leave_request(r, now);
	return 0;
}

static __always_inline void request_switch_out(struct task_struct *task, struct thread_state *st, bool is_last,
					       __u64 now)
{
	struct pt_regs *regs;

	if (!cfg.want_requests || !st->request || cfg.by_goroutine)
		return;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	request_off(st, regs ? regs->REG_IP : 0, regs ? regs->REG_SP : 0, is_last, now);
}

/* The thread becomes another program. */
static __always_inline void request_exec(struct thread_state *st, __u64 now)
{
	struct request_state *r = cfg.want_requests && !cfg.by_goroutine ? request_of(st) : NULL;

	if (r && r->is_active)
		leave_request(r, now);
	if (r)
		r->due_cnt = r->wait_cnt = 0;
}

/* A wait that was accounted as filtered is kept until its request has ended. Global, like list_kept_wait(). */
__noinline int keep_for_request(struct thread_state *st, const struct offcpu_wait_key *key,
				const struct kept_wait *kept)
{
	struct request_waits *waits;
	struct request_state *r;
	struct request_wait *w;
	__u32 number, at;

	if (!cfg.want_requests || !cfg.request_slower_ns || !st || !key || !kept)
		return 0;
	if (cfg.by_goroutine)	/* waits are listed under their thread, which another thread cannot do */
		return 0;
	r = request_of(st);
	number = st->request - 1;
	waits = bpf_map_lookup_elem(&request_waits, &number);
	if (!r || !waits || !r->is_active)
		return 0;
	at = r->wait_cnt;
	if (at >= OFFCPU_REQUEST_WAITS_MAX) {
		r->over_cnt++;
		r->over_ns += kept->duration_ns;
		return 0;
	}
	w = &waits->wait[at];
	w->key = *key;
	w->parts = kept->parts;
	w->since_ns = st->since_ns;
	w->state = st->state;
	r->wait_cnt = at + 1;
	return 0;
}

/* The thread's request continues after a window's edge; rec: its account as of the edge, with stacks if known. */
__noinline int cut_request(struct thread_state *st, const struct offcpu_rec_thread *rec)
{
	struct offcpu_wait_key key = {};
	struct wait_parts parts;
	struct request_state *r;

	if (!cfg.requests_beside || !st || !rec)
		return 0;
	r = request_of(st);
	if (!r)
		return 0;
	r->cut.on_cpu_ns += rec->open_on_cpu_ns;
	r->cut.blocked_ns += rec->open_blocked_ns;
	r->cut.runnable_ns += rec->open_runnable_ns;
	r->cut.preempted_ns += rec->open_preempted_ns;
	if (!r->is_active || !rec->open_state || rec->open_ustack == OFFCPU_STACK_LOST)
		return 0;
	key.ustack = rec->open_ustack;
	key.kstack = rec->open_kstack;
	key.object = rec->open_object;
	key.state = rec->open_state;
	parts.blocked_ns = rec->open_blocked_ns;
	parts.runnable_ns = rec->open_runnable_ns;
	parts.preempted_ns = rec->open_preempted_ns;
	return note_for_request(st, &key, &parts);
}

/* Is a wait that is open as the window ends listed? */
static __always_inline bool lists_open_wait(const struct thread_state *st, __u64 end)
{
	const struct request_state *r;

	if (!cfg.want_requests || cfg.requests_beside)
		return true;
	r = request_of(st);
	return r && is_in_request(st) && r->start_ns <= end && end - r->start_ns >= cfg.request_slower_ns;
}

/* An unlisted one may belong to a request that began before the probes existed: its stack shows that. */
static __always_inline bool may_be_open_request(const struct thread_state *st, __u64 end)
{
	const struct request_state *r;

	if (!cfg.want_requests || cfg.by_goroutine || end - window.start_ns < cfg.request_slower_ns)
		return false;
	r = request_of(st);
	return !r || !r->is_active;
}

#endif
