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
 * What held threads up from outside, as the window has just ended: CPUs that they may not use, their control group's
 * quota, disk and memory limits, peers that are stopped or have few connections.  Of processes that are still there, and only where the
 * profile's waits make it worth a look.
 */
#define LIMITS_PROCESSES_MAX 32	/* whose control groups are looked at: those that waited longest */
#define LIMITS_COUNTED_MAX 128	/* whose descriptors and tasks are counted */
#define LIMITS_THREADS_MAX 200	/* whose CPUs are */
#define LIMITS_PEERS_MAX 1024
#define LIMITS_BACKLOGS_MAX 64	/* processes whose listening sockets are looked at */
#define LIMITS_POOLS_MAX 8	/* processes whose connections are counted: those that are waited for longest */

struct group_limits;

/*
 * proc_dir: "/proc", but for tests; its self/mounts tells where control groups are.  groups: what was noted of processes
 * that have ended since.
 */
void limits_look(struct profile *p, struct group_limits *groups, const char *proc_dir);
/* The processes that are recorded, as a set of their numbers.  Free with g_hash_table_unref(). */
GHashTable *limits_pids_new(const struct profile *p);

/* Who has the monitors that threads of Java have waited for through much of the window, as it has just ended: LIMIT_MONITOR. */
void monitors_look(struct profile *p, const char *proc_dir);

#define SEMAPHORES_MAX 8	/* that are looked for */

/*
 * Of named semaphores for which threads have waited all through the window: whether a process has them mapped that is none
 * of those.  Adds LIMIT_SEMAPHORE to each.
 */
void semaphores_look(struct profile *p, const char *proc_dir);

#define FIFOS_MAX 16	/* waits whose path is asked for */

/* Of threads that wait, as the window ends, for somebody to open the other end of a named pipe: gives the wait that as object. */
void fifos_look(struct profile *p, const char *proc_dir);

#define CYCLES_PAIRS_MAX 64	/* processes and whom they wait for that are looked at */

/*
 * A thread waits for an answer of another process, as the window ends, of which a connection to the thread's own process
 * waits to be accepted: each may wait for the other.  Adds LIMIT_CYCLE to that process.
 */
void cycle_look(struct profile *p, struct net_tables *nets, const char *proc_dir);

#define FULL_QUEUES_MAX 64	/* addresses that are looked at */

/*
 * Of the TCP servers of this machine that threads have waited for: is the queue of connections full that they have not
 * accepted yet?  Then the kernel drops who else connects.  Adds LIMIT_FULL for each.
 */
void full_queue_look(struct profile *p, struct net_tables *nets, struct sock_peers *peers, const char *proc_dir);

#define NAGLE_PROCESSES_MAX 16	/* whose sockets are looked at */

/*
 * Of processes that wait again and again for as long as TCP delays an acknowledgement: does a connection of theirs to
 * there hold back a small write meanwhile?  Adds LIMIT_NAGLE then.
 */
void nagle_look(struct profile *p, struct net_tables *nets, struct sock_peers *peers, const char *proc_dir);

#define OWED_PROCESSES_MAX 4	/* whose connections are looked at */
#define OWED_AGE_NS 10000000	/* who has asked just now does not wait yet */
#define OWED_MIN 2	/* clients: a single one may have asked just now */

#define OWED_WAITS_MIN 10	/* for events, in a recording of the whole machine */

/*
 * Of processes with event loops: how many of their clients wait for an answer, and how many connections go where most do
 * that the process has made, if it has made any.  Adds LIMIT_OWED where clients wait.  Connections in our network namespace alone are known.
 */
void owed_look(struct profile *p, struct sock_peers *peers, const char *proc_dir);

/* Limits of control groups, of both versions, as their files say. */

#define GROUP_NOTES_MAX 64	/* processes */

/* proc_dir: "/proc", but for tests. */
struct group_limits *group_limits_new(const char *proc_dir);
void group_limits_free(struct group_limits *g);	/* NULL is fine */
/* Of a process that may end before the window does.  Those that were not noted, and end, are taken for children of the first. */
void group_limits_note(struct group_limits *g, uint32_t pid);
void group_limits_note_tree(struct group_limits *g, uint32_t pid);	/* and its children, and theirs */

/* Adds what the group of a process, or the nearest one around it, is limited to: LIMIT_QUOTA, _DISK, _MEMORY or _FROZEN. */
void group_limits_look(struct group_limits *g, struct profile *p, enum profile_limit_kind kind, uint32_t pid);
/*
 * The directory of the group that limits it, and its words appended to text; NULL: none does.  Free with g_free().  Not of
 * LIMIT_FROZEN.
 */
