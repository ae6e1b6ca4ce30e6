/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/process/spaces.h"

#include <string.h>
#include <unistd.h>

#include "base/each.h"
#include "base/opener/opener.h"
#include "symbolize/process/maps.h"

#define EXITED_MAX 4096		/* limit of exited processes to keep */
#define GENERATIONS_MAX 64	/* per process id: consecutive execs */
#define PROCESSES_SWEEP 16384	/* above this, looks for processes whose exit record was lost */
#define MAPS_MAX_BYTES (64 << 20)
#define PAUSE_FIRST_US 100000
#define PAUSE_MAX_US 5000000
#define ANCESTORS_MAX 8

struct process {
	GPtrArray *generations;	/* oldest first, never empty */
};

/* An exit, in order of time. */
struct exited {
	uint32_t pid;
	uint64_t ts_ns;
};

struct spaces {
	struct modules *modules;
	char *proc_dir;
	GHashTable *processes;	/* pid -> struct process */
	GQueue *exited;		/* struct exited */
	guint sweep_at;
	uint64_t replaced_cnt;
};

static void generation_free(void *data)
{
	struct generation *g = data;

	map_set_unref(g->maps);
	perf_map_free(g->jit);
	perf_map_free(g->jit_before);
	g_free(g->jvm);
	g_free(g->v8);
	g_free(g->program);
	g_free(g);
}

static void process_free(void *data)
{
	struct process *p = data;

	g_ptr_array_unref(p->generations);
	g_free(p);
}

struct spaces *spaces_new(struct modules *modules, const char *proc_dir)
{
	struct spaces *s = g_new0(struct spaces, 1);

	s->modules = modules;
	s->proc_dir = g_strdup(proc_dir);
	s->processes = g_hash_table_new_full(NULL, NULL, NULL, process_free);
	s->exited = g_queue_new();
	s->sweep_at = PROCESSES_SWEEP;
	return s;
}

FREES(spaces_free, struct spaces, s, g_hash_table_unref(s->processes); g_queue_free_full(s->exited, g_free);
      g_free(s->proc_dir))

bool generation_is_current(const struct generation *g)
{
	return g->to_ns == UINT64_MAX && !g->is_exited;
}

static struct process *process_get(const struct spaces *s, uint32_t pid)
{
	return g_hash_table_lookup(s->processes, GUINT_TO_POINTER(pid));
}

static struct generation *newest_generation(const struct process *p)
{
	return p ? g_ptr_array_index(p->generations, p->generations->len - 1) : NULL;
}

struct generation *spaces_living(const struct spaces *s, struct generation *g)
{
	struct generation *at = g;

	for (int i = 0; at && !generation_is_current(at) && i < ANCESTORS_MAX; i++)
		at = at->forked_by ? newest_generation(process_get(s, at->forked_by)) : NULL;
	return at && generation_is_current(at) ? at : g;
}

/* Exit records can be lost, so checks /proc. Only called from the notes, because it frees generations. */
static void sweep_if_many(struct spaces *s)
{
	GHashTableIter iter;
	gpointer pid, data;

	if (g_hash_table_size(s->processes) < s->sweep_at)
		return;
	g_hash_table_iter_init(&iter, s->processes);
	while (g_hash_table_iter_next(&iter, &pid, &data)) {
		g_autofree char *dir = g_strdup_printf("%s/%u", s->proc_dir, GPOINTER_TO_UINT(pid));
		struct stat st;

		if (!opener_stat(dir, &st) && generation_is_current(newest_generation(data)))
			g_hash_table_iter_remove(&iter);
	}
	s->sweep_at = MAX(PROCESSES_SWEEP, g_hash_table_size(s->processes) * 2);
}

/* Begins a new generation of pid at ts_ns and ends the previous one; takes ownership of maps. */
static struct generation *generation_begin(struct spaces *s, uint32_t pid, uint64_t ts_ns, struct map_set *maps)
{
	struct process *p = process_get(s, pid);
	struct generation *g = g_new0(struct generation, 1), *before = newest_generation(p);

