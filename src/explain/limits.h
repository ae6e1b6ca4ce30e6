/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_LIMITS_H
#define EXPLAIN_LIMITS_H

#include "explain/findings.h"

struct task_findings;

/*
 * What holds a finding up from outside.  Each kind has X_find(), which fills in the limit or returns false;
 * docs/reasons.md, "Findings", has the rules.  X_append() and the like write parts of the sentence.
 */
void limits_find(struct findings *f);

/*
 * Processes that wait for one another by sockets: one waits for an answer, and the other, which owes it, has asked
 * back on a connection that the first does not accept meanwhile.
 */
bool cycle_find(const struct findings *f, const struct finding *row, struct finding_limit *ret);
/* ", of which a connection waits to be accepted here, at :8080" */
void cycle_append(GString *s, const struct finding *row);
/* "; billing/4711 waits for that connection in address (billing.py:2)", if recorded */
void cycle_append_evidence(GString *s, const struct findings *f, const struct finding *row);
const char *cycle_advice(const struct finding *row);

/* It asks an address where its own process accepts connections: with all its workers waiting so nobody answers. */
bool self_is_asked(const struct findings *f, const struct finding *row);
/* "127.0.0.1:8018 (itself)": most of the connections that the process has made go there; NULL: not, or unknown. */
const char *self_is_mostly_asked(const struct profile *p, uint32_t pid);
#define SELF_SAYS "waits for itself"
#define SELF_ADVICE                                                                                                    \
	"A request that asks its own service holds a worker while it needs another one: with all busy so nobody is left to "     \
	"answer, and only a time limit ends that. Call what answers there directly, or have workers (and a port) of its own "   \
	"for it; more workers only move that limit."

/* "; functions that were compiled at run time have no names here: `mono --jitmap` gives them" */
void nameless_append_evidence(GString *s, const struct findings *f, const struct finding *row);

/* A proxy with more clients than connections to its server: waits for it, and its own, are for a free connection. */
bool pool_find(const struct findings *f, const struct finding *row, struct finding_limit *ret);
/* ": pgbouncer's 2 connections to 127.0.0.1:5432 (postgres) are all busy" */
void pool_append(GString *s, const struct findings *f, const struct finding *row);
/* "; pgbouncer has 20 connections from clients, of which 19.9 wait on average" */
void pool_append_evidence(GString *s, const struct findings *f, const struct finding *row);
/* "; it has 2 connections there, and each does one statement at a time: further ones wait in its pool" */
void pool_append_connections(GString *s, const struct findings *f, const struct finding *row);
const char *pool_advice(const struct findings *f, const struct finding *row);
/* One request of its clients' makes many questions one after the other: a larger pool does not help. */
bool pool_is_many_small(const struct findings *f, const struct finding *row);
/* Likewise of an event loop that has one connection there at most, or it has no clients. */
bool pool_asks_one_by_one(const struct findings *f, uint32_t pid, const char *there);

/*
 * The program that ran while threads waited for the few CPUs that they may use, in a recording of the whole machine.
 * Which CPU a thread ran on is known only if it may use no other.
 */
struct ran {
	const char *program; /* NULL: none ran for a quarter of the window */
	uint32_t thread; /* the thread that ran longest */
	uint32_t threads_cnt;
	uint64_t ns;
	bool is_same; /* it is restricted to the same CPUs */
	const struct profile_limit *policy; /* it has a real-time policy; NULL: not known */
};
#define CPUS_FULL 0.75	/* of all CPUs' time */
/* Share of all CPUs' time that the profile's threads used. */
double ran_share(const struct profile *p);
/* Too little to keep anybody from a CPU; on a whole machine all others are in the recording. */
bool ran_little(const struct profile *p);
/* Another program that is not recorded used most of the CPUs meanwhile, or of those that the row may use. */
bool ran_others(const struct findings *f, const struct finding *row);
/* Of a recorded command: one thread is busy, and those that run the same function mostly have no work. */
bool ran_uneven(const struct findings *f, const struct finding *row);
struct ran ran_of(const struct findings *f, const struct finding *row);

/* "; meanwhile xz (8 processes) used 1.3 CPUs": who has the CPUs for which it waits. */
void ran_append_others(GString *s, const struct findings *f, const struct finding *row);
/* "; dsp/29191, SCHED_FIFO 50, may use only that, too, and ran for 5.02 s" */
void ran_append_evidence(GString *s, const struct findings *f, const struct finding *row);

