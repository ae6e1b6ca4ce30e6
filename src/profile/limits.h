/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PROFILE_LIMITS_H
#define PROFILE_LIMITS_H

#include <inttypes.h>

#include "profile/profile.h"

/*
 * An outside constraint on a process or thread at the end of the recording, which its waits do not show. There are at
 * most PROFILE_LIMITS_MAX.
 */
#define PROFILE_LIMITS_MAX 256

enum profile_limit_kind {
	LIMIT_STOPPED,	/* whom others wait for is stopped, a process or a lock's holder; tid: the process, if another; its name */
	LIMIT_CPUS,	/* the thread may run on fewer CPUs than there are; the text lists them: "0-1" */
	LIMIT_QUOTA,	/* CPU quota of the control group: "cpu.max is 0.20 CPUs" */
	LIMIT_DISK,	/* "io.max limits reads of vda to 1.00 MiB/s" */
	LIMIT_MEMORY,	/* the limit is reached: "memory.high is 40.0 MiB, of which 39.9 MiB are in use" */
	LIMIT_FROZEN,	/* the control group that froze it, or its own if thawed since: "/shop/pay" */
	LIMIT_POLICY,	/* the thread's policy throttled it: "SCHED_DEADLINE: 3.00 ms of each 30.0 ms" */
	LIMIT_POOL,	/* a process has fewer outgoing connections than clients: LIMIT_POOL_FORMAT */
	LIMIT_CONNECT,	/* failed connection attempts of the thread: LIMIT_CONNECT_FORMAT */
	LIMIT_LOSS,	/* machine-wide: TCP retransmitted segments to a peer: LIMIT_LOSS_FORMAT */
	LIMIT_UNANSWERED,	/* unanswered requests on a process's connections: LIMIT_UNANSWERED_FORMAT */
	LIMIT_BACKLOG,	/* connections in a process's accept queue: LIMIT_BACKLOG_FORMAT */
	LIMIT_FILE_LOCK,	/* ids of the process with the file lock that this one waits for (may be itself), and of its child that waits for another one or 0; its name */
	LIMIT_FULL,	/* a process on this machine whose accept queue is full: LIMIT_FULL_FORMAT */
	LIMIT_OWED,	/* clients that wait for a process's answer, and its own connections: LIMIT_OWED_FORMAT */
	LIMIT_NAGLE,	/* Nagle's algorithm delays a small write of the process to this address: "10.0.0.5:502" */
	LIMIT_CYCLE,	/* a process waits for another one whose connection it does not accept: LIMIT_CYCLE_FORMAT */
	LIMIT_SLACK,	/* timer slack of the thread in nanoseconds: "40000000" */
	LIMIT_GONE,	/* the holder of a lock, tid, has ended: "mutex", "file", or "file 4712 cat" if that has it open */
	LIMIT_MONITOR,	/* thread number of the holder of the Java monitor that the thread waits for */
	LIMIT_REALTIME,	/* the thread ran a lot under a real-time policy: "SCHED_FIFO 50" */
	LIMIT_CHILD,	/* state of the unrecorded child that the process waits for: limit_child_text() */
	LIMIT_REFAULTS,	/* the memory limit evicts pages that the process's group still uses: LIMIT_REFAULTS_FORMAT */
	LIMIT_USED,	/* who used up the CPU quota that the process shares with others: LIMIT_USED_FORMAT */
	LIMIT_FILES,	/* the process has (nearly) as many descriptors as it may: LIMIT_FILES_FORMAT */
	LIMIT_TASKS,	/* likewise for processes: "4 processes and threads, of which 4 are there" */
	LIMIT_SILENT,	/* a process of the command has sent something to a peer that sent nothing since: LIMIT_SILENT_FORMAT */
	LIMIT_DROPPED,	/* datagrams for a process that the kernel dropped meanwhile: LIMIT_DROPPED_FORMAT */
	LIMIT_WEIGHT,	/* the control group gets less of busy CPUs than others: "cpu.shares 2, and others beside it up to 4096" */
	LIMIT_SESSION,	/* what the session of a database does that the thread waits for: "SELECT waiting" */
	LIMIT_SEMAPHORE,	/* others that have the awaited semaphore: "nobody", or "4711 printer"; of a thread: who is stopped */
	LIMIT_FAILS,	/* a system call that failed again and again in the thread: limit_fails_text() */
	LIMIT_SIZE,	/* resident memory in KiB of a process whose address space others waited for: "1536000" */
	LIMIT_RESTS,	/* how often a server in memory, which others wait for, was seen to rest: LIMIT_RESTS_FORMAT */
	LIMIT_RECORDER,	/* the process has started the recorder, itself or by others; the text is the recorder's name */
	LIMIT_BLOCKED,	/* a session of PostgreSQL, pid, of server tid that waited for a lock: LIMIT_BLOCKED_FORMAT */
	LIMIT_OTHERS,	/* the program that is not recorded and used the CPUs most: LIMIT_OTHERS_FORMAT; pid: its busiest process */
	LIMIT_WORKERS,	/* children, which are not recorded, of a process that hardly ran: LIMIT_WORKERS_FORMAT */
	LIMIT_STATEMENTS,	/* what sessions of this server of PostgreSQL were seen to do at statements: LIMIT_STATEMENTS_FORMAT */
	LIMIT_SIGNALLER,	/* how often a thread that ended waits of other processes, in memory that they share, was busy: LIMIT_RESTS_FORMAT */
	LIMIT_END,	/* a process at a pipe's other end, or a helper of process tid: what it does, by looks: limit_end_text() */
	LIMIT_HELD_BACK,	/* Nagle's algorithm delays ends of answers that the process sends from this address: LIMIT_LOOKS_FORMAT */
	LIMIT_THREADS_DO,	/* what the threads of this server (MariaDB, MySQL) were seen to do: LIMIT_THREADS_DO_FORMAT */
	LIMIT_BUSY,	/* how much of all CPUs' time was used meanwhile, by anybody, where not the whole machine is recorded: LIMIT_BUSY_FORMAT */
	LIMIT_LOCKED,	/* who had the file lock for which the process waited, by looks: limit_locked_text() */
	LIMIT_KIND_COUNT
};