	if (!p) {
		p = g_new0(struct process, 1);
		p->generations = g_ptr_array_new_with_free_func(generation_free);
		g_hash_table_insert(s->processes, GUINT_TO_POINTER(pid), p);
	}
	if (before && before->to_ns == UINT64_MAX)
		before->to_ns = ts_ns;
	*g = (struct generation){ .pid = pid, .from_ns = ts_ns, .to_ns = UINT64_MAX, .maps = maps,
				  .forked_by = before && !before->is_exited ? before->forked_by : 0,
				  .pause_us = PAUSE_FIRST_US, .jit_pause_us = PAUSE_FIRST_US };
	if (p->generations->len >= GENERATIONS_MAX)
		g_ptr_array_remove_index(p->generations, 0);
	g_ptr_array_add(p->generations, g);
	return g;
}

/* A generation of a process without any note. */
static struct generation *generation_unannounced(struct spaces *s, uint32_t pid, uint64_t ts_ns)
{
	struct generation *g = generation_begin(s, pid, ts_ns, map_set_new());

	g->needs_base = true;
	return g;
}

bool spaces_mmap(struct spaces *s, uint32_t pid, uint64_t ts_ns, const struct symbolizer_mapping *m)
{
	struct generation *g;
	struct space_map map = { .start = m->start, .pgoff = m->pgoff, .from_ns = ts_ns };

	if (!m->len || __builtin_add_overflow(m->start, m->len, &map.end))
		return false;
	sweep_if_many(s);
	g = newest_generation(process_get(s, pid));
	if (!g)
		g = generation_unannounced(s, pid, 0);
	map.module = modules_intern(s->modules, m);
	if (map.module->kind != MODULE_FILE)
		map.pgoff = 0;
	map.replaces = map_set_replaces(g->maps, &map);
	s->replaced_cnt += map.replaces;
	map_set_add(&g->maps, &map);
	return map.replaces;
}

uint64_t spaces_replaced_cnt(const struct spaces *s)
{
	return s->replaced_cnt;
}

void spaces_exec(struct spaces *s, uint32_t pid, uint64_t ts_ns, const char *name)
{
	struct generation *g;

	sweep_if_many(s);
	g = generation_begin(s, pid, ts_ns, map_set_new());
	if (name)
		g_strlcpy(g->name, name, sizeof(g->name));
}

bool spaces_has_ended(const struct spaces *s, uint32_t pid)
{
	const struct generation *g = newest_generation(process_get(s, pid));

	return g && g->is_exited;
}

bool spaces_exec_files(const struct spaces *s, uint32_t pid, symbolizer_file_fn fn, void *data)
{
	const struct generation *g = newest_generation(process_get(s, pid));

	if (!g || !g->name[0])
		return false;
	for (guint i = 0; i < g->maps->maps->len; i++) {
		const struct space_map *m = &g_array_index(g->maps->maps, struct space_map, i);
		const struct maps_line line = { .start = m->start, .end = m->end, .pgoff = m->pgoff, .is_exec = true,
						.dev_major = m->module->dev_major, .dev_minor = m->module->dev_minor,
						.inode = m->module->inode, .path = m->module->path };

		if (!fn(&line, data))
			return false;
	}
	return true;
}

void spaces_fork(struct spaces *s, uint32_t parent, uint32_t pid, uint64_t ts_ns)
{
	struct generation *from, *g;
	bool needs_base;

	sweep_if_many(s);
	from = newest_generation(process_get(s, parent));
	needs_base = !from || from->needs_base;
	g = generation_begin(s, pid, ts_ns, from ? map_set_ref(from->maps) : map_set_new());
	g->parent = g->forked_by = parent;
	g->needs_base = needs_base;
	if (from)
		memcpy(g->name, from->name, sizeof(g->name));
}

