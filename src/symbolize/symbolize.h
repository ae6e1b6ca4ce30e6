/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_SYMBOLIZE_H
#define SYMBOLIZE_SYMBOLIZE_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/frame.h"

struct elf_table;

/*
 * Addresses to names. One symbolizer per recording; not thread safe. It keeps every process's executable mappings
 * over time (from the four notes below, and from /proc/PID/maps at the first question about an older process), one
 * symbol table per file shared by all processes, and the kernel's symbols, which are queried one by one if the kernel
 * supports it, else read at first use.
 */
struct symbolizer;

struct symbolizer *symbolizer_new(void);
#define SYMBOLIZER_KERNEL_NAME_MAX 640

/* Answers for kernel symbols instead of /proc/kallsyms. */
struct symbolizer_kernel {
	/* "name+0x1f/0xa0", perhaps with " [module]", or just a number; false: no answer (any more) */
	bool (*name)(void *ctx, uint64_t addr, char *ret, size_t room);
	uint64_t (*address)(void *ctx, const char *name);	/* 0: none */
	void (*free)(void *ctx);
	void *ctx;
};

/* Uses `kernel` from now on. The symbolizer frees ctx. */
void symbolizer_ask_kernel(struct symbolizer *s, const struct symbolizer_kernel *kernel);
/* Kernel symbols will be needed: if the kernel cannot be queried, a thread reads them now (50 ms for 200,000). */
void symbolizer_foresee_kernel(struct symbolizer *s);
void symbolizer_free(struct symbolizer *s);

struct symbol_frame {
	const char *name;	/* demangled; NULL: unknown, or no function */
	const char *file;	/* NULL: unknown */
	uint32_t line;		/* 0: unknown */
	const char *module;	/* for functions inlined by a runtime; NULL: that of the enclosing one */
};

/*
 * A result. Strings live as long as the symbolizer. Members mean the same as in struct frame.
 *
 * Offsets are those of the looked up address: ip - 1 for a return address, which is inside of the call, as addr2line
 * expects. `offset` depends on the mapping. ELF file or vdso: the virtual address. Unreadable file: the offset in the
 * file. "[anon]", "[jit]" (named by a perf map), "[kernel]", kernel modules, or a module that is NULL: the address
 * itself.
 */
struct symbol {
	const char *name;
	const char *module;	/* path as seen by the process, "[vdso]", "[anon]", "[jit]", "[kernel]", "[ext4]" */
	uint64_t offset;
	uint64_t symbol_offset;	/* offset of the address in its function, 0 without a name */
	uint8_t why;		/* enum frame_why, FRAME_NAMED if name is set */
	struct elf_table *source;	/* for symbolizer_lines(); NULL: not an ELF file */
	/*
	 * Functions inlined there according to a runtime (not debug information), innermost first; `name` encloses
	 * them. Valid until the next question.
	 */
	const struct symbol_frame *inlined;
	unsigned inlined_cnt;
	/* the function's first line according to a runtime; NULL and 0: unknown */
	const char *file;
	uint32_t line;
	/* code or method of a runtime, which may be replaced soon: do not cache */
	bool moves;
};

/* An executable mapping of a process, from the kernel's mmap2 event or /proc/PID/maps. */
struct symbolizer_mapping {
	uint64_t start, len, pgoff;
	uint32_t dev_major, dev_minor;
	uint64_t inode;
	const char *path;	/* as seen by the process */
};

/*
 * Notes of events in address spaces, in order of time for each pid; strings are copied. Pass available notes before
 * asking about later events: /proc/PID/maps is read when asked, and counts for the newest program in the notes. A
 * mapping returns true if it replaced other code.
 */
bool symbolizer_note_mmap(struct symbolizer *s, uint32_t pid, uint64_t ts_ns, const struct symbolizer_mapping *m);
/*
 * Counts how often a file was mapped over another one, or a perf map changed names: cached names are invalid then.
 * Perf maps are checked again when asked, at most every 100 ms.
 */
uint64_t symbolizer_replaced_cnt(const struct symbolizer *s);
/* The process has a stack: checks whether its perf map needs another look. */
void symbolizer_poll_jit(struct symbolizer *s, uint32_t pid, uint64_t ts_ns);
/*
 * The name of an address in the newest perf map, for the program that pid was at ts_ns, and since when that map is
 * current. NULL: none, or unknown by now. Valid until the next question.
 */
const char *symbolizer_newest_jit_name(struct symbolizer *s, uint32_t pid, uint64_t ts_ns, uint64_t addr,
				       uint64_t *ret_from_ns);
