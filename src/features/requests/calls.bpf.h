/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef FEATURES_REQUESTS_CALLS_BPF_H
#define FEATURES_REQUESTS_CALLS_BPF_H

/*
 * Nested calls of several functions: their times, and the parts spent in other traced ones. The outermost call is the
 * request. A call is identified by the stack pointer at its entry, like the request: when the stack pointer is above
 * that the call has ended.
 *
 * For recursive functions only the outermost call counts with its whole time, so that no time counts twice; each call
 * counts with its self time. So the self times of all functions add up to the requests' time.
 *
 * Only included by features/requests/request.bpf.h.
 */

struct request_call {
	__u32 func;
	__u8 has_sp;
	__u8 is_inner;		/* the function is on the call stack already */
	__u8 pad[2];
	__u64 sp, ret, start_ns;
	struct offcpu_request_times start;	/* the thread's account at its start */
	struct offcpu_request_times inside;	/* of completed calls inside it */
};

struct request_stack {
	struct request_call call[OFFCPU_REQUEST_CALLS_MAX];
};

/* One for each thread, like request_states. */
MAP(request_stacks, ARRAY, __u32, struct request_stack, 1);
MAP(request_calls, PERCPU_ARRAY, __u32, struct offcpu_request_calls, 1);

static __always_inline struct request_stack *request_stack(const struct request_state *r)
{
	__u32 number = r->number;

	return bpf_map_lookup_elem(&request_stacks, &number);
}

static __always_inline struct request_call *call_at(struct request_stack *s, __u32 i)
{
	i &= OFFCPU_REQUEST_CALLS_MAX - 1;
	barrier_var(i);		/* clang knows the bound, the verifier does not */
	return &s->call[i];
}

static __always_inline void begin_outermost_call(struct request_state *r)
{
	struct request_stack *s = cfg.want_calls ? request_stack(r) : NULL;
	struct request_call *c;

	if (!s)
		return;
	c = call_at(s, 0);
	c->func = r->func;
	c->has_sp = r->has_sp;
	c->is_inner = 0;
	c->sp = r->sp;
	c->ret = r->ret;
	c->start_ns = r->start_ns;
	c->start = r->start;
	__builtin_memset(&c->inside, 0, sizeof(c->inside));
	r->call_cnt = 1;
}

/*
 * The innermost call has ended at an unknown time. Global functions, this and those below that search the calls: for
 * the verifier of Linux 6.1 their result is any number, and it would check all that follows for each possible one.
 */
__noinline int drop_call(struct request_state *r)
{
	if (!cfg.want_calls || !r)
		return 0;
	if (r->call_cnt <= 1) {
		leave_request(r, bpf_ktime_get_ns());
		r->call_cnt = 0;
		return 0;
	}
	r->call_cnt--;
	if (r->start_ns >= window.start_ns)
		count_request(OFFCPU_REQUEST_CALLS, 1, 0);
	return 0;
}

static __always_inline void add_times(struct offcpu_request_times *sum, const struct offcpu_request_times *t)
{
	__sync_fetch_and_add(&sum->wall_ns, t->wall_ns);
	__sync_fetch_and_add(&sum->on_cpu_ns, t->on_cpu_ns);
	__sync_fetch_and_add(&sum->blocked_ns, t->blocked_ns);
	__sync_fetch_and_add(&sum->runnable_ns, t->runnable_ns);
	__sync_fetch_and_add(&sum->preempted_ns, t->preempted_ns);
}

/* Not atomic: only its thread uses it. */
static __always_inline void move_times(struct offcpu_request_times *t, const struct offcpu_request_times *by,
				       __s64 sign)
{
	t->wall_ns += sign * by->wall_ns;
	t->on_cpu_ns += sign * by->on_cpu_ns;
	t->blocked_ns += sign * by->blocked_ns;
	t->runnable_ns += sign * by->runnable_ns;
	t->preempted_ns += sign * by->preempted_ns;
}

