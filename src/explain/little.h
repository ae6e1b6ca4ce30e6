/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_LITTLE_H
#define EXPLAIN_LITTLE_H

#include "analyse/query.h"
#include "explain/findings.h"
#include "features/tasks/findings.h"
#include "profile/profile.h"

/*
 * A healthy service waits, too, and the largest share of next to nothing is no finding.  Waits are little if nobody
 * would notice any of them, and their sum is small, either absolutely or beside what the process computes.
 *
 * Returns a sentence that says so, free with g_free(); NULL: there is something to report.  has_unseen: the runtime
 * has threads of its own that could not be seen waiting, or children that were not recorded.
 */
char *little_new(const struct findings *f, const struct task_findings *tasks, bool has_unseen);
/* A certain problem, whatever its time. */
bool little_is_certain(const struct finding *row);
/* "gzip computes, and shares the CPUs with others: ..", if no other wait matters; NULL: else. */
char *job_says(const struct findings *f, const struct task_findings *tasks);
/* The same if nothing at all is reported. */
char *little_nothing_new(const struct findings *f);

/*
 * A sentence about waits in the profile's processes that no thread shows: goroutines, unmounted virtual threads of
 * Java, Erlang processes, Haskell's own threads, unnamed methods of .NET; or unrecorded child processes.  Free with
 * g_free(); NULL: none known.
 */
char *unseen_new(const struct findings *f);
/* Unrecorded children, so many that their waits may be what matters. */
bool unseen_has_children(const struct profile *p);
/* Has the process goroutines, virtual threads or the like, which were not looked at? */
bool unseen_has_tasks(const struct findings *f, uint32_t pid);

/*
 * Threads wait for one condition in two functions, and in one of these all waits end by timeouts.  Tickers with a
 * shared stop condition do so, and so do threads that miss signals meant for another kind.  Only the program knows
 * which, so this is a sentence and no finding.  are_some: whether the other function's threads are signalled.  False:
 * none.
 */
bool unsignalled_append_most(GString *s, const struct findings *f, bool are_some);
#define UNSIGNALLED_ADVICE                                                                                            \
	" If those find work then, nobody had signalled them: signal all (broadcast, notify_all, notifyAll), or have a condition for " \
	"each kind of waiter."

/* " A thread waits for a condition, cv, in print_worker; all 16 waits timed out, .. and then it computed: ..", if so */
void unsignalled_append_alone(GString *s, const struct findings *f);

/* " wallet-api's event loop waits for ledger-core/4711 all the time, by a Unix socket, ..", if so */
void sole_waker_append_most(GString *s, const struct findings *f);

/* State of the threads during the window, computed once for both sentences below.  NULL: a whole machine. */
struct still;
struct still *still_new(const struct findings *f);
void still_free(struct still *s); /* NULL is fine */

/*
 * All threads of a process sleep during the whole window, each where another of them would have to wake it: waiting
 * for a thread's end, a lock or a condition. "No thread of indexer is left to wake the others: one waits ..";
 * beside_clock: timers wake some, " Only timers wake other threads of ..".  False: not so.  s NULL: a whole machine.
 */
bool still_append(GString *text, const struct still *s, bool beside_clock);
/* " reconciler waits for a thread of its own to end in shutdown, and one sleeps in poll_bank all the time: .."; false: not so */
bool still_append_join(GString *text, const struct findings *f);

#endif
