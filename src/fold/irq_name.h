/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_IRQ_NAME_H
#define FOLD_IRQ_NAME_H

#include "abi/offcpu_abi.h"
#include "profile/profile.h"

/* Wakers that are interrupts: what the record of one and the names on its kernel stack (a node) tell. */

/*
 * "irq:virtio0", "softirq:NET_RX", "timer", "ipi"; NULL for a thread.  With the disk whose request has just been
 * completed: "softirq:BLOCK(vda)".  Free with g_free().
 */
char *irq_name(const struct profile *p, const struct offcpu_rec_waker *rec, uint32_t kernel);

/*
 * Was an interrupt's handler at work, one that no tracepoint speaks of?  What a thread does on its way
 * back to user mode from an interrupt, such as to die of a signal, is its own work.
 */
bool irq_is_handling(const struct profile *p, uint32_t kernel);

/*
 * The part of a kernel stack that is the interrupt's: what lies outside of its entry (asm_*) is the
 * interrupted thread's.  The entry too: it is there only where the interrupt came in user mode, and that
 * is no difference in who woke.
 */
uint32_t irq_own_stack(struct profile *p, uint32_t kernel);

#endif
