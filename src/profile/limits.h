/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PROFILE_LIMITS_H
#define PROFILE_LIMITS_H

#include <inttypes.h>

#include "profile/profile.h"

/*
 * What held a process or thread up from outside, as it was when the recording ended: no wait tells it.  At most
 * PROFILE_LIMITS_MAX.
 */
#define PROFILE_LIMITS_MAX 256

enum profile_limit_kind {
	LIMIT_STOPPED,	/* a process at the other end of somebody's wait is stopped; its text is its name */
	LIMIT_CPUS,	/* the thread may run on fewer CPUs than there are; the text lists them: "0-1" */
	LIMIT_QUOTA,	/* of its control group: "cpu.max is 0.20 CPUs" */
	LIMIT_DISK,	/* "io.max limits reads of vda to 1.00 MiB/s" */
	LIMIT_MEMORY,	/* it is reached: "memory.high is 40.0 MiB, of which 39.9 MiB are in use" */
	LIMIT_FROZEN,	/* the control group that froze its process, if it still is frozen, else that of the process: "/shop/pay" */
	LIMIT_POLICY,	/* the thread was throttled by it: "SCHED_DEADLINE: 3.00 ms of each 30.0 ms" */
	LIMIT_POOL,	/* a process has fewer connections of its own than clients: LIMIT_POOL_FORMAT */
	LIMIT_CONNECT,	/* connections that the thread tried failed: LIMIT_CONNECT_FORMAT */
	LIMIT_LOSS,	/* of nobody: TCP sent segments to there again: LIMIT_LOSS_FORMAT */
	LIMIT_UNANSWERED,	/* requests that a process has not answered, on its connections: LIMIT_UNANSWERED_FORMAT */
	LIMIT_BACKLOG,	/* connections that wait to be accepted by a process: LIMIT_BACKLOG_FORMAT */
	LIMIT_FILE_LOCK,	/* another process, or itself, has the lock of a file that the process waits for: its number */
	LIMIT_FULL,	/* a process of this machine whose accept queue is full: LIMIT_FULL_FORMAT */
	LIMIT_OWED,	/* a process's clients that wait for answers, and its own connections: LIMIT_OWED_FORMAT */
	LIMIT_NAGLE,	/* a process holds back a small write to there, until an earlier one is acknowledged: "10.0.0.5:502" */
	LIMIT_CYCLE,	/* a process waits for another one, of which it does not accept a connection: LIMIT_CYCLE_FORMAT */
	LIMIT_SLACK,	/* the thread lets its timers be late by so many nanoseconds: "40000000" */
	LIMIT_GONE,	/* who holds the lock that threads of the process wait for has ended: its number is tid, the text "mutex", "file" or "file 4712 cat": who has that open */
	LIMIT_MONITOR,	/* who has the monitor of Java that the thread waits for: its thread number */
	LIMIT_REALTIME,	/* the thread ran much, by a real-time policy: "SCHED_FIFO 50" */
	LIMIT_CHILD,	/* what the child does that the process waits for, which is not recorded: limit_child_text() */
	LIMIT_REFAULTS,	/* the memory limit throws out what the process's group still uses: LIMIT_REFAULTS_FORMAT */
	LIMIT_USED,	/* who used up the CPU quota that the process shares: LIMIT_USED_FORMAT */
	LIMIT_FILES,	/* as many descriptors as the process may have, or nearly: LIMIT_FILES_FORMAT */
	LIMIT_TASKS,	/* the same of processes and threads in its control group: "4 processes and threads, of which 4 are there" */
	LIMIT_SEMAPHORE,	/* who else has the named semaphore that the process waits for: "nobody", or "4711 printer" */
	LIMIT_KIND_COUNT
};

/* that go to one address, of all that it made itself; from clients */
#define LIMIT_POOL_FORMAT "%u of %u connections to %s, for %u from clients"
#define LIMIT_POOL_WAITING ", of which %u wait"	/* behind it, where it is known and not 0 */

#define LIMIT_CONNECT_FORMAT "%" PRIu64 " connections to %s: %s"

