/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "session/crowd.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <string.h>

#include "abi/storm_abi.h"
#include "attach/map_read.h"
#include "attach/visit.h"
#include "base/hash.h"
#include "offcpu.skel.h"

struct crowd {
	struct offcpu_bpf *skel;
	bool want_blame, want_storms;
	GHashTable *blames;	/* struct blame_key -> struct blame_sum */
	GHashTable *told;	/* waker's id -> struct storm_sum, as of the last cut: the kernel's go on */
	GArray *storms;		/* struct cut_storm, of the window that ends */
	bool has_read;		/* it is all there */
	uint64_t unread_cnt;	/* times that not all of a map could be read */
};

struct cut_storm {
	uint64_t waker;
	struct storm_sum sum;
};

/* Maps and programs that are not wanted cost nothing then. */
static void select_parts(struct offcpu_bpf *skel, bool want_blame, bool want_storms)
{
	struct bpf_map *const of_blame[] = { skel->maps.blames_a, skel->maps.blames_b,
					     skel->maps.blame_rings, skel->maps.blame_scratch };
	struct bpf_map *const of_storms[] = { skel->maps.storms, skel->maps.storm_places, skel->maps.irq_bursts };
	struct bpf_program *prog;
	int cpus = libbpf_num_possible_cpus();

	for (size_t i = 0; i < G_N_ELEMENTS(of_blame); i++)
		bpf_map__set_autocreate(of_blame[i], want_blame);
	for (size_t i = 0; i < G_N_ELEMENTS(of_storms); i++)
		bpf_map__set_autocreate(of_storms[i], want_storms);
	bpf_object__for_each_program(prog, skel->obj)
		if (g_str_has_prefix(bpf_program__name(prog), "blame_"))
			bpf_program__set_autoload(prog, want_blame);
	if (want_blame)
		bpf_map__set_max_entries(skel->maps.blame_rings, (uint32_t)MAX(cpus, 1));
}

static guint key_hash(gconstpointer p)
{
	const struct blame_key *k = p;

	return hash_end(hash_more(k->culprit, (uint64_t)k->tno << 32 | k->kind));
}

static gboolean key_equal(gconstpointer a, gconstpointer b)
{
	const struct blame_key *x = a, *y = b;

	return x->culprit == y->culprit && x->tno == y->tno && x->kind == y->kind;
}

struct crowd *crowd_new(struct offcpu_bpf *skel, bool want_blame, bool want_storms)
{
	struct crowd *c = g_new0(struct crowd, 1);

	c->skel = skel;
	c->want_blame = want_blame;
	c->want_storms = want_storms;
	select_parts(skel, want_blame, want_storms);
	c->blames = g_hash_table_new_full(key_hash, key_equal, g_free, g_free);
	c->told = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, g_free);
	c->storms = g_array_new(FALSE, FALSE, sizeof(struct cut_storm));
	return c;
}

void crowd_free(struct crowd *c)
{
	if (!c)
		return;
	g_hash_table_destroy(c->blames);
	g_hash_table_destroy(c->told);
	g_array_unref(c->storms);
	g_free(c);
}

static void take_blame(const void *key, const void *value, void *data)
{
	const struct crowd *c = data;
	const struct blame_sum *sum = value;
	struct blame_sum *have = g_hash_table_lookup(c->blames, key);

	if (!have) {
		g_hash_table_insert(c->blames, g_memdup2(key, sizeof(struct blame_key)), g_memdup2(sum, sizeof(*sum)));
		return;
	}
	if (have->tid != sum->tid)
		have->tid = 0;
	have->stretch_cnt += sum->stretch_cnt;
	have->runnable_ns += sum->runnable_ns;
	have->preempted_ns += sum->preempted_ns;
}

static void read_blames(struct crowd *c, bool second)
{
	if (!map_read_out(second ? c->skel->maps.blames_b : c->skel->maps.blames_a, take_blame, c))
		c->unread_cnt++;
}

/* As the maps of waits take turns: see swap_waits() in session.c. */
static void swap_blames(struct crowd *c)
{
	bool old = c->skel->bss->second_blames;

	c->skel->bss->blame_entries = 0;
	c->skel->bss->second_blames = !old;
	if (visit_cpus(c->skel))
		read_blames(c, old);
	else
		c->skel->bss->second_blames = old;
}

void crowd_drain(struct crowd *c)
{
	if (c->want_blame && c->skel->bss->blame_entries > bpf_map__max_entries(c->skel->maps.blames_a) / 4)
		swap_blames(c);
}

static void finish_blames(struct crowd *c, const struct fold *f, struct profile *p)
{
	GHashTableIter iter;
	gpointer key, value;

	/* no program writes any more */
	read_blames(c, c->skel->bss->second_blames);
	g_hash_table_iter_init(&iter, c->blames);
	while (g_hash_table_iter_next(&iter, &key, &value)) {
		const struct blame_key *k = key;
		const struct blame_sum *sum = value;
		char comm[BLAME_COMM_LEN + 1] = { 0 };
		struct blame b = {
			.kind = (uint8_t)k->kind, .pid = sum->pid, .tid = sum->tid, .comm = comm, .count = sum->stretch_cnt,
			.runnable_ns = sum->runnable_ns, .preempted_ns = sum->preempted_ns,
		};

		memcpy(comm, sum->comm, BLAME_COMM_LEN);
		/* a thread whose account was lost has no time that could be blamed on anybody */
		if (fold_find_thread(f, k->tno, &b.thread))
			profile_add_blame(p, &b);
	}
	g_hash_table_remove_all(c->blames);
}

