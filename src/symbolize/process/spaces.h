/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_SPACES_H
#define SYMBOLIZE_SPACES_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "symbolize/elf/table.h"
#include "symbolize/jit/perf_map.h"
#include "symbolize/symbolize.h"

/*
 * Modules are mapped files (interned by device, inode and path), tables the symbols of files (one per file version,
 * by device, inode, change time and size). Tables are limited by a memory budget; modules live as long as they are
 * mapped.
 */
enum module_kind {
	MODULE_FILE,	/* may be an ELF file */
	MODULE_VDSO,
	MODULE_ANON,	/* no file: perhaps generated code */
	MODULE_SPECIAL,	/* "[vsyscall]", "[stack]": never looked up */
};

#define SPACE_NAME_BYTES 16	/* a thread's name with its terminator */

struct module {
	const char *path;	/* as in the mapping */
	const char *shown;	/* for output: without " (deleted)", "[anon]" for all anonymous ones */
	uint32_t dev_major, dev_minor;
	uint64_t inode;
	enum module_kind kind;
	bool is_deleted;
	struct elf_table *last;	/* table of the last process that had one here */
	int64_t fresh_until_us;	/* until then that table is used for every process */
	bool is_used;		/* see modules_forget_unused() */
	GHashTable *executed;	/* paths it was executed by; NULL: none */
	char executed_name[SPACE_NAME_BYTES];	/* thread name of the last exec: see executed_as() */
	const char *executed_last;	/* path of the last exec */
	int64_t executed_until_us;
	char *own_path, *own_shown;
};

struct modules;

/* debug_dir: "/usr/lib/debug". */
struct modules *modules_new(const char *proc_dir, const char *debug_dir);
void modules_free(struct modules *ms);

/* Files with debug information are kept open from now on. Call it before asking for tables. */
void modules_keep_debug_files(struct modules *ms);

/* Adds symbols that have arrived from debuginfod, without waiting. */
void modules_poll(struct modules *ms);

struct module *modules_intern(struct modules *ms, const struct symbolizer_mapping *m);
/* The interned path, valid as long as the module. NULL: too many paths. */
const char *modules_executed(struct module *m, const char *path);

/*
 * The symbols of the file that process pid has mapped at [start, end). NULL: it cannot be opened or is no ELF file.
 * is_alive: /proc/pid is still that process; else only the path as we see it and other processes' tables help.
 */
struct elf_table *modules_table(struct modules *ms, struct module *m, uint32_t pid, uint64_t start, uint64_t end,
				bool is_alive);

/* Call it when a name was looked up. */
void modules_note_use(const struct modules *ms, struct elf_table *t);

/*
 * Ends a turn. If tables take more than max_bytes, evicts the least recently used ones that were unused in this turn
 * and the one before. NULL: none, else struct elf_table *, marked as evicted: drop all pointers to them and their
 * names, then free them with the array. They are read again when needed.
 */
GPtrArray *modules_evict(struct modules *ms, size_t max_bytes);
size_t modules_table_bytes(const struct modules *ms);

/* Have enough modules come since the last call to look for unmapped ones and free them? */
bool modules_are_many(const struct modules *ms);
/* Frees modules without is_used, which must be set in all that are mapped, and clears it. */
void modules_forget_unused(struct modules *ms);
size_t modules_cnt(const struct modules *ms);

/*
 * The executable mappings of every process over time. A process id has a sequence of generations, each from an exec
 * or fork to the next exec or exit, with mappings and the time each appeared. Mappings come from notes, and from
 * /proc/PID/maps: once for a generation whose beginning was not noted, and again, less and less often, if a live
 * process lacks an address.
 */
struct space_map {
	uint64_t start, end, pgoff;
	uint64_t from_ns;
	uint32_t no;		/* in order of arrival */
	struct module *module;
	struct elf_table *table;	/* cached by lookups */
	bool table_tried;
	const char *executed;	/* the path it was executed by, if the last part differs; else NULL */
	bool from_proc;		/* may be older than from_ns */
	bool replaces;		/* it replaced other code */
};

