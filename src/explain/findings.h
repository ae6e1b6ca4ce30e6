/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_FINDINGS_H
#define EXPLAIN_FINDINGS_H

#include "analyse/query.h"
#include "analyse/reason/reasons.h"
#include "analyse/routes.h"
#include "profile/limits.h"
#include "profile/profile.h"

/*
 * What a recording has to say, the most important first: docs/reasons.md, "Findings".  The time that matters is what
 * user threads were off CPU for without being idle; a finding is a part of it that has one cause.  All times are
 * nanoseconds.
 */

/* Who holds a lock, or ends the waits. */
struct finding_by {
	const char *comm; /* NULL: not known; of an interrupt its name */
	uint32_t pid, tid; /* of the thread that did it for longest; 0: an interrupt */
	uint32_t threads_cnt; /* with that name, or of that kind */
	bool is_program; /* it is one of many processes of that name that end these waits */
	bool is_peer; /* it, or most of them, wait for the same themselves */
	bool are_peers; /* and several of those end them */
	bool is_kind; /* it is one of many that end these waits, whose names differ by a number: "worker-3" */
	uint64_t blocked_ns; /* of the finding's, because of them */
	bool is_holder; /* it held the lock as the waits began; else it is known as who ended them */
	int64_t frame; /* where in the program it did; -1: not known */
	const char *call; /* of who lets a lock of the kernel's go: in which system call; NULL: not known */
	const char *place; /* of a GIL's holder: that in words, with its callers; NULL: not known */
	/* what they were off CPU for themselves, mostly: a holder below `frame`; valid if does_ns */
	enum reason does;
	bool is_passed_on; /* not they, but threads of their process for which they wait themselves */
	int64_t does_frame;
	uint32_t does_wait; /* index + 1 of the longest row of that; 0: none */
	uint64_t does_ns, off_cpu_ns; /* that, and all of it */
	/* its own time limit ends all of its waits in which somebody could signal it: how often, and how long that is; 0: not */
	uint64_t timeouts_cnt, timeout_ns;
};

/* Not what threads sleep for, but what they do, mostly while others' requests wait in their queue: busy.c. */
enum finding_busy {
	BUSY_NOT = 0,
	BUSY_LOOP, /* an event loop computes */
	BUSY_POOL, /* all threads of a pool are busy */
	BUSY_SPIN, /* threads wait on CPU: spins.c */
	BUSY_REFUSES, /* a process whose descriptors are used up accepts nobody: full.c */
	BUSY_ALONE, /* a process that a command waits for while nothing else of it works: serial.c */
};

/* All threads of a pool wait for the results of tasks, and none got one. */
enum nobody_works {
	SOMEBODY_WORKS = 0,
	NOBODY_OF_POOL, /* and no other thread of the process works */
	NOBODY_OF_PROCESS, /* nor is there another one */
};

#define FINDINGS_TOLD_MAX 100 /* more nobody is told, in JSON either */

/* What holds a finding up from outside: limits.h. */
struct finding_limit {
	const struct profile_limit *limit; /* NULL: nothing is known */
	/* of LIMIT_CPUS: of how many of its threads; whether all may use the same CPUs as that one */
	uint32_t threads_cnt;
	uint64_t refaults;	/* of LIMIT_MEMORY: pages a second that come back which it had thrown out */
	uint32_t kernel_pct;	/* and that share of the process's CPU time was in the kernel */
	struct limit_used used;	/* of LIMIT_QUOTA: who uses more of it; without a name nobody does */
	bool is_same;
	bool is_others; /* and they ran there for less than half of the window */
	/* of LIMIT_POOL, as the sockets tell: pool.c */
	struct limit_pool pool;
	double waiting; /* requests that wait for the process, on average */
	bool is_full; /* who is at the other end of its connections had hardly a rest */
	const char *server; /* the process there; NULL: not known */
	struct limit_connect failed; /* of LIMIT_CONNECT: connects.c */
	/* of LIMIT_CYCLE: the other one's wait, index + 1, 0: not known; and that neither has another thread: cycle.c */
	uint32_t cycle_wait;
	bool is_cycle;
};

