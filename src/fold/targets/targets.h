/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_TARGETS_TARGETS_H
#define FOLD_TARGETS_TARGETS_H

#include "abi/target_abi.h"
#include "base/proc/net_table.h"
#include "features/network/tcp_abi.h"
#include "profile/profile.h"

/*
 * What threads waited for except locks: files, sockets, pipes, children, ... Named as they arrive, while the
 * processes live. The other end is sought as seldom as part.h says, and once more at the end.
 */
struct fold_targets;

struct fold_targets *fold_targets_new(struct profile *profile, const char *proc_dir);
void fold_targets_free(struct fold_targets *t);	/* NULL is fine */

/* A record of impossible size is dropped and counted. */
void fold_targets_add(struct fold_targets *all, const struct offcpu_rec_target *rec, size_t size);

/* Looks at servers at the other ends, to know how often they rest. Call it a few times a second. */
void fold_targets_look(struct fold_targets *all);

/* The object with this id, index + 1. 0: none. */
uint32_t fold_targets_object(struct fold_targets *all, uint64_t id);

/* Such a connection of the process was ready in the epoll set with this id. */
void fold_targets_was_ready(struct fold_targets *all, uint64_t id, const struct net_end *local,
			    const struct net_end *remote);

/* Another window begins. Connections are added to each window together with its waits. */
void fold_targets_next_window(struct fold_targets *all);

/* See fold_forget(). is_profile_empty: the profile's objects were removed. */
void fold_targets_forget(struct fold_targets *all, bool is_profile_empty);
unsigned fold_targets_cnt(const struct fold_targets *all);

/* How waits for the object were spent, by a sum of the kernel. is_lossy: segments to its peer were retransmitted. */
struct tcp_wait tcp_wait_of_sum(const struct tcp_sum *sum, uint32_t direction, uint32_t object, bool is_lossy);

#endif
