/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/limits/limits.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/opener/opener.h"
#include "base/proc/mount_point.h"
#include "base/text.h"

#define DEPTH_MAX 32
#define REACHED 0.9	/* share of a memory limit at which it counts as reached */
#define BESIDE_MAX 1024	/* files and groups that are looked at for weights beside one */
#define LESS_WEIGHT 4	/* times the weight of a group: smaller ones are no cause of a long wait */

enum controller { CPU, DISK, MEMORY, FREEZER, PIDS, UNIFIED, CONTROLLER_COUNT };

/* Names in version 1. Version 2 has one hierarchy for all. */
static const char *const controllers[CONTROLLER_COUNT] = { [CPU] = "cpu", [DISK] = "blkio",
							    [MEMORY] = "memory", [FREEZER] = "freezer", [PIDS] = "pids" };

struct group_limits {
	char *proc_dir;
	bool has_mounts;
	char *mounts[CONTROLLER_COUNT];	/* NULL: not mounted */
	GHashTable *notes;	/* pid -> struct note */
	const struct note *first;
	GHashTable *weights;	/* text of /proc/PID/cgroup -> text of LIMIT_WEIGHT, or "" */
};

/* The limits of the group of a process that may end, when it was noted. */
struct note {
	char *groups;	/* text of its /proc/PID/cgroup */
	char *words[LIMIT_KIND_COUNT];	/* NULL: no limit */
};

static void free_note(gpointer data)
{
	struct note *n = data;

	for (unsigned i = 0; i < LIMIT_KIND_COUNT; i++)
		g_free(n->words[i]);
	g_free(n->groups);
	g_free(n);
}

struct group_limits *group_limits_new(const char *proc_dir)
{
	struct group_limits *g = g_new0(struct group_limits, 1);

	g->proc_dir = g_strdup(proc_dir);
	g->notes = g_hash_table_new_full(NULL, NULL, NULL, free_note);
	g->weights = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	return g;
}

void group_limits_free(struct group_limits *g)
{
	if (!g)
		return;
	for (unsigned i = 0; i < CONTROLLER_COUNT; i++)
		g_free(g->mounts[i]);
	g_hash_table_unref(g->notes);
	g_hash_table_unref(g->weights);
	g_free(g->proc_dir);
	g_free(g);
}

/* Is the name in a list such as "cpu,cpuacct"? */
static bool list_contains(const char *names, size_t len, const char *name)
{
	g_autofree char *text = g_strndup(names, len);
	g_auto(GStrv) words = g_strsplit(text, ",", -1);

	return g_strv_contains((const char *const *)words, name);
}

/*
 * The path in a hierarchy, from lines "5:cpu,cpuacct:/a/b"; name NULL: version 2, whose line begins with "0::". NULL:
 * none, or a path that leaves the mount, as of a process outside of our namespace.
 */
static char *path_in(const char *text, const char *name)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", 64);

	for (char **line = lines; *line; line++) {
		const char *names = strchr(*line, ':'), *path = names ? strchr(names + 1, ':') : NULL;

		if (!path || path[1] != '/' || strstr(path, "/../") || g_str_has_suffix(path, "/.."))
			continue;
		if (name ? list_contains(names + 1, (size_t)(path - names - 1), name) : names + 1 == path)
			return g_strdup(path + 1);
	}
	return NULL;
}

static char *read_file(const char *group, const char *name)
{
	g_autofree char *path = g_build_filename(group, name, NULL);
	char *text = NULL;

	return g_file_get_contents(path, &text, NULL, NULL) ? text : NULL;
}

/* UINT64_MAX for "max", "-1" and missing files. */
static uint64_t read_number(const char *group, const char *name)
{
	g_autofree char *text = read_file(group, name);

	return text && g_ascii_isdigit(*text) ? g_ascii_strtoull(text, NULL, 10) : UINT64_MAX;
}

