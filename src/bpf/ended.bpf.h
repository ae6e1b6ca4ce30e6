/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_ENDED_BPF_H
#define BPF_ENDED_BPF_H

/*
 * A wait that ends: accounts, then filters and sampling, then stacks and sums. A part of offcpu.bpf.c, which includes
 * what this calls.
 */

/* The kernel's own counts for the thread, taken when no event is missing. */
static __always_inline void note_kernels_counts(struct task_struct *task, struct thread_state *st)
{
	st->csw = switches_of(task);
	st->exec_ns = task->se.sum_exec_runtime;
}

/* Histograms have no stacks: the thread's ids take their place. */
static __always_inline __u64 hist_key(const struct thread_state *st)
{
	return (__u64)st->pid << 32 | st->tid;
}

/*
 * The wait that began at st->since_ns ends. Filters come first, then the accounts, and only then sampling: it never
 * affects an account. False: a filter excludes it. A global function: the verifier checks it once.
 */
__noinline int account_wait(struct thread_state *st, struct chain_state *chain, __u64 now)
{
	struct wait_parts parts;

	if (!st)
		return false;
	split_wait(st, now, true, &parts);
	if (cfg.chain_depth && chain)
		note_wait(st, chain, &parts, now);
	if (cfg.by_goroutine && is_in_request(st))
		goroutine_waited(st, &parts);
	if (!is_listed(st, now - st->since_ns) || (cfg.want_requests && !cfg.requests_beside && !is_in_request(st))) {
		add_parts(&st->account.filtered, &parts);
		return false;
	}
	if (cfg.want_requests && cfg.request_slower_ns) {
		add_parts(&st->account.filtered, &parts);	/* until its request turns out to be slow */
		return true;
	}
	add_parts(total_of(&st->account, st->state), &parts);
	return true;
}

/* Fills scratch->kept. scale: the sampling scale by which the wait was kept. Global for the same reason. */
__noinline int keep_wait(struct thread_state *st, struct scratch *scratch, __u64 scale, __u64 now)
{
	struct wait_parts parts;

	if (!st || !scratch)
		return 0;
	split_wait(st, now, false, &parts);
	sample_wait(&parts, now - st->since_ns, scale, &scratch->kept);
	return 0;
}

/* What the governor reads. */
static __always_inline void count_listed(struct scratch *scratch)
{
	__u32 slot;

	scratch->counts.listed++;
	if (!cfg.may_sample)
		return;
	slot = log2_slot(scratch->kept.duration_ns);
	barrier_var(slot);	/* clang knows the bound, the verifier does not */
	if (slot < OFFCPU_HIST_SLOTS)
		scratch->counts.waits_q8[slot] += scratch->kept.weight_q8;
}

