/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef FEATURES_REQUESTS_REQUEST_BPF_H
#define FEATURES_REQUESTS_REQUEST_BPF_H

#include "bpf/maps.bpf.h"
#include "bpf/account.bpf.h"
#include "bpf/sums.bpf.h"
#include "bpf/threads.bpf.h"
#include "features/requests/abi.h"

/*
 * Requests: from a call of a function to its return, on one thread.
 *
 * No uretprobe is used, as it kills a C++ program when an exception passes it, and any Go program. The program at the
 * entry reads the return address; user space sets a probe there, once for each address; a request has returned when
 * that is hit with the stack pointer one word above the entry's. A request that was left otherwise is noticed by a
 * stack pointer above that: at once where an exception is caught, else when the thread goes off CPU or enters the
 * function again.
 *
 * A request's times are the difference of the thread's account at both ends, with all its rules. These programs may be
 * preempted: what must be consistent is read again if the thread was switched meanwhile, and sums are added to
 * atomically.
 *
 * Only waits inside requests are listed. If only slow requests are wanted, a wait first counts as filtered; it is kept
 * with the request, and listed at the thread's next switch if the request was slow.
 */

#define REQUEST_STACK (64ULL << 20)	/* further up it is another stack */

struct request_wait {
	struct offcpu_wait_key key;
	struct wait_parts parts;
	__u64 since_ns;
	__u32 state;	/* enum offcpu_state */
	__u32 pad;
};

struct request_waits {
	struct request_wait wait[OFFCPU_REQUEST_WAITS_MAX];
};

MAP(request_states, ARRAY, __u32, struct request_state, 1);	/* user space sets their number, for both */
MAP(request_waits, ARRAY, __u32, struct request_waits, 1);
MAP(request_sums, PERCPU_ARRAY, __u32, struct offcpu_request_sum, 1);
MAP(request_counts, ARRAY, __u32, struct offcpu_loss_count, OFFCPU_REQUEST_COUNT);
MAP(request_sites, HASH, struct offcpu_request_site, __u32, 16384);

__u32 next_request = 0;

/* Global functions such as this one are verified separately: each must check that the maps exist. */
__noinline int count_request(__u32 what, __u64 cnt, __u64 time_ns)
{
	struct offcpu_loss_count *c;

	if (!cfg.want_requests)
		return 0;
	c = bpf_map_lookup_elem(&request_counts, &what);
	if (c) {
		__sync_fetch_and_add(&c->count, cnt);
		__sync_fetch_and_add(&c->time_ns, time_ns);
	}
	return 0;
}

static __always_inline struct request_state *request_of(const struct thread_state *st)
{
	__u32 number = st->request - 1;

	return st->request ? bpf_map_lookup_elem(&request_states, &number) : NULL;
}

#include "runtimes/go/request.bpf.h"

#define REQUEST_TRIES 64

__noinline int take_request(struct thread_state *st)
{
	if (!st)
		return 0;
	for (int i = 0; i < REQUEST_TRIES; i++) {
		__u32 number = __sync_fetch_and_add(&next_request, 1) % cfg.requests_max;
		struct request_state *r = bpf_map_lookup_elem(&request_states, &number);

		if (!r)
			return 0;
		if (r->is_taken || __sync_val_compare_and_swap(&r->is_taken, 0, 1))
			continue;
		r->is_active = 0;
		r->wait_cnt = r->due_cnt = 0;
		r->open_cnt = r->note_cnt = r->call_cnt = 0;
		r->number = number;
		r->stack_top = 0;
		st->request = number + 1;
		return 1;
	}
	return 0;
}

/* The thread has ended. */
static __always_inline void give_request_back(struct thread_state *st)
{
	struct request_state *r = cfg.want_requests ? request_of(st) : NULL;

	st->request = 0;
	if (r && !cfg.by_goroutine)
		__sync_lock_test_and_set(&r->is_taken, 0);
}

static __always_inline bool is_in_request(const struct thread_state *st)
{
	const struct request_state *r = request_of(st);

	if (!cfg.by_goroutine)
		return r && r->is_active;
	if (st->open_at_start)
		return false;	/* the goroutine that ran as the wait began was not seen */
	/* a wait whose end was missed is accounted later, when the thread may run another goroutine */
	return r && r->is_active && runs_here(r, st) && st->since_ns >= r->run_since_ns;
}

