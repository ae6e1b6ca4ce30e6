/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_REQUEST_ROUTE_BPF_H
#define BPF_REQUEST_ROUTE_BPF_H

#include "bpf/request.bpf.h"
#include "bpf/stack.bpf.h"

/*
 * Requests by connection under the name of their route.  A route is what the trace context of the thread says as it
 * answers; where it has none any more, what it said when the thread waited last.  Attributes cross once for each
 * program, and user space says which name they fit.
 */

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, OFFCPU_REQUEST_ROUTES_MAX);
	__type(key, __u64);	/* of a program and its attributes */
	__type(value, __u32);	/* as what it is called a request; or OFFCPU_REQUEST_ASKED, OFFCPU_REQUEST_NO_FUNC */
} request_routes SEC(".maps");

struct route_scratch {
	struct walk_state walk;
	struct context_scratch context;
};

/* Its program alone uses it, which does not run twice on a CPU at a time. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct route_scratch);
} route_scratches SEC(".maps");

static __always_inline void ask_for_route(const struct thread_state *st, struct context_scratch *s, __u64 id, __u64 now)
{
	__u32 asked = OFFCPU_REQUEST_ASKED;

	if (bpf_map_update_elem(&request_routes, &id, &asked, BPF_NOEXIST))
		return;
	fill_context(st, s, id, 0, now);
	s->rec.type = OFFCPU_REC_REQUEST_ROUTE;
	if (ring_send(&s->rec, sizeof(s->rec)))
		bpf_map_delete_elem(&request_routes, &id);
}

/* The thread's attributes were read, for a wait or an answer.  A global function: the verifier checks it once. */
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
	if (!bpf_map_lookup_elem(&request_routes, &id))
		ask_for_route(st, s, id, now);
	if (r->open_cnt == 1)	/* of several the thread may have waited for another one */
		r->route = id;
	return 0;
}

/* What the current thread, which answers, works for; 0: it does not tell. */
static __always_inline __u64 route_of_answer(struct task_struct *task, struct thread_state *st, __u64 now)
{
	struct route_scratch *x = bpf_map_lookup_elem(&route_scratches, (const void *)&small_keys[0]);

	know_tables(task, st);
	if (!x || !(st->speaks & SPACE_HAS_CONTEXT))
		return 0;
	x->walk.view.pgd = 0;
	x->walk.in_parents = is_in_parents(task, st);
	x->walk.thread_pointer = thread_pointer(plain(task));
	x->context.route = 0;
	context_stack(st, &x->walk, &x->context, 0, now);
	return x->context.route;
}

/* Which of what is called a request the one that is answered is by its route.  func: by its port. */
static __always_inline __u32 func_of_answer(struct task_struct *task, struct thread_state *st,
					    const struct request_state *r, __u32 func, __u64 now)
{
	__u64 id = route_of_answer(task, st, now) ?: r->open_cnt == 1 ? r->route : 0;
	__u32 *known = id ? bpf_map_lookup_elem(&request_routes, &id) : NULL;

	if (known && *known != OFFCPU_REQUEST_ASKED)
		return *known;
	if (func == OFFCPU_REQUEST_NO_FUNC)
		count_request(id ? OFFCPU_REQUEST_NEW_ROUTE : OFFCPU_REQUEST_NO_ROUTE, 1, 0);
	return OFFCPU_REQUEST_NO_FUNC;
}

#endif
