/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/symbolize.h"

#include <string.h>

#include "abi/unwind_abi.h"
#include "base/clock.h"
#include "base/each.h"
#include "base/hurry.h"
#include "base/module.h"
#include "base/order.h"
#include "runtimes/java/frames.h"
#include "runtimes/node/names.h"
#include "runtimes/tokio/program.h"
#include "symbolize/dwarf/find.h"
#include "symbolize/jit/perf_map.h"
#include "symbolize/names/demangle.h"
#include "symbolize/names/kernel.h"
#include "symbolize/process/maps.h"
#include "symbolize/process/spaces.h"
#include "symbolize/runtime/memory.h"

#define JIT_MAX_BYTES ((size_t)256 << 20)	/* limit for all perf maps together */
#define JIT_PAUSE_MAX_US 5000000
/* Pause between checks of a perf map: at least this, and at least this multiple of the last check's duration. */
#define JIT_LOOK_US 100000
#define JIT_TIMES 20
#define JVM_PAUSE_US 1000000
#define V8_PAUSE_US 1000000
#define MAPS_MAX_BYTES (64 << 20)
#define EXECUTED_FRESH_US 2000000	/* how long the path that a file was last executed by is assumed unchanged */
#define INLINED_MAX (HOTSPOT_INLINED_MAX > V8_INLINED_MAX ? HOTSPOT_INLINED_MAX : V8_INLINED_MAX)
/* How long after its end a process may be asked about: its stacks arrive within a round of the event loop. */
#define EXITED_KEPT_NS UINT64_C(30000000000)

struct symbolizer {
	char *proc_dir, *debug_dir;
	struct modules *modules;
	struct spaces *spaces;
	GHashTable *demangled;	/* name in a table -> name to show, NULL: the same */
	GStringChunk *strings;
	bool has_lines;		/* keys of `demangled` are in `strings` */
	size_t jit_bytes;
	uint64_t jit_renamed_cnt;
	struct hotspot_names *jvm_names;
	struct v8_names *v8_names;
	struct symbol_frame inlined[INLINED_MAX];	/* for the last answer */
	struct kernel_symbols *kernel;
};

struct symbolizer *symbolizer_new_at(const char *proc_dir, const char *kallsyms_path, const char *debug_dir)
{
	struct symbolizer *s = g_new0(struct symbolizer, 1);

	s->proc_dir = g_strdup(proc_dir);
	s->debug_dir = g_strdup(debug_dir);
	s->modules = modules_new(proc_dir, debug_dir);
	s->spaces = spaces_new(s->modules, proc_dir);
	s->demangled = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	s->strings = g_string_chunk_new(4096);
	s->jvm_names = hotspot_names_new();
	s->v8_names = v8_names_new();
	s->kernel = kernel_symbols_new(kallsyms_path);
	return s;
}

struct symbolizer *symbolizer_new(void)
{
	return symbolizer_new_at("/proc", "/proc/kallsyms", "/usr/lib/debug");
}

size_t symbolizer_table_bytes(const struct symbolizer *s)
{
	return modules_table_bytes(s->modules);
}

void symbolizer_ask_kernel(struct symbolizer *s, const struct symbolizer_kernel *kernel)
{
	kernel_symbols_ask(s->kernel, kernel);
}

void symbolizer_foresee_kernel(struct symbolizer *s)
{
	kernel_symbols_foresee(s->kernel);
}

FREES(symbolizer_free, struct symbolizer, s, spaces_free(s->spaces); modules_free(s->modules);
      hotspot_names_free(s->jvm_names); v8_names_free(s->v8_names); g_hash_table_unref(s->demangled);
      g_string_chunk_free(s->strings); kernel_symbols_free(s->kernel); g_free(s->proc_dir); g_free(s->debug_dir))

bool symbolizer_note_mmap(struct symbolizer *s, uint32_t pid, uint64_t ts_ns, const struct symbolizer_mapping *m)
{
	return spaces_mmap(s->spaces, pid, ts_ns, m);
}

uint64_t symbolizer_replaced_cnt(const struct symbolizer *s)
{
	return spaces_replaced_cnt(s->spaces) + s->jit_renamed_cnt;
}

bool symbolizer_replaced_since(struct symbolizer *s, uint32_t pid, uint64_t ts_ns, uint64_t addr, uint64_t since_ns)
{
	struct generation *g;
	enum frame_why why;
	const struct space_map *m = spaces_find(s->spaces, pid, ts_ns, addr, &g, &why);

	return m && m->replaces && m->from_ns > since_ns;
}

