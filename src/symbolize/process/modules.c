/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/process/spaces.h"

#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/each.h"
#include "base/hash.h"
#include "base/opener/opener.h"
#include "base/order.h"
#include "symbolize/elf/functions.h"
#include "symbolize/elf/debuginfod.h"
#include "symbolize/process/fileopen.h"
#include "symbolize/process/maps.h"

/* Limits hostile machines, which could map files without end; a busy real one has some thousand. */
#define MODULES_MAX 65536
#define MODULES_KEPT 4096	/* none is freed up to this number */
#define EXECUTED_MAX 1024	/* limit of paths for a file */
#define TABLES_MAX 16384
#define TABLES_MAX_BYTES ((size_t)1 << 30)
/*
 * A file unchanged for this long is checked only rarely. A replacement would need the same path and inode, as files
 * have that a build rewrites.
 */
#define SETTLED_S 60
#define SETTLED_FRESH_US 2000000
#define SELF_MAPS_MAX_BYTES (4 << 20)
#define DEBUG_FILES_MAX 256	/* limit of open files; most files of a distribution have no debug information */

struct file_id {
	uint64_t dev, inode;
	int64_t mtime_s, mtime_ns, size;
};

struct modules {
	char *proc_dir, *debug_dir;
	GHashTable *modules;	/* struct module -> itself */
	GHashTable *tables;	/* struct file_id -> struct elf_table, NULL: not an ELF file */
	guint many;		/* see modules_are_many() */
	size_t table_bytes;
	uint32_t turn;		/* see modules_evict() */
	struct elf_table *vdso;
	bool vdso_tried;
	bool keeps_debug_files;
	unsigned debug_file_cnt;
	struct debuginfod *debuginfod;	/* NULL: no server in the user's environment */
	GPtrArray *arrived;	/* struct elf_table from there: several files may share a build-id */
	GArray *replaced;	/* struct symtab: kept because its names were returned before better ones came */
};

static guint module_hash(gconstpointer key)
{
	const struct module *m = key;

	return g_str_hash(m->path) ^ (guint)(m->inode * 0x9e3779b1u) ^ m->dev_minor ^ m->dev_major << 20;
}

static gboolean module_equal(gconstpointer a, gconstpointer b)
{
	const struct module *x = a, *y = b;

	return x->inode == y->inode && x->dev_minor == y->dev_minor && x->dev_major == y->dev_major &&
	       !strcmp(x->path, y->path);
}

HASH_BYTES(file_id, struct file_id)

FREES_DATA(module_free, struct module, m, g_clear_pointer(&m->executed, g_hash_table_unref); g_free(m->own_path);
	   g_free(m->own_shown))

struct modules *modules_new(const char *proc_dir, const char *debug_dir)
{
	struct modules *ms = g_new0(struct modules, 1);

	ms->proc_dir = g_strdup(proc_dir);
	ms->debug_dir = g_strdup(debug_dir);
	ms->modules = g_hash_table_new_full(module_hash, module_equal, module_free, NULL);
	ms->tables = g_hash_table_new_full(file_id_hash, file_id_equal, g_free, (GDestroyNotify)elf_table_free);
	ms->many = MODULES_KEPT;
	ms->debuginfod = debuginfod_new();
	ms->arrived = g_ptr_array_new_with_free_func((GDestroyNotify)elf_table_free);
	ms->replaced = g_array_new(FALSE, FALSE, sizeof(struct symtab));
	g_array_set_clear_func(ms->replaced, (GDestroyNotify)symtab_clear);
	return ms;
}

FREES(modules_free, struct modules, ms, debuginfod_free(ms->debuginfod); g_ptr_array_unref(ms->arrived);
      g_array_unref(ms->replaced); g_hash_table_unref(ms->modules); g_hash_table_unref(ms->tables);
      elf_table_free(ms->vdso); g_free(ms->proc_dir); g_free(ms->debug_dir))

static enum module_kind kind_of(const struct module *m)
{
	if (!strcmp(m->path, "[vdso]"))
		return MODULE_VDSO;
	if (!m->path[0] || !strcmp(m->path, "//anon") || g_str_has_prefix(m->path, "[anon") ||
	    g_str_has_prefix(m->path, "/dev/zero") || g_str_has_prefix(m->path, "/SYSV") ||
	    g_str_has_prefix(m->path, "anon_inode:") ||
	    g_str_has_prefix(m->path, "/memfd:doublemapper"))	/* .NET's code, which is mapped twice */
		return MODULE_ANON;
	return m->path[0] == '/' ? MODULE_FILE : MODULE_SPECIAL;
}

