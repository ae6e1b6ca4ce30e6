/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_FINDINGS_PART_H
#define EXPLAIN_FINDINGS_PART_H

#include "analyse/waitgraph.h"
#include "explain/findings.h"
#include "profile/profile.h"

/* The function of the program that the wait is told by; -1: none is known. */
int64_t finding_frame(const struct findings *f, uint32_t wait);

/* For each thread, whether it waits in that finding; for g_free(). */
bool *finding_waiters_new(const struct findings *f, const struct finding *row);

#define STUCK_PERMILLE 900 /* of the window, in one wait for a lock: it is stuck */
#define FINDINGS_WITH_CAUSES 8	/* rows, from the first: causes of more are nobody's question */

/* Fills in who holds up or wakes the first rows, of what the recording knows.  locks: of lock_ids_new(). */
void findings_find_causes(struct findings *f, const uint32_t *locks);

/* What those do meanwhile who end a finding's waits, or hold its lock: a part of findings_by.c, which says who they are. */

#define CAUSE_NONE UINT32_MAX

/* All borrowed. */
struct cause_finder {
	struct findings *f;
	const uint32_t *locks;		/* of lock_ids_new() */
	uint32_t *threads_of_wakers;	/* CAUSE_NONE: not known */
	struct far_ends *far_ends;
};

/* Frames, by their function's name; -1: not known. */
bool cause_same_function(const struct profile *p, int64_t a, int64_t b);
/* Who holds a lock of the kernel's is in a system call, where one neither sleeps at will nor waits for other programs. */
bool cause_may_be_in_kernel(enum reason reason);
/* Is the function on the stack? */
bool cause_passes(const struct profile *p, uint32_t node, int64_t function);
/* The last program that it was; pid 0: of any process.  CAUSE_NONE: it is not in the recording. */
uint32_t cause_thread(const struct profile *p, uint32_t pid, uint32_t tid);

/* is_holder: of each thread whether it is one of them.  All fill in row->by. */
void cause_mark_helpers(const struct cause_finder *c, struct finding *row, bool *is_holder);
void cause_find_doing(const struct cause_finder *c, struct finding *row, const bool *is_holder, bool is_lock,
		      int64_t *computes_in);
void cause_find_running(const struct cause_finder *c, struct finding *row, const bool *is_holder, int64_t computes_in);
void cause_find_passed_on(const struct cause_finder *c, struct finding *row);

/*
 * Who held a lock up, where it is handed on: a thread that waited for long itself and then had it for a moment ends the
 * next one's long wait, but is not what that waited for.  For each waker of the profile the factor by which its part of
 * the row's blocked time counts; they keep the sum.  Free with g_free().  threads_of_wakers: actors_threads_of_wakers().
 */
double *held_factors_new(const struct findings *f, const struct finding *row, const uint32_t *threads_of_wakers);

/*
 * Can a lock have been held over that wait of its holder?  Whoever comes during a hold waits for half of it on average, so
 * where nearly all of the time that others wait is in far shorter waits, it was let go before.
 */
bool held_may_be_over(const struct finding *row, const struct wait *w);

/* What is done for threads that wait for the result of a task. */

/*
 * Nobody, if each of these workers was there as the recording began and ended, and waited for a task all the time, and no
 * other thread of the process does any: it neither computes nor waits for anything but work, a timer or its own threads.
 */
enum nobody_works work_nobody(const struct findings *f, const struct finding *row);
/* The largest finding of threads that are none of these waiters, if that is long enough to be what they wait for. */
void work_find_meanwhile(const struct findings *f, struct finding *row);
/* A task takes what its workers take, and where no others wait for them, that is told of these. */
void work_find(const struct findings *f, struct finding *row);

/*
 * The stripes of a table, or a channel for each reply, are one thing to people, though each is another lock.  Of each
 * lock (an id of lock_ids_new()) the one that stands for all of its kind and place: of one program, awaited for the same
 * reason in the same function, without a name of their own or with that of one array.  Those that somebody waits for all
 * the time, and those of a deadlock, are kinds of their own.
 *
 * rings: of deadlock_rings_new().  Reads `reasons`, `profile` and `selection` of the findings.  Free with g_free().
 */
uint32_t *lock_kinds_new(const struct findings *f, const uint32_t *locks, const uint32_t *rings);

/* Bytes of the name of the array or structure that the lock is in: "stripes" of "stripes+0x28".  0: it has none. */
size_t lock_array_bytes(const struct object *o);

/*
 * A thread of a pool waits for whoever gave it the work, and its own function is the pool's.  Fills in `asked_frame`
 * of findings about libuv's and Python's pools: the function of the program that handed in such work, which the stacks tell that woke
 * the pool's threads.  And `queue_at_once`: so many name lookups libuv does at a time, if they were under way all along.
 */
void asked_find(struct findings *f);

/*
 * A wait that only queues behind another one of the list is told behind that: what is nearer to the cause leads.  Once the
 * causes are known, and once the limits are, too.
 */
void behind_find(struct findings *f);
void behind_find_peers(struct findings *f);

/*
 * What threads do that others wait for where nobody's wait shows it: an event loop that computes, a pool all of whose
 * threads are busy.  Their queues hold requests or callbacks, and no thread waits in them.  Appends findings, whose
 * `busy` says which it is; the caller sorts.  Inside analyse.
 */
void busy_find(struct findings *f);