/* Frees the generations of the process that exited first. */
static void forget_oldest(struct spaces *s)
{
	g_autofree struct exited *e = g_queue_pop_head(s->exited);
	struct process *p = process_get(s, e->pid);

	while (p && p->generations->len) {
		struct generation *g = g_ptr_array_index(p->generations, 0);

		if (g->to_ns > e->ts_ns)
			break;
		g_ptr_array_remove_index(p->generations, 0);
	}
	if (p && !p->generations->len)
		g_hash_table_remove(s->processes, GUINT_TO_POINTER(e->pid));
}

void spaces_forget_exited(struct spaces *s, uint64_t before_ns)
{
	const struct exited *e;

	while ((e = g_queue_peek_head(s->exited)) && e->ts_ns < before_ns)
		forget_oldest(s);
}

static void for_each_map(const struct spaces *s, void (*fn)(struct space_map *m))
{
	GHashTableIter iter;
	const struct process *p;

	g_hash_table_iter_init(&iter, s->processes);
	while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&p))
		EACH_POINTER(i, const struct generation, g, p->generations) {
			for (guint k = 0; k < g->maps->maps->len; k++)
				fn(&g_array_index(g->maps->maps, struct space_map, k));
		}
}

static void forget_table(struct space_map *m)
{
	if (!m->table || !m->table->is_evicted)
		return;
	m->table = NULL;
	m->table_tried = false;
}

void spaces_forget_evicted(struct spaces *s)
{
	for_each_map(s, forget_table);
}

static void use_module(struct space_map *m)
{
	m->module->is_used = true;
}

void spaces_forget_modules(struct spaces *s)
{
	if (!modules_are_many(s->modules))
		return;
	for_each_map(s, use_module);
	modules_forget_unused(s->modules);
}

void spaces_exit(struct spaces *s, uint32_t pid, uint64_t ts_ns)
{
	struct generation *g = newest_generation(process_get(s, pid));
	struct exited *e;

	if (g && g->is_exited)
		return;
	if (!g)	/* never asked about; a later process with this number must not answer for it */
		g = generation_begin(s, pid, 0, map_set_new());
	g->is_exited = true;
	g->to_ns = ts_ns;
	e = g_new(struct exited, 1);
	*e = (struct exited){ pid, ts_ns };
	g_queue_push_tail(s->exited, e);
	if (g_queue_get_length(s->exited) > EXITED_MAX)
		forget_oldest(s);
}

void generation_add_maps_text(struct spaces *s, struct generation *g, char *text, uint64_t from_ns)
{
	g_autoptr(GArray) lines = maps_parse(text);

	EACH_ROW(i, const struct maps_line, m, lines) {
		struct space_map map = { .start = m->start, .end = m->end, .pgoff = m->pgoff, .from_ns = from_ns,
					 .from_proc = true };

		if (!m->is_exec)
			continue;
		map.module = modules_intern(s->modules, &(struct symbolizer_mapping){
			.dev_major = m->dev_major, .dev_minor = m->dev_minor, .inode = m->inode, .path = m->path });
		if (map.module->kind != MODULE_FILE)
			map.pgoff = 0;
		map_set_add(&g->maps, &map);
	}
}

static char *read_maps(const struct spaces *s, uint32_t pid)
{
	return living_maps(s->proc_dir, pid, MAPS_MAX_BYTES);
}

/*
 * Reads /proc/PID/maps into g. The first reading counts from the generation's beginning; mappings that are new in a
 * later one existed at ts_ns at the latest.
 */
