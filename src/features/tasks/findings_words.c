/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What is said of tasks by what they wait for. */
#include "analyse/reason/reason.h"
#include "explain/kinds/at_once.h"
#include "features/tasks/findings_kind.h"

static const struct {
	const char *says, *advice;	/* NULL: that of threads */
} kinds[] = {
	[OTHER] = { "wait", "Look at what the others do meanwhile." },
	[MUTEX] = { "wait for a mutex", NULL },
	[RWLOCK] = { "wait for a read-write lock", NULL },
	[RECEIVE] = { "wait to receive from a channel",
		      "Who sends is slower than who receives: look at what the senders do." },
	[POOL] = { "wait to receive from a channel",
		   "If who came past here gives it back, as to a pool, hold it for less time, or make the pool larger. If it is a queue, "
		   "who sends is slower than who receives." },
	[SEND] = { "wait to send to a channel",
		   "Who receives is slower than who sends: more receivers, or faster ones." },
	[PLACE] = { "wait to send to a channel",
		    "If it limits how many go on at once (a semaphore), hold a place for less time, or have more. If it is a queue, "
		    "who receives is slower than who sends." },
	[PEERS] = { "wait for others of their kind",
		    "Goroutines of their own kind have all of it, and hand it on: they are short of something. Raise the pool, or hold it "
		    "less." },
	[GROUP] = { "wait for others to be done", "The slowest of those counts: look at what they do." },
	[CONDITION] = { "wait for a condition to be signalled", "Look at who is to signal it." },
	[SLEEP] = { "sleep until a timer", NULL },
	[LIMITER] = { "wait to keep to a limit of their own rate",
		      "Such a limit may be meant; else raise it, or ask in larger pieces." },
	[NETWORK] = { "wait for the network", "Look at the peer; ask it less often, or in parallel." },
	[FULL] = { "wait for a peer that reads too slowly",
		   "The peer does not read what it is sent, or slowly, so its connection is full (Send-Q of `ss -tnp` tells which): send it less, "
		   "give up on it after a while (SetWriteDeadline(), asyncio.timeout()), and hold no lock meanwhile." },
	[REQUEST] = { "wait for the rest of a request from its client",
		      "The client sends slowly, or in two pieces of which TCP holds back the second (Nagle): see who it is. A proxy "
		      "that buffers requests keeps that away." },
	[SELECT] = { "wait in a select", "Look at who is to send to its channels." },
	[LIBRARY] = { "wait for an answer", "Look at the peer; ask it less often, or in parallel." },
	[CONNECTIONS] = { "wait for a connection of a pool",
			  "All are in use, or one is being made: raise the limit (MaxConnsPerHost, SetMaxOpenConns(), PoolSize, MaxActive), or look at "
			  "what those in use wait for." },
	[RUNNABLE] = { "are runnable without a thread",
		       "More goroutines run than GOMAXPROCS and the CPUs take: raise it, or compute less." },
	[NOTHING] = { "run", "" },
	[SEMAPHORE] = { "wait for a semaphore",
			"Hold it for less time, or raise its limit if what it guards takes more at once." },
	[LOCK] = { "wait for a lock", "Hold it for less time (await nothing slow under it), or split it." },
	[ACQUIRE] = { "wait to acquire a lock, a semaphore or a pool's connection",
		      "Hold it for less time (await nothing slow under it), or allow more at once." },
	[PUT] = { "wait for room in a queue", "Who gets from it is slower than who puts: more of those, or faster ones." },
	[CONNECT] = { "wait for a connection to be made", "Look at the peer, or keep connections open." },
	[HANDSHAKE] = { "wait for a connection to be made, in its TLS handshake",
			"A handshake costs both sides CPU time and some round trips: where connections are made again and again keep them open "
			"(read and close each answer's body), or resume sessions. Else look at the peer." },
	[POOLED] = { "wait for a connection of a pool",
		     "All are in use: raise the pool's limit (TCPConnector(limit=), max_connections=, max_size=) if the peer takes "
		     "more at once, or look at what those in use wait for." },
	[LIMITED] = { "wait with a time limit", AT_ONCE_ADVICE },
	[SYSTEM_CALL] = { "are in a system call", "" },
	[MONITOR] = { "wait for a monitor (synchronized)", NULL },
	[JAVA_LOCK] = { "wait for a lock", NULL },
	[TAKE] = { "wait to take from a queue", "If it is a pool, what they take is short: hold it for less time, or have more of it. If it is a "
						"queue, who puts is slower than who takes." },
	[RESULT] = { "wait for the result of a task", "The slowest of the tasks counts: look at what they wait for." },
	[JAVA_POOLED] = { "wait for a connection of a pool",
			  "All are in use: raise the pool's limit (maximumPoolSize) if the peer takes more at once, or look at what those in use "
			  "wait for." },
	[CARRIERLESS] = { "are runnable without a carrier thread",
			  "All carriers run, or are held up by threads that are pinned to them: look for those, or compute less." },
	[PINNED] = { "hold up a carrier thread (pinned)", "" },
};

/* What threads that wait so are told. */
static enum reason like_of(enum awaited k)
{
	return k == SLEEP ? REASON_SLEEP : k == RWLOCK ? REASON_LOCK_RWLOCK : REASON_LOCK_MUTEX;
}

const char *awaited_says(enum awaited k)
{
	return kinds[k].says;
}

const char *awaited_advice(enum awaited k)
{
	return kinds[k].advice ?: reason_advice(like_of(k));
}
