/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/tasks/findings.h"

#include <string.h>

#include "analyse/peers.h"
#include "analyse/reason/idle.h"
#include "base/find.h"
#include "base/hash.h"
#include "base/order.h"
#include "explain/findings_part.h"
#include "explain/limits.h"
#include "explain/sentence.h"
#include "features/tasks/analysis.h"
#include "features/tasks/findings_kind.h"

#define STILL_LOOKS 10	/* a fifth of a second each; fewer are not enough */
#define GROUPS_MAX 24	/* per process */
#define PATH_FUNCTIONS_MAX 6
#define NS_MAX (UINT64_C(1) << 50)	/* limit of task time, 13 days: sums over all groups stay far below 64 bits */
#define SLEEP_DEPTH 2	/* as in idle.c: a housekeeping thread sleeps in its main function or one call below */
#define TASKS_LITTLE 0.1	/* likewise for goroutines; like little.c for threads */
#define ONE_MIN 0.9	/* mean number of one task */
#define ONE_MAX 1.1
/* Messages to a server may be requests of its clients. */
#define UNANSWERED_ADVICE                                                                                            \
	"Hardly anything comes from its sockets meanwhile, so these waits end by a time limit: the peer does not answer, or " \
	"questions or answers are lost (its log, nstat). A shorter timeout bounds the wait."
#define RECEIVER_ASKS_ADVICE                                                                                         \
	"If who receives waits for that server, one message after the other, they queue for it: several receivers with connections of " \
	"their own, many messages in one request, or see why that server takes so long."
#define PAUSE_ADVICE "A request waits for that pause: see whether it limits a rate, tries again, or looks whether something has come."
/* It is not known which reads have a deadline. */
#define UNDUE_ADVICE                                                                                                 \
	"What comes does so at once, or not at all. If these reads have a deadline that takes the time: questions or answers are " \
	"lost, or the peer leaves some out (nstat, its log). A connection on which nothing is due may wait so."
#define SELECTING_ADVICE                                                                                                  \
	"Look at the peer. If those in the select wait for a place (a semaphore), or for what this one brings, let more be asked at once."
#define EVENTS_ADVICE                                                                                                      \
	"A long poll or a stream of events waits so. If it is neither, nothing was seen at work that could end these waits: look at " \
	"what should."
#define FEW_ANSWERS_PER_S 20
#define EXACT 0.01	/* error of a number of tasks */
#define STEADY_PART 200	/* of that number */
#define RUNNERS_PART 4	/* 1/n of the time that tasks are runnable, at least: others run, or have their threads wait for a CPU */
#define RUNNABLE_WEIGHT 4	/* load from outside also makes goroutines wait for a CPU */

#define STILL_ADVICE                                                                                                     \
	"All that do anything wait for locks, and nobody let go of one while this was recorded: a deadlock. Take locks in one order, " \
	"and none twice: a second RLock() waits for ever behind a Lock() that came between."
#define ASYNCIO_STILL_ADVICE                                                                                             \
	"All that do anything wait for locks, and nobody let go of one while this was recorded: a deadlock. Take locks in one order, " \
	"and none twice: asyncio.Lock keeps out the task that has it, too."
#define TWICE_ADVICE                                                                                              \
	"They came through a function that takes such a lock itself, and none of them got on while this was " \
	"recorded. If that has the lock already it is a deadlock: a second RLock() waits for ever behind a Lock() " \
	"that came between, a second Lock() at once."
#define UNRETURNED_ADVICE                                                                                                \
	"Nobody gave one back while this was recorded: whoever has them waits itself, or left without giving them back. Close what a " \
	"query or an answer gives on every way out, after errors, too (rows.Close(), tx.Rollback(), Body.Close())."
#define UNRECEIVED_ADVICE                                                                                                \
	"No goroutine was seen that would receive: who did has returned, or waits for these. Let who sends give up (a select with " \
	"ctx.Done()), or give the channel room for what nobody may take (a buffer)."

static const char *text_or_empty(const char *text)
{
	return text ? text : "";
}

/* The program's own functions, innermost first. */
static const char *path_of(struct task_findings *f, enum tasks_kind kind, const struct task_row *row)
{
	g_autoptr(GString) path = g_string_new(NULL);
	unsigned cnt = 0;

	for (unsigned i = 0; row && i < row->frame_cnt && cnt < PATH_FUNCTIONS_MAX; i++) {
		struct task_row from = { .frames = row->frames + i, .frame_cnt = 1 };

		if (task_own_frame(kind, &from))
			g_string_append_printf(path, "%s%s", cnt++ ? " < " : "", row->frames[i].name);
	}
	return g_string_chunk_insert_len(f->strings, path->str, (gssize)path->len);
}

/* Waits for a free connection of a pool: httpcore, aiohttp (before and from 3.12 on), psycopg_pool. */
static bool awaits_connection(const struct tasks *t, const struct task_row *row)
{
	static const char *const waits[] = { "wait_for_connection", "_wait_for_available_connection", "getconn" };

	if (t->kind == TASKS_JAVA)
		return row && task_java_awaits_connection(row);
	if (t->kind == TASKS_GO)
		return row && task_go_awaits_connection(row);
	for (unsigned i = 0; task_is_of_python(t->kind) && row && i < row->frame_cnt; i++) {
		const char *name = text_or_empty(row->frames[i].name), *file = text_or_empty(row->frames[i].file);

		for (size_t k = 0; k < G_N_ELEMENTS(waits); k++)
			if (ends_with_function(name, waits[k]))
				return true;
		if (i == 0 && ends_with_function(name, "connect") && g_str_has_suffix(file, "/aiohttp/connector.py"))
			return true;
	}
	return false;
}

