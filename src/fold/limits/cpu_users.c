/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Which processes that are not recorded used the CPUs meanwhile: who waits for a CPU wants to know. */
#include "fold/limits/limits.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/opener/opener.h"
#include "base/proc/status.h"

#define NAMED_PERMILLE 50	/* of a CPU: processes that used less are not asked for their names */

struct cpu_users {
	char *proc_dir;
	GHashTable *before;	/* pid -> CPU time in ms as it began */
	uint64_t from_ns;
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
	u->from_ns = clock_ns(CLOCK_MONOTONIC);
	EACH_ROW(i, const uint32_t, pid, pids)
		g_hash_table_insert(u->before, GUINT_TO_POINTER(*pid), GSIZE_TO_POINTER(used_ms(*pid)));
	return u;
}

/* Processes of one name. */
struct user {
	uint64_t ms, most_ms;
	uint32_t pid, cnt;	/* the one that used most; all of them */
};

static void add(GHashTable *users, const char *proc_dir, uint32_t pid, uint64_t ms)
{
	g_autofree char *comm = opener_process_text(proc_dir, pid, "comm");
	g_autofree char *name = process_script_name(pid) ?: g_strdup(comm ? g_strchomp(comm) : "");
	struct user *u = g_hash_table_lookup(users, name);

	if (!*name)
		return;
	if (!u) {
		u = g_new0(struct user, 1);
		g_hash_table_insert(users, g_strdup(name), u);
	}
	u->ms += ms;
	u->cnt++;
	if (ms >= u->most_ms) {
		u->most_ms = ms;
		u->pid = pid;
	}
}

void cpu_users_end(struct cpu_users *u, struct profile *p)
{
	g_autoptr(GHashTable) recorded = limits_pids_new(p),
			      users = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	g_autoptr(GArray) pids = u ? process_ids() : NULL;
	const uint64_t window_ms = u ? MAX((clock_ns(CLOCK_MONOTONIC) - u->from_ns) / 1000000, 1) : 1;
	const char *most = NULL;
	GHashTableIter iter;
	gpointer name, user;
	struct user best = { 0 };

	for (guint i = 0; pids && i < pids->len; i++) {
		const uint32_t pid = g_array_index(pids, uint32_t, i);
		const uint64_t before = GPOINTER_TO_SIZE(g_hash_table_lookup(u->before, GUINT_TO_POINTER(pid)));
		const uint64_t now = used_ms(pid), ms = now - MIN(before, now);

		if (ms * 1000 >= window_ms * NAMED_PERMILLE && pid != (uint32_t)getpid() &&
		    !g_hash_table_contains(recorded, GUINT_TO_POINTER(pid)))
			add(users, u->proc_dir, pid, ms);
	}
	g_hash_table_iter_init(&iter, users);
	while (g_hash_table_iter_next(&iter, &name, &user))
		if (((const struct user *)user)->ms > best.ms) {
			best = *(const struct user *)user;
			most = name;
		}
	const uint32_t permille = (uint32_t)(best.ms * 1000 / window_ms);

	if (permille >= CPU_USERS_PERMILLE) {
		g_autofree char *text = g_strdup_printf(LIMIT_OTHERS_FORMAT "%s", permille, best.cnt, most);

		profile_add_limit(p, LIMIT_OTHERS, best.pid, 0, text);
	}
	cpu_users_free(u);
}

FREES(cpu_users_free, struct cpu_users, u, g_free(u->proc_dir); g_hash_table_unref(u->before))