/* Of a run queue: how often many threads start at once, the time that these wait, and how long that takes: bursts.h. */
struct finding_bursts {
	uint32_t cnt; /* 0: they do not */
	uint64_t queue_ns, length_ns;
};

/* A finding of nobody else's functions: what begins one says of none. */
#define FINDING_OWN_ONLY .asked_frame = -1, .loop_on_cpu_frame = -1, .by = { .frame = -1, .does_frame = -1 }

struct finding {
	enum reason reason;
	uint32_t id; /* from 1, and not by rank; 0: of busy threads, which no wait is of */
	uint32_t wait; /* index of the longest of its rows: its words, protocol and stacks */
	uint32_t pid; /* 0: several */
	const char *process; /* as in programs; of several processes of that name */
	uint64_t time_ns; /* blocked; of REASON_CPU_QUEUE: runnable and preempted */
	uint64_t count;
	double time_se_ns; /* standard error of time_ns; 0: exact */
	uint64_t looks; /* of a recording by looks: how many it stands for */
	uint64_t max_ns; /* 0: not known */
	uint32_t longest; /* index + 1 of the row with that wait; 0: not known */
	uint32_t threads_cnt;
	uint64_t hist[PROFILE_HIST_SLOTS]; /* of a run queue: of preemptions, and of wakings where wakers are known */
	uint64_t durations_ns; /* the sum of what hist holds: of whole waits */
	int64_t frame; /* the function of the program that waits; -1: not known */
	int64_t asked_frame; /* of a pool's thread: the function of the program whose work it does, see asked.c; -1 */
	uint32_t queue_tasks; /* so many tasks await what that pool does, which has fewer threads, and these have no rest */
	uint32_t queue_at_once; /* more such work waits in the pool's queue, which does so much at a time; 0: not known */
	uint32_t object; /* index + 1 of what it mostly waits for; 0: none */
	/* so many locks of one kind and place, see lock_kinds.c; 0: no locks; and with how many threads, each of each */
	uint32_t locks_cnt, lock_waiters_cnt;
	/* a lock that one waits for nearly all through the window: its time counts so often; 0: no such */
	uint32_t stuck_weight;
	/*
	 * a wait, index + 1, that is part of a deadlock's ring, and that of the lock's holder: deadlock.c; 0: none.  Without
	 * the latter the holder is no thread of the process: that was forked while the lock was held.
	 */
	uint32_t deadlock, deadlock_next;
	uint32_t meanwhile; /* of those that wait for tasks: the id of what other threads of the program mostly wait for; 0 */
	uint32_t stuck_lock; /* of lock_ids_new(), where nobody let go of it, and nobody knows its holder; 0: it is none */
	uint32_t stayer_wait; /* index + 1 of one of the thread that likely has that lock; 0: none is known */
	enum nobody_works nobody_works;
	struct finding_by by;
	struct finding_limit limit;
	const struct profile_limit *backlog; /* connections wait to be accepted by these workers: backlog.c; NULL: none */
	uint64_t woken_cnt, timed_out_cnt, signalled_cnt; /* wakings that are known; of these by a time limit, by a timer's signal */
	uint64_t spawned_cnt; /* short processes of the kind that ends most of these waits, if these are many: spawns.c */
	const char *route; /* the request that most of it was for, as trace contexts say; NULL: not known */
	uint64_t route_ns, routed_ns; /* of time_ns: for that, and for any that is known */
	uint64_t clock_ns; /* of threads that only sleep, the same time again and again: clocks.c */
	uint64_t beside_clock_ns; /* what such threads wait for beside, which is little by itself */
	uint64_t leads_ns; /* of those that queue behind it */
	uint64_t waited_ns; /* where others wait for a lock that is held there: the longest time that one of their findings has */
	const char *unended; /* nobody ended its waits, which take the whole window: what to do; NULL: somebody did */
	uint32_t routes_cnt;
	uint32_t asks; /* index + 1 of a thread that it asks, which waits for it meanwhile: missed.c; 0: none is known */
	uint32_t asks_object; /* of a sleep: index + 1 of where its threads ask each time; 0: nowhere.  pauses.c */
	uint32_t one_by_one; /* index + 1 of the wait of another thread for each of its threads: one_by_one.c; 0: none */
	/* of locks of a database: a timer ends these waits, or a session whose statement has failed, as it does by that */
	bool is_aborted;
	bool is_doubtful; /* of a recording by looks: it is no larger than its error, as what one look saw */
	bool is_fork; /* they wait while fork() copies the address space of their process */
	bool tells_all, is_broadcast; /* wakings of many threads at once end most of it; and there are many of these */
	bool is_told_elsewhere; /* a shell waits for another program, or a task for its pool, whose own time is in the recording */
	/* a loop of the same process is held up meanwhile, whose finding names it as the cause; or a pipeline's next part is */
	bool is_for_one_job; /* is_told_elsewhere, but for a child that computes for most of the window: nothing else tells of that */
	bool is_told_with;
	/* it waits for others of a command, of which a finding of BUSY_ALONE tells, or yields where one of BUSY_SPIN does */
	bool is_link;
	bool is_behind; /* it only queues behind another one of the list: behind.c */
	bool has_sleep; /* a script waits for such processes */
	bool is_shells_sleep; /* a process that only sleeps, told with the shell that waits for it */
	struct finding_bursts bursts;
	bool never_let_go; /* waits for a lock that nobody let go of in the window, and whose holder nobody knows */
	bool is_both_stuck, leads_others; /* others of its process wait so for another one; and no fewer do */
	bool is_cost; /* what page faults at a memory limit cost, which another finding is */
	bool is_beside_cause; /* a sleep of a process of which another finding has a cause that is known */
	bool may_hold; /* the same: they use what others wait for, of whom nobody knows who has it */
	bool is_unanswered;	/* the same, of an answer by the network, without advice of its own */
	bool may_be_meant; /* unended, or a long poll: nothing tells whether that is a standby's, and it is no time that matters */
	bool waits_for_asker; /* and it is told with that one's */
	bool is_waited_for; /* waited_ns is known: told with them */
	bool is_poll_loop; /* a timer ends most of many short waits */
	/* the same for nearly all, on a whole machine, where others wait for more: it looks now and then, as one that sleeps */
	bool is_own_limit;
	bool is_yield; /* REASON_CPU_QUEUE by its own doing: it calls sched_yield() */
	/* the same of threads that may use few CPUs, on which others ran meanwhile: no load of their own makes them wait */
	bool is_kept_off;
	bool is_others_load; /* REASON_CPU_QUEUE of a program that hardly ran, and waits for something of its own, too */
	bool is_spin; /* a yield of a runtime that looks for work before it sleeps: nobody waits for that */
	/* then time_ns is what they were busy for, and no part of the time that matters: of `observed_ns`, or spinning of `on_cpu_ns` */
	enum finding_busy busy;
	const struct rule *loop; /* the event loop that these waits hold up; NULL: none */
	/* what all callbacks of that loop in these processes ran, by samples on CPU; 0 without */
	uint64_t loop_on_cpu_ns;
	int64_t loop_on_cpu_frame; /* the function that most of it is of; -1: not known */
	const struct rule *busy_rule; /* the loop or pool; NULL: known by its waits alone */
	uint64_t observed_ns, on_cpu_ns, queue_ns; /* of busy threads */
	/* looks at busy threads on CPU, or when they were preempted, and those in `frame`; of samples nanoseconds */
	uint64_t looks_cnt, in_frame_cnt;
	bool has_samples;
};

