/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef FEATURES_REQUESTS_SPAN_BPF_H
#define FEATURES_REQUESTS_SPAN_BPF_H

/*
 * Requests one by one. User space keeps all of the slowest and a sample of the others. It sets the latency from which
 * a request may be among the slowest, and the sampling rate of the others. The sums have the total numbers.
 *
 * Only included by features/requests/request.bpf.h.
 */

volatile __u64 span_from_ns = 0;	/* requests this slow are all sent */
volatile __u32 span_shift = 0;		/* of the others one in 2^span_shift is */

/* It ended in the window. */
__noinline int tell_request(struct request_state *r, const struct offcpu_request_times *t, bool by_exception)
{
	struct offcpu_rec_request_span *span;
	__u32 number, shift = span_shift, cnt;
	__u64 size;
	bool is_slowest;

	if (!cfg.want_spans || !r || !t)
		return 0;
	is_slowest = t->wall_ns >= span_from_ns || is_slow_of_route(r, t->wall_ns);
	if (shift > OFFCPU_REQUEST_SHIFT_MAX)
		shift = OFFCPU_REQUEST_SHIFT_MAX;
	if (!is_slowest && bpf_get_prandom_u32() & ((1U << shift) - 1))
		return 0;
	number = r->number;
	span = bpf_map_lookup_elem(&request_notes, &number);
	if (!span)
		return 0;
	cnt = r->note_cnt;
	barrier_var(cnt);	/* clang knows the bound, the verifier does not */
	if (cnt > OFFCPU_REQUEST_NOTES_MAX)
		cnt = OFFCPU_REQUEST_NOTES_MAX;
	span->type = OFFCPU_REC_REQUEST_SPAN;
	span->func = r->func;
	span->tno = r->tno;
	span->flags = r->flags | (by_exception ? OFFCPU_SPAN_THROWN : 0) | (is_slowest ? OFFCPU_SPAN_SLOWEST : 0);
	span->shift = shift;
	span->note_cnt = cnt;
	span->start_ns = r->start_ns;
	span->wall_ns = t->wall_ns;
	span->on_cpu_ns = t->on_cpu_ns;
	span->blocked_ns = t->blocked_ns;
	span->runnable_ns = t->runnable_ns;
	span->preempted_ns = t->preempted_ns;
	span->route = r->route;
	span->trace[0] = r->trace[0];
	span->trace[1] = r->trace[1];
	span->trace[2] = r->trace[2];
	size = __builtin_offsetof(struct offcpu_rec_request_span, note) + cnt * sizeof(span->note[0]);
	barrier_var(size);
	if (size > sizeof(*span))
		return 0;
	if (ring_send(span, size))
		count_request(OFFCPU_REQUEST_SPANS, 1, t->wall_ns);
	return 0;
}

#endif