/* The socket's send buffer is full; of asyncio's transport (asyncio/streams.py, aiohttp/base_protocol.py), too. */
static bool waits_to_write(enum tasks_kind kind, const struct task_row *row)
{
	const bool is_python = task_is_of_python(kind);

	for (unsigned i = 0; i < row->frame_cnt && (is_python || kind == TASKS_GO); i++)
		if (is_python ? ends_with_function(text_or_empty(row->frames[i].name), "_drain_helper") :
				g_strcmp0(row->frames[i].name, "internal/poll.(*pollDesc).waitWrite") == 0)
			return true;
	return false;
}

static void add_group(struct task_findings *f, const struct tasks *t, const struct task_group *g, const char *idle)
{
	const struct task_wait w = {
		.kind = t->kind,
		.pid = t->pid,
		.program = text_or_empty(t->program),
		.state = g->state,
		.reason = idle ? "" : text_or_empty(g->reason),
		.call = text_or_empty(g->call),
		.lock = text_or_empty(t->kind == TASKS_GO && g->example ? task_lock_function(g->example) : NULL),
		.function = g->at ? text_or_empty(g->at->name) : "",
		.file = g->at ? text_or_empty(g->at->file) : "",
		.line = g->at ? g->at->line : 0,
		.path = path_of(f, t->kind, g->example),
		.creator = text_or_empty(g->creator),
		.idle = text_or_empty(idle),
		.answers_request = g->example && task_answers_request(g->example),
		.reads_request = g->example && task_reads_request(g->example),
		.reads_answer = g->example && task_reads_answer(g->example),
		.awaits_connection = awaits_connection(t, g->example),
		.writes = g->example && waits_to_write(t->kind, g->example),
		.reads_socket = t->kind == TASKS_JAVA && g->example && task_java_reads_socket(g->example),
		.has_asked = t->kind == TASKS_JAVA && g->example && task_java_has_asked(g->example),
		.looks = t->looks,
		.tasks = g->tasks,
		.task_ns = MIN(g->task_ns, NS_MAX),
	};

	g_array_append_val(f->rows, w);
}

static void add_population(struct task_findings *f, const struct tasks *t)
{
	struct task_groups groups;

	task_groups_make(&groups, t);
	for (guint i = 0; i < MIN(groups.groups->len, GROUPS_MAX); i++)
		add_group(f, t, &g_array_index(groups.groups, struct task_group, i), NULL);
	for (guint i = 0; i < MIN(groups.idle->len, GROUPS_MAX); i++) {
		const struct task_group *g = &g_array_index(groups.idle, struct task_group, i);

		add_group(f, t, g, g->reason);
	}
	task_groups_clear(&groups);
}

static unsigned depth_of(const struct task_wait *w)
{
	unsigned depth = *w->path ? 1 : 0;

	for (const char *at = strstr(w->path, " < "); at; at = strstr(at + 1, " < "))
		depth++;
	return depth;
}

static bool is_main(const struct task_wait *w)
{
	return strcmp(w->path, "main.main") == 0 || g_str_has_suffix(w->path, " < main.main");
}

/* Does it wait for more than the end of a system call? */
static bool is_waiting(enum awaited k)
{
	return k != NOTHING && k != SYSTEM_CALL && k != PINNED;
}

/* Does it wait for work from others, or for them to finish? */
static bool waits_for_work(enum awaited k)
{
	return k == RECEIVE || k == SELECT || k == CONDITION || k == GROUP;
}

static bool same_process(const struct task_wait *a, const struct task_wait *b)
{
	return a->kind == b->kind && a->pid == b->pid && strcmp(a->program, b->program) == 0;
}

/* It sleeps in the function in which it began, or in one below. */
static bool is_ticker(const struct task_wait *w, enum awaited k)
{
	return k == SLEEP && w->kind != TASKS_JAVA && !w->answers_request &&
	       depth_of(w) <= (is_main(w) ? 1 : SLEEP_DEPTH);
}

/*
 * A task that waits for input may be idle. It is held up if the work comes from within the program: no goroutine
 * accepts connections, and others, besides the main function, wait for something; for channels a service's tickers do
 * not count.
 */
static bool is_given_from_within(const struct profile *p, const struct task_findings *f, const struct task_wait *w)
{
	const enum awaited own = awaited_of(w);
	const bool counts_tickers = profile_is_of_command(p) || (own != RECEIVE && own != SELECT);
	bool is_there = false;

	EACH_ROW(i, const struct task_wait, o, f->rows) {
		if (!same_process(o, w))
			continue;
		if (o->task_ns && mentions(o->idle, "connections"))
			return false;
		is_there = is_there ||
			   (!*o->idle && is_waiting(awaited_of(o)) && !waits_for_work(awaited_of(o)) && !is_main(o) &&
			    (counts_tickers || !is_ticker(o, awaited_of(o))));
	}
	return is_there;
}

/*
 * For virtual threads, locks and pools are clear cases. Those that sleep, read, or take from a queue may be idle,
 * unless somebody waits for their answer.
 */