/* connections to this address, all connections that the process made, its clients */
#define LIMIT_POOL_FORMAT "%u of %u connections to %s, for %u from clients"
#define LIMIT_POOL_WAITING ", of which %u wait"	/* appended if known and not 0 */

#define LIMIT_CONNECT_FORMAT "%" PRIu64 " connections to %s: %s"

/* Followed by the peer, in the form of a socket's name. */
#define LIMIT_LOSS_FORMAT "%" PRIu64 " segments sent again: "

#define LIMIT_UNANSWERED_FORMAT "%" PRIu32 " connections, the longest for %" PRIu64 " ns"

/*
 * Before the text of a LIMIT_BACKLOG or LIMIT_OWED that was looked at several times: at how many there was one. The
 * connections then are the most, the clients the median of these.
 */
#define LIMIT_LOOKS_FORMAT "%" PRIu32 " of %" PRIu32 " looks: "
/* The same with how many connections to the peer were owed an answer, of all, summed over all looks. */
#define LIMIT_ASKED_FORMAT "%" PRIu32 " of %" PRIu32 " looks, %" PRIu32 " of %" PRIu32 " asked: "

/* Followed by the address: ":8080", "/run/app.sock". */
#define LIMIT_BACKLOG_FORMAT "%" PRIu32 " connections wait at "

/* Followed by the address: ":8125". */
#define LIMIT_DROPPED_FORMAT "%" PRIu32 " datagrams dropped at "

/* Followed by the address and its process: "127.0.0.1:8080 (nginx)". */
#define LIMIT_FULL_FORMAT "%" PRIu32 " connections in a queue for %" PRIu32 " at "

