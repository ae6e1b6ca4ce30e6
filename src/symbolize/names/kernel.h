/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_KERNEL_H
#define SYMBOLIZE_KERNEL_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/elf/symtab.h"
#include "symbolize/symbolize.h"

/* The kernel's symbols for a symbolizer: queried singly, or read from /proc/kallsyms. Strings live as long. */
struct kernel_symbols;

struct kernel_symbols *kernel_symbols_new(const char *kallsyms_path);
void kernel_symbols_free(struct kernel_symbols *k);

/* See symbolizer_ask_kernel() and symbolizer_foresee_kernel(). */
void kernel_symbols_ask(struct kernel_symbols *k, const struct symbolizer_kernel *by);
void kernel_symbols_foresee(struct kernel_symbols *k);

/* Fills in name, module, symbol_offset and why, or nothing. again: an unknown address may cause another reading. */
bool kernel_symbols_find(struct kernel_symbols *k, uint64_t addr, bool again, struct symbol *ret);
/* See symbolizer_kernel_lock() and symbolizer_sched_text(). */
const char *kernel_symbols_lock(struct kernel_symbols *k, uint64_t addr);
bool kernel_symbols_sched_text(struct kernel_symbols *k, uint64_t *ret_start, uint64_t *ret_end);

/* Functions of the kernel, its modules and BPF programs, from /proc/kallsyms. */
struct kallsyms {
	struct symtab table;
	GArray *locks;	/* struct symtab_raw: kernel variables whose names have a lock's suffix, by address */
	bool hidden;	/* all addresses were 0: kptr_restrict */
	/* bounds of the scheduler's functions, as in in_sched_functions(); 0: not listed */
	uint64_t sched_start, sched_end;
};

/* Has the name a suffix that locks have, and hardly any other variable? */
bool kallsyms_is_lock(const char *name);

/* Reads the file at path ("/proc/kallsyms"). */
struct kallsyms *kallsyms_read(const char *path, GError **error);
/* Takes ownership of text, which must have len + 2 bytes; invalid lines are skipped. */
struct kallsyms *kallsyms_parse(char *text, size_t len);
void kallsyms_free(struct kallsyms *k);

/* The function that contains addr; module is "[kernel]" or as listed: "[ext4]", "[bpf]". */
bool kallsyms_find(const struct kallsyms *k, uint64_t addr, const char **ret_name, const char **ret_module,
		   uint64_t *ret_symbol_offset);

/* The lock at exactly this address: "rtnl_mutex". NULL: none. */
const char *kallsyms_find_lock(const struct kallsyms *k, uint64_t addr);

#endif
