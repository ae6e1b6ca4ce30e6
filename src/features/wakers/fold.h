/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_WAKERS_FOLD_H
#define FEATURES_WAKERS_FOLD_H

#include "abi/offcpu_abi.h"
#include "fold/stacks.h"
#include "profile/profile.h"

/*
 * Who ended the waits: wakers, their chains, and stories. Records are kept until the end, then stored in the profile.
 */
struct fold_wakers;

/* Borrows both. */
struct fold_wakers *fold_wakers_new(struct profile *profile, struct fold_stacks *stacks);
void fold_wakers_free(struct fold_wakers *f);	/* NULL is fine */

/* A record of impossible size is dropped and counted. */
void fold_wakers_add(struct fold_wakers *f, const struct offcpu_rec_waker *rec, size_t size);
void fold_wakers_add_chain(struct fold_wakers *f, const struct offcpu_rec_chain *rec, size_t size);
/* For chains: what happened before the wakers' last sleeps. See features/wakers/fold_earlier.h. */
void fold_wakers_add_sleep(struct fold_wakers *f, const struct offcpu_rec_sleep *rec, size_t size);
void fold_wakers_add_earlier(struct fold_wakers *f, const struct offcpu_rec_earlier *rec);
/* See fold_chain_sum(). */
void fold_wakers_add_sum(struct fold_wakers *f, const struct offcpu_wait_key *key, const struct offcpu_chain_sum *sum);

/* For cut windows: sets the edge of this one; begins the next one. */
void fold_wakers_cut(struct fold_wakers *f, uint64_t edge_ns);
void fold_wakers_next_window(struct fold_wakers *f);

/* The profile's row of a waker, once all stacks have nodes. False: it has not arrived. */
bool fold_wakers_find(struct fold_wakers *f, uint64_t id, uint32_t *ret_waker);
/* Likewise; if the id is a chain's, its first waker. */
bool fold_wakers_first(struct fold_wakers *f, uint64_t id, uint32_t *ret_waker);

/*
 * Adds the waker of the waits of *k to the profile and fills it in; does nothing if it is unknown. Returns the wake's
 * row + 1, or 0. id: of the waker, or with chains of the chain. key: of the sum of waits, NULL: none. said_ns: the
 * sum's blocked time before calibration, which the chain's sums refer to.
 */
uint32_t fold_wakers_tell(struct fold_wakers *f, struct wake *k, uint64_t id, const struct offcpu_wait_key *key,
			  uint64_t said_ns);

/* See fold_forget(). */
void fold_wakers_forget(struct fold_wakers *f);
unsigned fold_wakers_cnt(const struct fold_wakers *f);

/* Wakers that are interrupts, from their record and the names on their kernel stack (a node). */

/*
 * "irq:virtio0", "softirq:NET_RX", "timer", "ipi"; NULL for a thread. With the disk whose request was completed:
 * "softirq:BLOCK(vda)". Free with g_free().
 */
char *irq_name(const struct profile *p, const struct offcpu_rec_waker *rec, uint32_t kernel);

/*
 * Was an interrupt's handler running that no tracepoint reports? Work of a thread on its way back to user mode, such
 * as dying from a signal, is its own.
 */
bool irq_is_handling(const struct profile *p, uint32_t kernel);

/*
 * The interrupt's part of a kernel stack. Frames outside of the entry (asm_*) belong to the interrupted thread. The
 * entry is dropped, too: it exists only if the interrupt came in user mode, which does not matter.
 */
uint32_t irq_own_stack(struct profile *p, uint32_t kernel);

#endif