void symbolizer_note_exec(struct symbolizer *s, uint32_t pid, uint64_t ts_ns, const char *name)
{
	spaces_exec(s->spaces, pid, ts_ns, name);
}

bool symbolizer_has_ended(const struct symbolizer *s, uint32_t pid)
{
	return spaces_has_ended(s->spaces, pid);
}

bool symbolizer_exec_files(const struct symbolizer *s, uint32_t pid, symbolizer_file_fn fn, void *data)
{
	return spaces_exec_files(s->spaces, pid, fn, data);
}

void symbolizer_note_fork(struct symbolizer *s, uint32_t parent, uint32_t pid, uint64_t ts_ns)
{
	spaces_fork(s->spaces, parent, pid, ts_ns);
}

void symbolizer_note_exit(struct symbolizer *s, uint32_t pid, uint64_t ts_ns)
{
	spaces_exit(s->spaces, pid, ts_ns);
}

bool symbolizer_foresee_user(struct symbolizer *s, uint32_t pid)
{
	return spaces_foresee(s->spaces, pid);
}

/* `raw` is in a table or in s->strings and stays valid until the cache forgets it, so its address can be the key. */
static const char *shown_name(struct symbolizer *s, const char *raw)
{
	gpointer shown;

	if (!g_hash_table_lookup_extended(s->demangled, raw, NULL, &shown)) {
		shown = demangle(raw);
		g_hash_table_insert(s->demangled, (gpointer)raw, shown);
	}
	return shown ? shown : raw;
}

/* Memory that contains a table's names. */
struct names {
	uintptr_t from, to;
};

static void append_names(GArray *all, const struct symtab *t)
{
	const struct names names = { (uintptr_t)t->names, (uintptr_t)t->names + t->names_bytes };

	if (t->names)
		g_array_append_val(all, names);
}

ORDER(by_place, struct names, ORDER_LOW(from))

static gboolean is_in_names(gpointer raw, gpointer shown, gpointer data)
{
	const GArray *all = data;
	guint low = 0, high = all->len;

	while (low < high) {
		guint middle = low + (high - low) / 2;
		const struct names *n = &g_array_index(all, struct names, middle);

		if ((uintptr_t)raw < n->from)
			high = middle;
		else if ((uintptr_t)raw >= n->to)
			low = middle + 1;
		else
			return TRUE;
	}
	return FALSE;
}

void symbolizer_next_turn(struct symbolizer *s, uint64_t now_ns, size_t max_bytes)
{
	g_autoptr(GPtrArray) evicted = modules_evict(s->modules, max_bytes);
	g_autoptr(GArray) names = g_array_new(FALSE, FALSE, sizeof(struct names));

	spaces_forget_exited(s->spaces, now_ns > EXITED_KEPT_NS ? now_ns - EXITED_KEPT_NS : 0);
	spaces_forget_modules(s->spaces);
	hotspot_names_next_turn(s->jvm_names);
	if (!s->has_lines)
		g_string_chunk_clear(s->strings);
	if (!evicted)
		return;
	spaces_forget_evicted(s->spaces);
	EACH_POINTER(i, const struct elf_table, t, evicted) {
		append_names(names, &t->symbols);
		append_names(names, &t->plt);
	}
	g_array_sort(names, by_place);
	g_hash_table_foreach_remove(s->demangled, is_in_names, names);
}

/* Compilers map the jitdump that they write, so that tools find it. NULL: none. */
static const char *jitdump_path(const struct generation *g)
{
	const struct space_map *newest = NULL;

	EACH_ROW(i, const struct space_map, m, g->maps->maps) {
		const char *name = strrchr(m->module->path, '/');

		if (name && g_str_has_prefix(name, "/jit-") && g_str_has_suffix(name, ".dump") &&
		    (!newest || m->no > newest->no))
			newest = m;
	}
	return newest ? newest->module->path : NULL;
}