struct generation {
	uint32_t pid;
	uint32_t parent;	/* process it was forked from, 0: exec, or unknown */
	uint32_t forked_by;	/* likewise, kept across an exec */
	uint64_t from_ns, to_ns;	/* to_ns is UINT64_MAX while it lasts */
	struct map_set *maps;
	bool needs_base;	/* /proc/PID/maps must be read */
	bool was_read;		/* it was read successfully */
	bool is_exited;
	int64_t next_read_us;	/* g_get_monotonic_time(), for reading again */
	uint32_t pause_us;
	struct perf_map *jit;	/* the perf map; used by the symbolizer */
	struct perf_map *jit_before;	/* its previous version, if that had other names; else NULL */
	struct perf_map_version jit_version;
	uint64_t jit_from_ns;	/* begin of `jit`: earlier addresses belong to the previous version */
	uint64_t jit_seen_ns;	/* when `jit` was last seen unchanged */
	uint64_t jit_before_seen_ns;	/* likewise the previous version */
	int64_t jit_next_us;
	uint32_t jit_pause_us;
	struct hotspot *jvm;	/* its code and methods; NULL: not looked for, or none. Used by the symbolizer */
	struct v8 *v8;		/* its functions, likewise */
	int64_t jvm_next_us, v8_next_us;
	char *program;		/* program_path(), "" for none; NULL: not asked. Used by the symbolizer */
	char name[SPACE_NAME_BYTES];	/* thread name after the exec; "": unknown */
};

struct spaces;

struct spaces *spaces_new(struct modules *modules, const char *proc_dir);
void spaces_free(struct spaces *s);

/* True: it replaced other code. */
bool spaces_mmap(struct spaces *s, uint32_t pid, uint64_t ts_ns, const struct symbolizer_mapping *m);
/* Counts how often a file was mapped over another one: cached names are invalid then. */
uint64_t spaces_replaced_cnt(const struct spaces *s);
bool spaces_has_ended(const struct spaces *s, uint32_t pid);
/* See symbolizer_exec_files(). */
bool spaces_exec_files(const struct spaces *s, uint32_t pid, symbolizer_file_fn fn, void *data);
/* name: see symbolizer_note_exec(). */
void spaces_exec(struct spaces *s, uint32_t pid, uint64_t ts_ns, const char *name);
void spaces_fork(struct spaces *s, uint32_t parent, uint32_t pid, uint64_t ts_ns);
void spaces_exit(struct spaces *s, uint32_t pid, uint64_t ts_ns);
/* Reads the mappings now, unless known, because the process may be gone when asked about. True: it tried. */
bool spaces_foresee(struct spaces *s, uint32_t pid);

/*
 * The mapping of addr in process pid at ts_ns. NULL: none, and *ret_why says why. *ret_generation may be NULL; both
 * stay valid until the next call here.
 */
struct space_map *spaces_find(struct spaces *s, uint32_t pid, uint64_t ts_ns, uint64_t addr,
			      struct generation **ret_generation, enum frame_why *ret_why);
/* Only the generation. NULL: unknown. */
struct generation *spaces_generation(struct spaces *s, uint32_t pid, uint64_t ts_ns);
/* Is /proc/PID still this generation? */
bool generation_is_current(const struct generation *g);
/* g, or if its process is gone the nearest live ancestor, which usually sees the same files. Else g. */
struct generation *spaces_living(const struct spaces *s, struct generation *g);

/* Frees processes that exited before this time. */
void spaces_forget_exited(struct spaces *s, uint64_t before_ns);
/* Frees modules that are in no process any more, if there are many. */
void spaces_forget_modules(struct spaces *s);
/* Drops pointers to tables marked as evicted. */
void spaces_forget_evicted(struct spaces *s);

/* Adds the executable lines of a /proc/PID/maps, whose text is changed. */
void generation_add_maps_text(struct spaces *s, struct generation *g, char *text, uint64_t from_ns);

/* Mappings of an address space over time, shared after a fork until either side changes. */
struct map_set {
	unsigned refs;
	GArray *maps;	/* struct space_map by start, then by order of arrival */
	uint32_t came_cnt;	/* counter for space_map.no */
	uint64_t longest;	/* size of the largest mapping */
};

struct map_set *map_set_new(void);
struct map_set *map_set_ref(struct map_set *set);
void map_set_unref(struct map_set *set);	/* NULL is fine */

/* Does it cover the mapping of another file, or of another part of the same file? */
bool map_set_replaces(struct map_set *set, const struct space_map *map);

/* Adds a mapping unless it is there already. Copies *set if it is shared. If full, the older half is dropped. */
void map_set_add(struct map_set **set, const struct space_map *map);

/*
 * The mapping that contained addr at ts_ns: the newest until then, else one found in /proc later, which may be older;
 * else NULL.
 */
struct space_map *map_set_find(struct map_set *set, uint64_t ts_ns, uint64_t addr);

#endif