static bool generation_read(struct spaces *s, struct generation *g, uint64_t ts_ns)
{
	g_autofree char *text = NULL;
	guint before = g->maps->maps->len;
	struct map_set *set = g->maps;

	g->next_read_us = g_get_monotonic_time() + g->pause_us;
	text = read_maps(s, g->pid);
	if (text && *text) {	/* it is empty while the process exits */
		generation_add_maps_text(s, g, text, g->needs_base ? g->from_ns : ts_ns);
		g->needs_base = false;
		g->was_read = true;
	}
	if (g->maps != set || g->maps->maps->len != before) {
		g->pause_us = PAUSE_FIRST_US;
		return true;
	}
	g->pause_us = MIN(g->pause_us * 2, PAUSE_MAX_US);
	return false;
}

static struct generation *generation_at(struct spaces *s, uint32_t pid, uint64_t ts_ns)
{
	struct process *p = process_get(s, pid);
	struct generation *g = NULL;

	if (!p)
		return generation_unannounced(s, pid, 0);
	for (guint i = p->generations->len; i-- > 0;) {
		g = g_ptr_array_index(p->generations, i);
		if (g->from_ns <= ts_ns)
			break;
	}
	if (g->from_ns > ts_ns && !g->parent)
		return NULL;	/* mappings from before the first noted exec are gone */
	return g;
}

/* A process with the number of one that exited: its fork was missed, or only its first thread exited. */
static struct generation *generation_after_exit(struct spaces *s, struct generation *g)
{
	g_autofree char *text = NULL;
	int64_t now_us = g_get_monotonic_time();

	if (now_us < g->next_read_us)
		return g;
	g->next_read_us = now_us + g->pause_us;
	g->pause_us = MIN(g->pause_us * 2, PAUSE_MAX_US);
	text = read_maps(s, g->pid);
	return text && *text ? generation_unannounced(s, g->pid, g->to_ns + 1) : g;
}

bool spaces_foresee(struct spaces *s, uint32_t pid)
{
	struct generation *g = newest_generation(process_get(s, pid));

	if (!g)
		g = generation_unannounced(s, pid, 0);
	if (!g->needs_base || !generation_is_current(g) || g_get_monotonic_time() < g->next_read_us)
		return false;
	generation_read(s, g, g->from_ns);
	return true;
}

static struct space_map *find_in(struct spaces *s, struct generation *g, uint64_t ts_ns, uint64_t addr, int depth)
{
	bool readable = generation_is_current(g);
	struct space_map *m;

	if (g->needs_base && readable && g_get_monotonic_time() >= g->next_read_us)
		generation_read(s, g, ts_ns);
	m = map_set_find(g->maps, ts_ns, addr);
	if (!m && readable && g_get_monotonic_time() >= g->next_read_us && generation_read(s, g, ts_ns))
		m = map_set_find(g->maps, ts_ns, addr);
	if (!m && g->needs_base && g->parent && depth < ANCESTORS_MAX) {
		struct generation *parent = generation_at(s, g->parent, g->from_ns);

		if (parent && parent != g)
			m = find_in(s, parent, g->from_ns, addr, depth + 1);
	}
	return m;
}

struct generation *spaces_generation(struct spaces *s, uint32_t pid, uint64_t ts_ns)
{
	struct generation *g = generation_at(s, pid, ts_ns);

	if (g && g->is_exited && ts_ns > g->to_ns && g == newest_generation(process_get(s, pid)))
		g = generation_after_exit(s, g);
	return g;
}

struct space_map *spaces_find(struct spaces *s, uint32_t pid, uint64_t ts_ns, uint64_t addr,
			      struct generation **ret_generation, enum frame_why *ret_why)
{
	struct generation *g = spaces_generation(s, pid, ts_ns);
	struct space_map *m;

	*ret_generation = g;
	*ret_why = FRAME_PROCESS_GONE;
	if (!g)
		return NULL;
	m = find_in(s, g, ts_ns, addr, 0);
	if (m)
		*ret_why = FRAME_NAMED;
	else if (g->was_read || (!g->needs_base && g->maps->maps->len))
		*ret_why = FRAME_NOT_MAPPED;
	return m;
}