/* Text such as "0.20 CPUs (cpu.max)". */
static bool tell_cpu(const char *group, GString *s)
{
	g_autofree char *text = read_file(group, "cpu.max");
	uint64_t quota = read_number(group, "cpu.cfs_quota_us"), period = read_number(group, "cpu.cfs_period_us");
	char *end;
	bool is_second = text != NULL;

	if (text && g_ascii_isdigit(*text)) {
		quota = g_ascii_strtoull(text, &end, 10);
		period = g_ascii_strtoull(end, NULL, 10);
	}
	if (quota == UINT64_MAX || period == UINT64_MAX || !period)
		return false;
	g_string_append_printf(s, "%.2f CPUs (%s)", (double)quota / (double)period,
			       is_second ? "cpu.max" : "cpu.cfs_quota_us");
	return true;
}

/* Is there a process in the group, or in one within? At most `left` groups are looked at. */
static bool is_populated(const char *group, unsigned *left)
{
	g_autofree char *text = read_file(group, "cgroup.procs");
	struct stat st;
	/* a link more for each group within */
	const bool has_inner = text && !*text && stat(group, &st) == 0 && st.st_nlink > 2;
	g_autoptr(GDir) dir = has_inner ? g_dir_open(group, 0, NULL) : NULL;
	bool is = text && *text;

	for (const char *name; dir && !is && *left && (name = g_dir_read_name(dir));) {
		g_autofree char *inner = g_build_filename(group, name, NULL);

		*left -= 1;
		is = g_file_test(inner, G_FILE_TEST_IS_DIR) && is_populated(inner, left);
	}
	return is;
}

/* The largest weight of what is beside the group and has processes. Threads of the outer group have the usual one. */
static uint64_t most_beside(const char *group, const char *file, uint64_t own, uint64_t usual)
{
	g_autofree char *outer = g_path_get_dirname(group), *text = read_file(outer, "cgroup.procs");
	g_autoptr(GDir) dir = g_dir_open(outer, 0, NULL);
	uint64_t most = text && *text ? usual : 0;
	unsigned left = BESIDE_MAX;

	for (const char *name; dir && left && (name = g_dir_read_name(dir));) {
		g_autofree char *beside = g_build_filename(outer, name, NULL);
		uint64_t weight = read_number(beside, file);

		left--;
		if (weight != UINT64_MAX && weight > most && weight / LESS_WEIGHT >= own && is_populated(beside, &left))
			most = weight;
	}
	return most;
}

/* Text such as "cpu.shares 2, and others beside it up to 4096". */
static bool tell_weight(const char *group, GString *s)
{
	static const struct {
		const char *name;
		uint64_t usual;
	} files[] = { { "cpu.weight", 100 }, { "cpu.shares", 1024 } };

	for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
		uint64_t own = read_number(group, files[i].name);
		uint64_t most = own == UINT64_MAX ? 0 : most_beside(group, files[i].name, own, files[i].usual);

		if (!most || most / LESS_WEIGHT < own)
			continue;
		g_string_append_printf(s, "%s %" PRIu64 ", and others beside it up to %" PRIu64, files[i].name, own, most);
		return true;
	}
	return false;
}

/* "254:0" as its name: "vda". */
static void append_device(GString *s, const char *numbers, size_t len)
{
	g_autofree char *path = g_strdup_printf("/sys/dev/block/%.*s", (int)len, numbers);
	g_autofree char *link = g_file_read_link(path, NULL);
	g_autofree char *name = link ? g_path_get_basename(link) : g_strndup(numbers, len);

	g_string_append(s, name);
}

static void append_rate(GString *s, const char *device, size_t len, bool is_write, bool is_bytes, uint64_t rate)
{
	g_string_append_printf(s, "%s%s of ", s->len ? ", " : "", is_write ? "writes" : "reads");
	append_device(s, device, len);
	g_string_append(s, " at ");
	if (is_bytes)
		size_text(s, rate);
	else
		g_string_append_printf(s, "%" PRIu64, rate);
	g_string_append(s, is_bytes ? "/s" : " a second");
}