/* The innermost call, which is not a request or is also summed, has returned. at: the account at now. */
__noinline int sum_call(struct request_state *r, const struct offcpu_request_times *at, __u64 now)
{
	struct offcpu_request_times took;
	struct offcpu_request_calls *sums;
	struct request_stack *s;
	struct request_call *c;
	__u32 cnt, func;

	if (!cfg.want_calls || !r || !at)
		return 0;
	s = request_stack(r);
	cnt = r->call_cnt;
	if (!s || !cnt)
		return 0;
	c = call_at(s, cnt - 1);
	took = *at;
	took.wall_ns = now;
	move_times(&took, &c->start, -1);
	took.wall_ns = now - c->start_ns;
	r->call_cnt = cnt - 1;
	if (cnt > 1)
		move_times(&call_at(s, cnt - 2)->inside, &took, 1);
	if (r->start_ns < window.start_ns)
		return 0;
	func = c->func;
	sums = bpf_map_lookup_elem(&request_calls, &func);
	if (!sums)
		return 0;
	__sync_fetch_and_add(&sums->all.count, 1);
	if (!c->is_inner)
		add_times(&sums->all, &took);
	move_times(&took, &c->inside, -1);
	add_times(&sums->self, &took);
	return 0;
}

/* The innermost call has returned; if it is the outermost, so has the request, for which *at is overwritten. */
__noinline int end_call(struct request_state *r, struct offcpu_request_times *at, __u64 now, bool by_exception)
{
	bool is_request;

	if (!cfg.want_calls || !r || !at)
		return 0;
	is_request = r->call_cnt == 1;
	sum_call(r, at, now);
	if (is_request)
		end_request(r, at, now, by_exception);
	return 0;
}

static __always_inline bool is_at_or_below(const struct request_call *c, __u64 sp)
{
	return c->has_sp && sp >= c->sp && sp - c->sp < REQUEST_STACK;
}

/* How many calls, from the outermost on, are above that stack pointer. */
__noinline __u32 calls_above(const struct request_state *r, __u64 sp)
{
	struct request_stack *s;
	__u32 i, cnt;

	if (!cfg.want_calls || !r)
		return 0;
	s = request_stack(r);
	cnt = r->call_cnt;
	for (i = 0; s && i < OFFCPU_REQUEST_CALLS_MAX; i++)
		if (i >= cnt || is_at_or_below(call_at(s, i), sp))
			break;
	return i;
}

/* The calls entered at that stack pointer return, or after an exception those below it, too. */
__noinline int end_calls(struct thread_state *st, struct request_state *r, __u64 sp, bool by_exception)
{
	struct offcpu_request_times at;
	struct request_stack *s;
	__u32 left;
	__u64 now;

	if (!cfg.want_calls || !st || !r)
		return 0;
	s = request_stack(r);
	if (!s)
		return 0;
	left = calls_above(r, sp);
	if (left >= r->call_cnt)
		return 0;
	now = request_now(bpf_get_current_task_btf(), st, &at);
	if (now >= window.stop_ns)
		return 0;
	for (int i = 0; i < OFFCPU_REQUEST_CALLS_MAX; i++) {
		const struct request_call *c;

		if (r->call_cnt <= left)
			break;
		c = call_at(s, r->call_cnt - 1);
		if (c->has_sp && (by_exception || c->sp == sp))
			end_call(r, &at, now, by_exception);
		else
			drop_call(r);
	}
	return 0;
}

__noinline int is_being_called(const struct request_state *r, __u32 func)
{
	struct request_stack *s;
	__u32 cnt;

	if (!cfg.want_calls || !r)
		return false;
	s = request_stack(r);
	cnt = r->call_cnt;
	for (__u32 i = 0; s && i < OFFCPU_REQUEST_CALLS_MAX; i++) {
		if (i >= cnt)
			break;
		if (call_at(s, i)->func == func)
			return true;
	}
	return false;
}

