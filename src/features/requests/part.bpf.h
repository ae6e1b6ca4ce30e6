/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef FEATURES_REQUESTS_PART_BPF_H
#define FEATURES_REQUESTS_PART_BPF_H

/*
 * What requests of similar latency did, to compare the slowest with the others. A request's latency is known at its
 * end: until then its waits are noted with it, summed by stacks, and then added to the sums of its latency. They are
 * listed as usual.
 *
 * Only included by features/requests/request.bpf.h.
 */

/* One for each thread, like request_states; in the format of the record. */
MAP(request_notes, ARRAY, __u32, struct offcpu_rec_request_span, 1);
MAP(request_parts, HASH, struct offcpu_request_part_key, struct offcpu_request_part, OFFCPU_REQUEST_PARTS_MAX);

const volatile __u64 no_part[sizeof(struct offcpu_request_part) / sizeof(__u64)] = {};

static __always_inline bool is_note_of(const struct offcpu_request_note *n, const struct offcpu_wait_key *key)
{
	return n->ustack == key->ustack && n->kstack == key->kstack && n->object == key->object &&
	       n->state == key->state;
}

/* Finds the note for such waits, or takes a new one; without room they share the last one. */
static __always_inline void claim_note(struct request_state *r, struct offcpu_request_note *n, __u32 i,
				       const struct offcpu_wait_key *key)
{
	bool is_new = i >= r->note_cnt, is_shared = !is_new && !is_note_of(n, key);

	if (is_new) {
		n->count = 0;
		n->blocked_ns = n->runnable_ns = n->preempted_ns = 0;
		r->note_cnt = i + 1;
	}
	if (is_shared)
		r->flags |= OFFCPU_SPAN_MORE;
	if (is_new || is_shared) {
		n->ustack = is_shared ? 0 : key->ustack;
		n->kstack = is_shared ? 0 : key->kstack;
		n->object = is_shared ? 0 : key->object;
		n->state = is_shared ? '?' : key->state;
	}
}

/* A wait inside a request has ended. A global function: the verifier checks it once. */
__noinline int note_for_request(struct thread_state *st, const struct offcpu_wait_key *key,
				const struct wait_parts *parts)
{
	struct offcpu_rec_request_span *notes;
	struct request_state *r;
	__u32 number;

	if (!cfg.want_requests || !st || !key || !parts)
		return 0;
	number = st->request - 1;
	r = bpf_map_lookup_elem(&request_states, &number);
	notes = bpf_map_lookup_elem(&request_notes, &number);
	if (!r || !notes || !r->is_active)
		return 0;
	r->tno = st->tno;
	for (__u32 i = 0; i < OFFCPU_REQUEST_NOTES_MAX; i++) {
		struct offcpu_request_note *n = &notes->note[i];

		if (i < r->note_cnt && i < OFFCPU_REQUEST_NOTES_MAX - 1 && !is_note_of(n, key))
			continue;
		claim_note(r, n, i, key);
		n->count++;
		n->blocked_ns += parts->blocked_ns;
		n->runnable_ns += parts->runnable_ns;
		n->preempted_ns += parts->preempted_ns;
		break;
	}
	return 0;
}

static __always_inline struct offcpu_request_part *request_part(const struct offcpu_request_part_key *key)
{
	struct offcpu_request_part *p = bpf_map_lookup_elem(&request_parts, key);

	if (p)
		return p;
	bpf_map_update_elem(&request_parts, key, (const void *)no_part, BPF_NOEXIST);
	return bpf_map_lookup_elem(&request_parts, key);
}

static __always_inline void add_note(const struct offcpu_request_part_key *key, const struct offcpu_request_note *n,
				     __u32 tno)
{
	struct offcpu_request_part *p = request_part(key);

	if (!p) {
		count_request(OFFCPU_REQUEST_PARTS, n->count, n->blocked_ns + n->runnable_ns + n->preempted_ns);
		return;
	}
	p->tno = tno;
	__sync_fetch_and_add(&p->requests, 1);
	__sync_fetch_and_add(&p->waits, n->count);
	__sync_fetch_and_add(&p->blocked_ns, n->blocked_ns);
	__sync_fetch_and_add(&p->runnable_ns, n->runnable_ns);
	__sync_fetch_and_add(&p->preempted_ns, n->preempted_ns);
}

/* It ended in the window. */
__noinline int add_request_parts(struct request_state *r, const struct offcpu_request_times *t)
{
	struct offcpu_request_part_key key = {};
	struct offcpu_request_part *p;
	struct offcpu_rec_request_span *notes;
	__u32 number;

	if (!cfg.want_requests || !r || !t)
		return 0;
	key.func = r->func;
	key.range = request_slot(t->wall_ns) / OFFCPU_REQUEST_RANGE_SLOTS;
	if (cfg.request_slower_ns && t->wall_ns >= cfg.request_slower_ns)
		key.flags = OFFCPU_PART_SLOW;
	if (cfg.requests_beside && is_second_half(r->start_ns + t->wall_ns))
		key.flags |= OFFCPU_PART_SECOND;
	p = request_part(&key);
	if (!p)
		return 0;
	p->tno = r->tno;
	__sync_fetch_and_add(&p->requests, 1);
	__sync_fetch_and_add(&p->wall_ns, t->wall_ns);
	__sync_fetch_and_add(&p->on_cpu_ns, t->on_cpu_ns);
	__sync_fetch_and_add(&p->blocked_ns, t->blocked_ns);
	__sync_fetch_and_add(&p->runnable_ns, t->runnable_ns);
	__sync_fetch_and_add(&p->preempted_ns, t->preempted_ns);
	number = r->number;
	notes = bpf_map_lookup_elem(&request_notes, &number);
	for (__u32 i = 0; notes && i < OFFCPU_REQUEST_NOTES_MAX; i++) {
		const struct offcpu_request_note *n = &notes->note[i];

		if (i >= r->note_cnt)
			break;
		if (!n->count)
			continue;	/* its thread's from before: see socket.bpf.h */
		key.ustack = n->ustack;
		key.kstack = n->kstack;
		key.object = n->object;
		key.state = n->state;
		add_note(&key, n, r->tno);
	}
	return 0;
}

#endif
