/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/blame/fold.h"
#include "base/each.h"
#include "base/order.h"

#include <string.h>

#define THREADS_MAX 65536	/* with parts but no event: filtered waits, lost events, ended threads */

struct pending {
	uint64_t since_ns;	/* start of the wait */
	GArray *parts;		/* struct held */
};

struct wait_blame {
	GHashTable *threads;	/* tid -> struct pending */
};

FREES_DATA(pending_free, struct pending, p, g_array_unref(p->parts))

struct wait_blame *wait_blame_new(void)
{
	struct wait_blame *b = g_new(struct wait_blame, 1);

	b->threads = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, pending_free);
	return b;
}

FREES(wait_blame_free, struct wait_blame, b, g_hash_table_unref(b->threads))

static struct pending *pending_of(struct wait_blame *b, uint32_t tid, uint64_t since_ns)
{
	struct pending *p = g_hash_table_lookup(b->threads, GUINT_TO_POINTER(tid));

	if (!p) {
		if (g_hash_table_size(b->threads) >= THREADS_MAX)
			g_hash_table_remove_all(b->threads);
		p = g_new(struct pending, 1);
		p->parts = g_array_new(FALSE, FALSE, sizeof(struct held));
		p->since_ns = since_ns;
		g_hash_table_insert(b->threads, GUINT_TO_POINTER(tid), p);
	} else if (p->since_ns != since_ns) {
		g_array_set_size(p->parts, 0);	/* of a wait whose event did not arrive */
		p->since_ns = since_ns;
	}
	return p;
}

void wait_blame_add(struct wait_blame *b, const struct offcpu_rec_blame *part)
{
	struct pending *p = pending_of(b, part->tid, part->since_ns);
	struct held held = { .kind = part->kind, .pid = part->by_pid, .tid = part->by_tid, .ns = part->ns,
			     .stretch_cnt = part->stretch_cnt };

	memcpy(held.comm, part->by_comm, BLAME_COMM_LEN);
	EACH_ROW(i, struct held, have, p->parts) {
		if (have->kind != held.kind || have->pid != held.pid || strcmp(have->comm, held.comm) != 0)
			continue;
		have->tid = have->tid == held.tid ? have->tid : 0;
		have->ns += held.ns;
		have->stretch_cnt += held.stretch_cnt;
		return;
	}
	g_array_append_val(p->parts, held);
}

ORDER(by_time, struct held, ORDER_HIGH(ns) ORDER_LOW(kind) ORDER_LOW(pid))

GArray *wait_blame_take(struct wait_blame *b, const struct offcpu_rec_event *event, uint64_t *ret_unknown_ns)
{
	const uint64_t delay_ns = event->runnable_ns + event->preempted_ns;
	const uint64_t since_ns = event->end_ns - event->blocked_ns - delay_ns;
	struct pending *p = g_hash_table_lookup(b->threads, GUINT_TO_POINTER(event->tid));
	GArray *parts;
	uint64_t told_ns = 0;

	if (p && p->since_ns == since_ns)
		parts = g_array_ref(p->parts);
	else
		parts = g_array_new(FALSE, FALSE, sizeof(struct held));
	g_hash_table_remove(b->threads, GUINT_TO_POINTER(event->tid));
	g_array_sort(parts, by_time);
	for (guint i = 0; i < parts->len; i++)
		told_ns += g_array_index(parts, struct held, i).ns;
	*ret_unknown_ns = told_ns < delay_ns ? delay_ns - told_ns : 0;
	return parts;
}
