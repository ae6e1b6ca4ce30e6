/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RUNTIMES_GO_PARK_BPF_H
#define RUNTIMES_GO_PARK_BPF_H

/*
 * Where Go's scheduler takes a goroutine that is in a request off its thread, wakes it, and puts it on a thread again:
 * probes in Go's runtime.  The time between is no thread's.  That in which the goroutine waited for something is told
 * with the request, under the goroutine's stack; that in which it could have run is runnable or preempted time.
 *
 * These functions are found by name: gopark(), goschedImpl(), goyield_m(), preemptPark(), exitsyscall0(), ready(),
 * execute(), goexit0() (src/runtime/proc.go).  Whom the network poller wakes is not seen before it runs.
 *
 * Only included by features/requests/request.bpf.h.
 */

#include "bpf/walk/stack.bpf.h"

#define GO_STACKS 64		/* these programs may be preempted: one each that is being walked */
#define GO_STACK_TRIES 8

struct go_stack_buffer {
	__u32 is_taken, pad;
	struct offcpu_rec_stack rec;
};

MAP(request_go_stacks, ARRAY, __u32, struct go_stack_buffer, GO_STACKS);

__u32 next_go_stack = 0;

static __always_inline struct go_stack_buffer *take_go_stack(void)
{
	for (int i = 0; i < GO_STACK_TRIES; i++) {
		__u32 number = __sync_fetch_and_add(&next_go_stack, 1) % GO_STACKS;
		struct go_stack_buffer *b = bpf_map_lookup_elem(&request_go_stacks, &number);

		if (b && !b->is_taken && !__sync_val_compare_and_swap(&b->is_taken, 0, 1))
			return b;
	}
	return NULL;
}

/*
 * Go keeps frame pointers.  At a function's entry that of its caller is not there yet, and is put in; some kernels do
 * that themselves where the function begins with a push.
 */
static __always_inline long walk_go_stack(struct pt_regs *ctx, __u64 *ip)
{
	__u64 caller = 0;
	long bytes = bpf_get_stack(ctx, ip + 1, (OFFCPU_MAX_DEPTH - 1) * sizeof(__u64), BPF_F_USER_STACK);

	if (bytes <= 0 || !return_address(ctx, &caller))
		return 0;
	if (bytes >= 2 * (long)sizeof(__u64) && ip[2] == caller)
		return bpf_get_stack(ctx, ip, OFFCPU_MAX_DEPTH * sizeof(__u64), BPF_F_USER_STACK);
	ip[0] = ctx->REG_IP;
	ip[1] = caller;
	return bytes + sizeof(__u64);
}

/* The goroutine's stack as it is about to be parked: its id, or 0. */
static __always_inline __u64 parked_stack(struct pt_regs *ctx, struct thread_state *st, __u64 now)
{
	struct go_stack_buffer *b = take_go_stack();
	__u64 id = 0;
	__u32 depth;
	long bytes;

	if (b) {
		bytes = walk_go_stack(ctx, b->rec.ip);
		depth = bytes > 0 ? (__u32)bytes / sizeof(__u64) : 0;
		b->rec.end = depth >= OFFCPU_MAX_DEPTH ? OFFCPU_WALK_CUT : OFFCPU_WALK_UNKNOWN;
		b->rec.is_exact = 0;
		b->rec.tables_ns = 0;
		barrier_var(depth);	/* what clang knows of it the verifier does not */
		if (depth && depth <= OFFCPU_MAX_DEPTH) {
			id = stack_hash(&b->rec, depth, stack_seed(st));
			if (!stack_cross(&b->rec, id, depth, st, true, now))
				id = 0;
		}
		__sync_lock_test_and_set(&b->is_taken, 0);
	}
	if (!id)
		count_request(OFFCPU_REQUEST_NO_STACK, 1, 0);
	return id;
}

/* The state of that goroutine where it is in a request, else NULL; it may be on no thread. */
static __always_inline struct request_state *state_of_goroutine(const struct thread_state *st, __u64 address)
{
	struct goroutine key = { .address = address, .pid = st->pid };
	__u32 *number = bpf_map_lookup_elem(&request_goroutines, &key);
	struct request_state *r;
	__u32 at;

	if (!number)
		return NULL;
	at = *number;
	r = bpf_map_lookup_elem(&request_states, &at);
	return r && r->is_active ? r : NULL;
}

/*
 * What the current thread runs in a request is taken off it; that, or NULL.  First of all that is said: the program may
 * be preempted, and that is no wait of the goroutine's any more.
 */
static __always_inline struct request_state *take_off(struct thread_state *st, __u32 where)
{
	struct request_state *r = request_of(st);
	__u64 now;

	st->request = 0;
	if (!r || !r->is_active || !runs_here(r, st))
		return NULL;
	r->where = where;
	barrier();
	now = bpf_ktime_get_ns();
	if (now > r->run_since_ns)
		r->ran_ns += now - r->run_since_ns;
	r->off_since_ns = now;
	r->ready_ns = 0;
	r->park_stack = 0;
	return r;
}