struct module *modules_intern(struct modules *ms, const struct symbolizer_mapping *mapping)
{
	struct module key = { .path = mapping->path ? mapping->path : "", .dev_major = mapping->dev_major,
			      .dev_minor = mapping->dev_minor, .inode = mapping->inode }, *m;

	m = g_hash_table_lookup(ms->modules, &key);
	if (m)
		return m;
	if (g_hash_table_size(ms->modules) >= MODULES_MAX) {
		key = (struct module){ .path = "[other]" };
		m = g_hash_table_lookup(ms->modules, &key);
		if (m)
			return m;
	}
	m = g_memdup2(&key, sizeof(key));
	m->path = m->shown = m->own_path = g_strdup(key.path);
	m->kind = kind_of(m);
	m->is_deleted = m->kind == MODULE_FILE && g_str_has_suffix(m->path, " (deleted)");
	if (m->is_deleted)
		m->shown = m->own_shown = g_strndup(m->path, strlen(m->path) - strlen(" (deleted)"));
	else if (m->kind == MODULE_ANON)
		m->shown = "[anon]";
	g_hash_table_add(ms->modules, m);
	return m;
}

const char *modules_executed(struct module *m, const char *path)
{
	char *own;

	if (!m->executed)
		m->executed = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	if (g_hash_table_lookup_extended(m->executed, path, (gpointer *)&own, NULL))
		return own;
	if (g_hash_table_size(m->executed) >= EXECUTED_MAX)
		return NULL;
	own = g_strdup(path);
	g_hash_table_add(m->executed, own);
	return own;
}

size_t modules_cnt(const struct modules *ms)
{
	return g_hash_table_size(ms->modules);
}

bool modules_are_many(const struct modules *ms)
{
	return g_hash_table_size(ms->modules) > ms->many;
}

static gboolean is_unused(gpointer key, gpointer value, gpointer data)
{
	struct module *m = key;
	bool was_used = m->is_used;

	m->is_used = false;
	return !was_used;
}

void modules_forget_unused(struct modules *ms)
{
	g_hash_table_foreach_remove(ms->modules, is_unused, NULL);
	ms->many = MAX(MODULES_KEPT, 2 * g_hash_table_size(ms->modules));
}

static int hold_module(struct modules *ms, const struct module *m, uint32_t pid, uint64_t start, uint64_t end,
		       bool is_alive, struct stat *ret_stat)
{
	const struct maps_line line = { .start = start, .end = end, .dev_major = m->dev_major,
					.dev_minor = m->dev_minor, .inode = m->inode, .path = m->path };

	return file_hold_line(ms->proc_dir, pid, &line, is_alive, ret_stat);
}

void modules_keep_debug_files(struct modules *ms)
{
	ms->keeps_debug_files = true;
	if (ms->debuginfod)
		debuginfod_keep_files(ms->debuginfod);
}

static bool wants_debug_file(const struct modules *ms, const struct elf_table *t)
{
	return ms->keeps_debug_files && t->debug_fd < 0 && ms->debug_file_cnt < DEBUG_FILES_MAX;
}

static struct elf_table *read_held(const struct modules *ms, int held_fd)
{
	int fd = opener_read_held(held_fd);
	struct elf_table *t;

	if (fd < 0)
		return NULL;
	t = elf_table_read(fd, NULL);
	if (t && (t->has_debug_info || t->has_go_table) && wants_debug_file(ms, t))
		t->debug_fd = fd;
	else
		close(fd);
	return t;
}

/* Uses the open file of `from` for the debug information of t, if it is the same build. */
static bool take_debug_fd(struct modules *ms, struct elf_table *t, const struct elf_table *from)
{
	if (from->debug_fd < 0 || !wants_debug_file(ms, t) || !elf_table_is_same_build(t, from))
		return false;
	t->debug_fd = fcntl(from->debug_fd, F_DUPFD_CLOEXEC, 0);
	ms->debug_file_cnt += t->debug_fd >= 0;
	return t->debug_fd >= 0;
}

static bool has_all(const struct modules *ms, const struct elf_table *t)
{
	return t->has_full_symbols && !wants_debug_file(ms, t);
}