/* Sleeps between tries of a system call that fails. */
bool tries_find(const struct findings *f, const struct finding *row, struct finding_limit *ret);
/* ": its tries to lock store.lock fail, as another process has locked it" */
void tries_append(GString *s, const struct finding *row);
const char *tries_advice(const struct finding *row);	/* NULL: none */
/* The advice for what a process tries in vain most often; NULL: nothing. s: receives what that is; may be NULL. */
const char *tries_of_process(const struct profile *p, uint32_t pid, GString *s);
/* "wait.sh sleeps, and its tries to find tls.crt fail, as it is not there. If it .." */
bool tries_append_most(GString *s, const struct findings *f);

/* Sleeps between tries to connect: the address that did not take the connections. */
bool connects_find(const struct findings *f, const struct finding *row, struct finding_limit *ret);
/* ": 127.0.0.1:7521 refuses connections" */
void connects_append(GString *s, const struct finding *row);
/* "; 35 connections to 127.0.0.1:7521 were refused" */
void connects_append_evidence(GString *s, const struct finding *row);
/*
 * For an event loop or a pool, which has no sleeps: "35 connections to 127.0.0.1:7521 were refused, and little is
 * found in the threads of shop"; false: few failed.
 */
bool connects_append_most(GString *s, const struct findings *f, uint32_t *ret_pid);
const char *connects_advice(const struct finding *row);
/* What failed most often in all threads of a process, whose tasks run on any of them. False: few failed. */
bool connects_of_process(const struct profile *p, uint32_t pid, struct limit_connect *ret);
/* "35 connections to 127.0.0.1:7521 were refused" */
void connects_append_failed(GString *s, const struct limit_connect *failed);

/*
 * Nagle's algorithm holds back a second small write until the first is acknowledged, and the other side delays that
 * for 40 ms and more, since it has nothing to send yet.  The limit: such a write was seen.
 */
bool nagle_find(const struct findings *f, const struct finding *row, struct finding_limit *ret);

/*
 * Between two programs of this machine: an interrupt ends the waits, on either side.  What is sent at once wakes in
 * the sender's context.
 */
bool nagle_has_delayed_acks(const struct findings *f, const struct finding *row);

#define NAGLE_SAYS ": its own last write is held back until an earlier one is acknowledged"
#define NAGLE_ADVICE \
	"These 40 to 50 ms are an acknowledgement that TCP delays, while a side holds back a small write for it: write a request " \
	"in one piece, or set TCP_NODELAY on both sides."

/* The same of a server's answers. */
#define HELD_BACK_SAYS "the end of an answer was held back (Nagle's algorithm) until the client acknowledged its beginning"
#define HELD_BACK_ADVICE \
	"Clients delay that by up to 40 ms: let the server set TCP_NODELAY, or send an answer in one piece (head and body in one " \
	"write)."
bool held_back_is_seen(const struct findings *f);	/* of any selected server */
#define SESSION_ADVICE \
	"A transaction keeps its locks until it ends: let that program commit before it does other work, or do that work outside of it."
/* Of a lock of a database that a session keeps: ", mostly for python3/4711, which sleeps until a timer in sync (sync.py:6)". */
void session_append(GString *s, const struct findings *f, const struct finding *row);
const char *session_advice(const struct findings *f, const struct finding *row);	/* NULL: whose session is unknown */

/* "java sends answers in pieces: .." with advice, of the server with most of them; false, and nothing: there is none. */
bool held_back_append_most(GString *s, const struct findings *f);

/*
 * An event loop waits for an answer, and has many more waiting clients than connections to the one it asks: the
 * clients may queue for these.  Threads that wait for results do so where others take these from a connection.
 */
bool owed_find(const struct findings *f, const struct finding *row, struct finding_limit *ret);
/*
 * "; as the recording ended 24 clients waited there, and that server had one connection to 10.0.0.7:80 (pricing)"; is_own:
 * ".. 24 clients waited for answers, with one connection to .."
 */
void owed_append_queue(GString *s, const struct profile *p, uint32_t pid, bool is_own);
const char *owed_queue_advice(const struct profile *p, uint32_t pid);	/* NULL: the server, pid, has no such queue */
/*
 * If nothing else is found, for the process with the most waiting clients: "7 clients of haproxy waited for answers
 * as the recording ended, with one connection to 127.0.0.1:8081 (python3), and little is found in its threads".
 * False: none.
 */
bool owed_append_most(GString *s, const struct findings *f, const struct task_findings *tasks);
/*
 * If nothing else is found in a command, of the process that waits for longest: "npm install has sent something to
 * 127.0.0.1:4873, and nothing has come from there since, for 12.1 s of 14.0 s. ..".  False: none does so for half of the time.
 */