static uint64_t java_rank_of(const struct task_wait *w, enum awaited k)
{
	bool is_clear = k == MONITOR || k == JAVA_LOCK || k == RWLOCK || k == SEMAPHORE || k == JAVA_POOLED ||
			k == LIBRARY || k == PUT;

	if (k == CARRIERLESS)
		return w->task_ns / RUNNABLE_WEIGHT;
	return is_clear || w->answers_request || w->has_asked ? w->task_ns : 0;
}

/* Who ended a process's waits for its sockets. Tasks share them, so looks cannot show which one each waits for. */
struct answers {
	uint64_t all_ns, all_cnt, most_ns, most_cnt;
	uint64_t asked_cnt;	/* by whom it has asked */
	const struct waker *most;
	const struct object *epoll;
	struct at_once at_once;
};

static void add_answer(const struct profile *p, struct answers *a, GHashTable *of_pid, const struct wake *wake)
{
	const struct waker *w = profile_get_waker(p, wake->waker);
	struct answers *one = hash_row(of_pid, GUINT_TO_POINTER(w->pid), sizeof(*one));

	one->all_ns += wake->blocked_ns;
	one->all_cnt += wake->count;
	if (wake->blocked_ns >= one->most_ns) {	/* the waker of that process with the most time */
		one->most_ns = wake->blocked_ns;
		one->most = w;
	}
	a->all_ns += wake->blocked_ns;
	a->all_cnt += wake->count;
	if (one->all_ns >= a->most_ns) {
		a->most_ns = one->all_ns;
		a->most_cnt = one->all_cnt;
		a->most = one->most;
	}
}

static struct answers answers_of(const struct profile *p, uint32_t pid)
{
	g_autoptr(GHashTable) of_pid = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	struct answers a = { 0 };

	EACH_ROW(i, const struct wake, wake, p->wakes) {
		const struct wait *w = profile_wait(p, wake->wait);
		const struct object *o = profile_wait_object(p, w);
		const struct waker *by = profile_get_waker(p, wake->waker);

		if (profile_thread(p, w->thread)->pid != pid || !o || o->kind != OBJECT_EPOLL)
			continue;
		at_once_add(&a.at_once, p, wake);
		if (by->irq || by->pid == pid)
			continue;
		add_answer(p, &a, of_pid, wake);
		a.asked_cnt += idle_is_asked(p, w, by) ? wake->count : 0;
		a.epoll = object_upstream(o) ? o : a.epoll;
	}
	return a;
}

/* Requests of the process's clients arrive at the same sockets. */
static bool serves_clients(const struct task_findings *f, const struct task_wait *w)
{
	EACH_ROW(i, const struct task_wait, o, f->rows)
		if (same_process(o, w) && o->task_ns && mentions(o->idle, "connections") && !mentions(o->idle, "kept open"))
			return true;
	return false;
}

/* Only servers that it has asked send to it, and they answer at once. */
static bool is_answered_at_once(const struct profile *p, const struct task_findings *f, const struct task_wait *w)
{
	const struct answers a = answers_of(p, w->pid);

	return at_once_is(&a.at_once) && !a.at_once.serves && !serves_clients(f, w);
}

/*
 * Memory is read at once, so a long answer is for a command that itself waits for work (BRPOP, SUBSCRIBE).  So few answers
 * come one at a time, and if all of them were for these tasks, each took that long.
 */
static bool is_for_work(const struct profile *p, const struct task_wait *w, const struct answers *a)
{
	const uint64_t cnt = a->asked_cnt;

	return a->epoll && cnt && peer_is_memory_server(object_upstream(a->epoll)) &&
	       (double)cnt * 1e9 < FEW_ANSWERS_PER_S * (double)p->info.duration_ns &&
	       w->task_ns / cnt >= FINDING_WORK_NS && !profile_find_limit(p, LIMIT_OWED, w->pid, 0);
}

/* So many answers come for so few tasks that each takes a moment. */
static bool are_answered_soon(const struct task_wait *w, const struct answers *a)
{
	return a->asked_cnt && w->tasks < TASKS_MIN && w->task_ns / a->asked_cnt <= SMALL_ANSWER_NS;
}

/*
 * Go's HTTP client makes connections in goroutines of their own, for those that wait in getConn(); one more for
 * TLS.
 */
static bool is_dialling(const struct task_wait *w)
{
	return w->kind == TASKS_GO && strcmp(w->creator, "net/http.(*Transport).queueForDial") == 0;
}

static bool shakes_hands(const struct task_wait *w)
{
	return w->kind == TASKS_GO && strcmp(w->creator, "net/http.(*persistConn).addTLS") == 0;
}

static void find_dials(struct task_findings *f)
{
	EACH_ROW(i, struct task_wait, w, f->rows) {
		if (!task_is_pool_call(w->call))
			continue;
		EACH_ROW(k, const struct task_wait, o, f->rows) {
			w->dial_ns += same_process(o, w) && is_dialling(o) ? o->task_ns : 0;
			w->handshake_ns += same_process(o, w) && shakes_hands(o) ? o->task_ns : 0;
		}
	}
}

/* The garbage collector's helpers and the like, which run when there is nothing better to do. */
static bool is_of_runtime(const struct task_wait *w)
{
	return w->kind == TASKS_GO && !*w->path && g_str_has_prefix(w->creator, "runtime.");
}