/* Takes what t lacks from the debug file at path, if it belongs to t. True: t is complete. */
static bool try_debug_file(struct modules *ms, struct elf_table *t, const char *path)
{
	struct elf_table *debug;
	int fd = file_open_here(path);

	if (fd < 0)
		return false;
	debug = debug_file_read(t, fd);
	if (debug && debug->has_debug_info && wants_debug_file(ms, t)) {
		t->debug_fd = fd;
		ms->debug_file_cnt++;
	} else {
		close(fd);
	}
	if (debug && !t->has_full_symbols)
		elf_table_take_symbols(t, debug);
	elf_table_free(debug);
	return has_all(ms, t);
}

static bool add_debug_file(struct modules *ms, struct elf_table *t, const struct module *m)
{
	g_autoptr(GPtrArray) paths = debug_file_paths(t, m->shown, ms->debug_dir);

	for (guint i = 0; i < paths->len; i++)
		if (try_debug_file(ms, t, g_ptr_array_index(paths, i)))
			return true;
	return false;
}

/* Copies symbols of a downloaded debug file; names already returned stay valid. */
static bool add_arrived(struct modules *ms, struct elf_table *t, const struct elf_table *arrived)
{
	take_debug_fd(ms, t, arrived);
	if (t->has_full_symbols || ms->table_bytes > TABLES_MAX_BYTES || !elf_table_is_debug_file(t, arrived))
		return false;
	g_array_append_val(ms->replaced, t->symbols);
	t->symbols = symtab_copy(&arrived->symbols);
	t->has_full_symbols = true;
	return true;
}

static void add_debug_symbols(struct modules *ms, struct elf_table *t, const struct module *m)
{
	if (has_all(ms, t) || add_debug_file(ms, t, m) || !t->build_id_bytes || !ms->debuginfod)
		return;
	for (guint i = 0; i < ms->arrived->len; i++) {
		add_arrived(ms, t, g_ptr_array_index(ms->arrived, i));
		if (has_all(ms, t))
			return;
	}
	debuginfod_ask(ms->debuginfod, t->build_id, t->build_id_bytes);
}

static void take_arrived(struct modules *ms, struct elf_table *arrived)
{
	GHashTableIter iter;
	struct elf_table *t;

	g_ptr_array_add(ms->arrived, arrived);
	if (arrived->debug_fd >= 0 && ms->debug_file_cnt++ >= DEBUG_FILES_MAX) {
		close(arrived->debug_fd);
		arrived->debug_fd = -1;
	}
	ms->table_bytes += elf_table_memory_bytes(arrived);
	g_hash_table_iter_init(&iter, ms->tables);
	while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&t))
		if (t && add_arrived(ms, t, arrived))
			ms->table_bytes += symtab_memory_bytes(&t->symbols);
}

void modules_poll(struct modules *ms)
{
	struct elf_table *arrived;

	while (ms->debuginfod && ms->table_bytes <= TABLES_MAX_BYTES && (arrived = debuginfod_take(ms->debuginfod)))
		take_arrived(ms, arrived);
}

/* The table of a held file: from the cache, or read now. */
static struct elf_table *table_of(struct modules *ms, const struct module *m, int held_fd, const struct stat *st)
{
	struct file_id id = { st->st_dev, st->st_ino, st->st_mtim.tv_sec, st->st_mtim.tv_nsec, st->st_size };
	struct elf_table *t;

	if (g_hash_table_lookup_extended(ms->tables, &id, NULL, (gpointer *)&t))
		return t;
	if (ms->table_bytes > TABLES_MAX_BYTES || g_hash_table_size(ms->tables) >= TABLES_MAX)
		return NULL;
	t = read_held(ms, held_fd);
	if (t) {
		ms->debug_file_cnt += t->debug_fd >= 0;
		add_debug_symbols(ms, t, m);
		ms->table_bytes += elf_table_memory_bytes(t);
	}
	g_hash_table_insert(ms->tables, g_memdup2(&id, sizeof(id)), t);
	return t;
}

/* Our own vDSO serves for every 64-bit process, because the kernel maps the same pages into all. */
static struct elf_table *vdso_table(struct modules *ms)
{
	uint64_t base = getauxval(AT_SYSINFO_EHDR);
	g_autofree char *text = NULL;
	g_autoptr(GArray) lines = NULL;
	size_t len;

	if (ms->vdso_tried)
		return ms->vdso;
	ms->vdso_tried = true;
	text = base ? opener_text("/proc/self/maps", SELF_MAPS_MAX_BYTES, &len) : NULL;
	lines = maps_lines(text);
	EACH_ROW(i, const struct maps_line, m, lines)
		if (m->start == base && !strcmp(m->path, "[vdso]"))
			ms->vdso = elf_table_read_memory((void *)(uintptr_t)m->start, m->end - m->start, NULL);
	return ms->vdso;
}

