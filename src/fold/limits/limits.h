/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_LIMITS_LIMITS_H
#define FOLD_LIMITS_LIMITS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/proc/net_table.h"
#include "fold/targets/sock_peers.h"
#include "profile/limits.h"
#include "profile/profile.h"

/*
 * Looks for outside constraints on threads at the end of the window: CPU affinity, cgroup CPU quota, disk and memory
 * limits, peers that are stopped or have few connections. Only for processes that still exist and whose waits justify
 * a look.
 */
#define LIMITS_PROCESSES_MAX 32	/* limit for reading control groups: those that waited longest */
#define LIMITS_COUNTED_MAX 128	/* limit for counting descriptors and tasks */
#define LIMITS_THREADS_MAX 200	/* limit for checking allowed CPUs */
#define LIMITS_PEERS_MAX 1024
#define LIMITS_BACKLOGS_MAX 64	/* limit for checking accept queues */
#define LIMITS_POOLS_MAX 8	/* limit for counting connections: those awaited longest */

struct group_limits;
struct net_looks;

/*
 * proc_dir: "/proc" except in tests; its self/mounts has the cgroup mounts. groups: notes of processes that have
 * ended since. looks: of the same, at clients and accept queues.
 */
void limits_look(struct profile *p, struct group_limits *groups, struct net_looks *looks, const char *proc_dir);
/* The set of recorded process ids. Free with g_hash_table_unref(). */
GHashTable *limits_pids_new(const struct profile *p);

/* Finds the holders of Java monitors that threads waited for during much of the window: LIMIT_MONITOR. */
void monitors_look(struct profile *p, const char *proc_dir);

#define SEMAPHORES_MAX 8	/* semaphores to check */

/*
 * For named semaphores that threads waited for during the whole window: does any other process have them mapped? Adds
 * LIMIT_SEMAPHORE for each.
 */
void semaphores_look(struct profile *p, const char *proc_dir);

#define STOPPED_MAX 32	/* processes that are told to be stopped */
#define SIGNALLERS_MAX 8

/*
 * For waits that were not over at the window's end: is the process stopped that should end them? The peer, or who does
 * its work (the children that accept at its address); of an event loop only if an answer is owed. `ends` may be NULL.
 * Adds LIMIT_STOPPED.
 */
void stopped_peers_look(struct profile *p, struct net_tables *nets, struct sock_peers *ends, const char *proc_dir);
/* The same for holders of locks, and for who shares the memory of what is waited for. After what finds the holders. */
void stopped_holders_look(struct profile *p, const char *proc_dir);
/* Threads that ended waits of other processes in memory that they share: what they do as the window ends. LIMIT_SIGNALLER. */
void signallers_look(struct profile *p, const char *proc_dir);

#define SESSIONS_MAX 16	/* waits whose peer is looked at */

/* For threads that wait at the window's end for an answer of a session of PostgreSQL: what that does. LIMIT_SESSION. */
void sessions_look(struct profile *p, const char *proc_dir);

#define PATHS_MAX 16	/* waits whose path is looked up */

/*
 * For threads that wait at the window's end for the other end of a named pipe to be opened, or for the server of a file
 * system (FUSE, NFS, ..): makes the path that they passed their object.
 */
void paths_look(struct profile *p, const char *proc_dir);
/* The path that a thread passed to the system call that it is in. NULL: it is in none with a path. */
char *path_of_call(const char *proc_dir, uint32_t pid, uint32_t tid);

#define CYCLES_PAIRS_MAX 64	/* pairs of waiting and awaited process to check */

/*
 * Process A waits, at the window's end, for an answer of process B, and a connection from B waits to be accepted by
 * A: both may wait for each other. Adds LIMIT_CYCLE to B.
 */
void cycle_look(struct profile *p, struct net_tables *nets, const char *proc_dir);

#define FULL_QUEUES_MAX 64	/* addresses to check */

