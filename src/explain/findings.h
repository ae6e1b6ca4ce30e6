/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_FINDINGS_H
#define EXPLAIN_FINDINGS_H

#include "analyse/query.h"
#include "analyse/reason/reasons.h"
#include "analyse/routes.h"
#include "profile/limits.h"
#include "profile/profile.h"

/*
 * What a recording shows, most important first: docs/reasons.md, "Findings".  The time that matters is user threads'
 * off-CPU time that is not idle; a finding is a part of it with one cause.  All times are in nanoseconds.
 */

/* Who holds a lock, or ends the waits. */
struct finding_by {
	const char *comm; /* NULL: unknown; for an interrupt its name */
	uint32_t pid, tid; /* of the thread with most of it; 0: an interrupt */
	uint32_t threads_cnt; /* with that name or of that kind */
	bool is_program; /* one of many processes of that name that end these waits */
	bool is_peer; /* it, or most of its kind, wait for the same themselves */
	bool are_peers; /* and several of those end them */
	bool is_kind; /* one of many whose names differ by a number: "worker-3" */
	uint64_t blocked_ns; /* part of the finding's time due to it */
	bool is_holder; /* held the lock when the waits began; else it ended the waits */
	int64_t frame; /* function of the program; -1: unknown */
	const char *call; /* system call in which a kernel lock is released; NULL: unknown */
	const char *place; /* for a GIL's holder: function and callers as text; NULL: unknown */
	/* main reason of its own off-CPU time, for a holder below `frame`; valid if does_ns is not 0 */
	enum reason does;
	bool is_passed_on; /* `does` is of other threads of its process, for which it waits */
	int64_t does_frame;
	uint32_t does_wait; /* index + 1 of the longest such row; 0: none */
	uint64_t does_ns, off_cpu_ns; /* time for that reason, and in total */
	/* if its own signallable waits all time out: their number and length; 0: not so */
	uint64_t timeouts_cnt, timeout_ns;
};

/* What threads do instead of what they sleep for, usually while others' requests are queued: busy.c. */
enum finding_busy {
	BUSY_NOT = 0,
	BUSY_LOOP, /* an event loop computes */
	BUSY_POOL, /* all threads of a pool are busy */
	BUSY_SPIN, /* threads busy-wait: spins.c */
	BUSY_REFUSES, /* a process without free descriptors accepts nobody: full.c */
	BUSY_ALONE, /* a process that a command waits for while nothing else works: serial.c */
};

/* All threads of a pool wait for the results of tasks, and no worker is free. */
enum nobody_works {
	SOMEBODY_WORKS = 0,
	NOBODY_OF_POOL, /* and no other thread of the process works */
	NOBODY_OF_PROCESS, /* and there is no other thread */
};

#define FINDINGS_TOLD_MAX 100 /* maximum reported, also in JSON */

/* An external limit on a finding: limits.h. */
struct finding_limit {
	const struct profile_limit *limit; /* NULL: none known */
	/* for LIMIT_CPUS: number of its threads with that limit; whether all have the same CPUs */
	uint32_t threads_cnt;
	uint64_t refaults;	/* for LIMIT_MEMORY: evicted pages that come back per second */
	uint32_t kernel_pct;	/* and the share of the process's CPU time in the kernel */
	struct limit_used used;	/* for LIMIT_QUOTA: who uses more of it; without a name: nobody */
	bool is_same;
	bool is_others; /* and they ran there for less than half of the window */
	/* for LIMIT_POOL, according to sockets: pool.c */
	struct limit_pool pool;
	double waiting; /* average number of requests waiting for the process */
	bool is_full; /* the servers at its connections were nearly always busy */
	const char *server; /* the server process; NULL: unknown */
	uint32_t helpers;	/* for LIMIT_END: number of busy children: ends.c */
	struct limit_connect failed; /* for LIMIT_CONNECT: connects.c */
	/*
	 * for LIMIT_CYCLE: the other process's wait, index + 1, 0: unknown; whether neither has another thread:
	 * cycle.c
	 */
	uint32_t cycle_wait;
	bool is_cycle;
};

/* For a run queue: bursts in which many threads start at once, their waiting time, and their length: bursts.h. */
struct finding_bursts {
	uint32_t cnt; /* 0: no bursts */
	uint64_t queue_ns, length_ns;
};

/* Initial values of members that only some findings have. */
#define FINDING_OWN_ONLY .asked_frame = -1, .loop_on_cpu_frame = -1, .by = { .frame = -1, .does_frame = -1 }