/*
 * A command waits for one process while nothing else of it works: a straggler, or a serial step (analyse/alone.h).  Told
 * where that takes a quarter of the command's time, as what a wall clock shows; what waits for it is a link of that.
 */

/* Appends a finding, whose `busy` is BUSY_ALONE; the caller sorts. */
void serial_find(struct findings *f);
void serial_free(struct serial *serial);	/* NULL is fine */

/* Of that finding. */
void serial_append(GString *s, const struct findings *f, const struct finding *row);
void serial_append_evidence(GString *s, const struct findings *f);
void serial_append_command(GString *s, const struct findings *f, const struct finding *row);
const char *serial_advice(const struct findings *f);

/*
 * Workers that are all busy let connections wait to be accepted, in the kernel, where no thread waits for them. It is
 * told with what the workers do meanwhile: their first finding.
 */
void backlog_find(struct findings *f);
/* Its workers wait for clients that are slow or ask for nothing: analyse/reason/idle.h. */
bool backlog_is_of_clients(const struct findings *f, const struct finding *row);
void backlog_append_evidence(GString *s, const struct finding *row);
/* " As the recording ended 17 connections at :80 waited to be accepted.": where no finding tells it; or nothing. */
void backlog_append_most(GString *s, const struct findings *f);
const char *backlog_advice(const struct findings *f, const struct finding *row);	/* NULL: the finding's own says more */

/*
 * A wait that runs into its time limit while the thread that it asks has long gone back to wait for the next question:
 * its signal may have been missed.  That thread's own wait is told with it.
 */
void missed_find(struct findings *f);

/* "; courier/7555, which it asks, waits for the next question meanwhile"; nothing of other rows */
void missed_append_evidence(GString *s, const struct findings *f, const struct finding *row);

#define MISSED_ADVICE                                                                                                \
	"Its time limit ends these waits, and whom it asks has nothing to do by then: a signal may come before this one waits. "      \
	"Signal with the mutex held, and look at the state under it before waiting. A clock that ticks may stay as it is."

/*
 * Threads that were made for what they wait for, and never two at once, as another thread of the process waits for each
 * before the next begins: a std::future of std::async() that nobody keeps, a join() in the loop that starts them.
 */

/* Sets `one_by_one` of the rows that lead. */
void one_by_one_find(struct findings *f);
/* "; no two of these 161 threads live at once: machine_order waits for each" */
void one_by_one_append_evidence(GString *s, const struct findings *f, const struct finding *row);

/* Many processes that soon end, and that a finding's threads wait for one by one: what takes the time is how many. */
void spawns_find(struct findings *f);
void spawns_append_evidence(GString *s, const struct findings *f, const struct finding *row);
/* NULL: nothing more is known of its children. */
const char *spawns_advice(const struct findings *f, const struct finding *row);

/* For which requests threads waited, as their trace contexts say: of each finding the route with most of its time. */
void requests_of_find(struct findings *f);

/* ", for POST /order/create", where nearly all of it is of that one.  Appends. */
void requests_of_append(GString *s, const struct finding *row);
/* "; for GET /search 52%, of 3 routes", where it is of several.  Appends. */
void requests_of_append_share(GString *s, const struct finding *row);

/*
 * Threads that do nothing but sleep the same time again and again, as tickers and health checks: notes in each finding
 * how much of it is theirs.  Nobody waits for them, so what others wait for ranks before.
 */
void clocks_find(struct findings *f);
/*
 * Is it told of these alone, is nobody seen to wait for them, and does no rule have an advice of its own?  Once the causes
 * are known.
 */
bool clocks_is_all(const struct findings *f, const struct finding *row);
/* Of these, where somebody waits for a lock that is held meanwhile: once it is known by whom. */
void clocks_find_waited_for(struct findings *f);

/*
 * What threads do between their sleeps tells pauses from looks: whether they ask somebody each time, or use what others
 * wait for meanwhile, and may hold it.
 */
void pauses_find(struct findings *f);

/* "; between its sleeps it asks 127.0.0.1:18106"; nothing of other rows */
void pauses_append_evidence(GString *s, const struct findings *f, const struct finding *row);

/* For an answer, or for work, through a connection that it has made. */
bool pauses_is_of_connection(const struct findings *f, uint32_t wait);
/* It asks somebody there, and does not wait for its own clients. */
bool pauses_is_question(const struct findings *f, uint32_t wait);

/* NULL: nothing is known of what it sleeps for. */
const char *pauses_advice(const struct finding *row);

/*
 * Rings of threads each of which waits, as the window ends, for a lock that the next one holds, where that is certain.
 * Of each wait: index + 1 of the wait of the thread that holds its lock, if both are in one ring; else 0.  A thread
 * that waits for what it holds itself is a ring of one.  locks: of lock_ids_new().  Free with g_free().
 */
uint32_t *deadlock_rings_new(const struct profile *p, const uint32_t *locks);

/* Who waits for longer than that as the window ends, ns, does so for ever. */
uint64_t deadlock_long_ns(const struct profile *p);

/* Are all threads and waits of that process in the recording?  And is that a single thread? */
bool deadlock_knows_all(const struct profile *p, uint32_t pid);
bool deadlock_is_alone(const struct profile *p, uint32_t pid);

/* The wait, index + 1, of a process that reads what the wait's own process should write, while that reads from it; 0: none. */
uint32_t deadlock_of_pipes(const struct profile *p, uint32_t wait);

#endif