/*
 * For TCP servers on this machine that threads waited for: is their accept queue full? Then the kernel drops new
 * connections. Adds LIMIT_FULL for each.
 */
void full_queue_look(struct profile *p, struct net_tables *nets, struct sock_peers *peers, const char *proc_dir);

#define NAGLE_PROCESSES_MAX 16	/* processes whose sockets are checked */

/*
 * For processes whose waits are repeatedly as long as TCP's delayed acknowledgement: does one of their connections to
 * that peer hold back a small write? Adds LIMIT_NAGLE.
 */
void nagle_look(struct profile *p, struct net_tables *nets, struct sock_peers *peers, const char *proc_dir);

/*
 * Looks at clients and accept queues, spread over the recording: one each second, later each eighth of the time so far.
 * Of chosen processes in our network namespace; of the others there is only the look at the end.
 */
struct net_looks *net_looks_new(const char *proc_dir);
void net_looks_free(struct net_looks *l);	/* NULL is fine */
bool net_looks_is_due(const struct net_looks *l, uint64_t elapsed_ns);
/* pids: uint32_t, whose clients are looked at; NULL: only accept queues, of the whole machine. */
void net_looks_look(struct net_looks *l, const GArray *pids, uint64_t elapsed_ns);

#define OWED_PROCESSES_MAX 4	/* processes whose connections are checked at the end */
#define OWED_AGE_NS 10000000	/* a client that asked more recently does not count as waiting */
#define OWED_MIN 2	/* clients: a single one may have asked just now */

#define OWED_WAITS_MIN 10	/* event loop waits, in a recording of the whole machine */

/*
 * The last look. For processes with event loops: how many clients wait for an answer, and how many outgoing connections
 * the process has to the peer that it mostly asks. Adds LIMIT_OWED if clients wait, but not if they did at few looks of
 * many. Only connections in our network namespace are known.
 */
void owed_look(struct profile *p, struct net_looks *looks, struct sock_peers *peers);

/*
 * Who has the file locks, and SQLite's, that others wait for: a look each half second, later each eighth of the time so
 * far. Adds LIMIT_LOCKED for those that recorded threads wait for.
 */
struct file_looks;

struct file_looks *file_looks_new(const char *proc_dir);
void file_looks_free(struct file_looks *l);	/* NULL is fine */
void file_looks_look(struct file_looks *l, uint64_t elapsed_ns);	/* if it is time */
void file_looks_put(struct file_looks *l, struct profile *p);
/*
 * Who shares the open file of a file lock that was taken by a process that has ended; ino 0: of any file. 0: nobody was
 * found. Reads descriptors of all processes.
 */
uint32_t file_lock_keeper(const char *proc_dir, uint32_t taker, uint64_t ino);

/* Limits of control groups, versions 1 and 2, from their files. */

#define GROUP_NOTES_MAX 64	/* limit of noted processes */

/* proc_dir: "/proc" except in tests. */
struct group_limits *group_limits_new(const char *proc_dir);
void group_limits_free(struct group_limits *g);	/* NULL is fine */
/* Notes the limits of a process that may end before the window. Others that end count as the first's children. */
void group_limits_note(struct group_limits *g, uint32_t pid);
void group_limits_note_tree(struct group_limits *g, uint32_t pid);	/* also notes all descendants */

/* Adds the limit of a process's group, or of the nearest one around it: LIMIT_QUOTA, _WEIGHT, _DISK, .. */
void group_limits_look(struct group_limits *g, struct profile *p, enum profile_limit_kind kind, uint32_t pid);
/*
 * The directory of the limiting group, with its description appended to `text`. NULL: no limit. Free with g_free().
 * Not for LIMIT_FROZEN.
 */
char *group_limits_find(struct group_limits *g, enum profile_limit_kind kind, uint32_t pid, GString *text);
/* Pages of a group and its inner groups that were evicted and read or swapped in again, since the group began. */
uint64_t group_limits_refaults(const char *group);