/* It was left by a panic, and goes on further up; sp: where the goroutine that runs stands. */
static __always_inline bool has_left_by_panic(const struct request_state *r, __u64 address, __u64 sp)
{
	struct go_stack stack;

	if (address != r->goroutine ||	/* a coroutine of it */
	    bpf_probe_read_user(&stack, sizeof(stack), (void *)address))
		return false;
	return is_above(r, GO_STACK_TOP - (stack.hi - sp));
}

/* gopark(unlockf, lock, reason, ...) */
SEC("uprobe")
int request_go_park(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *st = request_thread(task);
	struct request_state *r = st ? request_of(st) : NULL;

	if (!r || !r->is_active) {
		if (st)
			st->request = 0;
		return 0;
	}
	if (has_left_by_panic(r, ctx->REG_GOROUTINE, ctx->sp)) {
		leave_request(r, bpf_ktime_get_ns());
		return free_goroutine(st, ctx->REG_GOROUTINE);
	}
	/* its labels, which may not be those of its end */
	know_route(task, st, r, bpf_ktime_get_ns());
	r = take_off(st, GOROUTINE_PARKED);
	if (!r)
		return 0;
	r->park_reason = ctx->REG_GO_THIRD & 0xff;
	r->park_stack = parked_stack(ctx, st, r->off_since_ns);
	return 0;
}

/* goschedImpl(gp), goyield_m(gp), preemptPark(gp), exitsyscall0(gp) */
SEC("uprobe")
int request_go_yield(struct pt_regs *ctx)
{
	struct thread_state *st = request_thread(bpf_get_current_task_btf());

	if (st)
		take_off(st, GOROUTINE_QUEUED);
	return 0;
}

/* ready(gp, ...) */
SEC("uprobe")
int request_go_ready(struct pt_regs *ctx)
{
	struct thread_state *st = request_thread(bpf_get_current_task_btf());
	struct request_state *r = st ? state_of_goroutine(st, ctx->REG_GO_FIRST) : NULL;

	if (r && r->where == GOROUTINE_PARKED && !r->ready_ns)
		r->ready_ns = bpf_ktime_get_ns();
	return 0;
}

/* The thread has the goroutine of its state: what that did on no thread until now comes to its request. */
__noinline int goroutine_resumes(struct thread_state *st)
{
	struct offcpu_wait_key key = {};
	struct wait_parts parts = {};
	struct request_state *r;
	__u64 now, ready_ns;
	__u32 where;

	if (!cfg.by_goroutine || !st)
		return 0;
	r = request_of(st);
	if (!r || !r->is_active || r->where == GOROUTINE_RUNS)
		return 0;
	where = r->where;
	now = bpf_ktime_get_ns();
	r->runner = st->tno;
	r->run_since_ns = now;
	barrier();
	r->where = GOROUTINE_RUNS;
	if (where == GOROUTINE_QUEUED) {
		key.state = 'R';
		parts.preempted_ns = now - r->off_since_ns;
	} else {
		ready_ns = r->ready_ns > r->off_since_ns ? r->ready_ns : now;
		key.state = OFFCPU_REQUEST_PARKED;
		key.ustack = r->park_stack;
		key.object = r->park_reason;
		parts.blocked_ns = ready_ns - r->off_since_ns;
		parts.runnable_ns = now - ready_ns;
	}
	__sync_fetch_and_add(&r->went.runnable_ns, parts.runnable_ns);
	__sync_fetch_and_add(&r->went.preempted_ns, parts.preempted_ns);
	note_for_request(st, &key, &parts);
	return 0;
}

/* execute(gp, ...) */
SEC("uprobe")
int request_go_run(struct pt_regs *ctx)
{
	struct thread_state *st = request_thread(bpf_get_current_task_btf());
	struct request_state *r = st ? state_of_goroutine(st, ctx->REG_GO_FIRST) : NULL;

	if (!st)
		return 0;
	st->request = r ? r->number + 1 : 0;
	return r ? goroutine_resumes(st) : 0;
}

/* goexit0(gp), gdestroy(gp) */
SEC("uprobe")
int request_go_exit(struct pt_regs *ctx)
{
	struct thread_state *st = request_thread(bpf_get_current_task_btf());
	struct request_state *r = st ? state_of_goroutine(st, ctx->REG_GO_FIRST) : NULL;
	__u64 now;

	if (!r)
		return 0;
	now = bpf_ktime_get_ns();
	r->is_active = 0;
	if (r->start_ns < window.start_ns)
		count_begun_before(now);
	else if (now < window.stop_ns)
		count_request(OFFCPU_REQUEST_GONE, 1, now - r->start_ns);
	st->request = r->number + 1;
	return free_goroutine(st, ctx->REG_GO_FIRST);
}

#endif
