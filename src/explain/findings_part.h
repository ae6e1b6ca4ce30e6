/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_FINDINGS_PART_H
#define EXPLAIN_FINDINGS_PART_H

#include "base/find.h"
#include "explain/findings.h"
#include "features/waitgraph/analysis.h"
#include "features/wakers/analysis.h"
#include "profile/profile.h"

/* The parts of findings.c: each fills in members of the rows, and says in words what it has found. */

/* The program's function that a wait is reported with; -1: unknown. */
int64_t finding_frame(const struct findings *f, uint32_t wait);
/* What it waits for, and in which function, alone. */
struct finding finding_plain(const struct finding *row);
/* The same of a wait. */
struct finding finding_of_wait(const struct findings *f, uint32_t wait);

#define LATE_ANSWER_ADVICE \
	"Nobody was seen to wait for this program: of a consumer that asks for work (a long poll), or is sent it, that is meant. Else the " \
	"peer is slow: look at it."
#define UNASKED_ADVICE \
	"It had asked for nothing since the last data came: of who listens that is meant. If it is one answer, which comes in pieces, look " \
	"at the peer."
#define LATE_ANSWER_NS 1000000000ULL	/* on average, where nobody waits for who asks: likely a long poll */
#define CHILDREN_ADVICE \
	"A supervisor waits so until one of its children ends, which is meant. Else look at what they do: record them, too (their numbers " \
	"with -p, or --follow from the start)."
#define BEHIND_ADVICE "It only queues behind the finding that leads: mend that one first."
#define SMALL_ANSWER_NS 1000000	/* on average */
#define SMALL_ANSWERS_PER_S 200	/* of a thread or task */
#define MANY_SMALL_ADVICE                                                                                                \
	"Each answer comes soon, and the next question at once: ask for many at a time (a join, one query for a list, a batch, a " \
	"pipeline)."
/*
 * On average: no command of a server that has all in memory takes so long again and again, but one that waits for
 * work.
 */
#define FINDING_WORK_NS 1000000000ULL

/* Does the wait's row look at what its thread did on CPU?  Samples do; without any, where it was preempted. */
static inline uint64_t finding_looks(const struct wait *w, bool has_samples)
{
	return has_samples ? (w->state == ON_CPU_STATE ? w->on_cpu_ns : 0) : w->state == 'R' ? w->count : 0;
}

/* Of its waits; none is longer than the longest. */
static inline uint64_t finding_percentile_ns(const struct finding *row, double share)
{
	return wait_percentile_ns(row->hist, share, row->durations_ns, row->max_ns);
}

/* For each thread: does it wait in this finding?  Free with g_free(). */
bool *finding_waiters_new(const struct findings *f, const struct finding *row);

/* It takes nearly the whole window: whoever waits so long at once is stuck. */
static inline bool finding_fills_window(const struct profile *p, uint64_t ns)
{
	return ns >= p->info.duration_ns / 10 * 9;
}
/* The same of the window of each thread of the row. */
static inline bool finding_waits_always(const struct profile *p, const struct finding *row)
{
	return row->threads_cnt && finding_fills_window(p, row->time_ns / row->threads_cnt);
}
#define FINDING_NOTICED_NS 100000000ULL	/* people notice a wait of that length */
/*
 * Waits for CPUs that others took rank behind what a program waits for beside, unless they are so many times as
 * long.
 */
#define OTHERS_QUEUE_WEIGHT 8
#define PEER_PART 8	/* who asks another program ranks by so much less behind what leads there */
#define FINDINGS_WITH_CAUSES 8	/* causes are sought for the first rows only */

/* The first rows, of which more is told or sought: FINDINGS_TOLD_MAX or FINDINGS_WITH_CAUSES. */
#define EACH_FIRST(i, row, f, most) EACH_ROW_WHILE(i, struct finding, row, (f)->rows, i < (most))

/* Fills in who holds up or wakes the threads of the first rows.  locks: of lock_ids_new(). */
void findings_find_causes(struct findings *f, const uint32_t *locks);

/* cause_does.c: findings_by.c says who ends the waits or holds the lock; this says what those threads do meanwhile. */

#define CAUSE_NONE UINT32_MAX

/* All borrowed. */
struct cause_finder {
	struct findings *f;
	const uint32_t *locks;		/* of lock_ids_new() */
	uint32_t *threads_of_wakers;	/* CAUSE_NONE: not known */
	struct far_ends *far_ends;
	struct gil_places *places;
};

/* What a recording says about where the holder of a GIL stood: "crunch (app.py:12) < main (app.py:40)". */
struct gil_places *gil_places_new(const struct findings *f);
void gil_places_free(struct gil_places *g);
/* The rest of the place from the program's innermost function on; all of it if it has none.  Borrowed. */
const char *gil_place(struct gil_places *g, const char *place);
/* In one function of a file, whatever the line, and in whichever block of it. */
bool gil_same_place(const char *a, const char *b);
/* Fills in the function and the number of threads of row->by.place, and where most of the waiters are delayed. */
void gil_find(struct gil_places *g, struct finding *row);

