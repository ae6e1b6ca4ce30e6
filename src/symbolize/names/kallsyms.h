/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_KALLSYMS_H
#define SYMBOLIZE_KALLSYMS_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/elf/symtab.h"

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
