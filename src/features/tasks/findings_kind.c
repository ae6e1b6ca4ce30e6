/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/tasks/findings_kind.h"

#include "base/find.h"
#include "features/tasks/analysis.h"

/* "acquire" of "Semaphore.acquire": before Python 3.11 names have no class. */
static bool is_called(const struct task_wait *w, const char *function)
{
	return ends_with_function(w->call, function);
}

/* Go's x/time/rate and uber's, Python's aiolimiter. */
static bool is_at_limiter(const struct task_wait *w)
{
	static const char *const calls[] = { "golang.org/x/time/rate.", "go.uber.org/ratelimit.", "AsyncLimiter." };

	return ANY(x, calls, g_str_has_prefix(w->call, *x));
}

/* What an asyncio task or greenlet waits for, by the function that the program awaits or calls. */
static enum awaited python_awaited_of(const struct task_wait *w)
{
	if (strcmp(w->state, "waiting") != 0)
		return NOTHING;
	if (w->awaits_connection)
		return POOLED;
	if (w->writes)
		return FULL;
	/* as worded in asyncio_source.c; wait_for() has a time limit */
	if (mentions(w->reason, " others") || mentions(w->reason, " tasks ") || (mentions(w->reason, " task") && !is_called(w, "wait_for")))
		return GROUP;
	if (strcmp(w->call, "Semaphore.acquire") == 0)
		return SEMAPHORE;
	if (strcmp(w->call, "Lock.acquire") == 0)
		return LOCK;
	if (is_at_limiter(w))
		return LIMITER;
	if (is_called(w, "acquire") || is_called(w, "_acquire"))
		return ACQUIRE;
	if (is_called(w, "put"))
		return PUT;
	if (is_called(w, "open_connection") || is_called(w, "create_connection"))
		return CONNECT;
	if (is_called(w, "sleep"))
		return SLEEP;
	if (is_called(w, "wait_for"))
		return LIMITED;
	return is_called(w, "drain") || g_str_has_prefix(w->call, "StreamReader.") ? NETWORK : OTHER;
}

/* What a virtual thread waits for, by the reason of parking and the function that the program calls. */
static enum awaited java_awaited_of(const struct task_wait *w)
{
	if (strcmp(w->state, "runnable") == 0)
		return CARRIERLESS;
	if (strcmp(w->state, "waiting") != 0)
		return NOTHING;
	if (g_str_has_prefix(w->reason, "pinned"))
		return PINNED;
	if (w->awaits_connection)
		return JAVA_POOLED;
	if (mentions(w->reason, "monitor"))
		return MONITOR;
	if (mentions(w->reason, "ReentrantReadWriteLock") || mentions(w->call, "StampedLock"))
		return RWLOCK;
	if (mentions(w->reason, "ReentrantLock"))
		return JAVA_LOCK;
	if (mentions(w->reason, "Semaphore"))
		return SEMAPHORE;
	if (mentions(w->call, "HttpClientFacade.send") || mentions(w->call, "HttpClientImpl.send"))
		return LIBRARY;
	if (w->reads_socket)
		return NETWORK;
	if (is_called(w, "sleep"))
		return SLEEP;
	if (mentions(w->call, "Queue.put") || mentions(w->call, "Deque.put"))
		return PUT;
	if (mentions(w->call, "Queue.") || mentions(w->call, "Deque."))
		return TAKE;
	if (mentions(w->call, "Future.") || mentions(w->call, "invokeAll"))
		return RESULT;
	if (mentions(w->call, "CountDownLatch") || mentions(w->call, "CyclicBarrier") || is_called(w, "join"))
		return GROUP;
	return mentions(w->reason, "condition") || mentions(w->reason, "Object.wait") ? CONDITION : OTHER;
}

/* What a goroutine waits for, by its call or the runtime's reason (runtime2.go: waitReasonStrings). */
enum awaited awaited_of(const struct task_wait *w)
{
	if (task_is_of_python(w->kind))
		return python_awaited_of(w);
	if (w->kind == TASKS_JAVA)
		return java_awaited_of(w);
	if (w->kind == TASKS_TOKIO)	/* it is not known what it awaits */
		return NOTHING;
	if (strcmp(w->state, "runnable") == 0)
		return RUNNABLE;
	if (strcmp(w->state, "syscall") == 0)
		return SYSTEM_CALL;
	if (strcmp(w->state, "waiting") != 0)
		return NOTHING;
	if (mentions(w->lock, "RWMutex") || mentions(w->reason, "RWMutex"))
		return RWLOCK;
	if (mentions(w->lock, "Mutex") || mentions(w->reason, "Mutex"))
		return MUTEX;
	if (mentions(w->lock, "WaitGroup") || mentions(w->reason, "WaitGroup"))
		return GROUP;
	if (mentions(w->lock, "sync.(*Cond)") || mentions(w->reason, "sync.Cond"))
		return CONDITION;
	if (g_str_has_prefix(w->call, "net/http.(*Server)."))	/* Shutdown() waits for open requests */
		return GROUP;
	if (is_at_limiter(w))
		return LIMITER;
	if (mentions(w->reason, "sleep"))
		return SLEEP;
	if (g_str_has_prefix(w->call, "golang.org/x/sync/semaphore."))
		return SEMAPHORE;
	if (g_str_has_suffix(w->call, "errgroup.(*Group).Go"))	/* with SetLimit(): until one that it has begun is done */
		return GROUP;
	if (task_is_pool_call(w->call))
		return w->dial_ns < w->task_ns / 2	  ? CONNECTIONS :
		       w->handshake_ns < w->task_ns / 2 ? CONNECT :
							  HANDSHAKE;
	if (w->awaits_connection)
		return CONNECTIONS;
	if (g_str_has_prefix(w->call, "net/http.") || g_str_has_prefix(w->call, "database/sql."))
		return LIBRARY;
	if (mentions(w->reason, "IO wait"))
		return w->reads_request ? REQUEST : w->reads_answer ? LIBRARY : w->writes ? FULL : NETWORK;
	if (mentions(w->reason, "chan receive"))
		return RECEIVE;
	if (mentions(w->reason, "chan send"))
		return SEND;
	return mentions(w->reason, "select") ? SELECT : OTHER;
}
