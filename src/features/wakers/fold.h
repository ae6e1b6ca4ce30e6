/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_WAKERS_FOLD_H
#define FEATURES_WAKERS_FOLD_H

#include "abi/offcpu_abi.h"
#include "fold/stacks.h"
#include "profile/profile.h"

/*
 * Who ended the waits: wakers, their chains, and what those tell.  Records are kept until the end, then in the
 * profile.
 */
struct fold_wakers;

/* Both must outlive it. */
struct fold_wakers *fold_wakers_new(struct profile *profile, struct fold_stacks *stacks);
void fold_wakers_free(struct fold_wakers *f);	/* NULL is fine */

/* A record of impossible size is dropped and counted. */
void fold_wakers_add(struct fold_wakers *f, const struct offcpu_rec_waker *rec, size_t size);
void fold_wakers_add_chain(struct fold_wakers *f, const struct offcpu_rec_chain *rec, size_t size);
/* Of chains: what was before the last sleeps of wakers.  See features/wakers/fold_earlier.h. */
void fold_wakers_add_sleep(struct fold_wakers *f, const struct offcpu_rec_sleep *rec, size_t size);
void fold_wakers_add_earlier(struct fold_wakers *f, const struct offcpu_rec_earlier *rec);
/* See fold_chain_sum(). */
void fold_wakers_add_sum(struct fold_wakers *f, const struct offcpu_wait_key *key, const struct offcpu_chain_sum *sum);

/* Where windows are cut: the edge of this one is named; and the next one begins. */
void fold_wakers_cut(struct fold_wakers *f, uint64_t edge_ns);
void fold_wakers_next_window(struct fold_wakers *f);

/* The profile's row of a waker, when all stacks have nodes; false when it has not arrived. */
bool fold_wakers_find(struct fold_wakers *f, uint64_t id, uint32_t *ret_waker);
/* The same of the first one where the id is that of a chain. */
bool fold_wakers_first(struct fold_wakers *f, uint64_t id, uint32_t *ret_waker);

/*
 * What ended the waits of *k, whose waker it fills in, goes into the profile; nothing where it is not known. Returns
 * the wake's row + 1, or 0.  id: the waker's, or with chains the chain's.  key: of the waits' sum, NULL: there is
 * none.  said_ns: what that sum had as blocked time before calibration, in the measure of which the chain was summed.
 */
uint32_t fold_wakers_tell(struct fold_wakers *f, struct wake *k, uint64_t id, const struct offcpu_wait_key *key,
			  uint64_t said_ns);

/* See fold_forget(). */
void fold_wakers_forget(struct fold_wakers *f);
unsigned fold_wakers_cnt(const struct fold_wakers *f);

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
