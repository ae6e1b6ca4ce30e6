/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What waits for TCP sockets went on: bpf/tcp.bpf.h is the kernel's half. */
#include "fold/fold.h"
#include "fold/inside.h"
#include "fold/targets.h"
#include "fold/tcp.h"

struct tcp_wait tcp_wait_of_sum(const struct tcp_sum *sum, uint32_t direction, uint32_t object, bool is_lossy)
{
	/* the peer's program may have waited before its kernel acknowledged, but not as it set up the connection */
	const bool is_path = direction != TCP_RECEIVE || sum->is_young;
	/* where segments are lost, the peer's answer may have been, too, which it sends again as late */
	const uint64_t doubtful_ns = is_lossy && direction == TCP_RECEIVE ? MIN(sum->peer_long_ns, sum->peer_ns) : 0;

	return (struct tcp_wait){
		.object = object,
		.direction = (uint8_t)direction,
		.count = (sum->count_q8 + 128) / 256,
		.blocked_ns = sum->blocked_ns,
		.peer_ns = sum->peer_ns - doubtful_ns,
		.network_ns = sum->resent_ns + (is_path ? sum->path_ns : 0),
		.unasked_ns = sum->unasked_ns,
		.unclear_ns = sum->hidden_ns + doubtful_ns + (is_path ? 0 : sum->path_ns),
		.resent = sum->resent,
		.srtt_us = sum->srtt_us,
		.min_rtt_us = sum->min_rtt_us,
	};
}

void fold_tcp_sums(struct fold *f, const GArray *sums)
{
	g_autoptr(GHashTable) lossy = g_hash_table_new(NULL, NULL);	/* objects + 1 */

	for (guint i = 0; i < sums->len; i++) {
		const struct fold_tcp_sum *one = &g_array_index(sums, struct fold_tcp_sum, i);

		if (one->sum.resent)
			g_hash_table_add(lossy, GUINT_TO_POINTER(fold_targets_object(f->targets, one->key.object)));
	}
	for (guint i = 0; i < sums->len; i++) {
		const struct fold_tcp_sum *one = &g_array_index(sums, struct fold_tcp_sum, i);
		uint32_t object = fold_targets_object(f->targets, one->key.object);

		if (!object || one->key.direction >= TCP_DIRECTION_COUNT || !one->sum.count_q8)
			continue;
		const struct tcp_wait row = tcp_wait_of_sum(&one->sum, one->key.direction, object - 1,
							    g_hash_table_contains(lossy, GUINT_TO_POINTER(object)));

		profile_add_tcp_wait(f->profile, &row);
	}
}