/* Compares two frames by function name; -1: unknown. */
bool cause_same_function(const struct profile *p, int64_t a, int64_t b);
/*
 * A thread that holds a kernel lock is in a system call or a page fault.  There it cannot sleep at will, wait for
 * other programs, or be preempted in its own code.
 */
bool cause_may_hold_kernel_lock(const struct findings *f, uint32_t wait);
/* Is the function on the stack? */
bool cause_passes(const struct profile *p, uint32_t node, int64_t function);
/* The thread's last row (it may have called exec); pid 0: any process.  CAUSE_NONE: not recorded. */
uint32_t cause_thread(const struct profile *p, uint32_t pid, uint32_t tid);

/* How long the one of its threads waits there that waits longest, in all. */
uint64_t cause_longest_waiter_ns(const struct findings *f, const struct finding *row);

/* is_holder: one flag per thread.  All fill in row->by. */
void cause_mark_helpers(const struct cause_finder *c, struct finding *row, bool *is_holder);
void cause_find_doing(const struct cause_finder *c, struct finding *row, const bool *is_holder, bool is_lock,
		      int64_t *computes_in);
void cause_find_running(const struct cause_finder *c, struct finding *row, const bool *is_holder, int64_t computes_in);
void cause_find_passed_on(const struct cause_finder *c, struct finding *row);

/*
 * A thread that wakes another one from the same library function in which that one waits has just left it itself, and
 * tells the next that there is more: it passes on what somebody else brought.
 */
bool cause_is_passed_on(const struct cause_finder *c, const struct wake *wake);
/* Some wakers bring what the waiters need, others only pass it on. */
bool cause_is_brought(const struct cause_finder *c, const struct finding *row, const bool *waits_too);

/*
 * Holder of a runtime's lock that lets one thread compute at a time: the thread that runs, or wants to run, for longer
 * than all others together.  CAUSE_NONE: there is none.
 */
uint32_t cause_runner(const struct cause_finder *c, const struct finding *row);

/*
 * Blame goes to who held the lock, not to who handed it over last.  Per waker: the factor for its part of the row's
 * blocked time; the sum stays the same.  Free with g_free().  threads_of_wakers: actors_threads_of_wakers().
 */
double *held_factors_new(const struct findings *f, const struct finding *row, const uint32_t *threads_of_wakers);

/*
 * Can the lock have been held during that wait of its holder?  Waiters arrive evenly during a hold, and wait half of
 * it on average.  If nearly all of their time is in far shorter waits, the lock was released before.
 */
bool held_may_be_over(const struct finding *row, const struct wait *w);

/*
 * Threads that wait for a task's result.  Nobody works if each worker was there from start to end and waited for a
 * task all the time, and if no other thread of the process computes, or waits for more than work, a timer or its
 * threads.
 */
enum nobody_works work_nobody(const struct findings *f, const struct finding *row);
/* Sets `meanwhile`: the largest finding of other threads, if it is long enough to be the task. */
void work_find_meanwhile(const struct findings *f, struct finding *row);
/* Who does the task: busy workers, told in their own finding, or else `meanwhile`. */
void work_find(const struct findings *f, struct finding *row);

/*
 * Locks of one kind and place are one finding: the stripes of a table, a channel for each reply.  Maps each lock (an
 * id of lock_ids_new()) to the one that stands for its kind: same program, reason and function, no name or that of
 * one array.  A lock that somebody waits for all the time, or that is part of a deadlock, stays alone. rings: of
 * deadlock_rings_new().  Reads `reasons`, `profile` and `selection` of the findings.  Free with g_free().
 */
uint32_t *lock_kinds_new(const struct findings *f, const uint32_t *locks, const uint32_t *rings);

/* Length of the array's or structure's name in the lock's: "stripes" of "stripes+0x28".  0: it has none. */
size_t lock_array_bytes(const struct object *o);

/*
 * A pool's thread shows the pool's function only.  Sets `asked_frame` for the pools of libuv and Python: the
 * program's function that handed in the work, from the stacks that woke the threads.  Sets `queue_at_once` if libuv's
 * few places for name lookups were taken all the time.
 */
void asked_find(struct findings *f);
/*
 * Threads of a pool pause within work that goes on all the time, as for clients that are sent something now and then, and
 * others of it wait for work: nothing queues behind these.
 */
bool asked_leaves_room(const struct findings *f, const struct finding *row);

/* Sets `hog`, and which waits for a CPU are due to it; needs the limits. */
void hog_find(struct findings *f);

/*
 * Moves a wait that only queues behind another finding below that one.  The first needs the causes, the second also
 * the limits.
 */
