/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/limits/limits.h"

#include "runtimes/java/frames.h"
#include "symbolize/process/maps.h"

#define PROCESSES_MAX 4
#define HOLDERS_MAX 32		/* limit for a process */
#define WAITING_SHARE 2		/* 1/n of the window: minimum wait for a monitor before looking for its holder */
#define MAPS_BYTES_MAX (16 << 20)

static void add_holders(struct profile *p, uint32_t pid, const GArray *monitors, bool waits_itself, guint *left)
{
	EACH_ROW(i, const struct hotspot_monitor, one, monitors) {
		g_autofree char *holder = g_strdup_printf("%" PRIu32, one->holder_tid);
		bool is_found = false;

		for (guint k = 0; k < monitors->len && !is_found; k++)
			is_found = g_array_index(monitors, struct hotspot_monitor, k).tid == one->holder_tid;
		if (is_found != waits_itself || !*left)
			continue;
		(*left)--;
		profile_add_limit(p, LIMIT_MONITOR, pid, one->tid, holder);
	}
}

static void look_at(struct profile *p, const char *proc_dir, uint32_t pid)
{
	g_autofree char *text = living_maps(proc_dir, pid, MAPS_BYTES_MAX);
	g_autoptr(GArray) lines = text ? maps_parse(text) : NULL;
	g_autoptr(GArray) monitors = g_array_new(FALSE, FALSE, sizeof(struct hotspot_monitor));
	g_autofree struct hotspot *jvm = g_new0(struct hotspot, 1);
	guint left = HOLDERS_MAX;

	/* in another pid namespace thread ids differ from ours */
	if (!lines || !foreign_threads_are_ours(proc_dir, pid) || !hotspot_open(jvm, proc_dir, pid, lines))
		return;
	hotspot_monitors(jvm, monitors);
	/* rings come first */
	add_holders(p, pid, monitors, true, &left);
	add_holders(p, pid, monitors, false, &left);
}

/* Few recordings have monitors; then stacks need not be walked. */
static bool has_monitors(const struct profile *p)
{
	for (guint i = 0; i < p->frames->len; i++) {
		const char *name = profile_get_frame(p, i)->name;

		if (name && g_str_has_prefix(name, "ObjectMonitor::"))
			return true;
	}
	return false;
}

void monitors_look(struct profile *p, const char *proc_dir)
{
	if (!has_monitors(p))
		return;
	g_autoptr(GHashTable) sums = g_hash_table_new_full(NULL, NULL, NULL, g_free);	/* pid -> ns */
	unsigned left = PROCESSES_MAX;

	EACH_ROW(i, const struct wait, w, p->waits) {
		gpointer pid = GUINT_TO_POINTER(profile_thread(p, w->thread)->pid);

		if (!wait_is_for_monitor(p, w))
			continue;
		uint64_t *ns = g_hash_table_lookup(sums, pid);

		if (!ns) {
			ns = g_new0(uint64_t, 1);
			g_hash_table_insert(sums, pid, ns);
		}
		if (*ns < p->info.duration_ns / WAITING_SHARE &&
		    *ns + w->blocked_ns >= p->info.duration_ns / WAITING_SHARE && left) {
			left--;
			look_at(p, proc_dir, GPOINTER_TO_UINT(pid));
		}
		*ns += w->blocked_ns;
	}
}