/* The time of one process name, which adds up to what was observed of it. */
struct finding_class {
	const char *process;
	uint32_t pid; /* 0: several */
	uint32_t processes_cnt, threads_cnt;
	uint64_t observed_ns, on_cpu_ns, queue_ns, throttled_ns;
	uint64_t family_ns[FAMILY_COUNT]; /* blocked and not idle; FAMILY_CPU stays 0 */
	uint64_t idle_ns;
	uint64_t unlisted_ns; /* off CPU, but in no wait: filtered or lost */
	int64_t residual_ns;
	uint64_t switches;
	uint64_t hist[PROFILE_HIST_SLOTS]; /* of its waits that are not idle, preemptions included */
	uint64_t durations_ns; /* the sum of what hist holds */
	uint64_t max_ns;
};

struct findings {
	const struct profile *profile;
	const struct selection *selection; /* NULL: everything */
	struct reasons *reasons;
	struct serial *serial; /* of the row of BUSY_ALONE; NULL: there is none */
	struct routes *routes; /* NULL: nothing is known of requests */
	const char **programs; /* of each thread: its process's name, or that of its kind, "worker-*"; equal ones are one */
	GStringChunk *strings;
	GArray *rows; /* struct finding, the most important first */
	/* of each wait: the id of the row that its blocked time is in, and of that of the rest; 0: none */
	uint32_t *blocked_in, *queued_in;
	GArray *classes; /* struct finding_class, most time that matters first */
	uint64_t matters_ns; /* of all rows but those that may be meant */
	uint64_t meant_ns; /* of these */
	uint64_t blocked_ns, queue_ns; /* its two parts */
	uint64_t idle_ns[IDLE_KIND_COUNT];
	uint32_t idle_kernel_cnt, idle_threads_cnt; /* kernel threads; user threads that were idle in any way */
	uint64_t idle_sum_ns; /* of user threads */
	bool has_kernel_only; /* there are no user threads: kernel threads are what it is about */
};

