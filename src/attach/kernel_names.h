/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ATTACH_KERNEL_NAMES_H
#define ATTACH_KERNEL_NAMES_H

#include "symbolize/symbolize.h"

/*
 * Has the kernel itself asked for its symbols, where it can be (Linux 5.16 and later, with CAP_BPF and CAP_PERFMON);
 * elsewhere the symbolizer reads /proc/kallsyms as before.
 */
void kernel_names_use(struct symbolizer *s);

#endif
