/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_REASON_IDLE_H
#define ANALYSE_REASON_IDLE_H

#include "analyse/plumbing.h"
#include "analyse/reason/rules.h"
#include "analyse/roles.h"
#include "profile/profile.h"

/*
 * Tells idle time from blocked time, by evidence: docs/reasons.md, "Idle".  rule and reason are what the rules said
 * of each wait, loop the event loop that it holds up, or NULL; writes an enum idle_kind for each to ret_idle, and makes
 * REASON_POOL_IDLE of the reason of workers without work.  ret_kept: as reasons_is_kept_for_client() tells.
 */
void idle_find(const struct profile *p, struct plumbing *pl, const struct rule *const *rule,
	       const struct rule *const *loop, uint8_t *reason, uint8_t *ret_idle, bool *ret_kept);

/*
 * The process that the loop has asked, or another of its name: a server may have one for each connection. What stands
 * behind a blank tells them apart: "starman worker".  In a chain of one program (socat) the next one before it has that
 * name, too.
 */
bool idle_is_asked(const struct profile *p, const struct wait *w, const struct waker *waker);

/* "127.0.0.1:6379 (redis-server)": it has all in memory, and tells it at once. */
bool idle_is_memory_server(const char *who);

/*
 * Workers that clients take up: each waits on a connection whose client is slow or asks for nothing, while other
 * connections wait to be accepted.  Makes such waits IDLE_NOT and network.receive, in arrays of one a wait.
 */
void taken_find(const struct profile *p, uint8_t *reason, uint8_t *idle);

/*
 * Threads and processes that a relay (stunnel, socat) makes for one connection each: they watch both sides by poll().  What
 * ends their waits is an answer if it comes from a program of which no process connects to this one, while others do; or, of
 * a command that was recorded, if it comes by TCP and nobody connects to that program (apt's methods).  Makes such waits
 * IDLE_NOT and network.receive.
 */
void relays_find(const struct profile *p, uint8_t *reason, uint8_t *idle);

struct torn_input {
	const struct roles *roles;
	const struct rule *const *rule;	/* of each wait, and so is reason */
	const uint8_t *reason;
};

/*
 * A stack that was not walked to its beginning shows no place.  A worker parked in such a wait, without a rule that knows it,
 * is idle where nearly all of the time that its role is parked with whole stacks is.
 */
void torn_find(const struct profile *p, const struct torn_input *in, uint8_t *idle);

struct withheld_input {
	struct plumbing *pl;
	const struct rule *const *rule;	/* of each wait */
	const uint8_t *reason;
};

/*
 * A server that keeps all in memory answers at once. Where it does not, and has nothing to do meanwhile, the command was
 * one that waits for work (BRPOP, SUBSCRIBE), whatever the client's functions are called: these waits are idle. So are
 * those of who reads from a pipe what a program writes that has nothing to do itself, as `tail -F`, and of who listens all the
 * time to what a peer sends on its own, now and then.
 */
void withheld_find(const struct profile *p, const struct withheld_input *in, uint8_t *idle);

/* What idle.c knows by then, of p. */
struct starved_input {
	const struct roles *roles;
	const uint16_t *depth;	/* of each user node: functions of the program on its path */
	const struct rule *const *rule;	/* of each wait, and so is reason */
	const uint8_t *reason;
};

/*
 * Threads that wait for an answer look like a pool without work.  What tells: there are three or more of a kind, fewer
 * others end nearly all of their waits, and those have no idle time themselves.  Then they wait for these, whether they
 * have asked them or get their work from them.  Makes such waits of `idle` (enum idle_kind, one a wait) IDLE_NOT.
 */
void starved_find(const struct profile *p, const struct starved_input *in, uint8_t *idle);

/*
 * Workers that take turns at a listening socket, by a lock, a semaphore or a token in a pipe: the one whose turn it is waits
 * for clients, and the others wait for their turn. Makes such waits for a turn idle.
 *
 * Claim: of n workers that wait for one thing in turn, one at a time has it.  If they are idle for as long as the window in
 * all, neither all at once nor two at a time, and do little else, then whoever has it is idle, so who waits for it is, too.
 * A worker that works while it has its turn takes that time from the idle time, and somebody else who has it makes all of
 * them wait at once.  Where what it waits for is its own client, the others are not idle: ret_kept, see reasons.h.
 */
void turns_find(const struct profile *p, const struct rule *const *rule, const uint8_t *reason, uint8_t *idle,
		bool *ret_kept);

#endif