struct finding {
	enum reason reason;
	uint32_t id; /* from 1 on, not by rank; 0: busy threads, which have no waits */
	uint32_t wait; /* index of its longest row, which gives its words, protocol and stacks */
	uint32_t pid; /* 0: several */
	const char *process; /* as in `programs` */
	uint64_t time_ns; /* blocked; for REASON_CPU_QUEUE: runnable and preempted */
	uint64_t count;
	double time_se_ns; /* standard error of time_ns; 0: exact */
	uint64_t looks; /* for sampled recordings: number of looks */
	uint64_t max_ns; /* 0: unknown */
	uint32_t longest; /* index + 1 of the row with max_ns; 0: unknown */
	uint32_t threads_cnt;
	uint64_t hist[PROFILE_HIST_SLOTS]; /* for a run queue: of preemptions, and of wakings if wakers are known */
	uint64_t durations_ns; /* sum of the durations in hist: of whole waits */
	int64_t frame; /* the program's waiting function; -1: unknown */
	int64_t asked_frame; /* for a pool's thread: the program's function that handed in the work, see asked.c; -1 */
	uint32_t queue_tasks; /* number of tasks awaiting a pool that has fewer threads, all busy */
	bool is_pool_taken; /* all threads of a pool do this all the time, and never wait for work */
	/* how many jobs of that kind the pool runs at a time, if more are queued; 0: unknown */
	uint32_t queue_at_once;
	uint32_t object; /* index + 1 of its main object; 0: none */
	/* number of locks of one kind and place, see lock_kinds.c; 0: no locks; whether each has many waiters */
	uint32_t locks_cnt, lock_waiters_cnt;
	bool has_own_words; /* each thread, or each wait, has one for itself */
	bool is_stuck; /* a lock that somebody waits for nearly all the time */
	/*
	 * for a deadlock: a wait of the ring, index + 1, and the holder's wait: deadlock.c; 0: none.  Without the
	 * latter the holder is no thread of the process, which was forked while the lock was held.
	 */
	uint32_t deadlock, deadlock_next;
	/* for waits for tasks: id of the finding that other threads of the program mostly wait in; 0 */
	uint32_t meanwhile;
	/* id from lock_ids_new() of a lock that nobody released and whose holder is unknown; 0: none */
	uint32_t stuck_lock;
	uint32_t stayer_wait; /* index + 1 of a wait of its likely holder; 0: unknown */
	enum nobody_works nobody_works;
	struct finding_by by;
	struct finding_limit limit;
	const struct profile_limit *backlog; /* connections queued for these workers: backlog.c; NULL: none */
	/* known wakings; part of these by time limits, by timers' signals */
	uint64_t woken_cnt, timed_out_cnt, signalled_cnt;
	uint64_t spawned_cnt; /* number of short-lived processes that end most of these waits, if many: spawns.c */
	const char *route; /* the request of most of its time, from trace contexts; NULL: unknown */
	uint64_t route_ns, routed_ns; /* part of time_ns for that request, and for any known one */
	uint64_t clock_ns; /* total of regular sleeps of threads that only sleep: clocks.c */
	uint64_t beside_clock_ns; /* the little that such threads wait for otherwise */
	uint64_t leads_ns; /* of findings that queue behind it */
	uint64_t waited_ns; /* longest time of a finding for a lock that is held during these waits */
	const char *unended; /* advice if nobody ended its waits in the whole window; NULL: somebody did */
	uint32_t routes_cnt;
	uint32_t asks; /* index + 1 of a thread that it asks, but which waits for it: missed.c; 0: unknown */
	/* for a sleep: index + 1 of the object that its threads ask each time; 0: none.  pauses.c */
	uint32_t asks_object;
	uint32_t one_by_one; /* index + 1 of another thread's wait for each of its threads: one_by_one.c; 0: none */
	/* for a database's locks: ended by a timer, or by a session whose statement has failed */
	bool is_aborted;
	bool is_doubtful; /* for sampled recordings: not larger than its error, as from a single look or none */
	bool is_fork; /* waits while fork() copies the process's address space */
	bool tells_all, is_broadcast; /* most of it is ended by wakings of many threads at once; many such wakings */
	bool is_told_elsewhere; /* a shell waits for a program, or a task for its pool, whose own time was recorded */
	/*
	 * a loop of the same process is held up, whose finding names this as the cause; or the next stage of a
	 * pipeline is
	 */
	/* is_told_elsewhere, except a child that computes for most of the window, which no other finding covers */
	bool is_for_one_job;
	bool is_told_with;
	/* waits for others of a command that a BUSY_ALONE finding covers, or yields where a BUSY_SPIN finding does */
	bool is_link;
	bool asks_itself; /* the peer is its own service: self.c */
	bool is_behind; /* only queues behind another finding: behind.c */
	bool has_led_peer; /* asks another program, in which another finding leads */
	bool has_sleep; /* a script waits for such processes */
	bool keeps_pace; /* may be meant: it sleeps, or looks by a time limit of its own, in a whole machine's recording */
	bool is_shells_sleep; /* a process that only sleeps, reported with the shell that waits for it */
	struct finding_bursts bursts;
	bool never_let_go; /* waits for a lock that nobody let go of in the window, and whose holder nobody knows */
	bool is_both_stuck, leads_others; /* others of its process wait so for another one; and no fewer do */
	bool is_cost; /* what page faults at a memory limit cost, which another finding is */
	bool is_beside_cause; /* a sleep of a process of which another finding has a cause that is known */
	bool may_hold; /* the same: they use what others wait for, of whom nobody knows who has it */
	bool is_unanswered;	/* the same, of an answer by the network, without advice of its own */
	bool may_be_meant; /* unended, or a long poll: nothing tells whether that is a standby's, and it is no time that matters */
	bool is_of_client; /* on a whole machine: of a program that nobody asks, for one that was recorded */
	bool waits_for_asker; /* and it is told with that one's */
	bool is_poll_loop; /* a timer ends most of many short waits */
	/* the same for nearly all, on a whole machine, where others wait for more: it looks now and then, as one that sleeps */
	bool is_own_limit;
	bool is_yield; /* REASON_CPU_QUEUE by choice: calls sched_yield() */
	/* REASON_CPU_QUEUE of threads restricted to few CPUs on which others ran: not caused by their own load */
	bool is_kept_off;
	/* REASON_CPU_QUEUE of a program that hardly ran and also waits for something of its own */
	bool is_others_load;
	/* REASON_CPU_QUEUE while another program has the CPUs, or of that program, which nobody asks: hog_find() */
	bool is_for_hog, is_hogs;
	bool is_spin; /* a runtime yields while it looks for work before it sleeps: nobody waits for that */
	/*
	 * if set, time_ns is busy time and no part of the time that matters: of `observed_ns`, or for spinning of
	 * `on_cpu_ns`
	 */
	enum finding_busy busy;
	const struct rule *loop; /* the event loop held up by these waits; NULL: none */
	/* CPU time of all callbacks of that loop in these processes, by samples; 0 without */
	uint64_t loop_on_cpu_ns;
	int64_t loop_on_cpu_frame; /* function with most of it; -1: unknown */
	const struct rule *busy_rule; /* the loop or pool; NULL: known only by its waits */
	uint64_t observed_ns, on_cpu_ns, queue_ns; /* of busy threads */
	/* number of looks at busy threads on CPU or preempted, and of those in `frame`; for samples in nanoseconds */
	uint64_t looks_cnt, in_frame_cnt;
	bool has_samples;
};

