/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RUNTIMES_GO_REQUEST_BPF_H
#define RUNTIMES_GO_REQUEST_BPF_H

/*
 * Requests of Go programs are goroutines', which move from thread to thread.  A register holds the goroutine that runs
 * (REG_GOROUTINE), in Go's code and in the system calls that it makes, so requests are found by that: the state of one
 * is a goroutine's, and a thread has it only as long as it runs that.
 *
 * Stacks move as they grow, so stack pointers are counted from the stack's upper end: that distance stays.
 *
 * Go's scheduler is probed where it takes a goroutine off its thread and puts it on one: request_park.bpf.h.  Between
 * these the waits of the thread are the goroutine's, whatever runs there for it: Go's code, the runtime's, or C.
 *
 * Only included by features/requests/request.bpf.h.
 */

#define GO_STACK_TOP (1ULL << 40)
#define GO_STACK_MAX (1ULL << 31)	/* runtime.maxstackceiling is twice 1 GB */

/* struct g of Go's runtime begins with it (src/runtime/runtime2.go). */
struct go_stack {
	__u64 lo, hi;
};

struct goroutine {
	__u64 address;
	__u32 pid, pad;
};

enum goroutine_where {
	GOROUTINE_RUNS = 0,	/* on a thread */
	GOROUTINE_PARKED,	/* it waits for something */
	GOROUTINE_QUEUED,	/* it was preempted or has yielded, and may go on */
};

MAP(request_goroutines, HASH, struct goroutine, __u32, 1);	/* number of its state; user space says how many */

static __always_inline bool runs_here(const struct request_state *r, const struct thread_state *st)
{
	return r->where == GOROUTINE_RUNS && r->runner == st->tno;
}

__noinline int goroutine_resumes(struct thread_state *st);

/* The request has just begun, and its goroutine runs. */
static __always_inline void begin_goroutine(const struct thread_state *st, struct request_state *r)
{
	__builtin_memset(&r->went, 0, sizeof(r->went));
	r->ran_ns = r->waits_ns = 0;
	r->where = GOROUTINE_RUNS;
	r->runner = st->tno;
	r->run_since_ns = bpf_ktime_get_ns();
}

/* What it has done so far; on a CPU is what its threads did not wait while they ran it. */
static __always_inline void goroutine_times(const struct request_state *r, __u64 now, struct offcpu_request_times *t)
{
	__u64 ran_ns = r->ran_ns;

	*t = r->went;
	if (r->where == GOROUTINE_RUNS && now > r->run_since_ns)
		ran_ns += now - r->run_since_ns;
	t->on_cpu_ns = ran_ns > r->waits_ns ? ran_ns - r->waits_ns : 0;
}

/*
 * The thread runs that goroutine: its state is the thread's.  Tells the stack pointer as the distance below
 * GO_STACK_TOP; 0: no goroutine runs, or, unless a request begins, none in a request.
 */
__noinline __u64 goroutine_runs(struct thread_state *st, __u64 address, __u64 sp, bool begins)
{
	struct goroutine key = { .address = address };
	struct request_state *r;
	struct go_stack stack;
	__u32 *number;

	if (!cfg.by_goroutine || !st)
		return 0;
	key.pid = st->pid;
	number = bpf_map_lookup_elem(&request_goroutines, &key);
	st->request = number ? *number + 1 : 0;
	if (!number && !begins)
		return 0;
	if (bpf_probe_read_user(&stack, sizeof(stack), (void *)address) || stack.hi - stack.lo > GO_STACK_MAX ||
	    sp - stack.lo > stack.hi - stack.lo)
		return 0;
	r = request_of(st);
	if (r) {
		r->has_moved = r->stack_top != stack.hi;
		r->stack_top = stack.hi;
	}
	return GO_STACK_TOP - (stack.hi - sp);
}

/* The thread has taken a state, which is the goroutine's.  False: there is no room. */
__noinline int name_goroutine(struct thread_state *st, __u64 address)
{
	struct goroutine key = { .address = address };
	__u32 number;

	if (!cfg.by_goroutine || !st || !st->request)
		return 0;
	key.pid = st->pid;
	number = st->request - 1;
	return !bpf_map_update_elem(&request_goroutines, &key, &number, BPF_ANY);
}

/* It is in no request any more, and its state another's to take. */
__noinline int free_goroutine(struct thread_state *st, __u64 address)
{
	struct goroutine key = { .address = address };
	struct request_state *r;

	if (!cfg.by_goroutine || !st)
		return 0;
	key.pid = st->pid;
	bpf_map_delete_elem(&request_goroutines, &key);
	r = request_of(st);
	st->request = 0;
	if (r)
		__sync_lock_test_and_set(&r->is_taken, 0);
	return 0;
}

#endif