/* Sums scratch->kept under its stacks.  A global function: the verifier checks it once. */
__noinline int list_wait(struct thread_state *st, struct scratch *scratch, struct chain_state *chain, __u64 now)
{
	struct offcpu_wait_key key = {};
	struct wait_parts *parts;
	int summed;

	if (!st || !scratch)
		return 0;
	key.ustack = scratch->ustack;
	key.kstack = scratch->kstack;
	count_listed(scratch);
	parts = &scratch->kept.parts;
	key.waker = waker_of_wait(st, now);
	key.object = scratch->listed_object = object_of_wait(st, scratch);
	if (cfg.want_storms && cfg.only_storms)
		key.waker = storm_waker(st, key.waker);
	key.tno = st->tno;
	key.state = letter_of(st->state);
	key.flags = (st->open_at_start ? OFFCPU_OPEN_AT_START : 0) |
		    (st->is_throttled && !cfg.hist ? OFFCPU_KEY_THROTTLED : 0);
	if (began_at_cut(st))
		key.flags |= OFFCPU_OPEN_AT_START;
	if (cfg.may_sample && parts->blocked_ns + parts->runnable_ns + parts->preempted_ns != scratch->kept.duration_ns)
		key.flags |= OFFCPU_KEY_SAMPLED;
	if (cfg.hist_runq) {
		key.flags = OFFCPU_KEY_RUNQ;
		key.state = 'R';
		parts->blocked_ns = 0;
		scratch->kept.duration_ns = parts->runnable_ns + parts->preempted_ns;
	}
	if (is_second_half(now))
		key.flags |= OFFCPU_KEY_SECOND;
	set_slice(scratch, st, &key, now);
	if (cfg.want_requests)
		note_for_request(st, &key, parts);
	if (cfg.want_requests && cfg.request_slower_ns)
		return keep_for_request(st, &key, &scratch->kept);
	if (key.object && key.object == st->futex.gil && st->mode == MODE_ASLEEP)
		begin_gil_sum(st, &scratch->kept);
	summed = sum_wait(st, &key, &scratch->kept);
	if (rarely(scratch->target.sock))
		sum_tcp_wait(st, scratch, now);
	if (rarely(st->speaks & SPACE_HAS_CONTEXT)) {
		scratch->context.is_longest = summed == SUM_LONGEST;
		scratch->context.trace.key = key;
	}
	if (!summed) {
		__u64 total = parts->blocked_ns + parts->runnable_ns + parts->preempted_ns;

		count_loss(OFFCPU_LOSS_WAIT_MAP, total);
		st->account.lost_ns += total;
	} else if (key.object && key.object == st->futex.gil) {
		note_gil_sum(st, &key);
	} else if (cfg.chain_depth && chain) {
		key.slice = 0;
		key.flags &= ~OFFCPU_KEY_CROSSING;
		list_chain(&key, st, chain, scratch);
	}
	return 0;
}

/* How long the thread stood on a run queue in the wait that ends. Global, like account_wait(). */
__noinline __u64 end_delay(struct thread_state *st, __u64 now)
{
	struct wait_parts parts;

	if (!st)
		return 0;
	split_wait(st, now, false, &parts);
	if (cfg.want_storms)
		storm_delay(st, parts.runnable_ns + parts.preempted_ns);
	return parts.runnable_ns + parts.preempted_ns;
}

static __always_inline void put_trace(const struct thread_state *st, const struct scratch *scratch,
				      struct offcpu_rec_event *event)
{
	__u64 word[3] = {};

	if (st->speaks & SPACE_HAS_CONTEXT && scratch->context.tno == st->tno)
		context_trace(&scratch->context, word);
	__builtin_memcpy(event->trace, word, sizeof(event->trace) + sizeof(event->span));
}

/* Sends scratch->kept as one wait. scratch->event has the thread's name. Global, like the others. */
__noinline int send_event(struct thread_state *st, struct scratch *scratch, __u64 now)
{
	struct offcpu_rec_event *event;
	const struct wait_parts *parts;

	if (!st || !scratch)
		return 0;
	event = &scratch->event;
	parts = &scratch->kept.parts;
	event->type = OFFCPU_REC_EVENT;
	event->cpu = bpf_get_smp_processor_id();
	event->end_ns = now;
	event->pid = st->pid;
	event->tid = st->tid;
	event->blocked_ns = parts->blocked_ns;
	event->runnable_ns = parts->runnable_ns;
	event->preempted_ns = parts->preempted_ns;
	event->ran_ns = st->ran_ns;
	event->ustack = scratch->ustack;
	event->kstack = scratch->kstack;
	event->by_pid = st->by_pid;
	event->by_tid = st->by_tid;
	__builtin_memcpy(event->by_comm, st->by_comm, sizeof(event->by_comm));
	event->waker = waker_of_wait(st, now);
	event->object = object_of_wait(st, scratch);
	event->state = letter_of(st->state);
	event->is_throttled = st->is_throttled;
	event->open_at_start = st->open_at_start;
	put_trace(st, scratch, event);
	if (ring_send(event, sizeof(*event)))
		count_loss(OFFCPU_LOSS_RING_EVENT,
			   parts->blocked_ns + parts->runnable_ns + parts->preempted_ns);
	return 0;
}