bool silent_append_most(GString *s, const struct findings *f);
/* "; as the recording ended 17 connections at :80 waited to be accepted", "; meanwhile 812 datagrams at :8125 were .." */
void backlog_append_evidence(GString *s, const struct profile_limit *l);
const char *backlog_advice_of_drops(const struct profile_limit *l);	/* NULL: not a LIMIT_DROPPED */
/* A proxy at work: few clients per connection, and it wakes too often for any of them to have waited long. */
bool owed_is_quick(const struct findings *f, const struct finding *row);
/* "127.0.0.1:8081 (python3)"; NULL: it has no LIMIT_OWED. */
const char *owed_upstream(const struct finding *row);
/* "; as the recording ended 20 clients waited for answers, over one connection to 127.0.0.1:8081" */
void owed_append_evidence(GString *s, const struct findings *f, const struct finding *row);

const char *owed_advice(const struct findings *f, const struct finding *row);	/* NULL: the wait's own advice */

/* Waits for a peer as long as TCP's timer: segments were lost, the peer is not slow.  LIMIT_LOSS or LIMIT_FULL. */
bool loss_find(const struct findings *f, const struct finding *row, struct finding_limit *ret);
/* "; TCP sent 57 segments to 10.0.0.5:5432 again", for LIMIT_LOSS */
void loss_append_evidence(GString *s, const struct finding *row);
/* "; as the recording ended 2 connections waited to be accepted by 127.0.0.1:80 (nginx), whose queue is for 1" */
void loss_append_full_evidence(GString *s, const struct finding *row);
/* Nothing is lost on the way between programs of the same machine. */
bool loss_is_of_this_machine(const struct finding *row);

#define LOSS_SAYS ": packets are lost on the way"
#define LOSS_ADVICE \
	"TCP sends what is lost again after 200 ms and more, and that is most of this time: see the network to there " \
	"(ethtool -S, nstat, tc -s qdisc) before the peer."
#define LOSS_LOCAL_SAYS ": TCP sends again what was dropped"
#define LOSS_LOCAL_ADVICE \
	"What stays on this machine is dropped by a packet filter (counters of iptables -nvL, nft list ruleset, tc -s qdisc), or where a " \
	"queue is full, mostly that of connections that are not accepted yet: see ss -lnt, nstat -az TcpExtListenOverflows."
#define FULL_SAYS ": the queue of connections there is full"
#define FULL_ADVICE \
	"The kernel drops who connects while that queue is full, and TCP tries again after 1, 3, 7 s: accept faster (more workers), " \
	"or raise the backlog (listen(), net.core.somaxconn). `ss -lnt` and `nstat -az TcpExtListenOverflows` show it."

/* Waits for TCP sockets: due to the network or the peer?  See docs/reasons.md, "The network or the peer". */

enum tcp_share {
	TCP_SHARE_PEER,
	TCP_SHARE_NETWORK,
	TCP_SHARE_SILENT,	/* nothing was sent since the last data arrived */
	TCP_SHARE_UNCLEAR,	/* due to the peer or the way there */
	TCP_SHARE_UNKNOWN,
	TCP_SHARE_COUNT
};
const char *tcp_share_name(enum tcp_share share);	/* "peer" */

struct tcp_shares {
	uint8_t direction;	/* enum tcp_wait_direction */
	uint64_t all_ns, ns[TCP_SHARE_COUNT];
	uint64_t resent;	/* segments */
	uint64_t rtt_us;	/* minimum round trip, if it is of the network alone; 0: unknown */
	/* smoothed by TCP, including the peer's delay of acknowledgements; the minimum */
	uint64_t srtt_us, min_rtt_us;
	enum tcp_share most;	/* what at least half of the time is; TCP_SHARE_UNKNOWN: nothing is */
};

/* Of a row of the profile. */
struct tcp_shares tcp_shares_of(const struct profile *p, const struct tcp_wait *t);
/* Of the finding's main object; false: unknown. */
bool tcp_shares_find(const struct findings *f, const struct finding *row, struct tcp_shares *ret);
/* Its data queues on the way to a peer that has room for more. */
bool tcp_shares_is_way_full(const struct findings *f, const struct finding *row);
/* "; RTT 0.3 ms, nothing was sent twice: the peer takes the time"; or nothing. */
void tcp_shares_append(GString *s, const struct findings *f, const struct finding *row);

/*
 * A sleep in a process that has used up its descriptors, or processes and threads, so that getting another may fail.
 * Or a wait for a named semaphore that no other process has open.
 */