/* Lines "254:0 rbps=1048576 wbps=max riops=max wiops=max". */
static void tell_disk_2(const char *text, GString *s)
{
	static const char *const keys[] = { " rbps=", " wbps=", " riops=", " wiops=" };
	g_auto(GStrv) lines = g_strsplit(text, "\n", 16);

	for (char **line = lines; *line; line++) {
		for (unsigned k = 0; k < G_N_ELEMENTS(keys); k++) {
			const char *at = strstr(*line, keys[k]);

			if (at && g_ascii_isdigit(at[strlen(keys[k])]))
				append_rate(s, *line, strcspn(*line, " "), k % 2, k < 2,
					    g_ascii_strtoull(at + strlen(keys[k]), NULL, 10));
		}
	}
}

/* Lines "254:0 1048576", one file for each kind. */
static void tell_disk_1(const char *group, GString *s)
{
	static const char *const files[] = {
		"blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device",
		"blkio.throttle.read_iops_device", "blkio.throttle.write_iops_device",
	};

	for (unsigned k = 0; k < G_N_ELEMENTS(files); k++) {
		g_autofree char *text = read_file(group, files[k]);
		g_auto(GStrv) lines = g_strsplit(text ? text : "", "\n", 16);

		for (char **line = lines; *line; line++) {
			const char *at = strchr(*line, ' ');

			if (at && g_ascii_isdigit(at[1]))
				append_rate(s, *line, (size_t)(at - *line), k % 2, k < 2,
					    g_ascii_strtoull(at + 1, NULL, 10));
		}
	}
}

static bool tell_disk(const char *group, GString *s)
{
	g_autofree char *text = read_file(group, "io.max");

	if (text)
		tell_disk_2(text, s);
	else
		tell_disk_1(group, s);
	if (s->len)
		g_string_append_printf(s, " (%s)", text ? "io.max" : "blkio.throttle");
	return s->len;
}

/* Text such as "40.0 MiB of memory, of which 39.9 MiB are in use (memory.high)". */
static bool tell_memory(const char *group, GString *s)
{
	static const struct {
		const char *limit, *usage;
	} files[] = {
		{ "memory.high", "memory.current" },
		{ "memory.max", "memory.current" },
		{ "memory.limit_in_bytes", "memory.usage_in_bytes" },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(files); i++) {
		uint64_t limit = read_number(group, files[i].limit), used = read_number(group, files[i].usage);

		if (limit == UINT64_MAX || used == UINT64_MAX || (double)used < (double)limit * REACHED)
			continue;
		size_text(s, limit);
		g_string_append(s, " of memory, of which ");
		size_text(s, used);
		g_string_append_printf(s, " are in use (%s)", files[i].limit);
		return true;
	}
	return false;
}

/* Text such as "4 processes and threads, of which 4 are there (pids.max)". */
static bool tell_tasks(const char *group, GString *s)
{
	uint64_t limit = read_number(group, "pids.max"), used = read_number(group, "pids.current");

	/* a limit of one is used on purpose, to forbid new processes */
	if (limit == UINT64_MAX || used == UINT64_MAX || limit <= 1 || !limit_is_used_up(used, limit))
		return false;
	g_string_append_printf(s, "%" PRIu64 " processes and threads, of which %" PRIu64 " are there (pids.max)", limit, used);
	return true;
}

/* The text of the nearest limit from this group outwards. NULL: none. The root has no limits. */
static char *limited_around(const char *mount, const char *path, enum profile_limit_kind kind, GString *text)
{
	bool (*const tells[LIMIT_KIND_COUNT])(const char *, GString *) = {
		[LIMIT_QUOTA] = tell_cpu,
		[LIMIT_DISK] = tell_disk,
		[LIMIT_MEMORY] = tell_memory,
		[LIMIT_TASKS] = tell_tasks,
		[LIMIT_WEIGHT] = tell_weight,
	};
	g_autofree char *at = g_strdup(path);

	for (unsigned i = 0; i < DEPTH_MAX && at[1]; i++) {
		g_autofree char *group = g_build_filename(mount, at, NULL);

		if (tells[kind](group, text))
			return g_steal_pointer(&group);
		char *outer = g_path_get_dirname(at);

		g_free(at);
		at = outer;
	}
	return NULL;
}

