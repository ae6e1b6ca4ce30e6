/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Who held the CPU while threads were queued; features/blame/blame.bpf.h is the kernel side. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <string.h>

#include "features/blame/abi.h"
#include "attach/maps.h"
#include "base/hash.h"
#include "fold/fold.h"
#include "session/parts.h"
#include "session/probe.h"
#include "offcpu.skel.h"

struct blames {
	struct offcpu_bpf *skel;
	GHashTable *sums;	/* struct blame_key -> struct blame_sum */
	uint64_t unread_cnt;	/* how often a map could not be read completely */
};

struct rest {
	uint64_t runnable_ns, preempted_ns;
};

/* Leaves out maps and programs that are not needed. */
static void select_parts(struct offcpu_bpf *skel, bool wanted)
{
	struct bpf_map *const maps[] = { skel->maps.blames_a, skel->maps.blames_b, skel->maps.blame_rings,
					 skel->maps.blame_scratch };
	struct bpf_program *prog;
	int cpus = libbpf_num_possible_cpus();

	for (size_t i = 0; i < G_N_ELEMENTS(maps); i++)
		bpf_map__set_autocreate(maps[i], wanted);
	bpf_object__for_each_program(prog, skel->obj)
		if (g_str_has_prefix(bpf_program__name(prog), "blame_"))
			bpf_program__set_autoload(prog, wanted);
	if (wanted)
		bpf_map__set_max_entries(skel->maps.blame_rings, (uint32_t)MAX(cpus, 1));
}

HASH_KEY(key, struct blame_key, culprit, tno, kind)

static bool configure(struct session *s, struct offcpu_config *cfg, void **ret_state)
{
	const struct collect_options *o = s->options;
	struct blames *b;

	cfg->want_blame = o->want_blame && (o->mode == COLLECT_WAITS || o->mode == COLLECT_EVENTS);
	select_parts(s->skel, cfg->want_blame);
	if (!cfg->want_blame)
		return false;
	b = *ret_state = g_new0(struct blames, 1);
	b->skel = s->skel;
	b->sums = g_hash_table_new_full(key_hash, key_equal, g_free, g_free);
	return true;
}

static void blames_free(void *state)
{
	struct blames *b = state;

	g_hash_table_destroy(b->sums);
	g_free(b);
}

static void take_blame(const void *key, const void *value, void *data)
{
	const struct blames *b = data;
	const struct blame_sum *sum = value;
	struct blame_sum *have = g_hash_table_lookup(b->sums, key);

	if (!have) {
		g_hash_table_insert(b->sums, g_memdup2(key, sizeof(struct blame_key)), g_memdup2(sum, sizeof(*sum)));
		return;
	}
	if (have->tid != sum->tid)
		have->tid = 0;
	have->stretch_cnt += sum->stretch_cnt;
	have->runnable_ns += sum->runnable_ns;
	have->preempted_ns += sum->preempted_ns;
}

static void read_blames(struct blames *b, bool second)
{
	if (!map_read_out(second ? b->skel->maps.blames_b : b->skel->maps.blames_a, take_blame, b))
		b->unread_cnt++;
	b->skel->bss->blame_entries = 0;
}

static bool is_filling(const struct session *s, const void *state)
{
	const struct blames *b = state;

	return b->skel->bss->blame_entries > bpf_map__max_entries(b->skel->maps.blames_a) / 4;
}

/*
 * Does not read the last half yet: blame of threads that are queued at the window's end is still added to it.
 * finish() reads it.
 */
static void read_half(struct session *s, void *state, bool second, bool is_last)
{
	if (!is_last)
		read_blames(state, second);
}

/* The run-queue time of the window's threads that has no culprit yet. */
static GArray *rests_of(const struct profile *p)
{
	GArray *rests = g_array_sized_new(FALSE, FALSE, sizeof(struct rest), p->threads->len);

	for (uint32_t i = 0; i < p->threads->len; i++) {
		const struct rest rest = { profile_thread(p, i)->runnable_ns, profile_thread(p, i)->preempted_ns };

		g_array_append_val(rests, rest);
	}
	return rests;
}

static uint64_t take_off(uint64_t *rest_ns, uint64_t ns)
{
	uint64_t own_ns = MIN(*rest_ns, ns);

	*rest_ns -= own_ns;
	return own_ns;
}

/*
 * Limits blame to the thread's delay: after a late cut, the end of a delay may be in the next window, while its blame
 * is in this one.
 */
static void add_blame(struct session *s, GArray *rests, const struct blame_key *k, const struct blame_sum *sum,
		      struct profile *p)
{
	char comm[BLAME_COMM_LEN + 1] = { 0 };
	struct blame row = { .kind = (uint8_t)k->kind,
			     .pid = sum->pid,
			     .tid = sum->tid,
			     .comm = comm,
			     .count = sum->stretch_cnt };

	memcpy(comm, sum->comm, BLAME_COMM_LEN);
	/* a thread whose account was lost has no time to be blamed for */
	if (!fold_find_thread(s->fold, k->tno, &row.thread))
		return;
	struct rest *rest = &g_array_index(rests, struct rest, row.thread);

	row.runnable_ns = take_off(&rest->runnable_ns, sum->runnable_ns);
	row.preempted_ns = take_off(&rest->preempted_ns, sum->preempted_ns);
	if (row.runnable_ns || row.preempted_ns)
		profile_add_blame(p, &row);
}

static void finish(struct session *s, void *state, struct profile *p)
{
	struct blames *b = state;
	g_autoptr(GArray) rests = rests_of(p);
	GHashTableIter iter;
	gpointer key, value;

	/* Blame of threads that were queued at the end.  If the window was cut, this is not the half in use now. */
	read_blames(b, (s->skel->data->half_edge & 1) ^ s->skel->data->is_cut);
	p->info.has_blame = true;
	if (b->unread_cnt)
		profile_add_loss(p, "unread_blames", "sums of who held CPUs could not be read out of the kernel",
				 b->unread_cnt, 0);
	b->unread_cnt = 0;
	/* a BPF scheduler's queued threads are in no CPU's queue, so whoever ran there did not delay them */
	g_hash_table_iter_init(&iter, b->sums);
	while (!p->info.scheduler && g_hash_table_iter_next(&iter, &key, &value))
		add_blame(s, rests, key, value, p);
	g_hash_table_remove_all(b->sums);
}

static void take_part(struct session *s, void *state, const void *record, size_t size)
{
	if (s->options->on_blame && size >= sizeof(struct offcpu_rec_blame))
		s->options->on_blame(record, s->options->callback_data);
}

static const struct session_option options[] = {
	{ "runq-blame", offsetof(struct collect_options, want_blame), "Who held the CPU while threads waited for it" },
	{ NULL, 0, NULL },
};

static const struct session_record records[] = { { OFFCPU_REC_BLAME, .take = take_part }, { 0 } };

const struct session_probe probe_blame = {
	.name = "run-queue blame",
	.options = options,
	.records = records,
	.configure = configure,
	.is_filling = is_filling,
	.read_half = read_half,
	.finish = finish,
	.free = blames_free,
};