/* Was other code at the user address until after since_ns? ts_ns: when the address was seen. */
bool symbolizer_replaced_since(struct symbolizer *s, uint32_t pid, uint64_t ts_ns, uint64_t addr, uint64_t since_ns);
/* name: the thread's comm after the exec; NULL: unknown. */
void symbolizer_note_exec(struct symbolizer *s, uint32_t pid, uint64_t ts_ns, const char *name);
/* The end of its first thread was noted, and no new process with this number since. */
bool symbolizer_has_ended(const struct symbolizer *s, uint32_t pid);
/*
 * Calls fn for each executable mapping of pid's current or last program, as noted since its exec, while it returns
 * true. False: that exec was not noted, or fn returned false.
 */
struct maps_line;
typedef bool (*symbolizer_file_fn)(const struct maps_line *line, void *data);
bool symbolizer_exec_files(const struct symbolizer *s, uint32_t pid, symbolizer_file_fn fn, void *data);
void symbolizer_note_fork(struct symbolizer *s, uint32_t parent, uint32_t pid, uint64_t ts_ns);
void symbolizer_note_exit(struct symbolizer *s, uint32_t pid, uint64_t ts_ns);
/*
 * Questions about the process may come, perhaps after its end: reads its mappings now, unless known. True: it tried.
 */
bool symbolizer_foresee_user(struct symbolizer *s, uint32_t pid);

/*
 * The symbol of user address `ip` in process `pid` (tracer's pid namespace) at ts_ns. `is_return`: ip is a return
 * address, so ip - 1 is looked up. Always fills *ret. ip may stand for an interpreted method (unwind_is_method()).
 * Ask while the process lives if possible: later only files that other processes use, or that we see at the same
 * path, have names.
 */
void symbolizer_user(struct symbolizer *s, uint32_t pid, uint64_t ts_ns, uint64_t ip, bool is_return,
		     struct symbol *ret);
/* Likewise for a method with code at an address, where other methods may be inlined (unwind_has_code()). */
void symbolizer_method(struct symbolizer *s, uint32_t pid, uint64_t ts_ns, uint64_t ip, uint64_t code, bool is_return,
		       struct symbol *ret);
void symbolizer_kernel(struct symbolizer *s, uint64_t ip, bool is_return, struct symbol *ret);

/*
 * The kernel function that calls from just before `word`, if it is a return address. Unlike symbolizer_kernel(), it
 * never reads the kernel's symbols again for an unknown word (50 ms): most words on a stack are no addresses.
 */
bool symbolizer_kernel_function(struct symbolizer *s, uint64_t word, const char **ret_name, uint64_t *ret_start);

/* The kernel variable of a lock, by its address. NULL: unknown. Never reads the symbols again either. */
const char *symbolizer_kernel_lock(struct symbolizer *s, uint64_t addr);

/*
 * The bounds [start, end) of functions that the kernel counts as the scheduler's. False: unknown (so far); never
 * reads the kernel's symbols for it.
 */
bool symbolizer_sched_text(struct symbolizer *s, uint64_t *ret_start, uint64_t *ret_end);

/*
 * Inlined functions, files and lines. They are looked up when all stacks are there: debug information is large, and a
 * file's addresses are best looked up together. If called first, this keeps the needed files open from the first
 * question on.
 */
void symbolizer_keep_lines(struct symbolizer *s);

struct symbol_place {
	struct elf_table *source;	/* from struct symbol */
	uint64_t offset;		/* from struct symbol */
	struct symbol_frame *frames;	/* innermost first, the last is the function itself; free with g_free() */
	unsigned frame_cnt;		/* 0: unknown */
};

/* ret_missed: number of files not read (completely), by enum dwarf_missed of dwarf/find.h. */
#define SYMBOL_MISSED_CNT 5
void symbolizer_lines(struct symbolizer *s, struct symbol_place *places, size_t cnt,
		      uint64_t ret_missed[SYMBOL_MISSED_CNT]);
/* A sentence and an id for one of them. */
const char *symbol_missed_text(unsigned missed, const char **ret_id);

/*
 * For symbolizing over days: ends a turn (now_ns: CLOCK_MONOTONIC). No struct symbol or place's source from before
 * may be used afterwards. Frees processes that ended long ago, and the least recently used symbols above max_bytes.
 */
void symbolizer_next_turn(struct symbolizer *s, uint64_t now_ns, size_t max_bytes);

/* Does a thread's user stack begin in this function? _start, __clone3, ... */
bool symbol_is_thread_start(const char *name);

/* For tests: a symbolizer with other paths than /proc, /proc/kallsyms and /usr/lib/debug. */
struct symbolizer;
struct symbolizer *symbolizer_new_at(const char *proc_dir, const char *kallsyms_path, const char *debug_dir);
/* Memory used by symbols of files. */
size_t symbolizer_table_bytes(const struct symbolizer *s);

#endif