/* selection NULL: everything.  Borrows from p. */
struct findings *findings_new(const struct profile *p, const struct selection *selection);
void findings_free(struct findings *f); /* NULL is fine */

/* What rows are sorted by: its time, or a part of it. */
uint64_t finding_rank_ns(const struct finding *f);

/* Something outside holds it up.  Clients that wait for it, and a child that has work, need not. */
static inline bool finding_has_limit(const struct finding *row)
{
	const struct profile_limit *l = row->limit.limit;

	return l && l->kind != LIMIT_OWED && l->kind != LIMIT_CHILD;
}

/* What it mostly waits for; NULL: nothing is known, or of its queue. */
static inline const struct object *finding_object(const struct findings *f, const struct finding *row)
{
	return row->object ? profile_get_object(f->profile, row->object - 1) : NULL;
}

/* The process of its longest wait. */
static inline uint32_t finding_pid(const struct findings *f, const struct finding *row)
{
	return profile_thread(f->profile, profile_wait(f->profile, row->wait)->thread)->pid;
}

/* Each thread waits at conditions that nobody else waits at: for something of its own, and not for what they share. */
bool finding_has_own_locks(const struct finding *row);
/* NULL: none of the recording. */
const char *finding_process_name(const struct findings *f, uint32_t pid);

/* Is time of the wait in that row? */
static inline bool finding_has_wait(const struct findings *f, const struct finding *row, uint32_t wait)
{
	return row->id && (f->blocked_in[wait] == row->id || f->queued_in[wait] == row->id);
}

/* The row in which those wait who end or hold up this one; NULL: none is known. */
struct finding *finding_cause(const struct findings *f, const struct finding *row);

/* Is whoever ends these waits the process at the other end of the socket that they are for, another one? */
bool finding_ends_far(const struct findings *f, const struct finding *row);

#define FINDING_HOPS_MAX 4

/*
 * On through sockets: the findings of what those wait for who end the waits of this one, and so on, each of which ends
 * with a process that is not among those before.  How many.
 */
unsigned finding_follow(const struct findings *f, const struct finding *row,
			const struct finding *ret[FINDING_HOPS_MAX]);

/* Programs hold it, for as long as they like, though it is a lock of the kernel's: flock(), fcntl(). */
bool finding_is_file_lock(const struct findings *f, const struct finding *row);

/* Is whoever `by` tells of the one that held the lock?  Else it ended the waits. */
bool finding_is_held(const struct findings *f, const struct finding *row);

/* time that matters of a process: blocked and not idle, run queue, throttled. */
uint64_t finding_class_matters_ns(const struct finding_class *c);

#endif