/* The time of processes of one name; adds up to their observed time. */
struct finding_class {
	const char *process;
	uint32_t pid; /* 0: several */
	uint32_t processes_cnt, threads_cnt;
	uint64_t observed_ns, on_cpu_ns, queue_ns, throttled_ns;
	uint64_t family_ns[FAMILY_COUNT]; /* blocked and not idle; FAMILY_CPU stays 0 */
	uint64_t idle_ns;
	uint64_t unlisted_ns; /* off CPU but in no wait: filtered or lost */
	int64_t residual_ns;
	uint64_t switches;
	uint64_t hist[PROFILE_HIST_SLOTS]; /* of its waits that are not idle, including preemptions */
	uint64_t durations_ns; /* sum of the durations in hist */
	uint64_t max_ns;
};

struct findings {
	const struct profile *profile;
	const struct selection *selection; /* NULL: everything */
	struct reasons *reasons;
	struct serial *serial; /* for the BUSY_ALONE row; NULL: none */
	struct routes *routes; /* NULL: requests are unknown */
	const char **programs; /* by thread: its process's name or kind, "worker-*"; equal names share a pointer */
	GStringChunk *strings;
	GArray *rows; /* struct finding, most important first */
	/* by wait: id of the row with its blocked time, and of the row with the rest; 0: none */
	uint32_t *blocked_in, *queued_in;
	GArray *classes; /* struct finding_class, most time that matters first */
	const struct finding_class *hog; /* the program that has the CPUs for which others wait; NULL: none is known */
	uint64_t matters_ns; /* of all rows except those that may be intended */
	uint64_t meant_ns; /* of these */
	uint64_t blocked_ns, queue_ns; /* its two parts */
	uint64_t idle_ns[IDLE_KIND_COUNT];
	uint32_t idle_kernel_cnt, idle_threads_cnt; /* kernel threads; user threads with any idle time */
	uint64_t idle_sum_ns; /* of user threads */
	bool has_kernel_only; /* without user threads, kernel threads are the subject */
};

/* selection NULL: everything.  Borrows p. */
struct findings *findings_new(const struct profile *p, const struct selection *selection);
void findings_free(struct findings *f); /* NULL is fine */

