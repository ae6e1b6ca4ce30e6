/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_REASON_IDLE_H
#define ANALYSE_REASON_IDLE_H

#include "analyse/plumbing.h"
#include "analyse/reason/rules.h"
#include "analyse/roles.h"
#include "profile/limits.h"

/*
 * Tells idle time from blocked time, by evidence: docs/reasons.md, "Idle".  rule and reason are what the rules said of
 * each wait, loop the event loop that it holds up, or NULL; writes an enum idle_kind for each to ret_idle, and makes
 * REASON_POOL_IDLE of the reason of workers without work.  ret_kept: as reasons_is_kept_for_client() tells.
 */
void idle_find(const struct profile *p, struct plumbing *pl, const struct rule *const *rule,
	       const struct rule *const *loop, uint8_t *reason, uint8_t *ret_idle, bool *ret_kept);

/*
 * The process that the loop has asked, or another one of that name: a server may have one per connection.  A suffix
 * after a blank distinguishes them: "starman worker".  In a chain of one program (socat) the previous process has the
 * same name.
 */
bool idle_is_asked(const struct profile *p, const struct wait *w, const struct waker *waker);

/*
 * A few of these waits are long, and the longest was for an answer: no client's next request came meanwhile. by_timer: or
 * the loop's own timer ended it.
 */
bool idle_has_stalls(const struct profile *p, const struct wait *w, bool by_timer);

/* Its stack was walked to the beginning, so it shows where the thread waits. */
static inline bool idle_knows_place(const struct profile *p, const struct wait *w)
{
	return w->user && profile_get_node(p, w->user)->end == STACK_COMPLETE;
}

/* Nothing was sent since the last data came: it listens to what is sent on its own. */
bool idle_only_listens(const struct profile *p, const struct wait *w);

/* Process ids with a thread that waits for clients, events or work; of awaited children.  By wait: its reason. */
GHashTable *idle_serving_new(const struct profile *p, const uint8_t *reason);
GHashTable *idle_waited_for_new(const struct profile *p, const uint8_t *reason);
/* The program whose processes are the ranks of an MPI job; NULL: none. */
const char *idle_ranks_of(const struct profile *p);
/*
 * Whether there are two processes of one name, or of names that differ by a number.  Computed once: threads times
 * waits would take hours.
 */
bool idle_has_several(const struct profile *p);
/* Start of the first thread. */
uint64_t idle_first_start_ns(const struct profile *p);

/*
 * Workers occupied by clients: each waits on a connection whose client is slow or silent, while other connections wait
 * to be accepted.  Changes such waits to IDLE_NOT and network.receive; arrays are by wait.
 */
void taken_find(const struct profile *p, uint8_t *reason, uint8_t *idle);
/* As the window ends all that accept there are so occupied.  backlog: a LIMIT_BACKLOG. */
bool taken_is_at_end(const struct profile *p, const struct profile_limit *backlog, const uint8_t *reason,
		     const uint8_t *idle);

/*
 * A library's own threads hand a server's threads what clients send (ZeroMQ), and these hand it on to workers.  What a
 * process's thread waits for that such a thread brings, which rests itself, is work if its connections are all from
 * clients, but for those that threads wait for themselves (a database).
 */
void fed_find(const struct profile *p, const uint8_t *reason, uint8_t *idle);

/*
 * Loops that wait for what they have asked.  Threads and processes that a relay (stunnel, socat) makes for one
 * connection each watch both sides by poll(): what ends their waits is an answer if it comes from a program of which no
 * process connects to this one, while others do.  To whom nobody connects what comes by TCP is an answer: of a command
 * that was recorded (npm, apt's methods), unless it has asked for nothing; of others' epoll sets if the peer owes one.
 * Makes such waits IDLE_NOT and network.receive.
 */
void relays_find(const struct profile *p, const struct rule *const *rule, uint8_t *reason, uint8_t *idle);

/*
 * Who waits for the recorder to end, as the shell or script that started it, and in a recording of the whole machine
 * who waits all the time for a child or for a pipe's writer; makes such waits IDLE_JOIN.
 */
void bystanders_find(const struct profile *p, const struct rule *const *rule, const uint8_t *reason, uint8_t *idle);

struct torn_input {
	const struct roles *roles;
	const struct rule *const *rule;	/* of each wait, and so is reason */
	const uint8_t *reason;
};

/*
 * An incomplete stack does not show where a worker is parked.  Such a wait, if no rule matches it, is idle if nearly
 * all parked time of the worker's role with complete stacks is idle.
 */
void torn_find(const struct profile *p, const struct torn_input *in, uint8_t *idle);

/*
 * A sampled recording may keep none of a thread's shorter waits.  The others of its role stand for them: they are idle if
 * nearly all these are.
 */
void unlooked_find(const struct profile *p, const struct torn_input *in, uint8_t *idle);

struct withheld_input {
	struct plumbing *pl;
	const struct rule *const *rule;	/* by wait */
	const uint8_t *reason;
};

/*
 * A server with all data in memory answers at once. If it does not, although it has nothing to do, the command waits
 * for work (BRPOP, SUBSCRIBE), whatever the client's functions are called: such waits are idle. So are waits of a
 * reader of a pipe whose writer has nothing to do itself, as `tail -F`, and of a client that listens to what a peer
 * sends on its own from time to time; and of who takes from a queue of processes while others wait for their turn.
 */
void withheld_find(const struct profile *p, const struct withheld_input *in, uint8_t *idle);

/*
 * A loop that looks for a client's request, or for work, and sleeps for a moment before it looks again, rests in these
 * sleeps, too: the looks end by their time limit, and are as many and several times as long.
 */
void looks_find(const struct profile *p, const struct plumbing *pl, const uint8_t *reason, uint8_t *idle);

/* What idle.c has found out about p. */
struct starved_input {
	const struct roles *roles;
	const uint16_t *depth;	/* by user node: number of the program's functions on its path */
	const struct rule *const *rule;	/* by wait, like reason */
	const uint8_t *reason;
};

/*
 * Threads that wait for answers look like a pool without work.  They are not if three or more of a kind wait, fewer
 * others end nearly all their waits, and those have no idle time: then they wait for these, for answers or for work.
 * Changes such waits in `idle` (enum idle_kind, by wait) to IDLE_NOT.
 */
void starved_find(const struct profile *p, const struct starved_input *in, uint8_t *idle);

/*
 * Workers that wait for the lock of the queue from which they take work, as Rust's pools share a channel's receiver.
 *
 * Claim: where the function that takes the lock waits for work, too, and threads of its kind do so one at a time and
 * all the time, the one that waits for work has the lock.  It would get the next piece, so nobody lacks anything.
 * Makes the waits for such a lock idle.
 */
void receivers_find(const struct profile *p, const struct starved_input *in, uint8_t *idle);

/*
 * Workers that take turns at a listening socket, by a lock, a semaphore or a token in a pipe: one waits for clients,
 * the others for their turn. Makes their waits for a turn idle.
 *
 * Claim: of n workers that wait for one thing in turn, one at a time has it.  If they are idle for as long as the
 * window in all, neither all at once nor two at a time, and do little else, then whoever has it is idle, so who waits
 * for it is, too. A worker that works while it has its turn takes that time from the idle time, and somebody else who
 * has it makes all of them wait at once.  A wait whose time was up proves neither.  If the holder waits for its own
 * client the others are not idle: ret_kept, see reasons.h.
 */
void turns_find(const struct profile *p, const struct rule *const *rule, const uint8_t *reason, uint8_t *idle,
		bool *ret_kept);

#endif