/* A wait of its thread that belongs to the goroutine: it was running there as the wait began. */
static __always_inline void goroutine_waited(const struct thread_state *st, const struct wait_parts *parts)
{
	struct request_state *r = request_of(st);

	if (!r)
		return;
	r->went.blocked_ns += parts->blocked_ns;
	r->went.runnable_ns += parts->runnable_ns;
	r->went.preempted_ns += parts->preempted_ns;
	r->waits_ns += parts->blocked_ns + parts->runnable_ns + parts->preempted_ns;
}

/* What was open at an edge is sent there and is in no account: see cut.bpf.h. */
static __always_inline void add_cut_times(const struct thread_state *st, struct offcpu_request_times *t)
{
	const struct request_state *r = request_of(st);

	if (!r)
		return;
	t->on_cpu_ns += r->cut.on_cpu_ns;
	t->blocked_ns += r->cut.blocked_ns;
	t->runnable_ns += r->cut.runnable_ns;
	t->preempted_ns += r->cut.preempted_ns;
}

/*
 * The thread runs without a seen switch-in. The scheduler's count of its CPU time shows since when, up to a tick late;
 * recover_switch_in() will use the same value for its account, so that no time counts twice.
 */
static __always_inline __u64 met_at(const struct task_struct *task, struct thread_state *st, __u64 now)
{
	__u64 ran = task->se.sum_exec_runtime - st->exec_ns, most = now - st->since_ns - 1;

	if (st->met_ns <= st->since_ns)
		st->met_ns = now - (ran < most ? ran : most);
	return st->met_ns;
}

__noinline int add_unended(const struct thread_state *st, struct offcpu_request_times *t, __u64 met_ns, __u64 now)
{
	struct wait_parts parts;

	if (!st || !t)
		return 0;
	split_wait(st, met_ns, false, &parts);
	t->blocked_ns += parts.blocked_ns;
	t->runnable_ns += parts.runnable_ns;
	t->preempted_ns += parts.preempted_ns;
	t->on_cpu_ns += now - met_ns;
	return 0;
}

/* The current thread's times so far. */
static __always_inline void request_times(const struct task_struct *task, struct thread_state *st, __u64 now,
					  struct offcpu_request_times *t)
{
	const struct offcpu_state_total *total = st->account.state;
	__u64 since = st->since_ns;

	if (cfg.by_goroutine) {
		const struct request_state *r = request_of(st);

		__builtin_memset(t, 0, sizeof(*t));
		if (r)
			goroutine_times(r, now, t);
		return;
	}
	t->on_cpu_ns = st->account.on_cpu_ns;
	t->blocked_ns = t->runnable_ns = t->preempted_ns = 0;
	if (st->mode == MODE_UNKNOWN && since < window.start_ns)	/* else a cut has sent it */
		since = st->from_ns > window.start_ns ? st->from_ns : window.start_ns;
	if ((st->mode == MODE_ON_CPU || st->mode == MODE_UNKNOWN) && since < now)
		t->on_cpu_ns += now - since;
#pragma unroll	/* the filtered total follows those of the states: see total_of() */
	for (int i = 0; i <= OFFCPU_STATE_COUNT; i++) {
		t->blocked_ns += total[i].blocked_ns;
		t->runnable_ns += total[i].runnable_ns;
		t->preempted_ns += total[i].preempted_ns;
	}
	if (rarely(st->mode != MODE_ON_CPU && st->mode != MODE_UNKNOWN && since + 1 < now))
		add_unended(st, t, met_at(task, st, now), now);
	if (cfg.requests_beside)
		add_cut_times(st, t);
}

static __always_inline void add_request(struct offcpu_request_times *sum, const struct offcpu_request_times *t)
{
	__sync_fetch_and_add(&sum->count, 1);
	__sync_fetch_and_add(&sum->wall_ns, t->wall_ns);
	__sync_fetch_and_add(&sum->on_cpu_ns, t->on_cpu_ns);
	__sync_fetch_and_add(&sum->blocked_ns, t->blocked_ns);
	__sync_fetch_and_add(&sum->runnable_ns, t->runnable_ns);
	__sync_fetch_and_add(&sum->preempted_ns, t->preempted_ns);
}

/* With many functions all CPUs share one sum. */
static __always_inline void raise_max(__u64 *max_ns, __u64 ns)
{
#pragma unroll
	for (int i = 0; i < 4; i++) {
		__u64 seen = *(volatile __u64 *)max_ns;

		if (ns <= seen || __sync_val_compare_and_swap(max_ns, seen, ns) == seen)
			break;
	}
}

