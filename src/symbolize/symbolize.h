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
 * Addresses to names.  One symbolizer per recording; not thread safe.  It keeps every
 * process's executable mappings over time (fed by the four notes below, and read from
 * /proc/PID/maps at the first question about a process that was there before), one symbol
 * table per file shared by all processes, and the kernel's symbols: asked for one by one where the kernel answers, else
 * read at first use.
 */
struct symbolizer;

struct symbolizer *symbolizer_new(void);
#define SYMBOLIZER_KERNEL_NAME_MAX 640

/* Who answers for the kernel's symbols in place of /proc/kallsyms. */
struct symbolizer_kernel {
	/* "name+0x1f/0xa0", " [module]" behind it, or a number alone; false: it does not answer (any more) */
	bool (*name)(void *ctx, uint64_t addr, char *ret, size_t room);
	uint64_t (*address)(void *ctx, const char *name);	/* 0: there is none */
	void (*free)(void *ctx);
	void *ctx;
};

/* From now on; the symbolizer frees ctx. */
void symbolizer_ask_kernel(struct symbolizer *s, const struct symbolizer_kernel *kernel);
/* Kernel symbols will be asked for: unless the kernel answers they are read meanwhile, by a thread (50 ms for 200,000). */
void symbolizer_foresee_kernel(struct symbolizer *s);
void symbolizer_free(struct symbolizer *s);

struct symbol_frame {
	const char *name;	/* demangled; NULL: not known, or of no function */
	const char *file;	/* NULL: not known */
	uint32_t line;		/* 0: not known */
	const char *module;	/* of one that a runtime inlined; NULL: as what it is inlined in */
};

/*
 * A result.  Strings live as long as the symbolizer.  Same meaning as in struct frame.
 *
 * Offsets are those of the address that was looked up: of ip - 1 for a return address, which
 * lies in the call and is what addr2line wants.  `offset` is, by what is mapped there:
 * an ELF file or the vdso, its virtual address; a file that could not be read, the offset in
 * the file; "[anon]", "[jit]" (named by a perf map), "[kernel]" and kernel modules, and where
 * module is NULL: the address itself.
 */
struct symbol {
	const char *name;
	const char *module;	/* path as the process saw it, "[vdso]", "[anon]", "[jit]", "[kernel]", "[ext4]" */
	uint64_t offset;
	uint64_t symbol_offset;	/* of the address in its function, 0 without a name */
	uint8_t why;		/* enum frame_why, FRAME_NAMED when name is set */
	struct elf_table *source;	/* for symbolizer_lines(), NULL: no ELF file */
	/*
	 * Functions inlined there, innermost first, `name` behind the last of them: as a runtime tells, not debug
	 * information.  Until the next question.
	 */
	const struct symbol_frame *inlined;
	unsigned inlined_cnt;
	/* where a runtime says that the function begins; NULL and 0: it does not */
	const char *file;
	uint32_t line;
	/* a runtime's own code or method: another one may lie there soon, so ask again the next time */
	bool moves;
};

/* An executable mapping of a process, as the kernel's mmap2 event or /proc/PID/maps gives it. */
struct symbolizer_mapping {
	uint64_t start, len, pgoff;
	uint32_t dev_major, dev_minor;
	uint64_t inode;
	const char *path;	/* as the process saw it */
};

/*
 * Notes of what happened to address spaces, in order of time for one pid; strings are copied.
 * Give the notes there are before asking about what came after them: /proc/PID/maps is read
 * at a question, and stands for the newest program the notes told of.  A mapping: true where other code lay before.
 */
bool symbolizer_note_mmap(struct symbolizer *s, uint32_t pid, uint64_t ts_ns, const struct symbolizer_mapping *m);
/*
 * How often a file was mapped where another one lay, or a compiler's list named addresses otherwise than before: names
 * of addresses from before no longer hold.  Lists are looked at again at a question, seldom (100 ms).
 */
uint64_t symbolizer_replaced_cnt(const struct symbolizer *s);
/* A stack of the process was seen: has it a list that is to be looked at? */
void symbolizer_poll_jit(struct symbolizer *s, uint32_t pid, uint64_t ts_ns);
/*
 * The name that the newest list gives the address of the program that pid was at ts_ns, and since when that list is in
 * force; NULL: none, or it is not known any more.  Until the next question.
 */
const char *symbolizer_newest_jit_name(struct symbolizer *s, uint32_t pid, uint64_t ts_ns, uint64_t addr,
				       uint64_t *ret_from_ns);
