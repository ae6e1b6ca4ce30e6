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
 * What is mapped (modules: interned device, inode and path) and the symbols of the files
 * (tables: one per file as it is on disk, by device, inode, time of change and size).
 * Tables live within a budget of memory, modules as long as they are mapped.
 */
enum module_kind {
	MODULE_FILE,	/* may be an ELF file */
	MODULE_VDSO,
	MODULE_ANON,	/* no file: heap of a compiler, perhaps */
	MODULE_SPECIAL,	/* "[vsyscall]", "[stack]": nothing to look up in */
};

#define SPACE_NAME_BYTES 16	/* of a thread's name, with its end */

struct module {
	const char *path;	/* as the mapping has it */
	const char *shown;	/* for people: without " (deleted)", "[anon]" for every anonymous one */
	uint32_t dev_major, dev_minor;
	uint64_t inode;
	enum module_kind kind;
	bool is_deleted;
	struct elf_table *last;	/* what the last process that could tell had here */
	int64_t fresh_until_us;	/* until then that is taken for what any process has here */
	bool is_used;		/* see modules_forget_unused() */
	GHashTable *executed;	/* paths it was executed by; NULL: none */
	char executed_name[SPACE_NAME_BYTES];	/* of who executed it a moment ago: see executed_as() */
	const char *executed_last;	/* the path by which it did */
	int64_t executed_until_us;
	char *own_path, *own_shown;
};

struct modules;

/* debug_dir: "/usr/lib/debug". */
struct modules *modules_new(const char *proc_dir, const char *debug_dir);
void modules_free(struct modules *ms);

/* From now on files with debug information are kept open; before the first table is asked for. */
void modules_keep_debug_files(struct modules *ms);

/* Adds the symbols that arrived from debuginfod meanwhile, never waiting for any. */
void modules_poll(struct modules *ms);

struct module *modules_intern(struct modules *ms, const struct symbolizer_mapping *m);
/* That path, which lives as long as the module; NULL: it has been executed by too many. */
const char *modules_executed(struct module *m, const char *path);

/*
 * The symbols of the file that process pid has mapped at [start, end), NULL when it cannot
 * be opened or is no ELF file.  is_alive: /proc/pid is still that process; else only the
 * path as we see it and what other processes had there can help.
 */
struct elf_table *modules_table(struct modules *ms, struct module *m, uint32_t pid, uint64_t start, uint64_t end,
				bool is_alive);

/* It was asked for a name just now. */
void modules_note_use(const struct modules *ms, struct elf_table *t);

/*
 * A turn is over.  Where tables take more than that, those used longest ago go, until it is enough; none that was used
 * in this turn or the one before.  NULL: none has to, else struct elf_table *, marked as evicted: whoever points to
 * one or to its names is to forget it, then it is freed with the array.  What is asked for again is read again.
 */
GPtrArray *modules_evict(struct modules *ms, size_t max_bytes);
size_t modules_table_bytes(const struct modules *ms);

/* So many came since the last time that it pays to look which of them are still mapped, and to free the others. */
bool modules_are_many(const struct modules *ms);
/* is_used was set of all that are mapped; it is cleared. */
void modules_forget_unused(struct modules *ms);
size_t modules_cnt(const struct modules *ms);

/*
 * The executable mappings of every process over time.  A process id stands for a row of
 * generations, each from one exec or fork to the next exec or exit; a generation holds its
 * mappings with the time each appeared.  Mappings come from the notes, and from
 * /proc/PID/maps: once for a generation whose beginning no note told, and again, ever less
 * often, when an address is not found in a process that lives.
 */
struct space_map {
	uint64_t start, end, pgoff;
	uint64_t from_ns;
	uint32_t no;		/* in the order of coming */
	struct module *module;
	struct elf_table *table;	/* kept by whoever looked it up */
	bool table_tried;
	const char *executed;	/* the path it was executed by, if that has another last name; else NULL */
	bool from_proc;		/* may have been there before from_ns */
	bool replaces;		/* other code lay there before */
};