/*
 * It reads from an accepted connection: its creator accepts connections, or its process has made none, or fewer than
 * there are such tasks.
 */
static bool is_for_client(const struct profile *p, const struct task_findings *f, const struct task_wait *w)
{
	if (w->kind != TASKS_GO || awaited_of(w) != NETWORK || mentions(w->call, "Lookup") || mentions(w->call, "Resolver"))
		return false;
	const struct peer_ends ends = peer_ends_of(p, w->pid);

	if (ends.clients_cnt && w->tasks > ends.asked_cnt)
		return true;
	EACH_ROW(i, const struct task_wait, o, f->rows)
		if (same_process(o, w) && mentions(o->idle, "connections") && *w->creator && depth_of(w) == 1 &&
		    strcmp(o->function, w->creator) == 0)
			return true;
	return false;
}

/* The only peer that the process asks answers slowly, and nobody waits for this process. */
static bool is_long_poll(const struct profile *p, const struct task_wait *w)
{
	enum awaited k = awaited_of(w);

	if ((k != LIBRARY && k != NETWORK) || *w->idle || profile_is_of_command(p))
		return false;
	const struct peer_ends ends = peer_ends_of(p, w->pid);

	if (!ends.is_one || ends.clients_cnt)
		return false;
	const struct answers a = answers_of(p, w->pid);

	return !is_for_work(p, w, &a) && a.epoll && a.most_cnt == a.all_cnt && a.most_cnt >= 2 &&
	       a.most_ns / a.most_cnt >= LATE_ANSWER_NS;
}

/*
 * Whoever is runnable is so behind others that run or are about to.  A process whose threads rested meanwhile had
 * nobody before them: the looks saw them on their way.  Threads that wait for a CPU longer than they run are told
 * themselves.
 */
static bool has_runners(const struct profile *p, const struct task_wait *w)
{
	uint64_t ran_ns = 0, queued_ns = 0;

	EACH_ROW(i, const struct thread, t, p->threads) {
		ran_ns += t->pid == w->pid ? t->on_cpu_ns : 0;
		queued_ns += t->pid == w->pid ? t->runnable_ns + t->preempted_ns : 0;
	}
	return queued_ns <= ran_ns && ran_ns + queued_ns >= MIN(w->task_ns, p->info.duration_ns) / RUNNERS_PART;
}

/* It takes what other tasks of its process get from another program, and these wait for work, which may be meant. */
static bool is_behind_source(const struct task_findings *f, const struct task_wait *w)
{
	return w->kind == TASKS_GO && waits_for_work(awaited_of(w)) && !w->answers_request &&
	       ANY_ROW(const struct task_wait, o, f->rows, same_process(o, w) && o->meant && awaited_of(o) == NETWORK);
}

/*
 * One task of asyncio that sends to a client which does not read, as one that publishes to all of them.  Several of a
 * kind, or one in a server's handler, serve one client each, which holds up itself.
 */
static bool is_held_up_by_reader(const struct task_wait *w, enum awaited k)
{
	return k == FULL && task_is_of_python(w->kind) && w->tasks >= ONE_MIN && w->tasks <= ONE_MAX &&
	       !w->answers_request;
}

/* 0: idle, or covered by the findings of threads. */
static uint64_t rank_of(const struct profile *p, const struct task_findings *f, const struct task_wait *w)
{
	enum awaited k = awaited_of(w);
	/* those that read, sleep or await a future may serve an idle connection */
	bool is_clear = k == SEMAPHORE || k == LOCK || k == ACQUIRE || k == PUT || k == CONNECT || k == POOLED ||
			is_held_up_by_reader(w, k) || (k == LIMITED && is_answered_at_once(p, f, w));
	bool is_java = w->kind == TASKS_JAVA;

	if (is_dialling(w) || shakes_hands(w))	/* told by those who wait for it */
		return 0;
	if (*w->idle || !is_waiting(k) || is_ticker(w, k) || w->tasks < TASKS_LITTLE ||
	    (is_main(w) && waits_for_work(k)) || (k == OTHER && w->tasks < TASKS_MIN) ||
	    is_for_client(p, f, w) || is_of_runtime(w) || w->meant || is_behind_source(f, w))
		return 0;
	if (is_java)
		return java_rank_of(w, k);
	/* what blocks their event loop most of the time comes first, because all of them wait for that, too */
	if (task_is_of_python(w->kind))
		return is_clear && w->tasks >= TASKS_MIN ? (uint64_t)((double)w->task_ns / w->tasks) / 2 : 0;
	if (k == RUNNABLE)	/* a smaller number has just been woken */
		return w->tasks < TASKS_MIN || !has_runners(p, w) ? 0 : w->task_ns / RUNNABLE_WEIGHT;
	if (k == NETWORK && !w->answers_request) {
		const struct answers a = answers_of(p, w->pid);

		if (is_for_work(p, w, &a) || are_answered_soon(w, &a))
			return 0;
	}
	/* a handler may well wait in a select for events; other waits count only while it owes an answer */
	if (!waits_for_work(k) || (w->answers_request && k != SELECT))
		return w->task_ns;
	return is_given_from_within(p, f, w) ? w->task_ns : 0;
}

