/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Which processes that are not recorded used the CPUs meanwhile: who waits for a CPU wants to know. */
#include "fold/limits/limits.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/proc/status.h"

#define NAMED_PERMILLE 50	/* of a CPU: processes that used less are not asked for their names */

struct cpu_users {
	char *proc_dir;
	GHashTable *before;	/* pid -> CPU time in ms as it began */
	uint64_t from_ns;
	struct cpus_time cpus;
	bool has_cpus;
};

static uint64_t used_ms(uint32_t pid)
{
	return clock_of_process_ns((pid_t)pid) / 1000000;
}

struct cpu_users *cpu_users_begin(const char *proc_dir)
{
	struct cpu_users *u = g_new0(struct cpu_users, 1);
	g_autoptr(GArray) pids = process_ids();

	u->proc_dir = g_strdup(proc_dir);
	u->before = g_hash_table_new(NULL, NULL);
	u->has_cpus = cpus_time_read(proc_dir, &u->cpus);
	u->from_ns = clock_ns(CLOCK_MONOTONIC);
	EACH_ROW(i, const uint32_t, pid, pids)
		g_hash_table_insert(u->before, GUINT_TO_POINTER(*pid), GSIZE_TO_POINTER(used_ms(*pid)));
	return u;
}

GHashTable *programs_new(void)
{
	return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
}

void programs_add(GHashTable *programs, const char *name, uint32_t pid, uint64_t value)
{
	struct program *one = g_hash_table_lookup(programs, name);

	if (!one) {
		one = g_new0(struct program, 1);
		g_hash_table_insert(programs, g_strdup(name), one);
	}
	one->sum += value;
	one->cnt++;
	if (value >= one->most) {
		one->most = value;
		one->pid = pid;
	}
}

const struct program *programs_largest(GHashTable *programs, const char **ret_name)
{
	const struct program *largest = NULL;
	GHashTableIter iter;
	gpointer name, value;

	g_hash_table_iter_init(&iter, programs);
	while (g_hash_table_iter_next(&iter, &name, &value)) {
		const struct program *one = value;

		if (one->sum <= (largest ? largest->sum : 0))
			continue;
		largest = one;
		*ret_name = name;
	}
	return largest;
}

static void put_busy(const struct cpu_users *u, struct profile *p)
{
	struct cpus_time now;

	if (!u->has_cpus || !cpus_time_read(u->proc_dir, &now) || now.all <= u->cpus.all || now.busy < u->cpus.busy)
		return;
	const uint64_t busy = MIN(now.busy - u->cpus.busy, now.all - u->cpus.all);
	g_autofree char *text = g_strdup_printf(LIMIT_BUSY_FORMAT, (uint32_t)(busy * 1000 / (now.all - u->cpus.all)));

	profile_add_limit(p, LIMIT_BUSY, 0, 0, text);
}

void cpu_users_end(struct cpu_users *u, struct profile *p)
{
	g_autoptr(GHashTable) recorded = limits_pids_new(p), programs = programs_new();
	g_autoptr(GArray) pids = u ? process_ids() : NULL;
	const uint64_t window_ms = u ? MAX((clock_ns(CLOCK_MONOTONIC) - u->from_ns) / 1000000, 1) : 1;
	const char *name = NULL;

	for (guint i = 0; pids && i < pids->len; i++) {
		const uint32_t pid = g_array_index(pids, uint32_t, i);
		const uint64_t before = GPOINTER_TO_SIZE(g_hash_table_lookup(u->before, GUINT_TO_POINTER(pid)));
		const uint64_t now = used_ms(pid), ms = now - MIN(before, now);

		if (ms * 1000 < window_ms * NAMED_PERMILLE || pid == (uint32_t)getpid() ||
		    g_hash_table_contains(recorded, GUINT_TO_POINTER(pid)))
			continue;
		g_autofree char *called = process_called(u->proc_dir, pid);

		if (called && *called)
			programs_add(programs, called, pid, ms);
	}
	if (u)
		put_busy(u, p);
	const struct program *most = programs_largest(programs, &name);
	const uint32_t permille = most ? (uint32_t)(most->sum * 1000 / window_ms) : 0;

	if (permille >= CPU_USERS_PERMILLE) {
		g_autofree char *text = g_strdup_printf(LIMIT_OTHERS_FORMAT "%s", permille, most->cnt, name);

		profile_add_limit(p, LIMIT_OTHERS, most->pid, 0, text);
	}
	cpu_users_free(u);
}

FREES(cpu_users_free, struct cpu_users, u, g_free(u->proc_dir); g_hash_table_unref(u->before))