/* Followed by their peer, "127.0.0.1:8081 (python3)", or "nobody" if there are no connections. A service may ask itself. */
#define LIMIT_ITSELF "itself"
#define LIMIT_OWED_FORMAT "%" PRIu32 " clients wait, %" PRIu32 " connections to "

/* Followed by the address: ":8080". */
#define LIMIT_CYCLE_FORMAT "process %" PRIu32 " waits at "

/* Pages read or swapped in again, and the kernel's part of the process's CPU time meanwhile. */
#define LIMIT_REFAULTS_FORMAT "%" PRIu64 " pages a second, %" PRIu32 " percent in the kernel"

/* Thousandths of a CPU: of the process, and of the largest user of its control group, whose name follows. */
#define LIMIT_USED_FORMAT "%" PRIu32 " of itself, %" PRIu32 " of process %" PRIu32 " "

/* Followed by the address: "127.0.0.1:80". */
#define LIMIT_SILENT_FORMAT "nothing for %" PRIu64 " ns from "

#define LIMIT_RESTS_FORMAT "%" PRIu32 " of %" PRIu32 " looks"
/*
 * Appended if there were any: looks at which it ran one command, and had not read for long what others sent; at how many
 * of these the command was of one program, and that program's process, followed by its name.
 */
#define LIMIT_RESTS_HELD ", %" PRIu32 " in a command"
#define LIMIT_RESTS_COMMANDER ", %" PRIu32 " of %" PRIu32 " "

/*
 * Looks at which sessions of that server waited for locks, all looks, at how many of the former one of a program was idle
 * in a transaction, and that program's process; followed by its name. 0 and "": no session was.
 */
#define LIMIT_BLOCKED_FORMAT "%" PRIu32 " of %" PRIu32 " looks, %" PRIu32 " of these %" PRIu32 " "

/* Thousandths of a CPU, its processes; followed by its name. */
#define LIMIT_OTHERS_FORMAT "%" PRIu32 " permille by %" PRIu32 " "

/* Looks; those at which a thread was on a CPU or queued for one, and of the others those with one at a disk. */
#define LIMIT_THREADS_DO_FORMAT "%" PRIu32 " looks, %" PRIu32 " ran, %" PRIu32 " at a disk"

#define LIMIT_BUSY_FORMAT "%" PRIu32 " permille"

/* How many; followed by the name of the first. */
#define LIMIT_WORKERS_FORMAT "%" PRIu32 " "

/* Over all looks; those on a CPU or queued for one, those at a disk. */
#define LIMIT_STATEMENTS_FORMAT "%" PRIu32 " seen, %" PRIu32 " ran, %" PRIu32 " at a disk, %" PRIu32 " flush"

#define LIMIT_FILES_FORMAT "%" PRIu64 " of %" PRIu64 " descriptors"

/* TCP's delayed acknowledgement takes at least 40 ms (TCP_DELACK_MIN; 50 ms with a slow clock). */
#define DELAYED_ACK_NS 40000000ULL
#define DELAYED_ACK_SLOT 25	/* histogram slot, log2: 34 to 67 ms */
#define DELAYED_ACKS_MIN 10	/* waits */

struct profile_limit {
	uint8_t kind;	/* enum profile_limit_kind */
	uint32_t pid, tid;	/* tid 0: the whole process */
	const char *text;	/* owned by the profile; not escaped */
};

/* Does nothing for an unknown kind, or if there are too many already. */
void profile_add_limit(struct profile *p, enum profile_limit_kind kind, uint32_t pid, uint32_t tid, const char *text);
/* The limit of the process, or of the thread if tid is not 0. NULL: none. */
const struct profile_limit *profile_find_limit(const struct profile *p, enum profile_limit_kind kind, uint32_t pid,
					       uint32_t tid);

/* A few of the limit may be free: usage fluctuates. */
static inline bool limit_is_used_up(uint64_t used, uint64_t limit)
{
	return used + limit / 50 >= limit;
}