bool task_passes(const char *path, const char *function)
{
	size_t len = strlen(function);

	for (const char *at = strstr(path, function); len && at; at = strstr(at + 1, function)) {
		bool begins = at == path || (at >= path + 3 && !strncmp(at - 3, " < ", 3));

		if (begins && (!at[len] || !strncmp(at + len, " < ", 3)))
			return true;
	}
	return false;
}

/* Does the path contain a method of the function's type, as of "main.(*Quotes).Get"? */
static bool passes_type(const char *path, const char *function)
{
	const char *end = strstr(function, ").");
	g_autofree char *type = end ? g_strndup(function, (gsize)(end + 2 - function)) : NULL;

	return type && mentions(path, type);
}

/* The caller, "main.fetch" in "main.(*Pool).Get < main.fetch < main.serve". "": unknown. */
static char *caller_of(const struct task_wait *w)
{
	const char *at = strstr(w->path, " < "), *end = at ? strstr(at + 3, " < ") : NULL;

	return !at ? g_strdup("") : end ? g_strndup(at + 3, (gsize)(end - at - 3)) : g_strdup(at + 3);
}

static const char *outermost(const char *path)
{
	for (const char *at = strstr(path, " < "); at; at = strstr(path, " < "))
		path = at + 3;
	return path;
}

/*
 * Did all goroutines that could send to the channel, or receive from it, start in the same function as the waiting
 * ones? Then they pass on what they received themselves. With others, it may be a queue that these feed.
 */
static bool are_all_peers(const struct task_findings *f, const struct task_wait *w)
{
	EACH_ROW(i, const struct task_wait, o, f->rows)
		if (same_process(o, w) && o->task_ns && !*o->idle && *o->path &&
		    !(is_main(o) && waits_for_work(awaited_of(o))) &&
		    strcmp(outermost(o->path), outermost(w->path)) != 0)
			return false;
	return true;
}

enum past { PAST_FUNCTION, PAST_CALLER, PAST_TYPE, ANYWHERE };

static bool is_past(const struct task_wait *o, const struct task_wait *w, enum past past)
{
	if (past == ANYWHERE)
		return !waits_for_work(awaited_of(o)) && is_waiting(awaited_of(o)) && !is_main(o);
	if (past == PAST_TYPE)
		return passes_type(o->path, w->function);
	g_autofree char *caller = caller_of(w);
	return task_passes(o->path, past == PAST_CALLER ? caller : w->function);
}

/*
 * For a lock: what a task does that has passed it in the same function, or in another one of its type. For a channel:
 * the first such task, because it may be a pool, or what most of the others do.
 */
static const struct task_wait *meanwhile_of(const struct task_findings *f, const struct task_wait *w, enum past past)
{
	const struct task_wait *best = NULL;
	enum awaited k = awaited_of(w);

	EACH_ROW(i, const struct task_wait, o, f->rows) {
		if (o == w || !same_process(o, w) || *o->idle || !o->task_ns || awaited_of(o) == NOTHING ||
		    awaited_of(o) == k)
			continue;
		/* it has sent its question, and waits for the answer: one of those that send */
		if (k == SEND && awaited_of(o) == RECEIVE && strcmp(o->function, w->function) == 0)
			continue;
		if (!is_past(o, w, past))
			continue;
		if (!best || o->task_ns > best->task_ns)
			best = o;
	}
	return best;
}

/* The task that pins carriers that others could run on. */
static const struct task_wait *pinned_of(const struct task_findings *f, const struct task_wait *w)
{
	const struct task_wait *best = NULL;

	EACH_ROW(i, const struct task_wait, o, f->rows)
		if (same_process(o, w) && awaited_of(o) == PINNED && (!best || o->task_ns > best->task_ns))
			best = o;
	return best;
}

#define HOLDERS_MAX 1.2	/* mean number: if more, they do not hold a lock that one mentions at a time */

/* Candidates that come several at a time cannot hold the lock; they are named only if there is no other. */
static void find_holder(const struct profile *p, const struct task_findings *f, struct task_wait *w)
{
	enum awaited k = awaited_of(w);
	const struct task_wait *holder = NULL;

	if ((k == MUTEX || k == MONITOR || k == JAVA_LOCK || k == LOCK) &&
	    (!w->meanwhile || w->meanwhile->tasks > HOLDERS_MAX))
		holder = task_holder(p, f, w);
	w->is_held_there = holder;
	w->meanwhile = holder ? holder : w->meanwhile;
}

/* Requests that wait in a select: for a place, for a result of such a one, or for events, which may be meant. */
static const struct task_wait *selecting_of(const struct task_findings *f, const struct task_wait *w)
{
	const struct task_wait *best = NULL;

	EACH_ROW(i, const struct task_wait, o, f->rows)
		if (same_process(o, w) && o->answers_request && !*o->idle && awaited_of(o) == SELECT &&
		    o->tasks >= TASKS_MIN && (!best || o->task_ns > best->task_ns))
			best = o;
	return best;
}

