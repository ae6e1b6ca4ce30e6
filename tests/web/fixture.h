/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef TESTS_WEB_FIXTURE_H
#define TESTS_WEB_FIXTURE_H

#include "profile/profile.h"

/* Recordings built by hand, the same on every run. */

/* A database server, its client and some kernel threads: 5 s, every state, some 100 stacks. */
struct profile *fixture_server(void);

/* One thread whose frames have the worst names: markup, CDATA ends, control characters, no UTF-8. */
struct profile *fixture_hostile(void);

/* One thread that waited once, with one frame; the same with nothing at all. */
struct profile *fixture_one(void);
struct profile *fixture_empty(void);

/* One thread in two places, with slices: both wait shortly, the second one long from 2 s to 3 s of 5. */
struct profile *fixture_sliced(void);

/* 24 threads of as many names, with slices of 100 ms: in slice i the first i + 1 of them wait, all alike. */
struct profile *fixture_lanes(void);

/* Two threads of a server and 400 requests of 3 ms, every 50th of which took 53 ms: of these a disk had 50 ms. */
struct profile *fixture_requests(void);

/*
 * So many services of one host, at least 3: cart waits for quoter, which waits for ledgerd, which waits for its disk.  Each
 * other one asks two more, one of them is an event loop, one has a hostile name, and one asks somebody who is not recorded.
 */
struct profile *fixture_services(unsigned cnt);

/* So many frames of different names in stacks of some 40, of 64 threads, with wakers: to be slow on. */
struct profile *fixture_many(unsigned frames_cnt);

/* One wait: frames "user;frames|kernel;frames", root first, a leading '?' for an unnamed one. */
void fixture_wait(struct profile *p, uint32_t thread, char state, const char *stacks, uint64_t count,
		  uint64_t blocked_ns, uint64_t runnable_ns, uint64_t preempted_ns);
uint32_t fixture_thread(struct profile *p, uint32_t pid, uint32_t tid, const char *comm, const char *process);
/* Fits the threads' accounts to their waits, so that the residual is 0. */
void fixture_settle(struct profile *p);

#endif
