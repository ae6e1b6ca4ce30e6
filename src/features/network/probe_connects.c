/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Failed connections, and TCP's retransmissions: features/network/connect.bpf.h is the kernel's half. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "features/network/connect_abi.h"
#include "attach/feature.h"
#include "attach/maps.h"
#include "base/proc/net_table.h"
#include "base/order.h"
#include "profile/limits.h"
#include "session/parts.h"
#include "session/probe.h"
#include "offcpu.skel.h"

#define TOLD_MAX 64	/* those that failed most often; a profile's limits are shared with others */

#define AGAIN_MIN 3	/* minimum segments to report */

struct connects {
	struct offcpu_bpf *skel;
	GArray *cut;		/* struct failed of the window that ended */
	GHashTable *again;	/* peer -> uint64_t *: segments retransmitted in that window */
	bool has_read;
};

struct failed {
	struct failed_connect_key key;
	uint64_t cnt;
};

static bool configure(struct session *s, struct offcpu_config *cfg, void **ret_state)
{
	const bool wanted = s->options->want_objects && s->options->mode == COLLECT_WAITS &&
			    feature_has_tracepoint("btf_trace_inet_sock_set_state");
	struct connects *all;

	bpf_program__set_autoload(s->skel->progs.connect_state, wanted);
	bpf_program__set_autoload(s->skel->progs.connect_sent_again,
				  wanted && feature_has_tracepoint("btf_trace_tcp_retransmit_skb"));
	bpf_map__set_autocreate(s->skel->maps.sent_again, wanted);
	bpf_map__set_autocreate(s->skel->maps.connecting, wanted);
	bpf_map__set_autocreate(s->skel->maps.failed_connects, wanted);
	if (!wanted)
		return false;
	all = *ret_state = g_new0(struct connects, 1);
	all->skel = s->skel;
	all->cut = g_array_new(FALSE, FALSE, sizeof(struct failed));
	all->again = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	return true;
}

static void connects_free(void *state)
{
	struct connects *all = state;

	g_array_unref(all->cut);
	g_hash_table_destroy(all->again);
	g_free(all);
}

static void take_failed(const void *key, const void *cnt, void *data)
{
	struct connects *all = data;
	struct failed one;

	memcpy(&one.key, key, sizeof(one.key));
	memcpy(&one.cnt, cnt, sizeof(one.cnt));
	g_array_append_val(all->cut, one);
}

/*
 * The socket's name: "10.0.0.5:5432", or ":5432 from 10.0.0.9" for a client of ours. The higher port is taken as the
 * ephemeral one, which is nearly always right.
 */
static char *name_of(const struct sent_again_key *key)
{
	const struct net_end there = net_end_of(key->remote, key->family == AF_INET ? 4 : 16, key->port);
	g_autofree char *text = net_end_text(&there);

	if (key->port < key->local_port)
		return g_steal_pointer(&text);
	return g_strdup_printf(":%u from %.*s", key->local_port, (int)(strrchr(text, ':') - text), text);
}

static void take_again(const void *key, const void *value, void *data)
{
	struct connects *all = data;
	g_autofree char *name = name_of(key);
	const uint64_t *known = g_hash_table_lookup(all->again, name);
	uint64_t cnt;

	memcpy(&cnt, value, sizeof(cnt));
	cnt += known ? *known : 0;
	g_hash_table_replace(all->again, g_steal_pointer(&name), g_memdup2(&cnt, sizeof(cnt)));
}

static void tell_again(struct connects *all, struct profile *p)
{
	GHashTableIter iter;
	gpointer name, cnt;
	unsigned left = TOLD_MAX;

	g_hash_table_iter_init(&iter, all->again);
	while (left && g_hash_table_iter_next(&iter, &name, &cnt)) {
		if (*(const uint64_t *)cnt < AGAIN_MIN)
			continue;
		g_autofree char *text = g_strdup_printf(LIMIT_LOSS_FORMAT "%s", *(const uint64_t *)cnt, (const char *)name);

		profile_add_limit(p, LIMIT_LOSS, 0, 0, text);
		left--;
	}
	g_hash_table_remove_all(all->again);
}

static void read_all(struct connects *all)
{
	/* what comes meanwhile counts for the next window */
	map_read_out(all->skel->maps.failed_connects, take_failed, all);
	map_read_out(all->skel->maps.sent_again, take_again, all);
	all->has_read = true;
}

static void cut(struct session *s, void *state)
{
	read_all(state);
}

ORDER(compare, struct failed, ORDER_HIGH(cnt))

static enum connect_failure failure_of(uint32_t error)
{
	switch (error) {
	case ECONNREFUSED: return CONNECT_REFUSED;
	case ECONNRESET: return CONNECT_RESET;
	case 0:
	case ETIMEDOUT: return CONNECT_UNANSWERED;
	case EHOSTUNREACH:
	case ENETUNREACH: return CONNECT_UNREACHABLE;
	case EADDRNOTAVAIL: return CONNECT_NO_PORT;
	default: return CONNECT_FAILED;
	}
}

static void finish(struct session *s, void *state, struct profile *p)
{
	struct connects *all = state;

	if (!all->has_read)
		read_all(all);
	g_array_sort(all->cut, compare);
	for (guint i = 0; i < MIN(all->cut->len, TOLD_MAX); i++) {
		const struct failed *f = &g_array_index(all->cut, struct failed, i);
		size_t bytes = f->key.family == AF_INET ? 4 : 16;
		const struct net_end there = net_end_of(f->key.remote, bytes, f->key.port);
		g_autofree char *address = net_end_text(&there);
		g_autofree char *text = g_strdup_printf(LIMIT_CONNECT_FORMAT, f->cnt, address,
							connect_failure_text(failure_of(f->key.error)));

		profile_add_limit(p, LIMIT_CONNECT, f->key.pid, f->key.tid, text);
	}
	tell_again(all, p);
	g_array_set_size(all->cut, 0);
	all->has_read = false;
}

const struct session_probe probe_connects = {
	.name = "connects",
	.configure = configure,
	.cut = cut,
	.finish = finish,
	.free = connects_free,
};
