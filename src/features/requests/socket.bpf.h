/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef FEATURES_REQUESTS_SOCKET_BPF_H
#define FEATURES_REQUESTS_SOCKET_BPF_H

#include "features/requests/request.bpf.h"
#include "bpf/target.bpf.h"

/*
 * Requests by connection: from what a server receives on a port of its own to its first sending on the same socket.
 * Nothing is inserted into the program; tracepoints sock_recv_length and sock_send_length, Linux 6.3.
 *
 * A thread may have several at a time, as event loops do, so a request is kept by its socket, with the thread's
 * account at its start. The thread's own state only has their number: waits are listed while there is one.
 */

#define MSG_PEEK 2
#define TCP_FIN_WAIT1 4
#define TCP_CLOSE 7
#define TCP_LAST_ACK 9
#define SOCK_STREAM 1

/* The thread's notes as a request began while others were open. */
struct note_sum {
	__u64 count, blocked_ns, runnable_ns, preempted_ns;
};

struct request_before {
	struct note_sum sum[OFFCPU_REQUEST_NOTES_MAX];
};

const volatile __u64 none_before[sizeof(struct request_before) / sizeof(__u64)] = {};

/* A traced local port -> number of its requests' name. */
MAP(request_ports, HASH, __u32, __u32, OFFCPU_REQUEST_ALL_PORTS_MAX);
MAP(request_sockets, HASH, __u64, struct socket_request, 16384);

/* Not preallocated: most requests begin while no other one is open. */
MAP_FLAGS(request_befores, HASH, __u64, struct request_before, 16384, BPF_F_NO_PREALLOC);

static __always_inline __u32 *request_port(const struct sock *sk)
{
	__u32 port = sk->__sk_common.skc_num;

	return bpf_map_lookup_elem(&request_ports, &port);
}

/* A datagram socket serves many peers: there each thread has a request of its own. */
static __always_inline __u64 socket_key(struct sock *sk, const struct thread_state *st)
{
	__u64 cookie = bpf_get_socket_cookie(sk);

	return sk->sk_type == SOCK_STREAM ? cookie : mix(cookie, st->tno);
}

static __always_inline struct offcpu_request_note *notes_of(const struct request_state *r)
{
	__u32 number = r->number;
	struct offcpu_rec_request_span *notes = bpf_map_lookup_elem(&request_notes, &number);

	return notes ? notes->note : NULL;
}

/* Keeps the thread's notes from before a new request, whose own are what is added later. Global, as below. */
__noinline int keep_notes_before(struct request_state *r, __u64 key)
{
	struct offcpu_request_note *notes;
	struct request_before *before;

	if (!cfg.want_requests || !r)
		return 0;
	notes = notes_of(r);
	if (!notes || bpf_map_update_elem(&request_befores, &key, (const void *)none_before, BPF_ANY))
		return 0;
	before = bpf_map_lookup_elem(&request_befores, &key);
	for (__u32 i = 0; before && i < OFFCPU_REQUEST_NOTES_MAX && i < r->note_cnt; i++) {
		struct note_sum *sum = &before->sum[i];

		sum->count = notes[i].count;
		sum->blocked_ns = notes[i].blocked_ns;
		sum->runnable_ns = notes[i].runnable_ns;
		sum->preempted_ns = notes[i].preempted_ns;
	}
	return 0;
}

/* Subtracts the notes from before a request, or adds them back. False: they are no longer known. */
__noinline int move_notes_before(struct request_state *r, __u64 key, int sign)
{
	struct offcpu_request_note *notes;
	struct request_before *before;

	if (!cfg.want_requests || !r)
		return 0;
	notes = notes_of(r);
	before = bpf_map_lookup_elem(&request_befores, &key);
	if (!notes || !before)
		return 0;
	for (__u32 i = 0; i < OFFCPU_REQUEST_NOTES_MAX; i++) {
		const struct note_sum *sum = &before->sum[i];

		notes[i].count += sign * (__s64)sum->count;
		notes[i].blocked_ns += sign * (__s64)sum->blocked_ns;
		notes[i].runnable_ns += sign * (__s64)sum->runnable_ns;
		notes[i].preempted_ns += sign * (__s64)sum->preempted_ns;
	}
	return 1;
}

static __always_inline void forget_socket_request(__u64 key, __u32 has_before)
{
	bpf_map_delete_elem(&request_sockets, &key);
	if (has_before)
		bpf_map_delete_elem(&request_befores, &key);
}

/* The receiving thread has one request less. False: the request was left, and counted as that already. */
static __always_inline bool socket_request_over(const struct socket_request *s)
{
	__u32 number = s->request;
	struct request_state *r = bpf_map_lookup_elem(&request_states, &number);

	if (!r || r->owner != s->owner || !r->open_cnt)
		return false;
	if (__sync_fetch_and_add(&r->open_cnt, -1) == 1)
		r->is_active = 0;
	return true;
}

/* It has ended without being summed. */
static __always_inline void drop_socket_request(const struct socket_request *s, __u64 key, __u32 why)
{
	__u64 now = bpf_ktime_get_ns();
	bool is_owners = socket_request_over(s);

	if (is_owners && s->start_ns < window.start_ns)
		count_begun_before(now);
	else if (is_owners && now < requests_stop_ns())
		count_request(why, 1, now - s->start_ns);
	forget_socket_request(key, s->has_before);
}