/* Did other code lie at the user address until after since_ns?  As of ts_ns, when the address was met. */
bool symbolizer_replaced_since(struct symbolizer *s, uint32_t pid, uint64_t ts_ns, uint64_t addr, uint64_t since_ns);
/* name: which its thread has from then on; NULL: not told. */
void symbolizer_note_exec(struct symbolizer *s, uint32_t pid, uint64_t ts_ns, const char *name);
/* That was told of its first thread, and of no other process of that number since. */
bool symbolizer_has_ended(const struct symbolizer *s, uint32_t pid);
/*
 * Calls for each executable mapping of the program that runs in pid, or did last, by what was told since its exec, as
 * long as fn returns true; false: that exec was not told, or fn returned false.
 */
struct maps_line;
typedef bool (*symbolizer_file_fn)(const struct maps_line *line, void *data);
bool symbolizer_exec_files(const struct symbolizer *s, uint32_t pid, symbolizer_file_fn fn, void *data);
void symbolizer_note_fork(struct symbolizer *s, uint32_t parent, uint32_t pid, uint64_t ts_ns);
void symbolizer_note_exit(struct symbolizer *s, uint32_t pid, uint64_t ts_ns);
/*
 * A question about the process may come, perhaps when it is gone: its mappings are read now, unless they are known.
 * True: that was tried.
 */
bool symbolizer_foresee_user(struct symbolizer *s, uint32_t pid);

/*
 * The symbol of user address `ip` in process `pid` (tracer's pid namespace) as it was at
 * ts_ns.  `is_return`: ip is a return address, so look up ip - 1.  Always fills *ret.
 * ip may stand for a method that is interpreted (unwind_is_method()).
 * Ask while the process lives if you can: afterwards only files that other processes use,
 * or that we see under the same path, still have names.
 */
void symbolizer_user(struct symbolizer *s, uint32_t pid, uint64_t ts_ns, uint64_t ip, bool is_return,
		     struct symbol *ret);
/* The same of a method that has code at an address, in which others may be inlined (unwind_has_code()). */
void symbolizer_method(struct symbolizer *s, uint32_t pid, uint64_t ts_ns, uint64_t ip, uint64_t code, bool is_return,
		       struct symbol *ret);
void symbolizer_kernel(struct symbolizer *s, uint64_t ip, bool is_return, struct symbol *ret);

/*
 * The kernel function that calls from just before `word`, if it is a return address at all.  Unlike
 * symbolizer_kernel() it never takes an unknown word for a reason to read the kernel's symbols
 * again (50 ms): most words on a stack are no addresses.
 */
bool symbolizer_kernel_function(struct symbolizer *s, uint64_t word, const char **ret_name, uint64_t *ret_start);

/* A lock that is a variable of the kernel's, by its address; NULL: none that is known.  As the one above. */
const char *symbolizer_kernel_lock(struct symbolizer *s, uint64_t addr);

/*
 * Where the functions lie that the kernel takes for the scheduler's, [start, end).  False where that is not known,
 * or not yet: this does not make it read the kernel's symbols.
 */
bool symbolizer_sched_text(struct symbolizer *s, uint64_t *ret_start, uint64_t *ret_end);

/*
 * Inlined functions, files and lines.  They are looked up when all stacks are there, since
 * debug information is large and one file's addresses are best looked up together; what is
 * needed of it is kept open from the first question about an address on, if this was called before.
 */
void symbolizer_keep_lines(struct symbolizer *s);

struct symbol_place {
	struct elf_table *source;	/* of the struct symbol */
	uint64_t offset;		/* ... and its offset */
	struct symbol_frame *frames;	/* innermost first, the last is the function itself; free with g_free */
	unsigned frame_cnt;		/* 0: nothing is known */
};

/* ret_missed: how many files were not read, or not wholly, by enum dwarf_missed of dwarf_find.h. */
#define SYMBOL_MISSED_CNT 5
void symbolizer_lines(struct symbolizer *s, struct symbol_place *places, size_t cnt,
		      uint64_t ret_missed[SYMBOL_MISSED_CNT]);
/* A sentence for people, and an id, for one of them. */
const char *symbol_missed_text(unsigned missed, const char **ret_id);

/*
 * Of who symbolizes for days: a turn is over (now_ns: CLOCK_MONOTONIC), no struct symbol of it is in use any more, nor
 * a place's source. Processes that ended long ago are forgotten, and the symbols that were used longest ago, until all
 * take at most max_bytes.
 */
void symbolizer_next_turn(struct symbolizer *s, uint64_t now_ns, size_t max_bytes);

/* True for a function in which a thread's user stack begins: _start, __clone3, ... */
bool symbol_is_thread_start(const char *name);

/* For tests: a symbolizer that looks elsewhere than in /proc, /proc/kallsyms and /usr/lib/debug. */
struct symbolizer;
struct symbolizer *symbolizer_new_at(const char *proc_dir, const char *kallsyms_path, const char *debug_dir);
/* What the symbols of files take. */
size_t symbolizer_table_bytes(const struct symbolizer *s);

#endif