/* Behind it whom the segments were for, as the name of a socket begins. */
#define LIMIT_LOSS_FORMAT "%" PRIu64 " segments sent again: "

#define LIMIT_UNANSWERED_FORMAT "%" PRIu32 " connections, the longest for %" PRIu64 " ns"

/* Behind it where: ":8080", "/run/app.sock". */
#define LIMIT_BACKLOG_FORMAT "%" PRIu32 " connections wait at "

/* Behind it where, and whose that is: "127.0.0.1:8080 (nginx)". */
#define LIMIT_FULL_FORMAT "%" PRIu32 " connections in a queue for %" PRIu32 " at "

/* Behind it where they go: "127.0.0.1:8081 (python3)"; "nobody" of no connections. */
#define LIMIT_OWED_FORMAT "%" PRIu32 " clients wait, %" PRIu32 " connections to "

/* Behind it where: ":8080". */
#define LIMIT_CYCLE_FORMAT "process %" PRIu32 " waits at "

/* Pages that were read or swapped in again, and of what the process ran meanwhile that in the kernel. */
#define LIMIT_REFAULTS_FORMAT "%" PRIu64 " pages a second, %" PRIu32 " percent in the kernel"

/* Thousandths of a CPU: the process itself, and the one of its control group that took most; behind it that one's name. */
#define LIMIT_USED_FORMAT "%" PRIu32 " of itself, %" PRIu32 " of process %" PRIu32 " "

#define LIMIT_FILES_FORMAT "%" PRIu64 " of %" PRIu64 " descriptors"

/* TCP's delayed acknowledgement takes 40 ms and more (TCP_DELACK_MIN; a slow clock makes it 50). */
#define DELAYED_ACK_NS 40000000ULL
#define DELAYED_ACK_SLOT 25	/* of a histogram, log2: 34 to 67 ms */
#define DELAYED_ACKS_MIN 10	/* waits */

struct profile_limit {
	uint8_t kind;	/* enum profile_limit_kind */
	uint32_t pid, tid;	/* tid 0: of the process */
	const char *text;	/* the profile's; not escaped */
};

/* Does nothing where there are too many already, or the kind is none. */
void profile_add_limit(struct profile *p, enum profile_limit_kind kind, uint32_t pid, uint32_t tid, const char *text);
/* Of the process, or, tid not 0, of that thread; NULL: none is known. */
const struct profile_limit *profile_find_limit(const struct profile *p, enum profile_limit_kind kind, uint32_t pid,
					       uint32_t tid);

/* Some of it come and go, so that not all are there at each instant. */
static inline bool limit_is_used_up(uint64_t used, uint64_t limit)
{
	return used + limit / 50 >= limit;
}

struct limit_pool {
	uint32_t cnt, made, from_clients;
	uint32_t waiting;	/* of these: sent something since they were sent something; 0: not known */
	char there[64];		/* "10.0.0.5:5432", "[::1]:80", "/run/app.sock"; not escaped */
};
/* Of LIMIT_GONE: a lock of a file, and whoever has that open as the recording ends; 0: not known.  ret_name NULL is fine. */
bool limit_gone_is_file(const struct profile_limit *l);
uint32_t limit_gone_keeper(const struct profile_limit *l, const char **ret_name);
/* Who has the lock of a file that a thread of the process waits for as the recording ends; 0: not known. */
uint32_t profile_file_lock_holder(const struct profile *p, uint32_t pid);
/* Does it wait for one as the recording ends? */
bool wait_is_for_file_lock(const struct profile *p, const struct wait *w);

/* Who has the monitor that the thread waits for as the recording ends; 0: not known. */
uint32_t profile_monitor_holder(const struct profile *p, uint32_t pid, uint32_t tid);
/* Does it wait for a monitor of Java's? */
bool wait_is_for_monitor(const struct profile *p, const struct wait *w);

/* False: the limit is none of LIMIT_POOL, or makes no sense. */
bool limit_pool_read(const struct profile_limit *l, struct limit_pool *ret);