static void find_meanwhile(const struct task_findings *f, struct task_wait *w)
{
	enum awaited k = awaited_of(w);

	if (k == CARRIERLESS)
		w->meanwhile = pinned_of(f, w);
	if ((k == NETWORK || k == LIBRARY) && (w->meanwhile = selecting_of(f, w)))
		w->advice = SELECTING_ADVICE;
	bool is_channel = k == RECEIVE || k == SEND;

	if (!is_channel && k != CONNECTIONS && k != MUTEX && k != RWLOCK && k != SEMAPHORE && k != LOCK &&
	    k != ACQUIRE && k != POOLED && k != MONITOR && k != JAVA_LOCK && k != TAKE && k != JAVA_POOLED)
		return;
	const bool are_peers = is_channel && are_all_peers(f, w);
	w->meanwhile = meanwhile_of(f, w, PAST_FUNCTION);
	if (!w->meanwhile && is_channel)
		w->meanwhile = meanwhile_of(f, w, PAST_CALLER);
	const bool may_be_pool = is_channel && w->meanwhile;
	if (!w->meanwhile)
		w->meanwhile = meanwhile_of(f, w, is_channel ? ANYWHERE : PAST_TYPE);
	if (may_be_pool)
		w->advice = awaited_advice(are_peers ? PEERS : k == RECEIVE ? POOL : PLACE);
}

/* It was seen at work; or the process is in the recording, and its main thread was busy. */
static bool is_busy(const struct profile *p, uint32_t pid)
{
	if (profile_server_does(p, pid) == SERVER_WORKS)
		return true;
	EACH_ROW(i, const struct thread, t, p->threads)
		if (t->pid == pid && t->tid == pid && t->on_cpu_ns > p->info.duration_ns / HELD_UP_PART)
			return true;
	return false;
}

/* Each asks again as soon as it has its answer, and answers come soon: the number of questions takes the time. */
static bool is_many_small(const struct profile *p, const struct task_wait *w, uint64_t answers_cnt)
{
	const double seconds = (double)p->info.duration_ns / 1e9;

	return answers_cnt && w->task_ns / answers_cnt <= SMALL_ANSWER_NS &&
	       (double)answers_cnt >= SMALL_ANSWERS_PER_S * seconds * MAX(w->tasks, 1);
}

/* By what it does meanwhile, as was seen from outside; NULL: nothing was. */
static const char *advice_of_peer(const struct profile *p, const struct task_wait *w, uint32_t pid)
{
	return blocked_advice(p, w->peer, pid) ?: peer_runs_advice(p, w->peer, pid, w->task_ns);
}

static void find_peer(const struct profile *p, const struct task_findings *f, struct task_wait *w)
{
	enum awaited k = awaited_of(w);

	if (k != NETWORK && k != LIBRARY && k != LIMITED && k != CONNECT && k != HANDSHAKE)
		return;
	const struct answers a = answers_of(p, w->pid);

	if (at_once_is(&a.at_once) && k != CONNECT && k != HANDSHAKE) {
		w->at_once = a.at_once;
		w->advice = k == NETWORK                       ? UNDUE_ADVICE
			    : a.at_once.serves || serves_clients(f, w) ? UNANSWERED_ADVICE
							       : AT_ONCE_ADVICE;
		return;
	}
	/* clients have asked it, and it has not asked them */
	const struct peer_ends ends = peer_ends_of(p, w->pid);
	const bool is_one = ends.is_one, asks_several = ends.asked_cnt && !is_one;
	bool is_alone = a.most_ns > a.all_ns / 10 * 9 && a.most_cnt > a.all_cnt / 10 * 9;

	if (a.epoll && a.most && (is_one || (is_alone && a.epoll->pid == a.most->pid))) {
		w->peer = object_upstream(a.epoll);
		w->server = a.epoll->pid;
		w->advice = advice_of_peer(p, w, w->server) ?: servers_advice(w->peer, is_busy(p, w->server))
			    ?: w->advice;
		w->advice = is_many_small(p, w, a.asked_cnt) ? MANY_SMALL_ADVICE : w->advice;
		w->advice = one_command_advice(p, w->peer, w->server) ?: w->advice;
	} else if (!is_one && (w->peer = task_peer_of_call(p, w))) {
		w->advice = advice_of_peer(p, w, 0) ?: servers_advice(w->peer, false) ?: w->advice;
	} else if (a.most && a.most_ns > a.all_ns / 2 && !asks_several) {
		w->ended_by = a.most;
		w->ended_percent = 100 * (double)a.most_ns / (double)a.all_ns;
	}
}

ORDER(by_rank, struct task_wait, ORDER_HIGH(rank_ns))

/* NULL: as of other sleeps. */
static const char *advice_of_sleep(const struct profile *p, const struct task_wait *w)
{
	struct limit_connect failed;

	if (connects_of_process(p, w->pid, &failed))
		return "If it pauses between tries see why these connections fail: whether that service runs, and whether its address "
		       "and port are right. The sleeps only hide that. Else see why it pauses.";
	return tries_of_process(p, w->pid, NULL) ?: (w->answers_request ? PAUSE_ADVICE : NULL);
}

/* The same number at all looks, or with that error at most, as where looks at many take time. */
static bool is_same_number(const struct task_wait *w, double error)
{
	const double off = w->tasks - (double)(uint64_t)(w->tasks + 0.5);

	return w->tasks >= 1 && off <= error && off >= -error;
}

/* Is it another connection of the same server, which has not come past there? */
static bool is_other_request(const struct task_wait *o, const struct task_wait *w)
{
	return (o->answers_request || (*o->creator && !strcmp(o->creator, w->creator))) &&
	       !is_past(o, w, PAST_FUNCTION) && !is_past(o, w, PAST_CALLER) && !is_past(o, w, PAST_TYPE);
}

