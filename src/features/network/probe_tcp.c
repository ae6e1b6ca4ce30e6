/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Whether TCP's waits are due to the network or the peer: features/network/tcp.bpf.h is the kernel's half. */
#include <bpf/libbpf.h>
#include <string.h>

#include "attach/maps.h"
#include "fold/fold.h"
#include "session/parts.h"
#include "session/probe.h"
#include "offcpu.skel.h"

struct tcp_waits {
	struct offcpu_bpf *skel;
	GArray *cut;	/* struct fold_tcp_sum of the window that ended */
	bool has_read;
};

static bool configure(struct session *s, struct offcpu_config *cfg, void **ret_state)
{
	struct tcp_waits *all;

	if (!s->options->want_objects || s->options->mode != COLLECT_WAITS) {
		/* programs refer to it even if unused */
		bpf_map__set_max_entries(s->skel->maps.tcp_sums, 1);
		bpf_map__set_max_entries(s->skel->maps.connected, 1);
		return false;
	}
	all = *ret_state = g_new0(struct tcp_waits, 1);
	all->skel = s->skel;
	all->cut = g_array_new(FALSE, FALSE, sizeof(struct fold_tcp_sum));
	return true;
}

static void take_sum(const void *key, const void *sum, void *data)
{
	struct tcp_waits *all = data;
	struct fold_tcp_sum one;

	memcpy(&one.key, key, sizeof(one.key));
	memcpy(&one.sum, sum, sizeof(one.sum));
	g_array_append_val(all->cut, one);
}

static void read_all(struct tcp_waits *all)
{
	/* what comes meanwhile counts for the next window, or is lost */
	map_read_out(all->skel->maps.tcp_sums, take_sum, all);
	all->has_read = true;
}

static void cut(struct session *s, void *state)
{
	read_all(state);
}

static void finish(struct session *s, void *state, struct profile *p)
{
	struct tcp_waits *all = state;

	if (!all->has_read)
		read_all(all);
	fold_tcp_sums(s->fold, all->cut);
	g_array_set_size(all->cut, 0);
	all->has_read = false;
}

static void tcp_waits_free(void *state)
{
	struct tcp_waits *all = state;

	g_array_unref(all->cut);
	g_free(all);
}

const struct session_probe probe_tcp = {
	.name = "tcp", .configure = configure, .cut = cut, .finish = finish, .free = tcp_waits_free,
};