/*
 * What came since the last cut.  The largest one is known where it is the largest of all so far; else it was at least as large as they were on
 * the average.
 */
static struct storm_sum storm_since(const struct storm_sum *now, const struct storm_sum *before)
{
	static const struct storm_sum none;
	const struct storm_sum *b = before ? before : &none;
	struct storm_sum s = {
		.event_cnt = now->event_cnt - b->event_cnt, .call_cnt = now->call_cnt - b->call_cnt, .woken_cnt = now->woken_cnt - b->woken_cnt,
		.ended_cnt = now->ended_cnt - b->ended_cnt, .again_cnt = now->again_cnt - b->again_cnt, .cpu_ns = now->cpu_ns - b->cpu_ns,
		.again_ns = now->again_ns - b->again_ns, .delay_ns = now->delay_ns - b->delay_ns,
	};

	s.most_cnt = now->most_cnt > b->most_cnt ? now->most_cnt : (s.woken_cnt + s.event_cnt - 1) / MAX(s.event_cnt, 1);
	return s;
}

static void take_storm(struct crowd *c, uint64_t id, const struct storm_sum *now)
{
	const struct cut_storm cut = { id, storm_since(now, g_hash_table_lookup(c->told, &id)) };

	if (!cut.sum.event_cnt)
		return;	/* what goes on of a burst is told with the next one */
	g_array_append_val(c->storms, cut);
	g_hash_table_insert(c->told, g_memdup2(&id, sizeof(id)), g_memdup2(now, sizeof(*now)));
}

static void read_storms(struct crowd *c)
{
	int fd = bpf_map__fd(c->skel->maps.storms);
	uint64_t id, *last = NULL;

	c->has_read = true;
	while (bpf_map_get_next_key(fd, last, &id) == 0) {
		struct storm_sum sum;

		last = &id;
		if (bpf_map_lookup_elem(fd, &id, &sum) == 0)
			take_storm(c, id, &sum);
	}
}

/* Room for others: wakers that nothing was heard of in this window are forgotten, once there are many. */
static void forget_quiet(struct crowd *c)
{
	int fd = bpf_map__fd(c->skel->maps.storms);
	g_autoptr(GHashTable) loud = g_hash_table_new(hash_u64, g_int64_equal);
	GHashTableIter iter;
	gpointer id;

	if (g_hash_table_size(c->told) < bpf_map__max_entries(c->skel->maps.storms) / 2)
		return;
	for (guint i = 0; i < c->storms->len; i++)
		g_hash_table_add(loud, &g_array_index(c->storms, struct cut_storm, i).waker);
	g_hash_table_iter_init(&iter, c->told);
	while (g_hash_table_iter_next(&iter, &id, NULL)) {
		if (g_hash_table_contains(loud, id))
			continue;
		bpf_map_delete_elem(fd, id);
		g_hash_table_iter_remove(&iter);
	}
}

void crowd_cut(struct crowd *c)
{
	if (!c->want_storms)
		return;
	read_storms(c);
	forget_quiet(c);
}

static void finish_storms(struct crowd *c, struct fold *f, struct profile *p)
{
	if (!c->has_read)
		read_storms(c);
	for (guint i = 0; i < c->storms->len; i++) {
		const struct cut_storm *cut = &g_array_index(c->storms, struct cut_storm, i);
		const struct storm_sum *sum = &cut->sum;
		uint32_t waker;

		if (!fold_find_waker(f, cut->waker, &waker))
			continue;
		const uint64_t ended_cnt = MIN(sum->ended_cnt, sum->woken_cnt);
		const struct storm s = {
			.waker = waker, .event_cnt = sum->event_cnt, .call_cnt = sum->call_cnt, .woken_cnt = sum->woken_cnt,
			.most_cnt = MIN(sum->most_cnt, sum->woken_cnt), .ended_cnt = ended_cnt, .again_cnt = MIN(sum->again_cnt, ended_cnt),
			.cpu_ns = sum->cpu_ns, .again_ns = sum->again_ns, .delay_ns = sum->delay_ns,
		};

		profile_add_storm(p, &s);
	}
	g_array_set_size(c->storms, 0);
	c->has_read = false;
}

void crowd_finish(struct crowd *c, struct fold *f, struct profile *p)
{
	p->info.has_blame = c->want_blame;
	p->info.has_storms = c->want_storms;
	if (c->unread_cnt)
		profile_add_loss(p, "unread_blames", "sums of who held CPUs could not be read out of the kernel", c->unread_cnt, 0);
	if (c->want_blame)
		finish_blames(c, f, p);
	else
		fold_finish_throttled(f);
	if (c->want_storms)
		finish_storms(c, f, p);
}