void behind_find(struct findings *f);
void behind_find_peers(struct findings *f);
/* Readers of pipes whose writers wait, in the end, for what another finding tells: they queue behind that one. */
void chain_find(struct findings *f);

/*
 * Busy threads that delay requests or callbacks in a queue, where no thread waits: an event loop that computes, a
 * pool with no free thread.  Appends findings whose `busy` says which; the caller sorts.
 */
void busy_find(struct findings *f);

/*
 * Threads wait on CPU, as for a GPU, for a part of their time that matters.  Appends findings whose `busy` is
 * BUSY_SPIN; the caller sorts.
 */
void spins_find(struct findings *f);

/*
 * A command waits for one process while nothing else of it works, for a quarter of its time or more: a straggler, or a
 * serial step (analyse/alone.h).  Appends a finding whose `busy` is BUSY_ALONE; the caller sorts.
 */
void serial_find(struct findings *f);
void serial_free(struct serial *serial);	/* NULL is fine */
void serial_append(GString *s, const struct findings *f, const struct finding *row);
void serial_append_evidence(GString *s, const struct findings *f);
void serial_append_command(GString *s, const struct findings *f, const struct finding *row);
const char *serial_advice(const struct findings *f);

/*
 * Connections that wait in the kernel to be accepted, while all workers are busy, or datagrams that it dropped meanwhile.
 * Reported with the first finding about these workers.
 */
void backlog_find(struct findings *f);
/* The workers wait for slow or silent clients: analyse/reason/idle.h. */
bool backlog_is_of_clients(const struct findings *f, const struct finding *row);
/* " As the recording ended 17 connections at :80 waited to be accepted.", if no finding says so. */
void backlog_append_most(GString *s, const struct findings *f);
/* The same, where all workers rest on connections that ask nothing: ", while all recorded workers of wikid ..". False: they do not. */
bool backlog_append_taken(GString *s, const struct findings *f);
const char *backlog_advice(const struct findings *f, const struct finding *row);	/* NULL: the finding's own says more */

/*
 * A wait times out though the thread that it asks went back to waiting for the next question long before: the signal
 * may have been missed.
 */
void missed_find(struct findings *f);

/* "; courier/7555, which it asks, waits for the next question meanwhile"; nothing of other rows */
void missed_append_evidence(GString *s, const struct findings *f, const struct finding *row);

/*
 * Nobody ended a wait in the whole window: unended.c.  Sets finding.unended, the advice, and may_be_meant, which ranks
 * it behind others.  Needs limits_find().
 */
void unended_find(struct findings *f);
/* "; as the recording ended its session was at `SELECT waiting`", of PostgreSQL; nothing if that is unknown */
void unended_append_evidence(GString *s, const struct findings *f, const struct finding *row);

/* "; sessions there waited for locks at 7 of 9 looks, while one of import.py/4711 was idle in transaction (at 7)" */
void blocked_append_evidence(GString *s, const struct findings *f, const struct finding *row);
const char *blocked_advice_of(const struct findings *f, const struct finding *row);	/* NULL: nothing is known */

/* "; postgres (9 processes) used 1.8 CPUs meanwhile" */
void peer_runs_append_evidence(GString *s, const struct findings *f, const struct finding *row);
const char *peer_runs_advice_of(const struct findings *f, const struct finding *row);	/* NULL: that is not known */
/* "; that server was busy with one command at 5 of 15 looks while others waited" */
void one_command_append_evidence(GString *s, const struct findings *f, const struct finding *row);
const char *one_command_advice_of(const struct findings *f, const struct finding *row);	/* NULL: it was not */
/* What has a file lock at most looks, and is none of those that wait, takes the place of who handed it on last. */
void locked_take_over(const struct findings *f, struct finding *row);
/* "; backup.sh: flock/4711 had it at 12 of 14 looks, whose child tar/4712 meanwhile runs"; false: nothing is known */
bool locked_append_evidence(GString *s, const struct findings *f, const struct finding *row);
/* ", which backup.pl/4711 had at 12 of 14 looks, .." of the lock that this wait is for */
void locked_append_of_wait(GString *s, const struct findings *f, uint32_t wait);
const char *locked_advice_of(const struct findings *f, const struct finding *row);	/* NULL: nothing is known */

bool finding_has_process(const struct findings *f, const struct finding *row, uint32_t pid);	/* Does it wait there? */

#define MISSED_ADVICE                                                                                                \
	"Its time limit ends these waits, and whom it asks has nothing to do by then: a signal may come before this one waits. "      \
	"Signal with the mutex held, and look at the state under it before waiting. A clock that ticks may stay as it is."

/*
 * Threads that never run two at once, since their creator waits for each before it starts the next: a discarded
 * std::future of std::async(), a join() in the loop.  Sets `one_by_one` of the first rows.
 */
