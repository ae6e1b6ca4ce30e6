/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/parts.h"

#include "base/hash.h"
#include "base/order.h"

struct sample_key {
	uint64_t ustack, kstack;
	uint64_t at_ns;		/* where its slice begins, since the window began */
	uint32_t tno;
};

struct fold_on_cpu {
	GHashTable *sums;	/* struct sample_key -> struct oncpu_sum */
	uint64_t length_ns;	/* of slices, when they were last made longer */
};

HASH_KEY(key, struct sample_key, ustack, kstack, at_ns, tno)

static GHashTable *sums_new(void)
{
	return g_hash_table_new_full(key_hash, key_equal, g_free, g_free);
}

struct fold_on_cpu *fold_on_cpu_new(void)
{
	struct fold_on_cpu *o = g_new0(struct fold_on_cpu, 1);

	o->sums = sums_new();
	return o;
}

FREES(fold_on_cpu_free, struct fold_on_cpu, o, g_hash_table_destroy(o->sums))

static void add(GHashTable *sums, const struct sample_key *key, const struct oncpu_sum *sum)
{
	struct oncpu_sum *have = g_hash_table_lookup(sums, key);

	if (!have) {
		g_hash_table_insert(sums, g_memdup2(key, sizeof(*key)), g_memdup2(sum, sizeof(*sum)));
		return;
	}
	have->samples += sum->samples;
	have->weight_ns += sum->weight_ns;
}

/* As a recording gets long its slices do, and what was told apart need not be any more. */
static void lengthen(struct fold_on_cpu *o, uint64_t length_ns)
{
	g_autoptr(GHashTable) old = o->sums;
	GHashTableIter iter;
	gpointer key, sum;

	o->length_ns = length_ns;
	o->sums = sums_new();
	g_hash_table_iter_init(&iter, old);
	while (g_hash_table_iter_next(&iter, &key, &sum)) {
		struct sample_key longer = *(struct sample_key *)key;

		longer.at_ns -= longer.at_ns % length_ns;
		add(o->sums, &longer, sum);
	}
}

void fold_on_cpu_add(struct fold_on_cpu *o, const struct oncpu_key *key, const struct oncpu_sum *sum, uint64_t slice_ns,
		     uint64_t length_ns)
{
	struct sample_key own = { .ustack = key->ustack, .kstack = key->kstack, .tno = key->tno };

	if (length_ns && length_ns != o->length_ns)
		lengthen(o, length_ns);
	own.at_ns = length_ns ? key->slice * slice_ns : 0;
	if (length_ns)
		own.at_ns -= own.at_ns % length_ns;
	add(o->sums, &own, sum);
}

size_t fold_on_cpu_cnt(const struct fold_on_cpu *o)
{
	return g_hash_table_size(o->sums);
}

ORDER_POINTERS(by_key, struct sample_key, ORDER_LOW(tno) ORDER_LOW(at_ns) ORDER_LOW(ustack) ORDER_LOW(kstack))

void fold_on_cpu_finish(struct fold_on_cpu *o, struct fold_stacks *stacks, GHashTable *threads, struct profile *p,
			uint64_t length_ns, uint32_t slice_cnt)
{
	guint cnt;
	g_autofree gpointer *keys = g_hash_table_get_keys_as_array(o->sums, &cnt);
	uint64_t dropped = 0;

	qsort(keys, cnt, sizeof(*keys), by_key);
	for (guint i = 0; i < cnt; i++) {
		const struct sample_key *k = keys[i];
		const struct oncpu_sum *sum = g_hash_table_lookup(o->sums, k);
		const uint32_t thread = GPOINTER_TO_UINT(g_hash_table_lookup(threads, GUINT_TO_POINTER(k->tno)));

		if (!thread || !sum->samples || !sum->weight_ns) {
			dropped += sum->samples;
			continue;
		}
		const struct on_cpu_sample s = {
			.thread = thread - 1, .user = fold_stacks_node(stacks, k->ustack, FRAME_USER),
			.kernel = fold_stacks_node(stacks, k->kstack, FRAME_KERNEL),
			.slice = length_ns && slice_cnt ? (uint32_t)MIN(k->at_ns / length_ns, slice_cnt - 1) : 0,
			.samples = sum->samples, .weight_ns = sum->weight_ns,
		};

		profile_add_on_cpu(p, &s);
	}
	if (dropped)
		profile_add_loss(p, "on_cpu_thread", "samples on CPU were of threads whose account was lost", dropped,
				 0);
	g_hash_table_remove_all(o->sums);
}