struct generation {
	uint32_t pid;
	uint32_t parent;	/* process forked from, 0: an exec or unknown */
	uint32_t forked_by;	/* the same, also after an exec */
	uint64_t from_ns, to_ns;	/* to_ns is UINT64_MAX while it lasts */
	struct map_set *maps;
	bool needs_base;	/* /proc/PID/maps is still to be read */
	bool was_read;		/* ... and has been, with success */
	bool is_exited;
	int64_t next_read_us;	/* g_get_monotonic_time(), for reading it again */
	uint32_t pause_us;
	struct perf_map *jit;	/* the compiler's list of functions; for the symbolizer */
	struct perf_map *jit_before;	/* the version before it, where that named addresses otherwise; else NULL */
	struct perf_map_version jit_version;
	uint64_t jit_from_ns;	/* since when `jit` is in force: what was seen before that is of the version before */
	uint64_t jit_seen_ns;	/* when it was last seen to be in force */
	uint64_t jit_before_seen_ns;	/* ... and when the version before was */
	int64_t jit_next_us;
	uint32_t jit_pause_us;
	struct hotspot *jvm;	/* its code and methods; NULL: not looked for, or none.  For the symbolizer */
	struct v8 *v8;		/* its functions, the same way */
	int64_t jvm_next_us, v8_next_us;
	char *program;		/* program_path(), "" for none; NULL: not asked.  For the symbolizer */
	char name[SPACE_NAME_BYTES];	/* that the exec gave its thread; "": not told */
};

struct spaces;

struct spaces *spaces_new(struct modules *modules, const char *proc_dir);
void spaces_free(struct spaces *s);

/* True: other code lay there before. */
bool spaces_mmap(struct spaces *s, uint32_t pid, uint64_t ts_ns, const struct symbolizer_mapping *m);
/* How often a file was mapped where another one lay: names of addresses from before no longer hold. */
uint64_t spaces_replaced_cnt(const struct spaces *s);
bool spaces_has_ended(const struct spaces *s, uint32_t pid);
/* See symbolizer_exec_files(). */
bool spaces_exec_files(const struct spaces *s, uint32_t pid, symbolizer_file_fn fn, void *data);
/* name: as symbolizer_note_exec() has it. */
void spaces_exec(struct spaces *s, uint32_t pid, uint64_t ts_ns, const char *name);
void spaces_fork(struct spaces *s, uint32_t parent, uint32_t pid, uint64_t ts_ns);
void spaces_exit(struct spaces *s, uint32_t pid, uint64_t ts_ns);
/*
 * Reads the mappings now, unless they are known; the process may be gone by the time of a question.  True: it tried
 * to.
 */
bool spaces_foresee(struct spaces *s, uint32_t pid);

/*
 * Where address addr of process pid lay at ts_ns.  NULL: nowhere, and *ret_why says why.
 * *ret_generation may be NULL; both stay valid until the next call of any function here.
 */
struct space_map *spaces_find(struct spaces *s, uint32_t pid, uint64_t ts_ns, uint64_t addr,
			      struct generation **ret_generation, enum frame_why *ret_why);
/* The generation alone; NULL: none is known. */
struct generation *spaces_generation(struct spaces *s, uint32_t pid, uint64_t ts_ns);
/* Whether /proc/PID still is this generation. */
bool generation_is_current(const struct generation *g);
/* g, or where its process is gone the nearest living one that it came from: that mostly sees the same files.  Else g. */
struct generation *spaces_living(const struct spaces *s, struct generation *g);

/* Forgets processes that exited before then. */
void spaces_forget_exited(struct spaces *s, uint64_t before_ns);
/* Forgets modules that are in no process any more, where there are many. */
void spaces_forget_modules(struct spaces *s);
/* Forgets the tables that are marked as evicted: they are looked for again. */
void spaces_forget_evicted(struct spaces *s);

/* Adds the executable lines of the text of a /proc/PID/maps, which is changed. */
void generation_add_maps_text(struct spaces *s, struct generation *g, char *text, uint64_t from_ns);

/* Mappings of an address space over time; a fork shares the set until either side changes it. */
struct map_set {
	unsigned refs;
	GArray *maps;	/* struct space_map, by start; of the same start the later one comes last */
	uint32_t came_cnt;	/* so far; space_map.no comes from here */
	uint64_t longest;	/* bytes of a mapping, at most */
};

struct map_set *map_set_new(void);
struct map_set *map_set_ref(struct map_set *set);
void map_set_unref(struct map_set *set);	/* NULL is fine */

/* Does it lie where another file's mapping lay, or the same file's at another place? */
bool map_set_replaces(struct map_set *set, const struct space_map *map);

/*
 * Adds a mapping unless the set has it already.  Replaces *set by a copy when it is shared.
 * Bounded: when full, the older half goes.
 */
void map_set_add(struct map_set **set, const struct space_map *map);

/*
 * The mapping that covered addr at ts_ns: the newest that came until then, else one found in
 * /proc later, which may have been there before; else NULL.
 */
struct space_map *map_set_find(struct map_set *set, uint64_t ts_ns, uint64_t addr);

#endif
