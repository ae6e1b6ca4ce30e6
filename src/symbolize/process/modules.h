/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_MODULES_H
#define SYMBOLIZE_MODULES_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "symbolize/elf/table.h"
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

#endif
