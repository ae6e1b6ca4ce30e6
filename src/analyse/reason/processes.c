/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/reason/idle.h"

#include <string.h>

#include "analyse/actors.h"
#include "base/each.h"

GHashTable *idle_serving_new(const struct profile *p, const uint8_t *reason)
{
	GHashTable *pids = g_hash_table_new(NULL, NULL);

	EACH_ROW(i, const struct wait, w, p->waits)
		if (reason[i] == REASON_NETWORK_ACCEPT || reason[i] == REASON_EVENT_LOOP ||
		    reason[i] == REASON_POOL_IDLE)
			g_hash_table_add(pids, GUINT_TO_POINTER(profile_thread(p, w->thread)->pid));
	return pids;
}

const char *idle_ranks_of(const struct profile *p)
{
	g_autofree bool *in_mpi = g_new0(bool, (gsize)p->nodes->len + 1);

	for (uint32_t n = 1; n < p->nodes->len; n++) {	/* a parent has the lower number */
		const struct stack_node *node = profile_get_node(p, n);
		const char *name = profile_get_frame(p, node->frame)->name;

		in_mpi[n] = in_mpi[node->parent] || (name && (g_str_has_prefix(name, "MPI_") || g_str_has_prefix(name, "PMPI_")));
	}
	EACH_ROW(i, const struct wait, w, p->waits)
		if (in_mpi[w->user])
			return profile_thread(p, w->thread)->process;
	return NULL;
}

GHashTable *idle_waited_for_new(const struct profile *p, const uint8_t *reason)
{
	GHashTable *pids = g_hash_table_new(NULL, NULL);

	for (uint32_t i = 0; i < p->waits->len; i++) {
		const struct object *o = profile_wait_object(p, profile_wait(p, i));

		if (reason[i] == REASON_CHILD_EXIT && o && o->kind == OBJECT_CHILD && o->pid)
			g_hash_table_add(pids, GUINT_TO_POINTER(o->pid));
	}
	return pids;
}

bool idle_has_several(const struct profile *p)
{
	g_autoptr(GHashTable) pids = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

	EACH_ROW(i, const struct thread, t, p->threads) {
		size_t bytes = t->process ? actors_kind_bytes(t->process) : 0;
		gpointer pid;

		if (!t->process || t->flags & THREAD_KERNEL)
			continue;
		g_autofree char *kind = g_strndup(t->process, bytes ? bytes : strlen(t->process));

		if (!g_hash_table_lookup_extended(pids, kind, NULL, &pid))
			g_hash_table_insert(pids, g_steal_pointer(&kind), GUINT_TO_POINTER(t->pid));
		else if (pid != GUINT_TO_POINTER(t->pid))
			return true;
	}
	return false;
}

uint64_t idle_first_start_ns(const struct profile *p)
{
	uint64_t first_ns = UINT64_MAX;

	for (uint32_t i = 0; i < p->threads->len; i++)
		first_ns = MIN(first_ns, profile_thread(p, i)->start_ns);
	return first_ns;
}