/* A file may really be named "x (deleted)". */
static void undelete_if_named(struct modules *ms, struct module *m, uint32_t pid, bool is_alive)
{
	const struct maps_line line = { .dev_major = m->dev_major, .dev_minor = m->dev_minor, .inode = m->inode,
					.path = m->path };

	if (!file_is_at_path(ms->proc_dir, pid, &line, is_alive))
		return;
	m->is_deleted = false;
	m->shown = m->path;
}

struct elf_table *modules_table(struct modules *ms, struct module *m, uint32_t pid, uint64_t start, uint64_t end,
				bool is_alive)
{
	int64_t now_us = g_get_monotonic_time();
	struct elf_table *t = NULL;
	struct stat st;
	int fd;

	if (m->kind == MODULE_VDSO)
		return start > UINT32_MAX || sizeof(void *) == 4 ? vdso_table(ms) : NULL;
	if (m->kind != MODULE_FILE)
		return NULL;
	if (m->last && now_us < m->fresh_until_us)
		return m->last;
	fd = hold_module(ms, m, pid, start, end, is_alive, &st);
	if (fd < 0)
		return m->last;
	if (m->is_deleted)
		undelete_if_named(ms, m, pid, is_alive);
	t = table_of(ms, m, fd, &st);
	close(fd);
	/* Only an identity that cannot be forged counts for other processes. */
	if (t && ((major(st.st_dev) == m->dev_major && minor(st.st_dev) == m->dev_minor) || st.st_uid == 0)) {
		m->last = t;
		m->fresh_until_us = st.st_ctim.tv_sec + SETTLED_S < time(NULL) ? now_us + SETTLED_FRESH_US : 0;
	}
	return t;
}

void modules_note_use(const struct modules *ms, struct elf_table *t)
{
	t->used_turn = ms->turn;
}

size_t modules_table_bytes(const struct modules *ms)
{
	return ms->table_bytes;
}

ORDER_POINTERS(by_use, struct elf_table, ORDER_LOW(used_turn))

/* Tables unused in this turn and the one before, least recently used first. */
static GPtrArray *unused_tables(const struct modules *ms)
{
	GPtrArray *unused = g_ptr_array_new_with_free_func((GDestroyNotify)elf_table_free);
	GHashTableIter iter;
	struct elf_table *t;

	g_hash_table_iter_init(&iter, ms->tables);
	while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&t))
		if (t && t->used_turn + 1 < ms->turn && t->debug_fd < 0)
			g_ptr_array_add(unused, t);
	g_ptr_array_sort(unused, by_use);
	return unused;
}

/* Also forgets files that were no ELF files, which only take room and can be checked again. */
static void take_out(struct modules *ms)
{
	GHashTableIter iter;
	gpointer id;
	struct elf_table *t;

	g_hash_table_iter_init(&iter, ms->tables);
	while (g_hash_table_iter_next(&iter, &id, (gpointer *)&t)) {
		if (t && !t->is_evicted)
			continue;
		g_hash_table_iter_steal(&iter);
		g_free(id);
	}
}

static void forget_last(struct modules *ms)
{
	GHashTableIter iter;
	struct module *m;

	g_hash_table_iter_init(&iter, ms->modules);
	while (g_hash_table_iter_next(&iter, (gpointer *)&m, NULL))
		if (m->last && m->last->is_evicted)
			m->last = NULL;
}

static bool is_too_much(const struct modules *ms, size_t max_bytes)
{
	return ms->table_bytes > max_bytes || g_hash_table_size(ms->tables) > TABLES_MAX / 2;
}

GPtrArray *modules_evict(struct modules *ms, size_t max_bytes)
{
	ms->turn++;
	if (!is_too_much(ms, max_bytes))
		return NULL;
	g_autoptr(GPtrArray) unused = unused_tables(ms);
	guint cnt = 0;

	while (cnt < unused->len && (ms->table_bytes > max_bytes || cnt < unused->len / 2)) {
		struct elf_table *t = g_ptr_array_index(unused, cnt++);

		t->is_evicted = true;
		ms->table_bytes -= MIN(ms->table_bytes, elf_table_memory_bytes(t));
	}
	g_ptr_array_set_free_func(unused, NULL);	/* the others stay */
	g_ptr_array_set_size(unused, (gint)cnt);
	g_ptr_array_set_free_func(unused, (GDestroyNotify)elf_table_free);
	take_out(ms);
	if (!cnt)
		return NULL;
	forget_last(ms);
	return g_steal_pointer(&unused);
}