/* The trace context of a wait that is sent as an event. The thread still stands where it waited. */
static __noinline int find_trace(struct task_struct *task, struct thread_state *st, struct scratch *scratch, __u64 now)
{
	/* its user stack was read as the wait began, so the context must be read here */
	if (st->ustack_from == USTACK_BEGUN && direct_map && plain(task)->mm) {
		view_of(&scratch->walk.view, task);
		scratch->walk.in_parents = is_in_parents(task, st);
		scratch->walk.thread_pointer = thread_pointer(plain(task));
		context_stack(st, &scratch->walk, &scratch->context, 0, now);
	}
	return 0;
}

/* Walks the stacks of a wait that is to be listed, scratch->kept, and lists it. */
static __noinline int walk_and_list(struct task_struct *task, struct thread_state *st, struct scratch *scratch,
				    bool may_walk, __u64 now)
{
	__u64 begun_ns = cfg.may_sample ? bpf_ktime_get_ns() : 0;

	st->is_cold = now - st->since_ns > COLD_NS;
	if (!cfg.hist && st->mode != MODE_NEW)
		take_memory_of(st);
	if (rarely(st->speaks & SPACE_HAS_CONTEXT))
		scratch->context.tno = 0;
	/* user stack first: its beginning shows where the kernel stack's walk is cached */
	scratch->ustack = cfg.hist ? hist_key(st) : end_user_stack(task, st, scratch, may_walk, now);
	scratch->kstack = 0;
	if (cfg.want_kstack && may_walk)
		scratch->kstack = kernel_stack(task, st, scratch, now);
	else if (cfg.want_kstack)
		count_loss(OFFCPU_LOSS_KSTACK, now - st->since_ns);
	if (cfg.want_kstack && !scratch->kstack)
		scratch->kstack = OFFCPU_STACK_LOST;
	if (may_walk) {
		look_at_futex(task, st, scratch, false);
		look_at_target(task, st, scratch);
	} else {
		st->target = scratch->target.sock = 0;
	}
	if (cfg.want_waits)
		list_wait(st, scratch, chain_of(st), now);
	if (cfg.may_sample)
		scratch->counts.listing_ns += bpf_ktime_get_ns() - begun_ns;
	return 0;
}

/* Adds an ended wait to its accounts. may_walk: as below. False: a filter excludes it. */
static __always_inline bool end_wait(struct task_struct *task, struct thread_state *st, bool may_walk, __u64 now)
{
	if (cfg.want_storms || cfg.want_blame) {
		__u64 delay_ns = end_delay(st, now);

		/* of events, only the listed ones */
		if (may_walk && (!cfg.want_events || is_listed(st, now - st->since_ns)))
			blame_wait(task, st, bpf_get_smp_processor_id(), delay_ns, now);
	}
	end_throttled(task, st, now);
	return account_wait(st, chain_of(st), now);
}

/* It has ended, and no filter excludes it. may_walk: the thread still stands where it waited. */
static __always_inline void sample_ended(struct task_struct *task, struct thread_state *st, struct scratch *scratch,
					 bool may_walk, __u64 scale, __u64 now)
{
	if (rarely(sample_is_kept(now - st->since_ns, st->draw, scale))) {
		keep_wait(st, scratch, scale, now);
		walk_and_list(task, st, scratch, may_walk, now);
		/* not inside: call depth is limited */
		if (may_walk && rarely(st->speaks & SPACE_HAS_CONTEXT) &&
		    (cfg.want_events || (cfg.want_waits && scratch->context.is_longest))) {
			find_trace(task, st, scratch, now);
			if (cfg.want_waits)
				send_trace(st, &scratch->context, now - st->since_ns);
		}
		if (cfg.want_events) {
			copy_comm(scratch->event.comm, task);
			scratch->event.is_kernel = (task->flags & PF_KTHREAD) != 0;
			send_event(st, scratch, now);
		}
	}
}

#endif
