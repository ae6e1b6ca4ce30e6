/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_KERNEL_H
#define SYMBOLIZE_KERNEL_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/elf/symtab.h"
#include "symbolize/symbolize.h"

/* The kernel's symbols for one symbolizer: asked for one by one, or read from /proc/kallsyms.  Strings live as long. */
struct kernel_symbols;

struct kernel_symbols *kernel_symbols_new(const char *kallsyms_path);
void kernel_symbols_free(struct kernel_symbols *k);

/* As symbolizer_ask_kernel() and symbolizer_foresee_kernel(). */
void kernel_symbols_ask(struct kernel_symbols *k, const struct symbolizer_kernel *by);
void kernel_symbols_foresee(struct kernel_symbols *k);

/* Fills name, module, symbol_offset and why, or nothing.  again: an unknown one is worth to read all once more. */
bool kernel_symbols_find(struct kernel_symbols *k, uint64_t addr, bool again, struct symbol *ret);
/* As symbolizer_kernel_lock() and symbolizer_sched_text(). */
const char *kernel_symbols_lock(struct kernel_symbols *k, uint64_t addr);
bool kernel_symbols_sched_text(struct kernel_symbols *k, uint64_t *ret_start, uint64_t *ret_end);

/* The kernel's functions, its modules' and its BPF programs', as /proc/kallsyms lists them. */
struct kallsyms {
	struct symtab table;
	GArray *locks;	/* struct symtab_raw: the kernel's variables whose names end as those of locks do, by address */
	bool hidden;	/* every address was 0: kptr_restrict */
	/* what the kernel calls the scheduler's functions, in_sched_functions(); 0: not listed */
	uint64_t sched_start, sched_end;
};

/* A lock's name ends so, and hardly any other variable's. */
bool kallsyms_is_lock(const char *name);

/* Reads the file at path ("/proc/kallsyms"). */
struct kallsyms *kallsyms_read(const char *path, GError **error);
/* Takes over text, g_malloc'ed with len + 2 bytes of room; lines that make no sense are skipped. */
struct kallsyms *kallsyms_parse(char *text, size_t len);
void kallsyms_free(struct kallsyms *k);

/* Finds the function that covers addr; module is "[kernel]" or as listed: "[ext4]", "[bpf]". */
bool kallsyms_find(const struct kallsyms *k, uint64_t addr, const char **ret_name, const char **ret_module,
		   uint64_t *ret_symbol_offset);

/* The lock that lies exactly there: "rtnl_mutex"; NULL: none. */
const char *kallsyms_find_lock(const struct kallsyms *k, uint64_t addr);

#endif
