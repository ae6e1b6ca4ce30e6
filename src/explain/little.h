/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_LITTLE_H
#define EXPLAIN_LITTLE_H

#include "analyse/query.h"
#include "explain/findings.h"
#include "features/tasks/findings.h"
#include "profile/profile.h"

/*
 * A healthy service waits, too, and the largest share of next to nothing is no finding.  Waits are little if nobody would
 * notice one of them, and if their sum is small: beside what the process computes, or by itself.
 *
 * A sentence that says so, to be freed; NULL: there is something to tell.  has_unseen: the runtime has threads of its own,
 * which nobody saw wait, or children that were not recorded.
 */
char *little_new(const struct findings *f, const struct task_findings *tasks, bool has_unseen);
/* The same where nothing at all is told. */
char *little_nothing_new(const struct findings *f);

/*
 * A sentence about what waits in the profile's processes and no thread tells of: virtual threads of Java that are not
 * mounted, processes of Erlang, threads of Haskell's own, methods of .NET without names; or that they began processes that
 * were not recorded.  The caller's; NULL: nothing is known to.  selection NULL: everything.
 */
/* The latter, so many that what they waited for may be what matters. */
bool unseen_has_children(const struct profile *p);
char *unseen_new(const struct profile *p, const struct selection *selection);

/*
 * Threads of two functions wait for one condition, and time limits alone end the waits in one of these.  Tickers that share
 * a condition by which they are told to stop do so, and so do threads that a signal for one of another kind does not
 * reach: only the program tells them apart, so this is a sentence and no finding.  are_some: of those where somebody signals
 * the others.  False: there are none.
 */
bool unsignalled_append_most(GString *s, const struct findings *f, bool are_some);
#define UNSIGNALLED_ADVICE                                                                                            \
	" If those find work then, nobody had signalled them: signal all (broadcast, notify_all, notifyAll), or have a condition for " \
	"each kind of waiter."

/* " wallet-api's event loop waits for ledger-core/4711 all the time, by a Unix socket, ..", if so */
void sole_waker_append_most(GString *s, const struct findings *f);

/* How the threads stand in the window, which is looked at once for both sentences below.  NULL: the whole machine's. */
struct still;
struct still *still_new(const struct findings *f);
void still_free(struct still *s); /* NULL is fine */

/*
 * All threads of a process sleep all through the window, each where another of them would wake it: it waits for the end of a
 * thread, a lock or a condition. "No thread of indexer is left to wake the others: one waits .."; beside_clock: timers wake
 * some, " Only timers wake other threads of ..".  False: it is not so.  s: NULL for the whole machine.
 */
bool still_append(GString *text, const struct still *s, bool beside_clock);
/* " reconciler waits for a thread of its own to end in shutdown, and one sleeps in poll_bank all the time: .."; false: not so */
bool still_append_join(GString *text, const struct findings *f);

#endif