void one_by_one_find(struct findings *f);
/* "; no two of these 161 threads live at once: machine_order waits for each" */
void one_by_one_append_evidence(GString *s, const struct findings *f, const struct finding *row);

/* Many short processes, awaited one by one: their number takes the time. */
void spawns_find(struct findings *f);
void spawns_append_evidence(GString *s, const struct findings *f, const struct finding *row);

/* A supervisor whose child ends soon after each start: restarts.c.  NULL: it is none. */
const char *restarts_advice(const struct findings *f, const struct finding *row);
void restarts_append_evidence(GString *s, const struct findings *f, const struct finding *row);
void restarts_append_most(GString *s, const struct findings *f);

/* NULL: nothing more is known of its children. */
const char *spawns_advice(const struct findings *f, const struct finding *row);

/* By trace contexts: the route that most of a finding's time is for. */
void requests_of_find(struct findings *f);

/* ", for POST /order/create", if nearly all of it is. */
void requests_of_append(GString *s, const struct finding *row);
/* "; for GET /search 52%, of 3 routes" */
void requests_of_append_share(GString *s, const struct finding *row);

/*
 * Threads that only sleep for the same time again and again: tickers, health checks.  Sets `clock_ns`.  Nobody waits
 * for them, so they rank last.
 */
void clocks_find(struct findings *f);
/* Is the finding about such threads alone, with no waiter and no advice of a rule?  Needs the causes. */
bool clocks_is_all(const struct findings *f, const struct finding *row);
/* Such threads that sleep with a lock that others wait for.  Needs the causes. */
void clocks_find_waited_for(struct findings *f);
/* " It ends the waits of 12 threads, which wait in ask_quote nearly all the time: .."; else false, and nothing. */
bool clocks_append_meanwhile(GString *s, const struct findings *f, const struct finding *clock);

/*
 * What a thread does between its sleeps: it asks somebody each time (a poll), or uses what others wait for and may
 * hold it.
 */
void pauses_find(struct findings *f);

/* Whom a thread asks at least half as often as it sleeps: the object's index + 1; 0: nobody. */
uint32_t pauses_asked_by(const struct findings *f, uint32_t thread, uint64_t sleeps_cnt);

/* "; between its sleeps it asks 127.0.0.1:18106"; nothing of other rows */
void pauses_append_evidence(GString *s, const struct findings *f, const struct finding *row);

/* A wait for an answer or for work on a connection that the thread made. */
bool pauses_is_of_connection(const struct findings *f, uint32_t wait);
/* A wait for an answer, not for clients. */
bool pauses_is_question(const struct findings *f, uint32_t wait);

/* Several threads that sleep so, while their process does nothing else than to wait for them. */
bool pauses_are_all_work(const struct findings *f, const struct finding *row);
/* A script that sleeps by a program of its own, and what it mostly runs beside that, or fails to. */
struct script_run {
	uint64_t tick_cnt;	/* sleeps */
	const char *name;	/* NULL: nothing, or something else each time */
	const char *how;	/* it failed: "status 1" */
	uint64_t cnt, known_cnt, failed_cnt;	/* of `name`; known: how it ended */
};
struct script_run script_run_of(const struct findings *f, const struct finding *row);
/* "pg_isready, which ended 3 of 3 times with status 2" */
void script_run_append(GString *s, const struct script_run *r);

/* NULL: the sleep's purpose is unknown. */
const char *pauses_advice(const struct finding *row);

/*
 * Deadlocks at the end of the window, where they are certain: rings of threads that each wait for a lock of the next.
 * Per wait: index + 1 of the holder's wait in the same ring, else 0.  A thread that waits for its own lock is a ring
 * of one. locks: of lock_ids_new().  Free with g_free().
 */
uint32_t *deadlock_rings_new(const struct profile *p, const uint32_t *locks);

/* In ns: a wait that is longer at the end of the window counts as endless. */
uint64_t deadlock_long_ns(const struct profile *p);

/* Is the process recorded completely?  Has it a single thread? */
bool deadlock_knows_all(const struct profile *p, uint32_t pid);
bool deadlock_is_alone(const struct profile *p, uint32_t pid);
/* One wait, from before the window to beyond its end. */
static inline bool finding_wait_is_all_along(const struct wait *w)
{
	return w->count == 1 && wait_is_all_along(w);
}

/* Locks that nobody lets go of, several in a process: sets stuck_lock and what stands by it.  Needs the causes. */
void both_stuck_find(struct findings *f, const uint32_t *locks);
void both_stuck_append_evidence(GString *s, const struct findings *f, const struct finding *row);

/* Two processes that each read from a pipe that the other should write to: the other's wait, index + 1; 0: none. */
uint32_t deadlock_of_pipes(const struct profile *p, uint32_t wait);

#endif
