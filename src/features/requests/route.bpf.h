/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef FEATURES_REQUESTS_ROUTE_BPF_H
#define FEATURES_REQUESTS_ROUTE_BPF_H

#include "bpf/walk/stack.bpf.h"

/*
 * A request's route and trace: from its thread's trace context at its end, or if that is empty by then, at the
 * thread's last wait. Attributes cross once for each program. User space returns their name, and the latency from
 * which requests may be among the slowest of the route.
 *
 * Only included by features/requests/request.bpf.h.
 */

/* Key: a program and its attributes. */
MAP(request_routes, LRU_HASH, __u64, struct offcpu_request_route, OFFCPU_REQUEST_ROUTES_MAX);

struct route_scratch {
	struct walk_state walk;
	struct context_scratch context;
};

/*
 * By connection: one for each CPU, since a tracepoint's program does not run twice on one at a time. Otherwise one for
 * each thread, like request_states, since probes' programs may be preempted.
 */
MAP(route_scratches, ARRAY, __u32, struct route_scratch, 1);

static __always_inline void ask_for_route(const struct thread_state *st, struct context_scratch *s, __u64 id, __u64 now)
{
	struct offcpu_request_route asked = { .func = OFFCPU_REQUEST_ASKED };

	if (bpf_map_update_elem(&request_routes, &id, &asked, BPF_NOEXIST))
		return;
	fill_context(st, s, id, 0, now);
	s->rec.type = OFFCPU_REC_REQUEST_ROUTE;
	if (ring_send(&s->rec, sizeof(s->rec)))
		bpf_map_delete_elem(&request_routes, &id);
}

static __always_inline void set_route(struct request_state *r, const struct context_scratch *s)
{
	r->route = s->route;
	context_trace(s, r->trace);
}

static __always_inline void forget_route(struct request_state *r)
{
	r->route = 0;
	r->trace[0] = r->trace[1] = r->trace[2] = 0;
}

/* The thread's context was read, for a wait or at a request's end. A global function: the verifier checks it once. */
__noinline int saw_route(struct thread_state *st, struct context_scratch *s, __u64 now)
{
	struct request_state *r;
	__u64 id;

	if (!cfg.want_routes || !st || !s)
		return 0;
	r = request_of(st);
	id = s->route;
	if (!r || !r->is_active)
		return 0;
	if (id && !bpf_map_lookup_elem(&request_routes, &id))
		ask_for_route(st, s, id, now);
	if (r->open_cnt <= 1)	/* with several open requests the thread may have waited for another one */
		set_route(r, s);
	return 0;
}

/* A request of the current thread ends. */
static __noinline int know_route(struct task_struct *task, struct thread_state *st, struct request_state *r, __u64 now)
{
	struct route_scratch *x;
	__u32 number;

	if (!cfg.want_routes || !task || !st || !r)
		return 0;
	number = cfg.by_connection ? 0 : r->number;
	if (r->open_cnt > 1)
		forget_route(r);
	x = bpf_map_lookup_elem(&route_scratches, &number);
	know_tables(task, st);
	if (!x || !(st->speaks & SPACE_HAS_CONTEXT))
		return 0;
	x->walk.view.pgd = 0;
	x->walk.in_parents = is_in_parents(task, st);
	x->walk.thread_pointer = thread_pointer(plain(task));
	context_stack(st, &x->walk, &x->context, 0, now);
	if (x->context.tno == st->tno && r->open_cnt > 1)
		set_route(r, &x->context);
	return 0;
}

/* The number of the request's name by its route. */
static __always_inline __u32 func_by_route(const struct request_state *r)
{
	__u64 id = r->route;
	struct offcpu_request_route *known = id ? bpf_map_lookup_elem(&request_routes, &id) : NULL;

	if (known && known->func != OFFCPU_REQUEST_ASKED)
		return known->func;
	if (r->func == OFFCPU_REQUEST_NO_FUNC)
		count_request(id ? OFFCPU_REQUEST_NEW_ROUTE : OFFCPU_REQUEST_NO_ROUTE, 1, 0);
	return OFFCPU_REQUEST_NO_FUNC;
}

/* May it be one of the slowest of its route? */
static __always_inline bool is_slow_of_route(const struct request_state *r, __u64 wall_ns)
{
	__u64 id = r->route;
	struct offcpu_request_route *known = cfg.want_routes && id ? bpf_map_lookup_elem(&request_routes, &id) : NULL;

	return known && wall_ns >= known->from_ns;
}

#endif