static __always_inline __u32 request_slot(__u64 ns)
{
	__u32 exponent = log2_slot(ns), slot;

	if (exponent < 4)
		return ns & (OFFCPU_REQUEST_STEPS - 1);
	slot = offcpu_request_slot(ns, exponent);
	return slot < OFFCPU_REQUEST_SLOTS ? slot : OFFCPU_REQUEST_SLOTS - 1;
}

#include "features/requests/route.bpf.h"
#include "features/requests/part.bpf.h"
#include "features/requests/span.bpf.h"

/* It ended in the window; t: its times. */
__noinline int sum_request(struct request_state *r, const struct offcpu_request_times *t, bool by_exception)
{
	struct offcpu_request_sum *sum;
	__u64 known, rest;
	__u32 slot, func;

	if (!r || !t)
		return 0;
	func = r->func;		/* Linux 6.1 requires a map's key to be on the stack */
	if (cfg.requests_beside)
		func = 2 * func + is_second_half(r->start_ns + t->wall_ns);
	sum = bpf_map_lookup_elem(&request_sums, &func);
	if (!sum)
		return 0;
	add_request(&sum->all, t);
	if (by_exception)
		__sync_fetch_and_add(&sum->unwound_cnt, 1);
	raise_max(&sum->max_ns, t->wall_ns);
	slot = request_slot(t->wall_ns);
	barrier_var(slot);	/* clang knows the bound, the verifier does not */
	if (slot < OFFCPU_REQUEST_SLOTS)
		__sync_fetch_and_add(&sum->hist[slot], 1);
	known = t->on_cpu_ns + t->blocked_ns + t->runnable_ns + t->preempted_ns;
	rest = t->wall_ns > known ? t->wall_ns - known : known - t->wall_ns;
	if (rest && !cfg.by_goroutine)
		count_request(OFFCPU_REQUEST_RESIDUAL, 1, rest);
	if (!cfg.request_slower_ns || t->wall_ns < cfg.request_slower_ns)
		return 0;
	add_request(&sum->slow, t);
	if (!r->due_cnt || r->start_ns < r->due_since_ns)
		r->due_since_ns = r->start_ns;
	r->due_cnt = r->wait_cnt;
	if (r->start_ns < r->gone_before_ns)
		r->over_cnt += r->gone_cnt;
	if (r->over_cnt)
		count_request(OFFCPU_REQUEST_WAITS, r->over_cnt, r->over_ns);
	r->over_cnt = 0;
	r->over_ns = 0;
	return 0;
}

static __always_inline void count_begun_before(__u64 now)
{
	if (now >= window.start_ns)
		count_request(OFFCPU_REQUEST_AT_START, 1, 0);
}

/* The request has ended. now: time of *at. */
static __always_inline void end_request(struct request_state *r, struct offcpu_request_times *at, __u64 now,
					bool by_exception)
{
	r->is_active = 0;
	if (r->start_ns < window.start_ns) {
		count_begun_before(now);
	} else {
		at->wall_ns = now - r->start_ns;
		at->on_cpu_ns -= r->start.on_cpu_ns;
		at->blocked_ns -= r->start.blocked_ns;
		at->runnable_ns -= r->start.runnable_ns;
		at->preempted_ns -= r->start.preempted_ns;
		/* not in callees: a chain of calls has 512 bytes of stack */
		if (!cfg.named_routes || r->func != OFFCPU_REQUEST_NO_FUNC) {
			sum_request(r, at, by_exception);
			add_request_parts(r, at);
			tell_request(r, at, by_exception);
		}
		r->route_func = cfg.named_routes ? func_by_route(r) : OFFCPU_REQUEST_NO_FUNC;
		if (cfg.named_routes && r->route_func != OFFCPU_REQUEST_NO_FUNC) {
			r->func = r->route_func;
			sum_request(r, at, by_exception);
			add_request_parts(r, at);
		}
		r->note_cnt = 0;
	}
	r->wait_cnt = r->due_cnt;
}

/* It was left at an unknown time. */
__noinline int leave_request(struct request_state *r, __u64 now)
{
	if (!r)
		return 0;
	r->is_active = 0;
	r->wait_cnt = r->due_cnt;
	if (r->start_ns < window.start_ns)
		count_begun_before(now);
	else
		count_request(r->knows_site ? OFFCPU_REQUEST_LEFT : OFFCPU_REQUEST_NO_SITE,
			      r->open_cnt ? r->open_cnt : 1, now - r->start_ns);
	r->open_cnt = 0;
	return 0;
}

