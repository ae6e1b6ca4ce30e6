/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_REASON_TURNS_H
#define ANALYSE_REASON_TURNS_H

#include "profile/profile.h"

/*
 * Workers that take turns at a listening socket, by a lock, a semaphore or a token in a pipe: the one whose turn it is waits
 * for clients, and the others wait for their turn. Makes such waits for a turn idle.
 *
 * Claim: of n workers that wait for one thing in turn, one at a time has it.  If they are idle for as long as the window in
 * all, neither all at once nor two at a time, and do little else, then whoever has it is idle, so who waits for it is, too.
 * A worker that works while it has its turn takes that time from the idle time, and somebody else who has it makes all of
 * them wait at once.
 */
void turns_find(const struct profile *p, const uint8_t *reason, uint8_t *idle);

#endif