/* Pushes a call; NULL: no room. */
static __always_inline struct request_call *push_call(struct thread_state *st, struct request_state *r,
						      struct request_stack *s, __u32 func)
{
	__u32 cnt = r->call_cnt;
	struct request_call *c;

	if (cnt >= OFFCPU_REQUEST_CALLS_MAX) {
		if (r->start_ns >= window.start_ns)
			count_request(OFFCPU_REQUEST_DEPTH, 1, 0);
		return NULL;
	}
	c = call_at(s, cnt);
	c->func = func;
	c->is_inner = is_being_called(r, func);
	c->has_sp = 0;
	c->sp = c->ret = 0;
	__builtin_memset(&c->inside, 0, sizeof(c->inside));
	c->start_ns = request_now(bpf_get_current_task_btf(), st, &c->start);
	return c;
}

/*
 * A call inside a request. Calls that the stack pointer has left are dropped; but a tail call has the same stack
 * pointer.
 */
__noinline int begin_call(struct thread_state *st, struct request_state *r, __u32 func, __u64 sp, __u64 ret)
{
	struct request_stack *s;
	struct request_call *c;

	if (!cfg.want_calls || !st || !r)
		return 0;
	s = request_stack(r);
	if (!s)
		return 0;
	for (int i = 0; i < OFFCPU_REQUEST_CALLS_MAX; i++) {
		if (r->call_cnt <= 1)
			break;
		c = call_at(s, r->call_cnt - 1);
		if (!is_at_or_below(c, sp) || (c->sp == sp && c->ret == ret && c->func != func))
			break;
		drop_call(r);
	}
	knows_site(st, ret, func);
	c = push_call(st, r, s, func);
	if (!c)
		return 0;
	c->has_sp = 1;
	c->sp = sp;
	c->ret = ret;
	r->call_cnt++;
	return 0;
}

/* The number of calls around the innermost open pair of probes with that number, or all. */
__noinline __u32 calls_around_pair(const struct request_state *r, __u32 func)
{
	struct request_stack *s;
	__u32 cnt;

	if (!cfg.want_calls || !r)
		return 0;
	s = request_stack(r);
	cnt = r->call_cnt;
	for (__u32 i = 0; s && i < OFFCPU_REQUEST_CALLS_MAX; i++) {
		const struct request_call *c;

		if (i >= cnt)
			break;
		c = call_at(s, cnt - 1 - i);
		if (c->func == func && !c->has_sp)
			return cnt - 1 - i;
	}
	return cnt;
}

__noinline int drop_calls(struct request_state *r, __u32 left)
{
	if (!cfg.want_calls || !r)
		return 0;
	for (int i = 0; i < OFFCPU_REQUEST_CALLS_MAX; i++) {
		if (r->call_cnt <= left)
			break;
		drop_call(r);
	}
	return 0;
}

/* A pair begins. False: it is a request. */
__noinline int begin_pair(struct thread_state *st, struct request_state *r, __u32 func)
{
	struct request_stack *s;

	if (!cfg.want_calls || !st || !r || !r->is_active)
		return false;
	s = request_stack(r);
	if (!s)
		return false;
	drop_calls(r, calls_around_pair(r, func));
	if (!r->is_active)
		return false;
	r->flags |= func == r->func ? OFFCPU_SPAN_RECURSED : OFFCPU_SPAN_NESTED;
	if (push_call(st, r, s, func))
		r->call_cnt++;
	return true;
}

__noinline int end_pair(struct thread_state *st, struct request_state *r, __u32 func)
{
	struct offcpu_request_times at;
	__u32 around;
	__u64 now;

	if (!cfg.want_calls || !st || !r)
		return 0;
	around = calls_around_pair(r, func);
	if (around >= r->call_cnt)
		return 0;
	now = request_now(bpf_get_current_task_btf(), st, &at);
	if (now >= window.stop_ns)
		return 0;
	drop_calls(r, around + 1);
	end_call(r, &at, now, false);
	return 0;
}

#endif