/* What others of the process do that may bring what these wait for, as a mean number of tasks. */
static double senders_of(const struct profile *p, const struct task_findings *f, const struct task_wait *w)
{
	double cnt = 0;

	EACH_ROW(i, const struct task_wait, o, f->rows) {
		const enum awaited k = awaited_of(o);

		if (o != w && same_process(o, w) && !*o->idle && !is_of_runtime(o) && !waits_for_work(k) &&
		    !is_other_request(o, w))
			cnt += !is_waiting(k) || rank_of(p, f, o) ? o->tasks : 0;
	}
	return cnt;
}

/*
 * Requests that wait for a channel or a condition, as many in all looks, while nothing was at work that might send or
 * signal: long polls and streams of events wait so, and requests whose sender is gone.
 */
static bool may_await_events(const struct profile *p, const struct task_findings *f, const struct task_wait *w)
{
	const enum awaited k = awaited_of(w);

	/* a select in a handler is no finding, but clients that wait need a reason */
	return (w->kind == TASKS_GO || w->kind == TASKS_JAVA) && w->answers_request && !*w->idle && waits_for_work(k) &&
	       k != GROUP && (k != SELECT || profile_find_limit(p, LIMIT_OWED, w->pid, 0)) &&
	       is_same_number(w, MAX(EXACT, w->tasks / STEADY_PART)) && senders_of(p, f, w) < TASKS_MIN;
}

/* The server in memory, as Redis, that the process asks, and which rests, though it has not answered; NULL: none does. */
static const char *resting_server_of(const struct profile *p, const struct task_wait *w)
{
	const struct answers a = answers_of(p, w->pid);
	const bool rests = a.epoll && profile_server_does(p, a.epoll->pid) == SERVER_RESTS;

	return rests && !are_answered_soon(w, &a) ? object_upstream(a.epoll) : NULL;
}

/* For what may be meant, as nobody was seen to wait for the process; NULL: there is no sign of that.  Names a server that rests. */
static const char *meant_advice(const struct profile *p, struct task_wait *w)
{
	if (is_long_poll(p, w))
		return LATE_ANSWER_ADVICE;
	if (*w->idle || w->answers_request || w->tasks < TASKS_LITTLE || profile_is_of_command(p))
		return NULL;
	if (awaited_of(w) == NETWORK && peers_send_unasked(p, w->pid)) {
		const struct answers a = answers_of(p, w->pid);

		return is_for_work(p, w, &a) ? NULL : UNASKED_ADVICE;
	}
	if (awaited_of(w) == NETWORK && (w->peer = resting_server_of(p, w)))
		return SERVER_RESTS_ADVICE;
	return awaited_of(w) == LIMITER ? awaited_advice(LIMITER) : NULL;
}

/*
 * One task sleeps nearly all the time, tries nothing in vain, and nothing else of its program waits: a pace, as of a
 * thread that is a clock.
 */
static bool may_keep_pace(const struct profile *p, const struct task_findings *f, const struct task_wait *w)
{
	const bool is_one = w->tasks >= ONE_MIN && w->tasks <= ONE_MAX;

	if (w->kind != TASKS_GO || awaited_of(w) != SLEEP || !is_one || is_ticker(w, SLEEP) || *w->idle ||
	    w->answers_request || profile_is_of_command(p) || profile_find_limit(p, LIMIT_OWED, w->pid, 0) ||
	    advice_of_sleep(p, w))
		return false;
	EACH_ROW(i, const struct task_wait, o, f->rows)
		if (o != w && same_process(o, w) && rank_of(p, f, o))
			return false;
	return true;
}

static void rank(const struct profile *p, struct task_findings *f, const struct findings *findings)
{
	find_dials(f);
	EACH_ROW(i, struct task_wait, w, f->rows)
		w->meant = meant_advice(p, w);
	EACH_ROW(i, struct task_wait, w, f->rows) {
		const enum awaited k = awaited_of(w);

		w->meant = w->meant		 ? w->meant :
			   may_await_events(p, f, w) ? EVENTS_ADVICE :
			   may_keep_pace(p, f, w)	 ? reason_advice(REASON_SLEEP) :
						     NULL;
		w->rank_ns = rank_of(p, f, w);
		w->is_sleep = k == SLEEP;
		w->is_within = waits_for_work(k) || k == SEND || k == RUNNABLE;
		w->says = awaited_says(k);
		w->advice = w->is_sleep ? advice_of_sleep(p, w) : NULL;
		w->advice = w->advice ?: awaited_advice(k);
	}
	task_clients_rank(p, f, findings);
	EACH_ROW(i, const struct task_wait, w, f->rows)
		f->cnt += w->rank_ns > 0;
	g_array_sort(f->rows, by_rank);
}

bool task_is_at_lock(const struct task_wait *w)
{
	return awaited_of(w) == MUTEX || awaited_of(w) == RWLOCK || awaited_of(w) == LOCK;
}

static bool is_pooled(const struct task_wait *w)
{
	return awaited_of(w) == CONNECTIONS || awaited_of(w) == POOLED || awaited_of(w) == JAVA_POOLED;
}

/* A loop of its own, in the function in which it began: it has no lock while it waits for the next turn. */
static bool is_background(const struct task_wait *w)
{
	return w->kind == TASKS_GO && !w->answers_request && depth_of(w) == 1;
}