/* Makes a new version current. The old one is kept if it had other names, for stacks that are still arriving. */
static void jit_replace(struct symbolizer *s, struct generation *g, struct perf_map *fresh, uint64_t now_ns)
{
	uint64_t since_ns = clock_ns(CLOCK_REALTIME) - g->jit_version.mtime_ns;

	perf_map_charge(fresh, &s->jit_bytes);
	perf_map_free(g->jit_before);
	g->jit_before = g->jit;
	g->jit = fresh;
	g->jit_before_seen_ns = g->jit_seen_ns;
	/* the owner can set the file's time to anything */
	g->jit_from_ns = since_ns < now_ns ? MAX(now_ns - since_ns, g->jit_before_seen_ns) : now_ns;
	if (g->jit_before && perf_map_renames(g->jit_before, fresh)) {
		s->jit_renamed_cnt++;
		return;
	}
	perf_map_free(g->jit_before);
	g->jit_before = NULL;
}

/* Pause until the next check: proportional to the last one's duration, and growing while there is no map. */
static int64_t jit_pause_us(struct generation *g, int64_t took_us)
{
	uint32_t pause_us = g->jit_pause_us;

	if (g->jit)
		return CLAMP(took_us * JIT_TIMES, JIT_LOOK_US, JIT_PAUSE_MAX_US);
	g->jit_pause_us = MIN(pause_us * 2, JIT_PAUSE_MAX_US);
	return pause_us;
}

/* Reads the perf map, or reads it again if it has changed. */
static void jit_refresh(struct symbolizer *s, struct generation *g)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	int64_t now_us = g_get_monotonic_time();
	struct perf_map_version version;
	struct perf_map *fresh;
	const char *dump;

	if (!generation_is_current(g) || now_us < g->jit_next_us || s->jit_bytes > JIT_MAX_BYTES)
		return;
	fresh = perf_map_read(s->proc_dir, g->pid, g->jit_version, &version);
	if (!version.bytes && (dump = jitdump_path(g)))
		fresh = perf_map_read_jitdump(s->proc_dir, g->pid, dump, g->jit_version, &version);
	if (fresh) {
		g->jit_version = version;
		jit_replace(s, g, fresh, now_ns);
	}
	g->jit_seen_ns = now_ns;
	g->jit_next_us = now_us + jit_pause_us(g, g_get_monotonic_time() - now_us);
}

void symbolizer_poll_jit(struct symbolizer *s, uint32_t pid, uint64_t ts_ns)
{
	struct generation *g = spaces_generation(s->spaces, pid, ts_ns);

	if (g && g->jit)
		jit_refresh(s, g);
}

const char *symbolizer_newest_jit_name(struct symbolizer *s, uint32_t pid, uint64_t ts_ns, uint64_t addr,
				       uint64_t *ret_from_ns)
{
	struct generation *g = spaces_generation(s->spaces, pid, ts_ns);
	uint64_t offset;

	if (!g || !g->jit)
		return NULL;
	g->jit_next_us = MIN(g->jit_next_us, (int64_t)(g->jit_seen_ns / 1000) + JIT_LOOK_US);
	jit_refresh(s, g);
	*ret_from_ns = g->jit_from_ns;
	return perf_map_find(g->jit, addr, &offset);
}

/* The name in the version that was current at ts_ns. If that is not certain, both names. NULL: none. */
static const char *jit_name(struct symbolizer *s, const struct generation *g, uint64_t ts_ns, uint64_t addr,
			    uint64_t *ret_offset)
{
	const char *name = g->jit ? perf_map_find(g->jit, addr, ret_offset) : NULL, *before = NULL;
	g_autofree char *both = NULL;
	uint64_t offset;

	if (g->jit_before && ts_ns < g->jit_from_ns)
		before = perf_map_find(g->jit_before, addr, &offset);
	if (before && (!name || ts_ns <= g->jit_before_seen_ns)) {
		*ret_offset = offset;
		name = before;
	} else if (before && strcmp(before, name) != 0) {
		name = both = g_strdup_printf("%s | %s", before, name);
	}
	return name ? g_string_chunk_insert_const(s->strings, name) : NULL;
}

/* The process's JVM. NULL: none, or the process has ended. */
static struct hotspot *jvm_of(struct symbolizer *s, struct generation *g)
{
	int64_t now_us = g_get_monotonic_time();

	if (!generation_is_current(g))
		return NULL;
	if (!g->jvm && now_us >= g->jvm_next_us) {
		g_autofree char *text = living_maps(s->proc_dir, g->pid, MAPS_MAX_BYTES);
		g_autoptr(GArray) lines = text ? maps_parse(text) : NULL;
		g_autofree struct hotspot *jvm = g_new(struct hotspot, 1);

		g->jvm_next_us = now_us + JVM_PAUSE_US;
		if (lines && hotspot_open(jvm, s->proc_dir, g->pid, lines))
			g->jvm = g_steal_pointer(&jvm);
	}
	return g->jvm;
}