struct limit_pool {
	uint32_t cnt, made, from_clients;
	uint32_t waiting;	/* clients of these that wait for an answer; 0: unknown */
	char there[64];		/* "10.0.0.5:5432", "[::1]:80", "/run/app.sock"; not escaped */
};
/* LIMIT_GONE of a file lock: who has the file open at the end of the recording; 0: unknown. ret_name may be NULL. */
bool limit_gone_is_file(const struct profile_limit *l);
uint32_t limit_gone_keeper(const struct profile_limit *l, const char **ret_name);
/* Holder of the file lock that a thread of the process waits for at the end of the recording. 0: unknown. */
uint32_t profile_file_lock_holder(const struct profile *p, uint32_t pid);
/* The holder's name, not escaped; NULL: unknown. */
const char *profile_file_lock_holder_name(const struct profile *p, uint32_t pid);
/* Child of that holder that the holder waits for, and that waits for a file lock itself. 0: none. */
uint32_t profile_file_lock_holder_child(const struct profile *p, uint32_t pid);
/* Does it wait for a file lock at the end of the recording? */
bool wait_is_for_file_lock(const struct profile *p, const struct wait *w);

/* Holder of the monitor that the thread waits for at the end of the recording. 0: unknown. */
uint32_t profile_monitor_holder(const struct profile *p, uint32_t pid, uint32_t tid);
/* Does it wait for a Java monitor? */
bool wait_is_for_monitor(const struct profile *p, const struct wait *w);

/* False: not a valid LIMIT_POOL. */
bool limit_pool_read(const struct profile_limit *l, struct limit_pool *ret);

