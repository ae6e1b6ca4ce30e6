/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Events that wake many threads at once; features/storms/storm.bpf.h is the kernel side. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "features/storms/abi.h"
#include "base/hash.h"
#include "fold/fold.h"
#include "session/parts.h"
#include "session/probe.h"
#include "offcpu.skel.h"

struct storms {
	struct offcpu_bpf *skel;
	GHashTable *told;	/* waker's id -> struct storm_sum at the last cut, since the kernel's sums only grow */
	GArray *cut;		/* struct cut_storm of the ending window */
	bool has_read;		/* the maps have been read */
};

struct cut_storm {
	uint64_t waker;
	struct storm_sum sum;
};

static bool configure(struct session *s, struct offcpu_config *cfg, void **ret_state)
{
	struct bpf_map *const maps[] = { s->skel->maps.storms, s->skel->maps.storm_places, s->skel->maps.irq_bursts };
	struct storms *all;

	cfg->want_storms = s->options->want_storms && s->options->mode == COLLECT_WAITS;
	for (size_t i = 0; i < G_N_ELEMENTS(maps); i++)
		bpf_map__set_autocreate(maps[i], cfg->want_storms);
	if (!cfg->want_storms)
		return false;
	all = *ret_state = g_new0(struct storms, 1);
	all->skel = s->skel;
	all->told = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, g_free);
	all->cut = g_array_new(FALSE, FALSE, sizeof(struct cut_storm));
	return true;
}

static void storms_free(void *state)
{
	struct storms *all = state;

	g_hash_table_destroy(all->told);
	g_array_unref(all->cut);
	g_free(all);
}

/*
 * Difference since the last cut.  The largest burst is exact if it is the largest ever; else the average, rounded up,
 * is a lower bound.
 */
static struct storm_sum storm_since(const struct storm_sum *now, const struct storm_sum *before)
{
	static const struct storm_sum none;
	const struct storm_sum *b = before ? before : &none;
	struct storm_sum s = {
		.event_cnt = now->event_cnt - b->event_cnt,
		.call_cnt = now->call_cnt - b->call_cnt,
		.woken_cnt = now->woken_cnt - b->woken_cnt,
		.ended_cnt = now->ended_cnt - b->ended_cnt,
		.again_cnt = now->again_cnt - b->again_cnt,
		.cpu_ns = now->cpu_ns - b->cpu_ns,
		.again_ns = now->again_ns - b->again_ns,
		.delay_ns = now->delay_ns - b->delay_ns,
	};

	s.most_cnt = now->most_cnt > b->most_cnt ? now->most_cnt
						 : (s.woken_cnt + s.event_cnt - 1) / MAX(s.event_cnt, 1);
	return s;
}

static void take_storm(struct storms *all, uint64_t id, const struct storm_sum *now)
{
	const struct cut_storm one = { id, storm_since(now, g_hash_table_lookup(all->told, &id)) };

	if (!one.sum.event_cnt)
		return;	/* an unfinished burst is counted with the next one */
	g_array_append_val(all->cut, one);
	g_hash_table_insert(all->told, g_memdup2(&id, sizeof(id)), g_memdup2(now, sizeof(*now)));
}

static void read_storms(struct storms *all)
{
	int fd = bpf_map__fd(all->skel->maps.storms);
	uint64_t id, *last = NULL;

	all->has_read = true;
	while (bpf_map_get_next_key(fd, last, &id) == 0) {
		struct storm_sum sum;

		last = &id;
		if (bpf_map_lookup_elem(fd, &id, &sum) == 0)
			take_storm(all, id, &sum);
	}
}

/* Removes wakers without storms in this window, once there are many, to make room. */
static void forget_quiet(struct storms *all)
{
	int fd = bpf_map__fd(all->skel->maps.storms);
	g_autoptr(GHashTable) loud = g_hash_table_new(hash_u64, g_int64_equal);
	GHashTableIter iter;
	gpointer id;

	if (g_hash_table_size(all->told) < bpf_map__max_entries(all->skel->maps.storms) / 2)
		return;
	for (guint i = 0; i < all->cut->len; i++)
		g_hash_table_add(loud, &g_array_index(all->cut, struct cut_storm, i).waker);
	g_hash_table_iter_init(&iter, all->told);
	while (g_hash_table_iter_next(&iter, &id, NULL)) {
		if (g_hash_table_contains(loud, id))
			continue;
		bpf_map_delete_elem(fd, id);
		g_hash_table_iter_remove(&iter);
	}
}

static void cut(struct session *s, void *state)
{
	read_storms(state);
	forget_quiet(state);
}

static void finish(struct session *s, void *state, struct profile *p)
{
	struct storms *all = state;

	p->info.has_storms = true;
	if (!all->has_read)
		read_storms(all);
	EACH_ROW(i, const struct cut_storm, one, all->cut) {
		const struct storm_sum *sum = &one->sum;
		uint32_t waker;

		if (!fold_find_waker(s->fold, one->waker, &waker))
			continue;
		const uint64_t ended_cnt = MIN(sum->ended_cnt, sum->woken_cnt);
		const struct storm row = {
			.waker = waker,
			.event_cnt = sum->event_cnt,
			.call_cnt = sum->call_cnt,
			.woken_cnt = sum->woken_cnt,
			.most_cnt = MIN(sum->most_cnt, sum->woken_cnt),
			.ended_cnt = ended_cnt,
			.again_cnt = MIN(sum->again_cnt, ended_cnt),
			.cpu_ns = sum->cpu_ns,
			.again_ns = sum->again_ns,
			.delay_ns = sum->delay_ns,
		};

		profile_add_storm(p, &row);
	}
	g_array_set_size(all->cut, 0);
	all->has_read = false;
}

static const struct session_option options[] = {
	{ "storms", offsetof(struct collect_options, want_storms), "Events that wake many threads at once" },
	{ NULL, 0, NULL },
};

const struct session_probe probe_storms = {
	.name = "storms",
	.options = options,
	.configure = configure,
	.cut = cut,
	.finish = finish,
	.free = storms_free,
};