/* A method has no offset, because it is the same one whether interpreted or compiled, and wherever its code is. */
static void take_jvm_name(const char *name, struct symbol *ret)
{
	ret->name = name;
	ret->module = "[jit]";
	ret->moves = true;
	ret->why = name ? FRAME_NAMED : FRAME_NO_SYMBOLS;
	if (name)
		ret->offset = ret->symbol_offset = 0;
}

static unsigned jvm_names_at(struct symbolizer *s, struct hotspot *jvm, uint64_t ip, bool is_return,
			     const char *const **ret)
{
	unsigned cnt;

	/* code does not move within this time; an address without code then may have some now */
	memory_names_may_be_old(true);
	cnt = hotspot_names_code(s->jvm_names, jvm, ip, is_return, ret);
	memory_names_may_be_old(false);
	return cnt ? cnt : hotspot_names_code(s->jvm_names, jvm, ip, is_return, ret);
}

static const char *jvm_method_name(struct symbolizer *s, struct hotspot *jvm, uint64_t method)
{
	const char *name;

	memory_names_may_be_old(true);
	name = hotspot_names_method(s->jvm_names, jvm, method);
	memory_names_may_be_old(false);
	return name ? name : hotspot_names_method(s->jvm_names, jvm, method);
}

/* Likewise for V8. */
static struct v8 *v8_of(struct symbolizer *s, struct generation *g)
{
	int64_t now_us = g_get_monotonic_time();

	if (!generation_is_current(g))
		return NULL;
	if (!g->v8 && now_us >= g->v8_next_us) {
		g_autofree struct v8 *v8 = g_new(struct v8, 1);

		g->v8_next_us = now_us + V8_PAUSE_US;
		if (v8_open(v8, s->proc_dir, g->pid))
			g->v8 = g_steal_pointer(&v8);
	}
	return g->v8;
}

static void take_v8_function(const struct language_frame *found, struct symbol *ret)
{
	ret->why = FRAME_NAMED;
	ret->name = found->name;
	ret->offset = found->first_line;
	ret->file = found->file;
	ret->line = found->line;
	if (found->file)
		ret->module = found->file;
}

/* code: address of its code; 0: none of its own, or unknown. */
static void take_v8_name(struct symbolizer *s, const struct v8 *v8, uint64_t ip, uint64_t code, bool is_return,
			 struct symbol *ret)
{
	uint64_t function = unwind_method_of(ip), inlined[V8_INLINED_MAX];
	struct language_frame found;
	unsigned cnt;

	ret->module = "[javascript]";
	ret->moves = true;
	ret->offset = function;
	ret->why = FRAME_NO_SYMBOLS;
	if (!v8_names_function(s->v8_names, v8, function, unwind_bytecode_of(ip), &found))
		return;
	take_v8_function(&found, ret);
	cnt = code && is_return ? v8_inlined(v8, function, code, inlined) : 0;
	for (unsigned i = 0; i + 1 < cnt; i++) {
		if (!v8_names_any_function(s->v8_names, v8, inlined[i], &found))
			return;
		s->inlined[i] = (struct symbol_frame){ .name = found.name, .file = found.file, .line = found.line,
						       .module = found.file ? found.file : "[javascript]" };
	}
	ret->inlined = s->inlined;
	ret->inlined_cnt = cnt ? cnt - 1 : 0;
}

/* A function of V8 or HotSpot without code of its own, or whose code moves. */
static void method_find(struct symbolizer *s, uint32_t pid, uint64_t ts_ns, uint64_t ip, uint64_t code, bool is_return,
			struct symbol *ret)
{
	struct generation *g = spaces_generation(s->spaces, pid, ts_ns);
	const struct v8 *v8 = g && !g->jvm ? v8_of(s, g) : NULL;
	struct hotspot *jvm = g && !v8 ? jvm_of(s, g) : NULL;
	uint64_t method = unwind_method_of(ip);

	if (v8) {
		take_v8_name(s, v8, ip, code, is_return, ret);
		return;
	}
	ret->offset = method;
	take_jvm_name(jvm ? jvm_method_name(s, jvm, method) : NULL, ret);
	if (!jvm)
		ret->why = FRAME_PROCESS_GONE;
}