char *group_limits_find(struct group_limits *g, enum profile_limit_kind kind, uint32_t pid, GString *text);
/* Pages that were thrown out of the memory of a group, and those within, and read or swapped in again: since it began. */
uint64_t group_limits_refaults(const char *group);

/*
 * Threads by what their own processes call them: what a lock holds is a thread's number in the pid namespace of those
 * that use it. The words are theirs to write, and the answers take readings of /proc; so those are few, however many
 * words there are.
 */

#define FOREIGN_TASKS_MAX 4096		/* of a process, that are looked at */
#define FOREIGN_PROCESSES_MAX 4096	/* that are remembered; beyond that all are looked at again */
#define FOREIGN_PAUSE_US 100000 /* between two readings of a process at first; twice that after each one, up to */
#define FOREIGN_PAUSE_MAX_US 5000000

/* Is the process in our pid namespace, so that its threads have there the numbers that they have here? */
bool foreign_threads_are_ours(const char *proc_dir, uint32_t pid);

struct foreign_threads *foreign_threads_new(const char *proc_dir);
void foreign_threads_free(struct foreign_threads *f);

/*
 * The thread of process `pid`, which began at proc_start_ns, that calls itself `tid`, as we number it.  0: there is
 * none, or it began so lately that the process has not been looked at since.
 */
uint32_t foreign_threads_find(struct foreign_threads *f, uint32_t pid, uint64_t proc_start_ns, uint32_t tid);

#define POOL_SOCKETS_MAX 4096	/* of a process; one with more descriptors is not looked at */

/*
 * Of a process that others wait for: how many connections it has from clients, and how many it made itself and where
 * most of these go; by TCP, and by Unix sockets of our own network namespace.  Adds LIMIT_POOL where the clients are
 * more, else nothing.  peers NULL: how many clients wait is not known.
 */
void pool_look(struct profile *p, struct net_tables *nets, struct sock_peers *peers, const char *proc_dir,
	       uint32_t pid);

/*
 * Inodes of the sockets that a process has (uint64_t *, a set); NULL: it has none, too many, or is gone.  Free with
 * g_hash_table_unref().
 */
GHashTable *pool_sockets_new(const char *proc_dir, uint32_t pid);
/* By port: somebody listens there, so who has a connection there did not make it.  Free with g_free(). */
bool *pool_served_ports_new(const GArray *sockets);

#define BACKLOG_MIN 2	/* connections: a single one may have come just now */

/*
 * Do connections wait to be accepted by that process, as its workers are all busy?  Adds LIMIT_BACKLOG for the socket
 * at which most wait, else nothing.
 */
void backlog_look(struct profile *p, struct net_tables *nets, const char *proc_dir, uint32_t pid);

/* The children of a process's first thread, uint32_t; to be freed by g_array_unref(). */
GArray *children_of(const char *proc_dir, uint32_t pid);

/*
 * What the child does, as the recording ends, that a process waits for and that was not recorded: the one below which
 * no other one is waited for.  Of several children that which does not wait for another one's output; where that leaves
 * several only that they are there.  Adds LIMIT_CHILD.  peers: NULL is fine.
 */
#define CHILDREN_LOOKS_MAX 16	/* processes whose children are looked for */

void children_look(struct profile *p, struct net_tables *nets, struct sock_peers *peers, const char *proc_dir);

/*
 * A group that is full of memory may hold pages that nobody misses, as caches do.  So of processes whose group has
 * reached its limit (LIMIT_MEMORY) two looks, REFAULTS_PAUSE_US apart, tell whether pages come back that the limit has
 * thrown out, and how much of what the process ran meanwhile was in the kernel.  Adds LIMIT_REFAULTS.
 */
#define REFAULTS_PAUSE_US 200000
#define REFAULTS_PAUSES 5	/* at most: until the process has run for long enough, where pages come back */
#define REFAULTS_MIN 50	/* a second */

void refaults_look(struct profile *p, struct group_limits *groups, const char *proc_dir);

/*
 * Who uses the CPU quota of a control group: by the CPU time of its processes as the window begins and ends, with that of
 * children they have waited for.  Processes that are recorded count as one side, others of one name as another.
 */
struct quota_users;

#define QUOTA_TARGETS_MAX 32	/* processes whose groups are looked at */
#define QUOTA_GROUPS_MAX 64	/* within a group that has a quota */
#define QUOTA_MEMBERS_MAX 512

/* pids: uint32_t, of who is to be recorded; NULL: nobody is looked at.  NULL: none has a quota. */
struct quota_users *quota_users_begin(const char *proc_dir, const GArray *pids);
/* Adds LIMIT_USED to processes that have LIMIT_QUOTA, where others use more of it, and frees; NULL is fine. */
void quota_users_end(struct quota_users *q, struct profile *p);
void quota_users_free(struct quota_users *q);	/* NULL is fine */

#endif