static __always_inline bool is_above(const struct request_state *r, __u64 sp)
{
	return r->has_sp && sp > r->sp && sp - r->sp < REQUEST_STACK;
}

/* The current account, and its time; the thread is current and may be preempted. */
static __always_inline __u64 request_now(const struct task_struct *task, struct thread_state *st,
					 struct offcpu_request_times *at)
{
	__u64 now = 0;

	for (int i = 0; i < 4; i++) {
		__u64 csw = *(volatile unsigned long *)&task->nvcsw + *(volatile unsigned long *)&task->nivcsw;

		now = bpf_ktime_get_ns();
		request_times(task, st, now, at);
		barrier();
		if (csw == *(volatile unsigned long *)&task->nvcsw + *(volatile unsigned long *)&task->nivcsw)
			break;
	}
	return now;
}

/* Is there a probe at that return address? If not, user space is asked for one, once. */
__noinline int knows_site(struct thread_state *st, __u64 addr, __u32 func)
{
	struct offcpu_rec_request_site rec = { .type = OFFCPU_REC_REQUEST_SITE, .func = func };
	__u32 asked = OFFCPU_SITE_ASKED, *state;

	if (!st)
		return 0;
	rec.site.addr = addr;
	rec.site.pid = st->pid;
	state = bpf_map_lookup_elem(&request_sites, &rec.site);
	if (state)
		return *state == OFFCPU_SITE_PROBED;
	if (bpf_map_update_elem(&request_sites, &rec.site, &asked, BPF_NOEXIST))
		return 0;
	if (ring_send(&rec, sizeof(rec))) {
		bpf_map_delete_elem(&request_sites, &rec.site);
		count_request(OFFCPU_REQUEST_RING, 1, 0);
	}
	return 0;
}

/* The current thread, if it is selected. */
static __always_inline struct thread_state *request_thread(struct task_struct *task)
{
	struct thread_state *st = thread_of(task);

	return st && st->selected ? st : NULL;
}

/* A cut is no end: a request that ends after the edge belongs to the next window. */
static __always_inline __u64 requests_stop_ns(void)
{
	return cfg.requests_beside ? ~0ULL : window.stop_ns;
}

/* Reads the clock only if necessary. */
static __always_inline bool is_after_window(void)
{
	__u64 stop_ns = requests_stop_ns();

	return stop_ns != ~0ULL && bpf_ktime_get_ns() >= stop_ns;
}

static __always_inline void begin_request(struct task_struct *task, struct thread_state *st, struct request_state *r)
{
	if (cfg.by_goroutine)
		begin_goroutine(st, r);
	r->start_ns = request_now(task, st, &r->start);
	r->over_cnt = 0;
	r->over_ns = 0;
	r->wait_cnt = r->due_cnt;
	r->note_cnt = 0;
	r->flags = 0;
	r->tno = st->tno;
	forget_route(r);
	barrier();
	r->is_active = 1;
}

static __always_inline struct request_state *request_to_begin(struct thread_state *st)
{
	if (!st->request && !take_request(st)) {
		count_request(OFFCPU_REQUEST_NO_ROOM, 1, 0);
		return NULL;
	}
	return request_of(st);
}

#include "features/requests/calls.bpf.h"

/* A Go function reaches this place twice in one call if its stack was too short and has moved. */
static __always_inline bool is_begun_again(const struct request_state *r, __u64 sp, __u64 ret, __u32 func)
{
	return cfg.by_goroutine && r->has_moved && sp == r->sp && ret == r->ret && func == r->func;
}

