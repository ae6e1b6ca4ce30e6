/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_KERNEL_H
#define SYMBOLIZE_KERNEL_H

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

#endif