enum connect_failure {
	CONNECT_REFUSED,
	CONNECT_RESET,
	CONNECT_UNANSWERED,
	CONNECT_UNREACHABLE,
	CONNECT_NO_PORT,	/* no local port was free */
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
uint64_t profile_failed_connects(const struct profile *p, uint32_t pid, uint32_t tid);	/* tid 0: all threads */

/* At how many of how many looks it was so; .all 0: known of the recording's end only. */
struct limit_looks {
	uint32_t seen, all;
	uint32_t asked, connections;	/* of LIMIT_ASKED_FORMAT; 0: unknown */
};
struct limit_looks limit_looks_read(const struct profile_limit *l);
/* The server's address; looks at connections of its clients. */
const char *limit_held_back_read(const struct profile_limit *l, struct limit_looks *ret);

struct limit_blocked {
	uint32_t seen, all, held, holder;
	const char *name;	/* points into the limit; not escaped */
};
bool limit_blocked_read(const struct profile_limit *l, struct limit_blocked *ret);

struct limit_others {
	uint32_t permille, processes, pid;
	const char *name;	/* points into the limit; not escaped */
};
/* False: no other program used much. */
bool profile_cpu_others(const struct profile *p, struct limit_others *ret);

/* Thousandths of all CPUs' time; -1: unknown. */
int profile_cpus_busy(const struct profile *p);

struct limit_statements {
	uint32_t seen, ran, read, flushed;	/* flushed: made what was written safe, or waited for that */
};
/* Of the only server that was looked at; false: none, or several. */
bool profile_statements(const struct profile *p, struct limit_statements *ret);

/* The same of the only server with threads. */
struct limit_threads_do {
	uint32_t looks, ran, read;
};
bool profile_threads_do(const struct profile *p, struct limit_threads_do *ret);

/* The number of children, and the name of the first. 0: not a LIMIT_WORKERS. */
uint32_t limit_workers_read(const struct profile_limit *l, const char **ret_name);

/* The number of connections or datagrams, and the address in *ret_where. 0: neither LIMIT_BACKLOG nor LIMIT_DROPPED. */
uint32_t limit_backlog_read(const struct profile_limit *l, const char **ret_where);

/* The number of waiting connections, and the address in *ret_there. 0: not a LIMIT_FULL. */
uint32_t limit_full_read(const struct profile_limit *l, uint32_t *ret_room, const char **ret_there);

/* The number of clients, *ret_made connections and their peer (NULL: none are made). 0: not a LIMIT_OWED. */
uint32_t limit_owed_read(const struct profile_limit *l, uint32_t *ret_made, const char **ret_there);

/*
 * The upstream that an event loop has asked: if clients wait for answers, from the process's connections, else from its
 * epoll set. "127.0.0.1:8081 (python3)"; NULL: unknown, or not such a wait.
 */
const char *profile_upstream(const struct profile *p, const struct wait *w);

/* The address where process *ret_pid waits. NULL: not a LIMIT_CYCLE. */
const char *limit_cycle_read(const struct profile_limit *l, uint32_t *ret_pid);

enum child_does {
	CHILD_GONE,	/* it has ended */
	CHILD_RUNS,
	CHILD_DISK,	/* uninterruptible sleep */
	CHILD_STOPPED,
	CHILD_WAITS,	/* for its own children: none or several are known */
	CHILD_SLEEPS,
	CHILD_LOCK,	/* in a futex */
	CHILD_PIPE,
	CHILD_PIPE_FULL,
	/* whose other end the process has that waits for the child */
	CHILD_OWN_PIPE,
	CHILD_OWN_PIPE_FULL,
	CHILD_FILE_LOCK,
	CHILD_TERMINAL,
	CHILD_NETWORK,	/* on its only outgoing connection */
	CHILD_EVENTS,	/* on several sockets, or on clients */
	CHILD_OTHER,
	CHILD_FIFO,	/* until a named pipe's other end is opened */
	CHILD_SEVERAL,	/* one of several children that the process waits for */
	CHILD_DOES_COUNT
};

struct limit_child {
	uint32_t pid;
	enum child_does does;
	uint64_t silent_ns;	/* since the last data from the peer; 0: unknown */
	const char *there;	/* the peer, "127.0.0.1:80"; NULL: unknown */
	const char *name;	/* not escaped */
};
char *limit_child_text(const struct limit_child *c);
/* False: not a LIMIT_CHILD. there: a buffer of `size` bytes; ret->there points into it or is NULL. */
bool limit_child_read(const struct profile_limit *l, struct limit_child *ret, char *there, size_t size);
/* Nothing came from the child's peer for more than half of the profile's window. */
bool limit_child_is_unanswered(const struct profile *p, const struct limit_child *c);

struct limit_end {
	uint32_t busy, seen, looks;	/* looks at which it was not at its standard input; at which it did this; all */
	enum child_does does;
	uint32_t next;	/* the process that it waits for, which may have a LIMIT_END, too; 0: unknown */
	const char *there, *name;	/* the peer, "127.0.0.1:80", NULL: unknown; not escaped */
};
char *limit_end_text(const struct limit_end *e);
/* False: not a LIMIT_END. there: a buffer of `size` bytes; ret->there points into it or is NULL. */
bool limit_end_read(const struct profile_limit *l, struct limit_end *ret, char *there, size_t size);
/* Of the process, whoever asks it. NULL: none. */
const struct profile_limit *profile_end(const struct profile *p, uint32_t pid);
struct limit_locked {
	uint32_t held, seen;	/* looks at which the holder had it, of those at which anyone waited, or of all for a database */
	uint32_t holder, holders;	/* the last process, and about how many of its name had it in turn */
	uint32_t doer;	/* the holder, or its child for which it waits; 0: not known */
	enum child_does does;	/* what that one did at most of them */
	bool is_sqlite;
	/* not escaped; "" if not known. where: the peer, or the path that it opens; path: of what is locked */
	const char *name, *doer_name, *where, *path;
};
char *limit_locked_text(const struct limit_locked *l);
/* False: not a valid LIMIT_LOCKED. The names are in *ret_buffer, for g_strfreev(). */
bool limit_locked_read(const struct profile_limit *l, struct limit_locked *ret, char ***ret_buffer);

struct limit_fails {
	uint64_t cnt, ns;	/* how often, in how long a time */
	uint32_t error;		/* a positive errno */
	char call[16];		/* "open" */
	const char *name;	/* the file, as it was passed, or its last part; not escaped */
};
char *limit_fails_text(const struct limit_fails *f);
/* False: not a LIMIT_FAILS. ret->name points into l. */
bool limit_fails_read(const struct profile_limit *l, struct limit_fails *ret);
/* What only an administrator can mend, as a full disk: a program that looks for something may do so for ever. */
bool limit_fails_is_hard(const struct limit_fails *f);
/* It failed about as often as something happened that often in a second, as what is tried between two pauses does. */
bool limit_fails_is_as_often(const struct limit_fails *f, double per_second);

struct limit_used {
	uint32_t own_permille, other_permille, other_pid;	/* thousandths of a CPU; id of the other process */
	const char *name;	/* of the other process; not escaped */
};
bool limit_used_read(const struct profile_limit *l, struct limit_used *ret);
/* Pages a second, and *ret_kernel_pct. 0: not a LIMIT_REFAULTS. */
uint64_t limit_refaults_read(const struct profile_limit *l, uint32_t *ret_kernel_pct);

/* How long nothing has come, and *ret_there. 0: not a LIMIT_SILENT. */
uint64_t limit_silent_read(const struct profile_limit *l, const char **ret_there);
/*
 * Who has sent nothing for half of the time and more since the process sent it something, of whose first thread's event
 * loop this is a wait; NULL: nobody is known.
 */
const char *profile_silent_peer(const struct profile *p, const struct wait *w);

/* Whom a wait is for that was not over as the recording ended, or a loop's: a process, or a lock's holder. 0: unknown. */
uint32_t profile_awaited(const struct profile *p, const struct wait *w);
/* The same, if that is stopped; NULL: it is not. */
const struct profile_limit *profile_stopped(const struct profile *p, const struct wait *w);
/* The process that is stopped. */
static inline uint32_t limit_stopped_pid(const struct profile_limit *l)
{
	return l->tid ? l->tid : l->pid;
}
/*
 * A wait for something without a holder (a semaphore, a condition) in memory that processes share: what ends it may be
 * known of none of them.
 */
bool wait_is_for_signal_of_others(const struct profile *p, const struct wait *w);
/* Was the thread, which ended such waits, mostly busy when it was looked at? */
bool profile_signaller_works(const struct profile *p, uint32_t pid, uint32_t tid);

/* Has all data in memory, so that it answers at once: "redis-server", or "127.0.0.1:6379 (redis-server)"; NULL: nobody. */
bool peer_is_memory_server(const char *peer);
/* What such a server did when it was looked at: nearly always nothing, mostly something, or now and then. */
enum server_does { SERVER_UNKNOWN, SERVER_RESTS, SERVER_WORKS, SERVER_WORKS_AT_TIMES };
enum server_does profile_server_does(const struct profile *p, uint32_t pid);

struct server_held {
	uint32_t seen, all;	/* looks */
	uint32_t of_one, pid;	/* looks at which it was the command of that process, or of others of its name; 0: unknown */
	const char *name;	/* points into the limit; not escaped */
};
/* At a good part of the looks such a server ran a command that took long, and others waited for that. */
bool profile_server_held(const struct profile *p, uint32_t pid, struct server_held *ret);

/* The number of retransmitted segments, and *ret_there. 0: not a LIMIT_LOSS. */
uint64_t limit_loss_read(const struct profile_limit *l, const char **ret_there);

/* The number of connections, and the age of the oldest request in *ret_ns. 0: not a LIMIT_UNANSWERED. */
uint32_t limit_unanswered_read(const struct profile_limit *l, uint64_t *ret_ns);

/* As in recordings: a line "KIND PID TID TEXT" each, without limits whose text has a newline. For g_free(). */
char *profile_limits_text(const struct profile *p);
/* Ignores lines that are no limits. */
void profile_read_limits(struct profile *p, const char *text);

#endif