/* The outermost group that is itself frozen: it freezes all below it. NULL: none. */
static char *frozen_around(const char *mount, const char *path)
{
	g_autofree char *at = g_strdup(path);
	char *found = NULL;

	for (unsigned i = 0; i < DEPTH_MAX && at[1]; i++) {
		g_autofree char *group = g_build_filename(mount, at, NULL);

		if (read_number(group, "cgroup.freeze") == 1 || read_number(group, "freezer.self_freezing") == 1) {
			g_free(found);
			found = g_strdup(at);
		}
		char *outer = g_path_get_dirname(at);

		g_free(at);
		at = outer;
	}
	return found;
}

/* If no group is frozen any more, it was the process's own one or one around it. Version 1 and 2 may both freeze. */
static void look_at_freezers(struct group_limits *g, struct profile *p, const char *first, const char *second,
			     uint32_t pid)
{
	const char *paths[] = { g->mounts[FREEZER] ? first : NULL, g->mounts[UNIFIED] ? second : NULL };
	const char *mounts[] = { g->mounts[FREEZER], g->mounts[UNIFIED] };
	g_autofree char *found = NULL;

	for (unsigned i = 0; i < 2 && !found; i++)
		found = paths[i] ? frozen_around(mounts[i], paths[i]) : NULL;
	for (unsigned i = 0; i < 2 && !found; i++)
		found = paths[i] && paths[i][1] ? g_strdup(paths[i]) : NULL;
	if (found)
		profile_add_limit(p, LIMIT_FROZEN, pid, 0, found);
}

static enum controller controller_of(enum profile_limit_kind kind)
{
	switch (kind) {
	case LIMIT_QUOTA:
	case LIMIT_WEIGHT: return CPU;
	case LIMIT_DISK: return DISK;
	case LIMIT_FROZEN: return FREEZER;
	case LIMIT_TASKS: return PIDS;
	default: return MEMORY;
	}
}

/* The process's paths in version 2 and in the version 1 hierarchy of that controller. False: unknown. */
static bool paths_of(struct group_limits *g, uint32_t pid, enum controller controller, char **ret_first,
		     char **ret_second)
{
	g_autofree char *text = opener_process_text(g->proc_dir, pid, "cgroup");

	if (!text)
		return false;
	if (!g->has_mounts)
		cgroup_mounts(g->proc_dir, controllers, CONTROLLER_COUNT, g->mounts);
	g->has_mounts = true;
	*ret_first = path_in(text, controllers[controller]);
	*ret_second = path_in(text, NULL);
	return true;
}

char *group_limits_find(struct group_limits *g, enum profile_limit_kind kind, uint32_t pid, GString *text)
{
	enum controller controller = controller_of(kind);
	g_autofree char *first = NULL, *second = NULL;

	if (!paths_of(g, pid, controller, &first, &second))
		return NULL;
	if (g->mounts[controller] && first)
		return limited_around(g->mounts[controller], first, kind, text);
	return g->mounts[UNIFIED] && second ? limited_around(g->mounts[UNIFIED], second, kind, text) : NULL;
}

/* Only limits that do not depend on current usage. */
static void take_note(struct group_limits *g, struct note *n, uint32_t pid)
{
	static const enum profile_limit_kind kinds[] = { LIMIT_DISK, LIMIT_QUOTA };

	for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
		g_autoptr(GString) words = g_string_new(NULL);
		g_autofree char *group = group_limits_find(g, kinds[i], pid, words);

		g_free(n->words[kinds[i]]);
		n->words[kinds[i]] = group ? g_strdup(words->str) : NULL;
	}
}

