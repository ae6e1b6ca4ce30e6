/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/limits/limits.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/opener/opener.h"
#include "base/proc/cpu.h"

#define TOLD_PERMILLE 20	/* 1/1000 of a CPU; less is within the error of ticks */

struct quota_users {
	char *proc_dir;
	struct group_limits *groups;
	GHashTable *before;	/* pid -> ticks, for each group member at the begin */
	uint64_t from_ns;
};

static uint64_t ticks_of(const char *proc_dir, uint32_t pid)
{
	struct proc_cpu cpu = { 0 };

	proc_cpu_read(proc_dir, pid, &cpu);
	return cpu.user + cpu.kernel + cpu.children;
}

/* The processes of a group and its inner groups. */
static GArray *members_new(const char *group)
{
	GArray *members = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	g_autoptr(GPtrArray) dirs = g_ptr_array_new_with_free_func(g_free);

	g_ptr_array_add(dirs, g_strdup(group));
	EACH_POINTER(d, const char, dir, dirs) {
		g_autofree char *path = g_build_filename(dir, "cgroup.procs", NULL);
		g_autoptr(GDir) inner = g_dir_open(dir, 0, NULL);
		size_t len;
		g_autofree char *text = opener_text(path, OPENER_TEXT_MAX, &len);

		for (char *at = text; at && g_ascii_isdigit(*at) && members->len < QUOTA_MEMBERS_MAX;
		     at += *at == '\n') {
			uint32_t pid = (uint32_t)g_ascii_strtoull(at, &at, 10);

			g_array_append_val(members, pid);
		}
		for (const char *name; inner && dirs->len < QUOTA_GROUPS_MAX && (name = g_dir_read_name(inner));) {
			g_autofree char *one = g_build_filename(dir, name, NULL);

			if (g_file_test(one, G_FILE_TEST_IS_DIR))
				g_ptr_array_add(dirs, g_steal_pointer(&one));
		}
	}
	return members;
}

struct quota_users *quota_users_begin(const char *proc_dir, const GArray *pids)
{
	struct quota_users *q = g_new0(struct quota_users, 1);

	q->proc_dir = g_strdup(proc_dir);
	q->groups = group_limits_new(proc_dir);
	q->before = g_hash_table_new(NULL, NULL);
	q->from_ns = clock_ns(CLOCK_MONOTONIC);
	for (guint i = 0; pids && i < MIN(pids->len, QUOTA_TARGETS_MAX); i++) {
		g_autoptr(GString) text = g_string_new(NULL);
		uint32_t pid = g_array_index(pids, uint32_t, i);
		g_autofree char *group = g_hash_table_contains(q->before, GUINT_TO_POINTER(pid)) ?
						 NULL :
						 group_limits_find(q->groups, LIMIT_QUOTA, pid, text);
		g_autoptr(GArray) members = group ? members_new(group) : NULL;

		for (guint m = 0; members && m < members->len; m++) {
			uint32_t member = g_array_index(members, uint32_t, m);

			g_hash_table_insert(q->before, GUINT_TO_POINTER(member),
					    GSIZE_TO_POINTER(ticks_of(proc_dir, member)));
		}
	}
	if (g_hash_table_size(q->before))
		return q;
	quota_users_free(q);
	return NULL;
}

static void add_member(const struct quota_users *q, GHashTable *users, uint32_t pid, uint64_t ticks)
{
	g_autofree char *name = opener_process_text(q->proc_dir, pid, "comm");

	if (name)
		programs_add(users, g_strdelimit(name, "\n", '\0'), pid, ticks);
}

static uint32_t permille_of(const struct quota_users *q, uint64_t ticks)
{
	double seconds = (double)(clock_ns(CLOCK_MONOTONIC) - q->from_ns) / 1e9, hz = (double)sysconf(_SC_CLK_TCK);

	return seconds > 0 && hz > 0 ? (uint32_t)MIN((double)ticks / hz / seconds * 1000, UINT32_MAX / 2) : 0;
}

/* The largest user of the group's quota, if it used more than the recorded processes (pids). NULL: none. */
static char *used_in(const struct quota_users *q, GHashTable *recorded, const char *group)
{
	g_autoptr(GArray) members = members_new(group);
	g_autoptr(GHashTable) users = programs_new();
	const char *name = NULL;
	uint64_t own = 0;

	for (guint i = 0; i < members->len; i++) {
		uint32_t member = g_array_index(members, uint32_t, i);
		uint64_t before = GPOINTER_TO_SIZE(g_hash_table_lookup(q->before, GUINT_TO_POINTER(member)));
		uint64_t now = ticks_of(q->proc_dir, member), ticks = now - MIN(before, now);

		if (g_hash_table_contains(recorded, GUINT_TO_POINTER(member)))
			own += ticks;
		else
			add_member(q, users, member, ticks);
	}
	const struct program *most = programs_largest(users, &name);

	if (!most || most->sum <= own || permille_of(q, most->sum) < TOLD_PERMILLE)
		return NULL;
	return g_strdup_printf(LIMIT_USED_FORMAT "%s", permille_of(q, own), permille_of(q, most->sum), most->pid, name);
}

void quota_users_end(struct quota_users *q, struct profile *p)
{
	g_autoptr(GHashTable) recorded = limits_pids_new(p),
			      told = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	guint cnt = p->limits->len;

	for (guint i = 0; q && i < cnt; i++) {
		const struct profile_limit l = g_array_index(p->limits, struct profile_limit, i);
		g_autoptr(GString) words = g_string_new(NULL);
		char *group = l.kind == LIMIT_QUOTA && g_hash_table_contains(q->before, GUINT_TO_POINTER(l.pid)) ?
				      group_limits_find(q->groups, LIMIT_QUOTA, l.pid, words) :
				      NULL;

		if (!group)
			continue;
		/* one answer for all processes of a group */
		if (!g_hash_table_contains(told, group))
			g_hash_table_insert(told, g_strdup(group), used_in(q, recorded, group));
		const char *text = g_hash_table_lookup(told, group);

		if (text)
			profile_add_limit(p, LIMIT_USED, l.pid, 0, text);
		g_free(group);
	}
	quota_users_free(q);
}

FREES(quota_users_free, struct quota_users, q, g_free(q->proc_dir); group_limits_free(q->groups);
      g_hash_table_unref(q->before))
