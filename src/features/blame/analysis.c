/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/blame/analysis.h"

#include <string.h>

#include "analyse/rows.h"

const char *blame_kind_id(uint8_t kind)
{
	static const char *const ids[] = {
		[BLAME_UNKNOWN] = "unknown",
		[BLAME_THREAD] = "thread",
		[BLAME_IDLE] = "idle",
		[BLAME_THROTTLED] = "throttled",
	};

	return kind < G_N_ELEMENTS(ids) ? ids[kind] : ids[BLAME_UNKNOWN];
}

const char *blame_name(uint8_t kind, const char *comm)
{
	switch (kind) {
	case BLAME_THREAD: return comm;
	case BLAME_IDLE: return "[idle]";
	case BLAME_THROTTLED: return "[throttled]";
	}
	return "[unknown]";
}

struct blame_rest *blame_rests_new(const struct profile *p)
{
	struct blame_rest *rests = g_new0(struct blame_rest, (gsize)p->threads->len + 1);

	for (uint32_t i = 0; i < p->threads->len; i++) {
		rests[i].runnable_ns = profile_thread(p, i)->runnable_ns;
		rests[i].preempted_ns = profile_thread(p, i)->preempted_ns;
	}
	EACH_ROW(i, const struct blame, b, p->blames) {
		rests[b->thread].runnable_ns -= b->runnable_ns;
		rests[b->thread].preempted_ns -= b->preempted_ns;
	}
	return rests;
}

static guint row_hash(gconstpointer key)
{
	const struct blame_row *r = key;

	return (g_str_hash(r->culprit) * 31 + (r->sufferer ? g_str_hash(r->sufferer) : 0)) * 5 + r->kind;
}

static gboolean row_equal(gconstpointer va, gconstpointer vb)
{
	const struct blame_row *a = va, *b = vb;

	return a->kind == b->kind && strcmp(a->culprit, b->culprit) == 0 && g_strcmp0(a->sufferer, b->sufferer) == 0;
}

static void add_row(GHashTable *rows, const struct blame_row *r)
{
	struct blame_row *have = g_hash_table_lookup(rows, r);

	if (!have) {
		g_hash_table_add(rows, g_memdup2(r, sizeof(*r)));
		return;
	}
	have->count += r->count;
	have->runnable_ns += r->runnable_ns;
	have->preempted_ns += r->preempted_ns;
}

static int compare_rows(gconstpointer va, gconstpointer vb)
{
	const struct blame_row *a = va, *b = vb;
	int c;

	if (blame_row_ns(a) != blame_row_ns(b))
		return blame_row_ns(a) < blame_row_ns(b) ? 1 : -1;
	c = strcmp(blame_name(a->kind, a->culprit), blame_name(b->kind, b->culprit));
	return c ? c : g_strcmp0(a->sufferer, b->sufferer);
}

/* Adds to both tables: by sufferer, and total. */
static void add_both(GHashTable *culprits, GHashTable *pairs, struct blame_row row)
{
	if (!blame_row_ns(&row))
		return;
	add_row(pairs, &row);
	row.sufferer = NULL;
	add_row(culprits, &row);
}

struct blame_table *blame_table_new(const struct profile *p, const struct selection *selection)
{
	GHashTable *culprits = g_hash_table_new_full(row_hash, row_equal, g_free, NULL);
	GHashTable *pairs = g_hash_table_new_full(row_hash, row_equal, g_free, NULL);
	g_autofree struct blame_rest *rests = blame_rests_new(p);
	struct blame_table *t = g_new0(struct blame_table, 1);

	EACH_ROW(i, const struct blame, b, p->blames) {
		if (selection && !selection->threads[b->thread])
			continue;
		if (b->kind == BLAME_THREAD && b->pid)
			*(b->pid == profile_thread(p, b->thread)->pid ? &t->own_ns : &t->others_ns) += b->runnable_ns + b->preempted_ns;
		add_both(culprits, pairs, (struct blame_row){
			.sufferer = profile_thread(p, b->thread)->comm, .culprit = b->comm, .kind = b->kind,
			.count = b->count, .runnable_ns = b->runnable_ns, .preempted_ns = b->preempted_ns });
	}
	EACH_ROW(i, const struct thread, thread, p->threads) {
		if (selection && !selection->threads[i])
			continue;
		t->runnable_ns += thread->runnable_ns;
		t->preempted_ns += thread->preempted_ns;
		add_both(culprits, pairs, (struct blame_row){
			.sufferer = thread->comm, .culprit = "", .kind = BLAME_UNKNOWN,
			.runnable_ns = rests[i].runnable_ns, .preempted_ns = rests[i].preempted_ns });
	}
	t->culprits = rows_in_order(culprits, sizeof(struct blame_row), compare_rows);
	t->pairs = rows_in_order(pairs, sizeof(struct blame_row), compare_rows);
	g_hash_table_unref(culprits);
	g_hash_table_unref(pairs);
	return t;
}

FREES(blame_table_free, struct blame_table, t, g_array_unref(t->culprits); g_array_unref(t->pairs))

uint64_t *throttled_by_thread(const struct profile *p)
{
	uint64_t *throttled_ns = g_new0(uint64_t, (gsize)p->threads->len + 1);

	EACH_ROW(i, const struct blame, b, p->blames)
		if (b->kind == BLAME_THROTTLED)
			throttled_ns[b->thread] += b->runnable_ns + b->preempted_ns;
	return throttled_ns;
}