/*
 * In all looks, every non-idle task of the process waits for a lock or to send to a channel, and its threads hardly
 * ran: nobody is left to release a lock or to receive. Beside senders, others may serve something now and then, while
 * a slow receiver is at work nearly always. A task that waits to receive does so from another channel, since a channel
 * with a waiting sender blocks no receiver.
 */
static bool stands_still(const struct profile *p, const struct task_findings *f, const struct task_wait *w)
{
	uint64_t on_cpu_ns = 0, others_ns = 0;

	if ((!task_is_at_lock(w) && !is_pooled(w) && awaited_of(w) != SEND) || w->looks < STILL_LOOKS ||
	    (is_pooled(w) && !is_same_number(w, EXACT)))
		return false;
	EACH_ROW(i, const struct task_wait, o, f->rows) {
		const enum awaited k = awaited_of(o);
		bool is_same = task_is_at_lock(w)     ? task_is_at_lock(o)
			       : is_pooled(w) ? is_pooled(o) || !o->rank_ns
					      : k == SEND || k == RECEIVE || k == GROUP;

		if (same_process(o, w) && !*o->idle && !is_same &&
		    !((is_main(o) || o->kind == TASKS_ASYNCIO || is_background(o)) && waits_for_work(k)))
			others_ns += o->task_ns;
	}
	for (uint32_t i = 0; i < p->threads->len; i++)
		on_cpu_ns += profile_thread(p, i)->pid == w->pid ? profile_thread(p, i)->on_cpu_ns : 0;
	return awaited_of(w) != SEND ? !others_ns && on_cpu_ns < p->info.duration_ns / 100 :
			    (double)others_ns * w->tasks < (double)w->task_ns * TASKS_MIN &&
				    on_cpu_ns < p->info.duration_ns / HELD_UP_PART;
}

/*
 * In all looks the same number waits for a lock, called by a function in which others wait for such a lock: the
 * holder may be locking it again, which no timer of the process ends.
 */
static bool may_take_twice(const struct task_findings *f, const struct task_wait *w)
{
	if (w->kind != TASKS_GO || !task_is_at_lock(w) || w->looks < STILL_LOOKS || !is_same_number(w, EXACT))
		return false;
	EACH_ROW(i, const struct task_wait, o, f->rows) {
		const char *within = strstr(w->path, " < ");

		if (o != w && same_process(o, w) && awaited_of(o) == awaited_of(w) && strcmp(o->lock, w->lock) == 0 &&
		    *o->function && within && strcmp(o->function, w->function) != 0 && task_passes(within, o->function))
			return true;
	}
	return false;
}

struct task_findings *task_findings_new(const struct profile *p, const struct selection *selection,
					const struct findings *findings)
{
	struct task_findings *f = g_new0(struct task_findings, 1);

	f->rows = g_array_new(FALSE, TRUE, sizeof(struct task_wait));
	f->strings = g_string_chunk_new(1024);
	for (guint i = 0; i < p->tasks->len; i++)
		if ((profile_tasks(p, i)->kind == TASKS_GO || profile_tasks(p, i)->kind == TASKS_JAVA ||
		     profile_tasks(p, i)->window_ns) &&
		    selection_has_process(selection, p, profile_tasks(p, i)->pid))
			add_population(f, profile_tasks(p, i));
	rank(p, f, findings);
	EACH_ROW(i, struct task_wait, w, f->rows) {
		if (!w->meant)
			continue;
		find_peer(p, f, w);
		w->advice = w->meant;
	}
	for (guint i = 0; i < f->cnt; i++) {
		struct task_wait *w = &g_array_index(f->rows, struct task_wait, i);

		find_meanwhile(f, w);
		find_holder(p, f, w);
		find_peer(p, f, w);
		if (stands_still(p, f, w))
			w->advice = awaited_of(w) == LOCK ? ASYNCIO_STILL_ADVICE
				    : is_pooled(w)     ? UNRETURNED_ADVICE
				    : task_is_at_lock(w)       ? STILL_ADVICE
						       : UNRECEIVED_ADVICE;
		else if (may_take_twice(f, w))
			w->advice = TWICE_ADVICE;
		else if (awaited_of(w) == SEND && owed_queue_advice(p, w->pid))
			w->advice = RECEIVER_ASKS_ADVICE;
		if (FIRST_ROW(const struct task_wait, o, f->rows, same_process(o, w), o, NULL) == w)	/* told once */
			w->drops = profile_find_limit(p, LIMIT_DROPPED, w->pid, 0);
		EACH_ROW(k, const struct task_wait, o, f->rows) {
			/* a library's task alone waits for its client, or for one that counts itself */
			bool counts = o->rank_ns || (task_is_of_python(o->kind) && !*o->idle && *o->path);

			w->busy_ns += counts && same_process(o, w) ? o->task_ns : 0;
		}
	}
	/* once it is known who is behind whom */
	for (guint i = 0; i < f->cnt; i++) {
		struct task_wait *w = &g_array_index(f->rows, struct task_wait, i);

		task_itself_find(p, f, w);
		w->advice = backlog_advice_of_drops(w->drops) ?: w->advice;
	}
	if (findings)
		task_threads_find(f, findings);
	return f;
}

FREES(task_findings_free, struct task_findings, f, g_array_unref(f->rows); g_string_chunk_free(f->strings))