static bool jvm_find(struct symbolizer *s, struct generation *g, uint64_t ip, bool is_return, struct symbol *ret)
{
	struct hotspot *jvm = jvm_of(s, g);
	const char *const *names;
	unsigned cnt = jvm ? jvm_names_at(s, jvm, ip, is_return, &names) : 0;

	if (!cnt)
		return false;
	for (unsigned i = 0; i + 1 < cnt; i++)
		s->inlined[i] = (struct symbol_frame){ .name = names[i] };
	ret->inlined = s->inlined;
	ret->inlined_cnt = cnt - 1;
	take_jvm_name(names[cnt - 1], ret);
	return true;
}

static bool jit_find(struct symbolizer *s, struct generation *g, uint64_t ts_ns, uint64_t ip, bool is_return,
		     struct symbol *ret)
{
	uint64_t addr = ret->offset;
	const char *name;

	if (jvm_find(s, g, ip, is_return && ip, ret))
		return true;
	jit_refresh(s, g);
	name = jit_name(s, g, ts_ns, addr, &ret->symbol_offset);
	if (!name)
		return false;
	ret->name = name;
	ret->module = "[jit]";
	ret->why = FRAME_NAMED;
	return true;
}

/*
 * On exec the program is mapped first, and the thread gets the last part of its path, cut to a comm. So no process is
 * asked for libraries, nor if that name is the file's own.
 */
static bool may_have_other_name(const struct space_map *m, const struct generation *g)
{
	return !g->name[0] || (m->no == 0 && (strlen(g->name) == sizeof(g->name) - 1 ||
					      strcmp(g->name, module_base_name(m->module->path)) != 0));
}

static const char *ask_executed(struct symbolizer *s, const struct space_map *m, struct generation *g)
{
	struct module *module = m->module;
	const struct maps_line line = { .start = m->start, .end = m->end, .dev_major = module->dev_major,
					.dev_minor = module->dev_minor, .inode = module->inode, .path = module->path };
	g_autofree char *path = NULL;

	if (!g->program)
		g->program = program_path(s->proc_dir, g->pid) ?: g_strdup("");
	path = executed_path(s->proc_dir, g->pid, g->program, &line);
	return path ? modules_executed(module, path) : NULL;
}

/* Valid as long as the module. NULL: use the mapping's path. */
static const char *executed_as(struct symbolizer *s, const struct space_map *m, struct generation *g)
{
	struct module *module = m->module;
	int64_t now_us = g_get_monotonic_time();
	const char *path;

	if (module->kind != MODULE_FILE || !may_have_other_name(m, g))
		return NULL;
	/* scripts and builds start the same program repeatedly */
	if (g->name[0] && now_us < module->executed_until_us && !strcmp(g->name, module->executed_name))
		return module->executed_last;
	path = generation_is_current(g) ? ask_executed(s, m, g) : NULL;
	if (path) {
		module->executed_last = path;
		module->executed_until_us = now_us + EXECUTED_FRESH_US;
		memcpy(module->executed_name, g->name, sizeof(module->executed_name));
	}
	return path;
}

static struct elf_table *map_table(struct symbolizer *s, struct space_map *m, struct generation *g)
{
	if (!m->table_tried && !hurry_is_over()) {
		/* otherwise an ended child with files in a container would leave its parent without names, too */
		struct generation *by = spaces_living(s->spaces, g);

		m->table = modules_table(s->modules, m->module, by->pid, m->start, m->end, generation_is_current(by));
		m->executed = executed_as(s, m, by);
		m->table_tried = true;
	}
	return m->table ? m->table : m->module->last;
}

/* Names addr from the file mapped there. False: not an ELF file. */
static bool file_find(struct symbolizer *s, struct elf_table *t, uint64_t file_off, struct symbol *ret)
{
	uint64_t vaddr, start;
	const char *name;

	ret->offset = file_off;
	ret->why = FRAME_NO_SYMBOLS;
	if (!elf_table_vaddr(t, file_off, &vaddr))
		return false;
	ret->offset = vaddr;
	ret->source = t;
	modules_note_use(s->modules, t);
	name = elf_table_find(t, vaddr, &start);
	if (!name)
		return false;
	ret->name = shown_name(s, name);
	ret->symbol_offset = vaddr - start;
	ret->why = FRAME_NAMED;
	return true;
}

void symbolizer_user(struct symbolizer *s, uint32_t pid, uint64_t ts_ns, uint64_t ip, bool is_return,
		     struct symbol *ret)
{
	uint64_t addr = is_return && ip ? ip - 1 : ip;
	struct generation *g;
	struct elf_table *t;
	struct space_map *m;
	enum frame_why why;

