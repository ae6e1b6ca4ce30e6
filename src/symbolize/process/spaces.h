/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_SPACES_H
#define SYMBOLIZE_SPACES_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "symbolize/jit/perf_map.h"
#include "symbolize/process/modules.h"
#include "symbolize/symbolize.h"

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
};

struct spaces;

struct spaces *spaces_new(struct modules *modules, const char *proc_dir);
void spaces_free(struct spaces *s);

/* True: other code lay there before. */
bool spaces_mmap(struct spaces *s, uint32_t pid, uint64_t ts_ns, const struct symbolizer_mapping *m);
/* How often a file was mapped where another one lay: names of addresses from before no longer hold. */
uint64_t spaces_replaced_cnt(const struct spaces *s);
void spaces_exec(struct spaces *s, uint32_t pid, uint64_t ts_ns);
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

#endif