/* At the entry of a function, before anything is pushed; the cookie is its number. */
SEC("uprobe")
int request_enter(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *st = request_thread(task);
	__u32 func = bpf_get_attach_cookie(ctx);
	__u64 sp = ctx->sp, ret = 0, goroutine = 0;
	struct request_state *r;

	if (!st || is_after_window())
		return 0;
	if (cfg.by_goroutine) {
		goroutine = ctx->REG_GOROUTINE;
		sp = goroutine_runs(st, goroutine, sp, true);
		if (!sp)
			return count_request(OFFCPU_REQUEST_NO_GOROUTINE, 1, 0);
		goroutine_resumes(st);
	}
	r = request_to_begin(st);
	if (!r)
		return 0;
	if (cfg.by_goroutine && !r->is_active && !name_goroutine(st, goroutine)) {
		count_request(OFFCPU_REQUEST_NO_ROOM, 1, 0);
		return free_goroutine(st, goroutine);
	}
	if (cfg.by_goroutine)
		r->goroutine = goroutine;
	if (!return_address(ctx, &ret))
		return 0;
	if (r->is_active) {
		if (is_begun_again(r, sp, ret, func))
			return 0;
		if (!is_above(r, sp) && (sp != r->sp || (ret == r->ret && func != r->func))) {
			r->flags |= func == r->func ? OFFCPU_SPAN_RECURSED : OFFCPU_SPAN_NESTED;
			if (cfg.want_calls)
				return begin_call(st, r, func, sp, ret);
			if (r->start_ns >= window.start_ns)
				count_request(OFFCPU_REQUEST_NESTED, 1, 0);
			return 0;
		}
		leave_request(r, bpf_ktime_get_ns());
	}
	r->func = func;
	r->sp = sp;
	r->ret = ret;
	r->has_sp = 1;
	r->knows_site = knows_site(st, ret, func);
	begin_request(task, st, r);
	begin_outermost_call(r);
	return 0;
}

/* At a call's return address. */
SEC("uprobe")
int request_return(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *st = request_thread(task);
	__u64 sp = ctx->sp, now;
	struct request_state *r;
	struct offcpu_request_times at;

	if (cfg.by_goroutine) {
		sp = goroutine_runs(st, ctx->REG_GOROUTINE, sp, false);
		goroutine_resumes(st);
	}
	r = st && sp ? request_of(st) : NULL;
	if (!r || !r->is_active)
		return 0;
	if (cfg.want_calls) {
		end_calls(st, r, sp - RETURN_POPS, false);
	} else if (!r->has_sp) {
		return 0;
	} else if (sp != r->sp + RETURN_POPS) {
		if (is_above(r, sp))
			leave_request(r, bpf_ktime_get_ns());
	} else {
		now = request_now(task, st, &at);
		know_route(task, st, r, now);
		if (now < requests_stop_ns())
			end_request(r, &at, now, false);
	}
	if (cfg.by_goroutine && !r->is_active)
		free_goroutine(st, ctx->REG_GOROUTINE);
	return 0;
}

#include "runtimes/go/park.bpf.h"

/* At __cxa_begin_catch() and _Unwind_Resume(): is the current frame outside the request? */
SEC("uprobe")
int request_catch(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *st = request_thread(task);
	struct request_state *r = st ? request_of(st) : NULL;
	struct offcpu_request_times at;
	__u64 now;

	if (!r || !r->is_active)
		return 0;
	if (cfg.want_calls)
		return end_calls(st, r, ctx->sp, true);
	if (!r->has_sp || ctx->sp < r->sp || ctx->sp - r->sp >= REQUEST_STACK)
		return 0;
	now = request_now(task, st, &at);
	if (now < requests_stop_ns())
		end_request(r, &at, now, true);
	return 0;
}

/* A pair of probes in the program's source (USDT). */
SEC("uprobe")
int request_start(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *st = request_thread(task);
	struct request_state *r;

	if (!st || is_after_window())
		return 0;
	r = request_to_begin(st);
	if (!r)
		return 0;
	if (cfg.want_calls && begin_pair(st, r, bpf_get_attach_cookie(ctx)))
		return 0;
	if (r->is_active)
		leave_request(r, bpf_ktime_get_ns());
	r->func = bpf_get_attach_cookie(ctx);
	r->has_sp = 0;
	r->sp = r->ret = 0;
	r->knows_site = 1;
	begin_request(task, st, r);
	begin_outermost_call(r);
	return 0;
}

SEC("uprobe")
int request_done(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *st = request_thread(task);
	struct request_state *r = st ? request_of(st) : NULL;
	struct offcpu_request_times at;
	__u64 now;

	if (!r || !r->is_active)
		return 0;
	if (cfg.want_calls)
		return end_pair(st, r, bpf_get_attach_cookie(ctx));
	if (r->func != (__u32)bpf_get_attach_cookie(ctx))
		return 0;
	now = request_now(task, st, &at);
	know_route(task, st, r, now);
	if (now < requests_stop_ns())
		end_request(r, &at, now, false);
	return 0;
}

#endif