void group_limits_note(struct group_limits *g, uint32_t pid)
{
	g_autofree char *text = opener_process_text(g->proc_dir, pid, "cgroup");
	struct note *n = g_hash_table_lookup(g->notes, GUINT_TO_POINTER(pid));

	if (!text || (n && strcmp(n->groups, text) == 0) || (!n && g_hash_table_size(g->notes) >= GROUP_NOTES_MAX))
		return;
	if (!n) {
		n = g_new0(struct note, 1);
		g->first = g->first ? g->first : n;
		g_hash_table_insert(g->notes, GUINT_TO_POINTER(pid), n);
	}
	g_free(n->groups);
	n->groups = g_steal_pointer(&text);
	take_note(g, n, pid);
}

void group_limits_note_tree(struct group_limits *g, uint32_t pid)
{
	g_autoptr(GArray) pids = processes_below(g->proc_dir, pid, GROUP_NOTES_MAX);

	for (guint i = 0; i < pids->len; i++)
		group_limits_note(g, g_array_index(pids, uint32_t, i));
}

/* The limit of an ended process as it was noted, or that of the first noted one, assumed to be its parent. */
static const char *noted_limit(const struct group_limits *g, enum profile_limit_kind kind, uint32_t pid)
{
	const struct note *n = g_hash_table_lookup(g->notes, GUINT_TO_POINTER(pid)) ?: g->first;
	g_autofree char *dir = g_strdup_printf("%s/%" PRIu32, g->proc_dir, pid);

	return n && !g_file_test(dir, G_FILE_TEST_IS_DIR) ? n->words[kind] : NULL;
}

/* Once for all processes of a group: there may be hundreds of groups beside it. NULL: it gets as much as others. */
static const char *weight_of(struct group_limits *g, uint32_t pid)
{
	g_autofree char *groups = opener_process_text(g->proc_dir, pid, "cgroup");
	const char *known = groups ? g_hash_table_lookup(g->weights, groups) : "";

	if (!known) {
		g_autoptr(GString) text = g_string_new(NULL);
		g_autofree char *group = group_limits_find(g, LIMIT_WEIGHT, pid, text);

		known = g_strdup(group ? text->str : "");
		g_hash_table_insert(g->weights, g_steal_pointer(&groups), (gpointer)known);
	}
	return *known ? known : NULL;
}

void group_limits_look(struct group_limits *g, struct profile *p, enum profile_limit_kind kind, uint32_t pid)
{
	g_autofree char *first = NULL, *second = NULL, *group = NULL;
	g_autoptr(GString) text = g_string_new(NULL);
	const char *words;

	if (kind == LIMIT_FROZEN) {
		if (paths_of(g, pid, FREEZER, &first, &second))
			look_at_freezers(g, p, first, second, pid);
		return;
	}
	if (kind == LIMIT_WEIGHT) {
		words = weight_of(g, pid);
	} else {
		group = group_limits_find(g, kind, pid, text);
		words = group ? text->str : noted_limit(g, kind, pid);
	}
	if (words)
		profile_add_limit(p, kind, pid, 0, words);
}

uint64_t group_limits_refaults(const char *group)
{
	g_autofree char *text = read_file(group, "memory.stat");
	g_auto(GStrv) lines = g_strsplit(text ? text : "", "\n", -1);
	/* in version 1 the lines with this prefix include inner groups, as all lines of version 2 do */
	const char *prefix = text && strstr(text, "\ntotal_") ? "total_workingset_refault" : "workingset_refault";
	uint64_t sum = 0;

	for (char **line = lines; *line; line++) {
		const char *number = g_str_has_prefix(*line, prefix) ? strchr(*line, ' ') : NULL;

		sum += number ? g_ascii_strtoull(number, NULL, 10) : 0;
	}
	return sum;
}
