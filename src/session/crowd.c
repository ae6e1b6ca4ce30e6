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
	uint64_t unread_cnt;	/* times that not all of a map could be read */
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
	return c;
}

void crowd_free(struct crowd *c)
{
	if (!c)
		return;
	g_hash_table_destroy(c->blames);
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

static void finish_storms(const struct crowd *c, struct fold *f, struct profile *p)
{
	int fd = bpf_map__fd(c->skel->maps.storms);
	uint64_t id, *last = NULL;

	while (bpf_map_get_next_key(fd, last, &id) == 0) {
		struct storm_sum sum;
		uint32_t waker;

		last = &id;
		if (bpf_map_lookup_elem(fd, &id, &sum) || !sum.event_cnt || !fold_find_waker(f, id, &waker))
			continue;
		const uint64_t ended_cnt = MIN(sum.ended_cnt, sum.woken_cnt);
		const struct storm s = {
			.waker = waker, .event_cnt = sum.event_cnt, .call_cnt = sum.call_cnt, .woken_cnt = sum.woken_cnt,
			.most_cnt = MIN(sum.most_cnt, sum.woken_cnt), .ended_cnt = ended_cnt,
			.again_cnt = MIN(sum.again_cnt, ended_cnt),
			.cpu_ns = sum.cpu_ns, .again_ns = sum.again_ns, .delay_ns = sum.delay_ns,
		};

		profile_add_storm(p, &s);
	}
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