static __always_inline void begin_socket_request(struct task_struct *task, struct thread_state *st, __u64 key,
						 __u32 func)
{
	struct request_state *r = request_to_begin(st);
	struct socket_request s = { .func = func, .owner = st->tno, .request = st->request - 1 };

	if (!r)
		return;
	s.has_before = r->owner == st->tno && r->open_cnt && r->note_cnt;
	if (s.has_before)
		keep_notes_before(r, key);
	s.start_ns = request_now(task, st, &s.start);
	if (bpf_map_update_elem(&request_sockets, &key, &s, BPF_ANY)) {
		count_request(OFFCPU_REQUEST_NO_ROOM, 1, 0);
		return;
	}
	if (r->owner != st->tno && r->open_cnt)
		leave_request(r, s.start_ns);	/* it began under the thread's old name */
	if (r->owner != st->tno || !r->open_cnt) {
		r->owner = st->tno;
		r->open_cnt = 0;
		r->has_sp = 0;
		r->knows_site = 1;
		r->func = func;
		r->start_ns = s.start_ns;
		r->over_cnt = r->gone_cnt = 0;
		r->over_ns = r->gone_before_ns = 0;
		r->wait_cnt = r->due_cnt;
		r->note_cnt = 0;
		r->flags = 0;
		r->tno = st->tno;
	}
	forget_route(r);
	__sync_fetch_and_add(&r->open_cnt, 1);
	r->is_active = 1;
}

/* (struct sock *sk, int ret, int flags) */
SEC("tp_btf/sock_recv_length")
int request_received(unsigned long long *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct task_struct *task = bpf_get_current_task_btf();
	struct socket_request *s;
	struct thread_state *st;
	__u32 *func;
	__u64 key;

	if ((int)ctx[1] <= 0 || (int)ctx[2] & MSG_PEEK)
		return 0;
	func = request_port(sk);
	st = func ? request_thread(task) : NULL;
	if (!st || is_after_window())
		return 0;
	key = socket_key(sk, st);
	s = bpf_map_lookup_elem(&request_sockets, &key);
	if (s) {
		if (s->owner == st->tno && sk->sk_type == SOCK_STREAM)
			return 0;	/* more data of the same request */
		drop_socket_request(s, key, s->owner == st->tno ? OFFCPU_REQUEST_UNANSWERED : OFFCPU_REQUEST_HANDED);
	}
	begin_socket_request(task, st, key, *func);
	return 0;
}

/* Sets the fields of the thread's state that end_request() uses, for one of its requests. */
static __always_inline void end_socket_request(struct request_state *r, const struct socket_request *s, __u64 key,
					       struct offcpu_request_times *at, __u64 now)
{
	__u64 first_ns = r->start_ns;
	__u32 kept_cnt = r->wait_cnt, note_cnt = r->note_cnt;
	bool has_before = s->has_before;

	r->is_active = 0;	/* later waits are not its own: the thread may be preempted */
	barrier();
	r->func = s->func;
	r->start_ns = s->start_ns;
	r->start = s->start;
	if (has_before && !move_notes_before(r, key, -1))
		r->note_cnt = 0;
	end_request(r, at, now, false);
	if (has_before)
		move_notes_before(r, key, 1);
	if (r->open_cnt > 1) {
		r->start_ns = first_ns;
		r->wait_cnt = kept_cnt;
		r->note_cnt = note_cnt;
		forget_route(r);
		barrier();
		r->is_active = 1;
	}
}

/* (struct sock *sk, int ret, int flags) */
SEC("tp_btf/sock_send_length")
int request_sent(unsigned long long *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct task_struct *task = bpf_get_current_task_btf();
	struct offcpu_request_times at;
	struct socket_request *s;
	struct request_state *r;
	struct thread_state *st;
	__u64 key, now;

	if ((int)ctx[1] <= 0)
		return 0;
	st = request_port(sk) ? request_thread(task) : NULL;
	if (!st)
		return 0;
	key = socket_key(sk, st);
	s = bpf_map_lookup_elem(&request_sockets, &key);
	if (!s)
		return 0;
	r = request_of(st);
	if (s->owner != st->tno || !r || r->owner != st->tno) {
		drop_socket_request(s, key, OFFCPU_REQUEST_HANDED);
		return 0;
	}
	now = request_now(task, st, &at);
	if (now < requests_stop_ns()) {
		know_route(task, st, r, now);
		end_socket_request(r, s, key, &at, now);
		socket_request_over(s);
		forget_socket_request(key, s->has_before);
	}
	return 0;
}

/* (struct sock *sk, int oldstate, int newstate): closed by us, or broken. */
SEC("tp_btf/inet_sock_set_state")
int request_closed(unsigned long long *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	int state = ctx[2];
	struct socket_request *s;
	__u64 key;

	if ((state != TCP_FIN_WAIT1 && state != TCP_LAST_ACK && state != TCP_CLOSE) || !request_port(sk))
		return 0;
	key = bpf_get_socket_cookie(sk);
	s = bpf_map_lookup_elem(&request_sockets, &key);
	if (s)
		drop_socket_request(s, key, OFFCPU_REQUEST_UNANSWERED);
	return 0;
}

#endif