/*
 * Maps thread ids of other pid namespaces: a lock's word has the holder's id in the namespace of its users. Users
 * write these words, and lookups read /proc, so readings are limited, however many words there are.
 */

#define FOREIGN_TASKS_MAX 4096		/* limit of threads of a process */
#define FOREIGN_PROCESSES_MAX 4096	/* limit of cached processes; then all are read again */
#define FOREIGN_PAUSE_US 100000 /* pause between readings of a process; doubles after each one, up to the maximum */
#define FOREIGN_PAUSE_MAX_US 5000000

/* Is the process in our pid namespace, so that its thread ids equal ours? */
bool foreign_threads_are_ours(const char *proc_dir, uint32_t pid);

struct foreign_threads *foreign_threads_new(const char *proc_dir);
void foreign_threads_free(struct foreign_threads *f);

/*
 * Our id of the thread that process `pid`, started at proc_start_ns, calls `tid`. 0: none, or it started after the
 * last reading of the process.
 */
uint32_t foreign_threads_find(struct foreign_threads *f, uint32_t pid, uint64_t proc_start_ns, uint32_t tid);

#define POOL_SOCKETS_MAX 4096	/* limit; a process with more descriptors is skipped */

/*
 * For a process that others wait for: counts its connections from clients, and those it made to its most frequent
 * peer, over TCP and over Unix sockets in our network namespace. Adds LIMIT_POOL if it has more clients. peers NULL:
 * the number of waiting clients is unknown.
 */
void pool_look(struct profile *p, struct net_tables *nets, struct sock_peers *peers, const char *proc_dir,
	       uint32_t pid);

/*
 * The inodes of a process's sockets (uint64_t *, a set). NULL: none, too many, or the process is gone. Free with
 * g_hash_table_unref().
 */
GHashTable *pool_sockets_new(const char *proc_dir, uint32_t pid);
/* By port: is there a listener? Then connections at that port are incoming. Free with g_free(). */
bool *pool_served_ports_new(const GArray *sockets);

#define BACKLOG_MIN 2	/* connections: a single one may have come just now */

/*
 * The last look. Do or did connections wait to be accepted by the process, because all its workers are busy? Adds
 * LIMIT_BACKLOG for the socket with the longest queue, but not if there was one at a single look of many.
 */
void backlog_look(struct profile *p, const struct net_looks *looks, struct net_tables *nets, const char *proc_dir,
		  uint32_t pid);

/* What a process does, or the child that it waits for, or that one's: pid is whose doing it is. 0: it has ended. */
struct process_doing {
	uint32_t pid;
	enum child_does does;
};
struct process_doing process_doing_of(const char *proc_dir, uint32_t pid);
/* "127.0.0.1:80", or the path of a named pipe that it opens. NULL: not known, or neither. */
char *process_doing_where(const char *proc_dir, const struct process_doing *d);

/* Only child of a process that waits for it to end, if the child waits for a file lock. 0: there is none. */
uint32_t child_at_file_lock(const char *proc_dir, uint32_t pid);
/* The children of a process's first thread, uint32_t. */
GArray *children_of(const char *proc_dir, uint32_t pid);
/* The process, its children, and theirs; of more than `max` some. */
GArray *processes_below(const char *proc_dir, uint32_t pid, guint max);

/*
 * Peers that a command's processes have sent something by TCP, and that sent nothing since.  The processes are looked
 * at now and then, since they end with the recording.  Only connections in our own network namespace are known.
 */
struct silent_peers;

struct silent_peers *silent_peers_new(const char *proc_dir);
void silent_peers_free(struct silent_peers *s);	/* NULL is fine */
/* Looks at the process and its descendants, if it is time. */
void silent_peers_look(struct silent_peers *s, uint32_t pid, uint64_t elapsed_ns);
/* Adds LIMIT_SILENT for each process that had such a peer at the last look. */
void silent_peers_put(const struct silent_peers *s, struct profile *p);

