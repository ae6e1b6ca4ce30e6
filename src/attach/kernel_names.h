/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ATTACH_KERNEL_NAMES_H
#define ATTACH_KERNEL_NAMES_H

#include "symbolize/symbolize.h"

/*
 * Lets the kernel itself look up its symbols, where it can (Linux 5.16 and later, with CAP_BPF and CAP_PERFMON);
 * otherwise the symbolizer reads /proc/kallsyms.
 */
void kernel_names_use(struct symbolizer *s);

#endif