bool full_find(const struct findings *f, const struct finding *row, struct finding_limit *ret);
/* "; it has 24 of 24 descriptors that it may have (ulimit -n)" */
void full_append_evidence(GString *s, const struct profile_limit *l);
/*
 * Appends findings of processes that cannot accept connections because of this, whose `busy` says so; the caller
 * sorts.
 */
void full_find_refusals(struct findings *f);
void full_append_refusal(GString *s, const struct finding *row);
const char *full_advice(const struct finding *row);
/* " Hub.py can have no more: ...", for the first such process; may append nothing. */
void full_append_most(GString *s, const struct findings *f);

/* A process waits for a child that was not recorded: what the child was doing at the recording's end. */
bool child_find(const struct findings *f, const struct finding *row, struct finding_limit *ret);
/* "; its child curl/4711 waits for 127.0.0.1:80, from where nothing has come for 7.50 s" */
void child_append_evidence(GString *s, const struct findings *f, const struct finding *row);
/* "sleeps until a timer", "waits for 127.0.0.1:80"; where: NULL if that is all, of CHILD_NETWORK it ends the words */
void child_append_does(GString *s, enum child_does does, const char *where);
const char *child_advice(const struct findings *f, const struct finding *row);
#define STOPPED_ADVICE "A stopped process does nothing: continue it (kill -CONT), or detach its debugger."

/* The reader of the pipe for whose room the row waits was not recorded: what it was seen to do, and its own reader. */
bool ends_are_told(const struct findings *f, const struct finding *row);
/* "; its reader gzip/4711 waits for room in a pipe (at 9 of 9 looks), and its reader curl/4712 sleeps until a timer (..)" */
void ends_append_evidence(GString *s, const struct findings *f, const struct finding *row);
const char *ends_advice(const struct findings *f, const struct finding *row);	/* NULL: nothing is known */

/* An event loop owes clients answers, and all its children of one kind, which it asks over their standard input, are busy. */
bool helpers_find(const struct findings *f, const struct finding *row, struct finding_limit *ret);
void helpers_append(GString *s, const struct finding *row);	/* " from its 2 children policy.py" */
void helpers_append_evidence(GString *s, const struct findings *f, const struct finding *row);
/* ", and all of its 2 children policy.py were busy at 9 of 9 looks: .. Requests queue for these: .."; false: they were not */
bool helpers_append_busy(GString *s, const struct profile *p, uint32_t asker);
const char *helpers_advice(void);

/*
 * Many threads of a program start at the same moment, again and again, and queue behind each other for CPUs that it
 * leaves alone in between.  Known by when they queue: nearly all of it lies in a small part of the window, in several
 * pieces, with more threads at a time than CPUs can take, while the program itself keeps the CPUs busy.
 */
void bursts_find(struct findings *f);
/* "; 84% of it in 8 bursts, which take 17% of the window, with 27 threads at a time"; nothing of other rows */
void bursts_append_evidence(GString *s, const struct findings *f, const struct finding *row);

/*
 * peer: "127.0.0.1:5432 (postgres)", of which that session is awaited, 0: not known. Appends "; sessions there waited for
 * locks at 7 of 9 looks, while one of import.py/4711 was idle in transaction (at 7)"; false, or NULL: none did.
 */
bool blocked_append(GString *s, const struct profile *p, const char *peer, uint32_t session);
const char *blocked_advice(const struct profile *p, const char *peer, uint32_t session);

/*
 * The server that was waited for, for so long in all, computed meanwhile: "; postgres (9 processes) used 1.8 CPUs
 * meanwhile". pid: its process, 0: not known. Nothing, or NULL: it did not, or is in the recording.
 */
void peer_runs_append(GString *s, const struct profile *p, const char *peer, uint32_t pid, uint64_t waits_ns);
const char *peer_runs_advice(const struct profile *p, const char *peer, uint32_t pid, uint64_t waits_ns);
/* A server in memory: " was busy with one command at 5 of 15 looks while others waited, mostly of stats.rb/4711" */
void one_command_append(GString *s, const struct profile *p, uint32_t server);
/* peer: as of blocked_append(); NULL: it was not. */
const char *one_command_advice(const struct profile *p, const char *peer, uint32_t server);
/* It was, or a loop waits for long for such a server, which did not rest. */
bool one_command_may_be(const struct findings *f, const struct finding *row);
/* If nothing else is found, of a process that asks such a server, with the advice; false: none does. */
bool one_command_append_most(GString *s, const struct findings *f);

#define BURSTS_ADVICE                                                                                               \
	"Its threads start at the same moment and queue behind each other; between these bursts it hardly runs. Spread "     \
	"them (a random delay, other seconds), or have fewer at a time. More CPUs would only shorten the bursts."

#endif