	*ret = (struct symbol){ .offset = addr };
	modules_poll(s->modules);
	if (unwind_is_method(ip)) {
		method_find(s, pid, ts_ns, ip, 0, is_return, ret);
		return;
	}
	m = spaces_find(s->spaces, pid, ts_ns, addr, &g, &why);
	ret->why = why;
	if (!m) {
		if (g)
			jit_find(s, g, ts_ns, ip, is_return, ret);
		return;
	}
	t = m->module->kind == MODULE_SPECIAL ? NULL : map_table(s, m, g);
	ret->module = m->executed ? m->executed : m->module->shown;	/* known once the file was looked up */
	ret->why = FRAME_NO_SYMBOLS;
	if (m->module->kind == MODULE_SPECIAL)
		return;
	if (t) {
		if (file_find(s, t, addr - m->start + m->pgoff, ret))
			tokio_place_of_frame(ret, pid, addr, s->strings);
		return;
	}
	if (m->module->kind != MODULE_VDSO && jit_find(s, g, ts_ns, ip, is_return, ret))
		return;
	if (m->module->kind == MODULE_FILE) {
		ret->why = FRAME_NO_FILE;
		ret->offset = addr - m->start + m->pgoff;
	} else if (m->module->kind == MODULE_VDSO) {
		ret->offset = addr - m->start;
	}
}

void symbolizer_method(struct symbolizer *s, uint32_t pid, uint64_t ts_ns, uint64_t ip, uint64_t code, bool is_return,
		       struct symbol *ret)
{
	*ret = (struct symbol){ .offset = ip };
	modules_poll(s->modules);
	method_find(s, pid, ts_ns, ip, code, is_return, ret);
}

bool symbolizer_sched_text(struct symbolizer *s, uint64_t *ret_start, uint64_t *ret_end)
{
	return kernel_symbols_sched_text(s->kernel, ret_start, ret_end);
}

const char *symbolizer_kernel_lock(struct symbolizer *s, uint64_t addr)
{
	return kernel_symbols_lock(s->kernel, addr);
}

void symbolizer_kernel(struct symbolizer *s, uint64_t ip, bool is_return, struct symbol *ret)
{
	uint64_t addr = is_return && ip ? ip - 1 : ip;

	*ret = (struct symbol){ .module = "[kernel]", .offset = addr, .why = FRAME_NO_SYMBOLS };
	kernel_symbols_find(s->kernel, addr, true, ret);
}

bool symbolizer_kernel_function(struct symbolizer *s, uint64_t word, const char **ret_name, uint64_t *ret_start)
{
	struct symbol symbol = { 0 };

	if (!word || !kernel_symbols_find(s->kernel, word - 1, false, &symbol))
		return false;
	*ret_name = symbol.name;
	*ret_start = word - 1 - symbol.symbol_offset;
	return true;
}

void symbolizer_keep_lines(struct symbolizer *s)
{
	modules_keep_debug_files(s->modules);
}

void symbolizer_lines(struct symbolizer *s, struct symbol_place *places, size_t cnt,
		      uint64_t ret_missed[SYMBOL_MISSED_CNT])
{
	modules_poll(s->modules);
	s->has_lines = true;
	lines_find(places, cnt, s->debug_dir, s->strings, ret_missed);
	for (size_t i = 0; i < cnt; i++)
		for (unsigned k = 0; k < places[i].frame_cnt; k++)
			if (places[i].frames[k].name)
				places[i].frames[k].name = shown_name(s, places[i].frames[k].name);
}

bool symbol_is_thread_start(const char *name)
{
	static const char *const starts[] = {
		"_start", "__start", "_dl_start_user", "_dl_start", "__libc_start_main", "__libc_start_call_main",
		"__libc_start_main_impl", "generic_start_main", "_start_c", "__clone", "clone", "__clone3", "clone3",
		"__clone_internal", "start_thread", "thread_start", "__thread_start", "__pthread_start",
		"runtime.goexit", "runtime.goexit.abi0", "runtime.rt0_go", "runtime.rt0_go.abi0", "runtime.mstart",
		"runtime.mstart.abi0" };

	if (!name)
		return false;
	for (size_t i = 0; i < G_N_ELEMENTS(starts); i++)
		if (!strcmp(name, starts[i]))
			return true;
	return g_str_has_prefix(name, "__libc_start_main@") || g_str_has_prefix(name, "_rt0_");
}