enum connect_failure {
	CONNECT_REFUSED,
	CONNECT_RESET,
	CONNECT_UNANSWERED,
	CONNECT_UNREACHABLE,
	CONNECT_NO_PORT,	/* of ours was free */
	CONNECT_FAILED,
	CONNECT_FAILURE_COUNT
};
const char *connect_failure_text(enum connect_failure failure);	/* "refused" */

struct limit_connect {
	uint64_t cnt;
	char there[64];
	enum connect_failure failure;
};
bool limit_connect_read(const struct profile_limit *l, struct limit_connect *ret);
uint64_t profile_failed_connects(const struct profile *p, uint32_t pid, uint32_t tid);	/* tid 0: of all threads */

/* How many connections wait, and *ret_where; 0: it is none of LIMIT_BACKLOG. */
uint32_t limit_backlog_read(const struct profile_limit *l, const char **ret_where);

/* How many connections wait, and *ret_there; 0: it is none of LIMIT_FULL. */
uint32_t limit_full_read(const struct profile_limit *l, uint32_t *ret_room, const char **ret_there);

/* How many clients, *ret_made connections and *ret_there (NULL: none are made); 0: it is none of LIMIT_OWED. */
uint32_t limit_owed_read(const struct profile_limit *l, uint32_t *ret_made, const char **ret_there);

/*
 * Whom an event loop has asked: its set of descriptors tells, or else, where clients wait for answers, the connections of
 * its process.  "127.0.0.1:8081 (python3)"; NULL: not known, or it is no wait of one.
 */
const char *profile_upstream(const struct profile *p, const struct wait *w);

/* Where that process waits, and *ret_pid; NULL: it is none of LIMIT_CYCLE. */
const char *limit_cycle_read(const struct profile_limit *l, uint32_t *ret_pid);

enum child_does {
	CHILD_GONE,	/* it has ended */
	CHILD_RUNS,
	CHILD_DISK,	/* uninterruptible sleep */
	CHILD_STOPPED,
	CHILD_WAITS,	/* for its own children, of which none or several are there */
	CHILD_SLEEPS,
	CHILD_LOCK,	/* in a futex */
	CHILD_PIPE,
	CHILD_PIPE_FULL,
	CHILD_FILE_LOCK,
	CHILD_TERMINAL,
	CHILD_NETWORK,	/* on the only connection that it made */
	CHILD_EVENTS,	/* sockets, of several or of clients */
	CHILD_OTHER,
	CHILD_SEVERAL,	/* it is one of those that the process waits for any of */
	CHILD_DOES_COUNT
};

struct limit_child {
	uint32_t pid;
	enum child_does does;
	uint64_t silent_ns;	/* since anything came from there; 0: not known */
	const char *there;	/* "127.0.0.1:80"; NULL: not known */
	const char *name;	/* not escaped */
};
char *limit_child_text(const struct limit_child *c);
/* False: it is none of LIMIT_CHILD.  there: at most `size` bytes go there, and ret->there points to it or is NULL. */
bool limit_child_read(const struct profile_limit *l, struct limit_child *ret, char *there, size_t size);

struct limit_used {
	uint32_t own_permille, other_permille, other_pid;	/* of a CPU */
	const char *name;	/* of the other; not escaped */
};
bool limit_used_read(const struct profile_limit *l, struct limit_used *ret);
/* Pages a second, and *ret_kernel_pct; 0: it is none of LIMIT_REFAULTS. */
uint64_t limit_refaults_read(const struct profile_limit *l, uint32_t *ret_kernel_pct);

/* How many segments were sent again, and *ret_there; 0: it is none of LIMIT_LOSS. */
uint64_t limit_loss_read(const struct profile_limit *l, const char **ret_there);

/* How many connections, and *ret_ns since the longest received its request; 0: it is none of LIMIT_UNANSWERED. */
uint32_t limit_unanswered_read(const struct profile_limit *l, uint64_t *ret_ns);

/* As a recording keeps them, "KIND PID TID TEXT" a line; the caller's.  One with a newline is left out. */
char *profile_limits_text(const struct profile *p);
/* Lines that are no limits are passed over. */
void profile_read_limits(struct profile *p, const char *text);

#endif
