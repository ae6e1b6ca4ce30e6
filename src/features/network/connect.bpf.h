/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef FEATURES_NETWORK_CONNECT_BPF_H
#define FEATURES_NETWORK_CONNECT_BPF_H

#include "bpf/target.bpf.h"
#include "features/network/connect_abi.h"

/*
 * Connections that fail. On a non-blocking socket, or to this machine, this needs no wait, so only the sleep until the
 * next attempt would show. The answer arrives in any context: the thread is noted when it connects.
 */

#define TCP_CLOSED 7
#define EADDRNOTAVAIL 99

struct connecting {
	__u32 pid, tid;
};

MAP(connecting, LRU_HASH, __u64, struct connecting, 4096);	/* key: the socket */
MAP(failed_connects, HASH, struct failed_connect_key, __u64, 1024);
MAP(sent_again, HASH, struct sent_again_key, __u64, 1024);

static __always_inline void read_remote(const struct sock *sk, __u8 *to)
{
	if (sk->__sk_common.skc_family == FAMILY_INET)
		bpf_probe_read_kernel(to, 4, &sk->__sk_common.skc_daddr);
	else if (bpf_core_field_exists(sk->__sk_common.skc_v6_daddr))
		bpf_probe_read_kernel(to, 16, &sk->__sk_common.skc_v6_daddr);
}

/* A socket without a sequence number has sent nothing: no local port was free. */
static __always_inline __u32 connect_error(const struct sock *sk)
{
	__u32 sequence = 0;

	bpf_probe_read_kernel(&sequence, sizeof(sequence), (void *)AT(struct tcp_sock, (__u64)sk, write_seq));
	return sk->sk_err || sequence ? sk->sk_err : EADDRNOTAVAIL;
}

static __always_inline void count_failed_connect(const struct sock *sk, const struct connecting *who)
{
	struct failed_connect_key key = {
		.pid = who->pid,
		.tid = who->tid,
		.family = sk->__sk_common.skc_family,
		.port = __builtin_bswap16(sk->__sk_common.skc_dport),
		.error = connect_error(sk),
	};
	__u64 one = 1, *count;

	read_remote(sk, key.remote);
	count = bpf_map_lookup_elem(&failed_connects, &key);
	if (count)
		__sync_fetch_and_add(count, 1);
	else
		bpf_map_update_elem(&failed_connects, &key, &one, BPF_NOEXIST);
}

/* (const struct sock *sk, int oldstate, int newstate) */
SEC("tp_btf/inet_sock_set_state")
int connect_state(unsigned long long *ctx)
{
	const struct sock *sk = (const struct sock *)ctx[0];
	int before = ctx[1], now = ctx[2];
	struct connecting *known;
	struct thread_state *st;
	__u64 key = ctx[0];

	if (now == TCP_SYN_SENT) {
		struct connecting who = { 0 };

		st = thread_of(bpf_get_current_task_btf());
		if (!st || !st->selected)
			return 0;
		who.pid = st->pid;
		who.tid = st->tid;
		bpf_map_update_elem(&connecting, &key, &who, BPF_ANY);
	} else if (before == TCP_SYN_SENT) {
		__u64 at = bpf_ktime_get_ns();

		known = bpf_map_lookup_elem(&connecting, &key);
		if (!known)
			return 0;
		if (now != TCP_CLOSED)
			bpf_map_update_elem(&connected, &key, &at, BPF_ANY);
		if (now == TCP_CLOSED && in_window(bpf_ktime_get_ns()))
			count_failed_connect(sk, known);
		bpf_map_delete_elem(&connecting, &key);
	}
	return 0;
}

/* (const struct sock *sk, ...): a segment was lost, or seems so. Called from a timer, in any context. */
SEC("tp_btf/tcp_retransmit_skb")
int connect_sent_again(unsigned long long *ctx)
{
	const struct sock *sk = (const struct sock *)ctx[0];
	struct sent_again_key key = { 0 };
	__u64 one = 1, *count;

	if (sk->__sk_common.skc_state == TCP_SYN_SENT || !in_window(bpf_ktime_get_ns()))
		return 0;
	key.family = sk->__sk_common.skc_family;
	key.port = __builtin_bswap16(sk->__sk_common.skc_dport);
	key.local_port = sk->__sk_common.skc_num;
	read_remote(sk, key.remote);
	count = bpf_map_lookup_elem(&sent_again, &key);
	if (count)
		__sync_fetch_and_add(count, 1);
	else
		bpf_map_update_elem(&sent_again, &key, &one, BPF_NOEXIST);
	return 0;
}

#endif