/*
 * What the unrecorded child of a waiting process does at the end of the recording: the descendant that itself waits
 * for no child. Among several children, those that wait for another's output are excluded. If several remain, only
 * their existence is reported. Adds LIMIT_CHILD. peers may be NULL.
 */
#define CHILDREN_LOOKS_MAX 16	/* processes whose children are checked */

void children_look(struct profile *p, struct net_tables *nets, struct sock_peers *peers, const char *proc_dir);

/* Children of processes that hardly ran, as masters do, which are not in the recording: adds LIMIT_WORKERS. */
void workers_look(struct profile *p, const char *proc_dir);

/* The recorder's parents, up to the first process, of those that are recorded: LIMIT_RECORDER. */
void starters_look(struct profile *p, const char *proc_dir);

/*
 * A group at its memory limit may hold pages that nobody misses, such as caches. So for processes whose group has
 * reached its limit (LIMIT_MEMORY), two looks, REFAULTS_PAUSE_US apart, show whether evicted pages come back, and how
 * much of the process's CPU time is in the kernel. Adds LIMIT_REFAULTS.
 */
#define REFAULTS_PAUSE_US 200000
#define REFAULTS_PAUSES 5	/* max pauses, until the process has run for long enough, if pages come back */
#define REFAULTS_MIN 50	/* pages a second */

void refaults_look(struct profile *p, struct group_limits *groups, const char *proc_dir);

/* Processes of one name, and what they took of something. */
struct program {
	uint64_t sum, most;
	uint32_t pid, cnt;	/* the one that took most; all of them */
};
GHashTable *programs_new(void);	/* name -> struct program; free with g_hash_table_unref() */
void programs_add(GHashTable *programs, const char *name, uint32_t pid, uint64_t value);
/* The one with the largest sum; NULL: none has any. */
const struct program *programs_largest(GHashTable *programs, const char **ret_name);

/*
 * Who uses the CPU quota of a control group, by the CPU time of its processes (with children that they reaped) at the
 * window's begin and end. Recorded processes are one user, other processes of one name another.
 */
struct quota_users;

#define QUOTA_TARGETS_MAX 32	/* limit of processes whose groups are checked */
#define QUOTA_GROUPS_MAX 64	/* limit of groups with a quota */
#define QUOTA_MEMBERS_MAX 512

/* pids: uint32_t, the processes to be recorded; NULL: check none. Returns NULL if none has a quota. */
struct quota_users *quota_users_begin(const char *proc_dir, const GArray *pids);
/* Adds LIMIT_USED to processes with LIMIT_QUOTA if others use more of the quota, and frees q, which may be NULL. */
void quota_users_end(struct quota_users *q, struct profile *p);
void quota_users_free(struct quota_users *q);	/* NULL is fine */

/*
 * Which other processes used the CPUs meanwhile, by their CPU time as the window begins and ends: what began and ended
 * within it is not known.
 */
struct cpu_users;

#define CPU_USERS_PERMILLE 250	/* of a CPU: less keeps nobody from one for long */

struct cpu_users *cpu_users_begin(const char *proc_dir);
/* Adds LIMIT_OTHERS for the program that used most, and frees u, which may be NULL. */
void cpu_users_end(struct cpu_users *u, struct profile *p);
void cpu_users_free(struct cpu_users *u);	/* NULL is fine */

/*
 * Datagrams that the kernel dropped meanwhile, because nobody read them in time: a receiver that is too slow never
 * waits for any.  Counted in our own network namespace and those of the processes to be recorded.
 */
struct datagram_drops;

#define DROPS_NAMESPACES_MAX 8
#define DROPS_MIN 10	/* datagrams: a single burst may lose some */

/* pids: uint32_t; may be NULL. */
struct datagram_drops *datagram_drops_begin(const char *proc_dir, const GArray *pids);
/* Adds LIMIT_DROPPED to processes with such a socket, and frees d, which may be NULL. */
void datagram_drops_end(struct datagram_drops *d, struct profile *p);
void datagram_drops_free(struct datagram_drops *d);	/* NULL is fine */

#endif
