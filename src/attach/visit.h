/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ATTACH_VISIT_H
#define ATTACH_VISIT_H

#include <stdbool.h>

struct offcpu_bpf;

/*
 * Returns when every program has ended that ran at a context switch, a waking or a migration as this was
 * called.  Those run with interrupts off; here each CPU takes one.  The kernel's own way to wait, to update
 * a map of maps (1ae80cf31938), takes 10 ms, and on a machine of thousands of runnable threads as many
 * seconds: who was preempted while reading RCU's data has to get a CPU first.
 */
bool visit_cpus(struct offcpu_bpf *skel);

#endif