/* Sort key of rows: their time, or a part of it; why it is not their time, or NULL. */
struct finding_rank {
	uint64_t ns;
	const char *why;
};
struct finding_rank finding_rank(const struct finding *f);
/*
 * What process pid, or the next one that it asks itself, mostly waits for, at least least_ns, except for finding `client`
 * (NULL: none) of one that asks it; NULL: nothing that long.
 */
struct finding *behind_served_by(const struct findings *f, uint32_t pid, const struct finding *client,
				 uint64_t least_ns);

/* By which findings are told in order. */
static inline uint64_t finding_rank_ns(const struct finding *f)
{
	return finding_rank(f).ns;
}

/* Whether an external limit applies.  Not for waiting clients, a child that has work, or a share of busy CPUs. */
static inline bool finding_has_limit(const struct finding *row)
{
	const struct profile_limit *l = row->limit.limit;

	return l && l->kind != LIMIT_OWED && l->kind != LIMIT_CHILD && l->kind != LIMIT_WEIGHT;
}

/* Who should end its wait is stopped. */
static inline bool finding_is_for_stopped(const struct finding *row)
{
	return row->limit.limit && row->limit.limit->kind == LIMIT_STOPPED;
}

/* Its main object; NULL: unknown, or it is a run queue. */
static inline const struct object *finding_object(const struct findings *f, const struct finding *row)
{
	return row->object ? profile_get_object(f->profile, row->object - 1) : NULL;
}

/* The rule that tells what it waits for; NULL: none, or evidence tells otherwise. */
static inline const struct rule *finding_rule(const struct findings *f, const struct finding *row)
{
	const struct rule *rule = reasons_rule(f->reasons, row->wait);

	return rule && rule->reason == row->reason ? rule : NULL;
}

/* Is that rule one of this name ("pipe-read"), or of this pattern ("pipe-*")? */
static inline bool finding_is_by(const struct findings *f, const struct finding *row, const char *pattern)
{
	const struct rule *rule = finding_rule(f, row);

	return rule && g_pattern_match_simple(pattern, rule->name);
}

/* The process of its longest wait. */
static inline uint32_t finding_pid(const struct findings *f, const struct finding *row)
{
	return profile_thread(f->profile, profile_wait(f->profile, row->wait)->thread)->pid;
}

/* Each thread, or piece of work, has its own condition: a thread waits for something of its own, not for a shared one. */
bool finding_has_own_locks(const struct finding *row);
/* NULL: not in the recording. */
const char *finding_process_name(const struct findings *f, uint32_t pid);

/* Whether time of the wait is in that row. */
static inline bool finding_has_wait(const struct findings *f, const struct finding *row, uint32_t wait)
{
	return row->id && (f->blocked_in[wait] == row->id || f->queued_in[wait] == row->id);
}

/* The row with that id; NULL: none, as for id 0. */
struct finding *finding_of_id(const struct findings *f, uint32_t id);

/* The row with the waits of those who end or hold up this one; NULL: unknown. */
struct finding *finding_cause(const struct findings *f, const struct finding *row);

/* Whether the waker is the process at the other end of the socket, and not the same one. */
bool finding_ends_far(const struct findings *f, const struct finding *row);

#define FINDING_HOPS_MAX 4

/*
 * Follows sockets: the findings of those who end this one's waits, and so on, until a process repeats.  Returns their
 * number.
 */
unsigned finding_follow(const struct findings *f, const struct finding *row,
			const struct finding *ret[FINDING_HOPS_MAX]);

/* A kernel lock that programs hold for as long as they like: flock(), fcntl(). */
static inline bool finding_is_file_lock(const struct findings *f, const struct finding *row)
{
	return finding_is_by(f, row, "file-lock");
}

/* An event loop whose turns would be far shorter if it had a CPU. */
static inline bool finding_is_loop_for_cpu(const struct finding *row)
{
	return row->busy == BUSY_LOOP && row->queue_ns >= row->on_cpu_ns / 2;
}

/* It waits for a CPU, neither by choice nor in bursts of its own. */
static inline bool finding_wants_cpu(const struct finding *row)
{
	return (row->reason == REASON_CPU_QUEUE && !row->is_yield && !row->bursts.cnt) || finding_is_loop_for_cpu(row);
}

/* Whether `does` is most of what those do who hold it or end the waits. */
static inline bool finding_mostly_does(const struct finding *row)
{
	return row->by.does_ns > row->by.off_cpu_ns / 2;
}

/* Whether `by` is the lock's holder; else it ended the waits. */
bool finding_is_held(const struct findings *f, const struct finding *row);

/* A process's time that matters: blocked and not idle, run queue, throttled. */
uint64_t finding_class_matters_ns(const struct finding_class *c);

#endif
