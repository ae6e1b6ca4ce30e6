/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/findings_part.h"

#include <string.h>

#include "analyse/peers.h"
#include "analyse/reason/idle.h"
#include "base/find.h"
#include "explain/sentence.h"
#include "explain/text.h"
#include "features/wakers/analysis.h"

#define RESTS_NS 10000000ULL	/* mean: shorter answers of a server that rests are the rest of its work */
#define POLLS_MIN 3
#define POLL_NS 2000000000ULL	/* faster answers are slow, however regular */
#define HALF_NS 500000000ULL
#define SAME_PART 50		/* of the longest: so much they differ at most */
#define EXACT_PART 200		/* the same where they are few */
#define TICKS_MIN 3		/* in the window */
#define REST_PART 20		/* of the longest: what is shorter is for the rest of an answer */
#define LONG_POLL_ADVICE \
	"It comes after whole or half seconds: of a consumer that asks for work with a time limit (a long poll) that is meant. Else the " \
	"peer pauses, or gives up, after that time: look at it."
#define LEADER_ADVICE \
	"No answer came while this was recorded. A standby that waits for an advisory lock is meant to; else see what its session waits " \
	"for: wait_event in pg_stat_activity, pg_blocking_pids(). One that is idle in transaction holds its locks."
#define LOST_TASK_ADVICE \
	"No result came while this was recorded, and all workers of the pool wait for work: its task is lost. A worker that was killed " \
	"(dmesg: out of memory) takes its task with it, and multiprocessing.Pool waits on; concurrent.futures.ProcessPoolExecutor tells."
#define ROOM_ADVICE \
	"Other threads of that pool wait for work, so nothing queues behind these: work that sends something now and then is meant to " \
	"pause. If it looks whether something has come, wait for that instead."
#define PACE_ADVICE \
	"A clock, a script's pause or a limit of its rate may be meant. If it looks whether something has come, let that be signalled, or " \
	"wait for it."
#define READER_ADVICE \
	"It takes what comes at once: of who reads a log, or what somebody does now and then, that is meant. If it should come sooner " \
	"look at who sends it."

/*
 * Whoever should end a wait that nobody ended in the window does not do so at all, rather than slowly. Some such waits
 * are a standby's: these have no rank and are no time that matters, unless somebody waits for the process.  A process
 * that waits for room, or for an answer, is stuck.
 */
static const struct ending {
	const char *rules;	/* pattern of their names */
	bool may_be_meant;
	const char *advice;
} endings[] = {
	{ "semaphore-sysv", false,
	  "Nobody raised it while this was recorded. A process that took it and ended leaves it taken, unless it used SEM_UNDO: "
	  "`ipcs -s` lists them, `ipcs -s -i ID` tells which process changed it last." },
	{ "named-semaphore", true,
	  "Nobody raised it while this was recorded. If it tells of work to come that is meant; if it counts a pool's resources a "
	  "process took the last one and keeps it, or ended: a semaphore has no owner, so raise it, or remove it and start all anew." },
	{ "*semaphore*", true,
	  "Nobody raised it while this was recorded. If it tells of work to come, as to a standby, that is meant; if it counts a pool's "
	  "resources whoever took the last one keeps it, or left without giving it back: `offcpu report --full` tells what others do." },
	{ "connections-*", false,
	  "Nobody gave one back while this was recorded: whoever has them waits itself, or left without giving them back (after an error, "
	  "too: finally, with): `offcpu report --full` tells what others do." },
	{ "*barrier*", true,
	  "Nobody else came while this was recorded. A standby that waits for its phase is meant to; if this is none, see what those "
	  "wait for that should come: `offcpu report --full`." },
	{ "*future-in-worker", false, NULL },
	{ "*future", true,
	  "No result came while this was recorded. Who waits for an event in the program's life, as a change or its end, is meant to; "
	  "else whoever should bring it waits itself, or has left without: `offcpu report --full`." },
	{ "channel-send", false,
	  "Nobody took anything from it while this was recorded: whoever should has ended, or waits itself. If that is for room in a channel "
	  "that this thread is to empty, neither goes on, a deadlock: `offcpu report --full`." },
	{ "*queue-full", false,
	  "Nobody took anything from it while this was recorded: whoever should has ended, or waits itself: `offcpu report --full`." },
	{ "memory-server*", true,
	  "Nothing came while this was recorded: a command that waits for work (BRPOP, XREAD, SUBSCRIBE, reserve) is meant to wait. "
	  "If it was another one see what that server runs: SLOWLOG GET." },
	{ "postgres-advisory-lock", true, NULL },
	{ "named-pipe", false,
	  "No program has the other end open: see whether the one that should has ended, and start it, or open the pipe without waiting "
	  "(O_NONBLOCK, timeout(1))." },
	{ "pipe-write", false,
	  "Nobody read from it while this was recorded: see what the reader waits for. If that is room in a pipe that this writer "
	  "reads, neither goes on: read and write at once (communicate(), a thread)." },
	{ "pipe-read", true,
	  "Nobody wrote into it while this was recorded: of who waits for lines to come now and then that is meant. Else see what the "
	  "writer waits for. Who reads till the end waits until all have closed it, also a daemon that inherited it: send that one's "
	  "output elsewhere (>/dev/null 2>&1)." },
	{ "child", true,
	  CHILDREN_ADVICE },
	{ "ruby-child", true,
	  CHILDREN_ADVICE },
	{ "python-queue-join", true,
	  "The queue was not worked off while this was recorded: who waits for its end, as before a shutdown, is meant to. Else see what "
	  "those wait for who should take from it, and whether they call task_done(): `offcpu report --full`." },
	{ "terminal", true,
	  "Nobody typed while this was recorded: a prompt, or a shell, waits so, which is meant. Of a program that should go on by itself see "
	  "what it asks: let it read from /dev/null, or tell it not to ask." },
	{ "message-queue", false,
	  "Nobody took from it, or sent into it, while this was recorded. One of System V may be full of messages of a type that "
	  "nobody takes: `ipcs -q` lists them, `ipcs -q -i ID` tells who sent and received last." },
	{ "file-lock", true,
	  "Nobody let go of it while this was recorded. The standby of a leader waits so, and is meant to; if this is none, see what "
	  "the lock's holder waits for, or end it." },
	{ "fuse*", false,
	  "None of these ended while this was recorded: the process that serves that file system (findmnt) does not answer. Look at what it "
	  "waits for, also at its peer; `umount -l` keeps others from it, /sys/fs/fuse/connections/*/abort ends the waits." },
	{ "python-process-lock", false,
	  "Nobody let go of it while this was recorded: see what its holder waits for. If that was killed nobody can: start these "
	  "processes anew." },
};

/* What its session says, for a program with one thread that waits only for one answer of PostgreSQL. */
static const struct session {
	const char *does;	/* a pattern */
	bool may_be_meant;
	const char *advice;
} sessions[] = {
	{ "SELECT waiting", true, LEADER_ADVICE },
	{ "* waiting", false,
	  "Its session waits for a lock that another one has: pg_blocking_pids() tells whose. One that is idle in transaction keeps its "
	  "locks." },
	{ "idle*", true, "Its session was asked for nothing: who waits for notifications (LISTEN) is meant to." },
	{ "*", false,
	  "Its session works on one statement all the time, and waits for no lock: see its plan (EXPLAIN), and wait_event in "
	  "pg_stat_activity." },
};
/* Not known, as on another host: a statement that waits for another's locks is more frequent than a standby. */
static const struct session unknown_session = { "", false, LEADER_ADVICE };

static const struct ending *ending_of(const char *rule)
{
	for (size_t i = 0; i < G_N_ELEMENTS(endings); i++)
		if (g_pattern_match_simple(endings[i].rules, rule))
			return &endings[i];
	return NULL;
}

/* Per row: did one of its waits end?  And its waits that lie whole in the window, without the rests of answers. */
struct ends {
	bool has_ended;
	uint64_t cnt, ns, max_ns;
};

static bool is_whole(const struct wait *w)
{
	return !(w->flags & (WAIT_OPEN_AT_START | WAIT_OPEN_AT_END));
}

/* By the rows' ids. */
static struct ends *ends_new(const struct findings *f)
{
	struct ends *all = g_new0(struct ends, (gsize)f->rows->len + 1);

	EACH_ROW(i, const struct wait, w, f->profile->waits) {
		struct ends *e = &all[f->blocked_in[i]];

		e->has_ended |= w->count != 1 || !(w->flags & WAIT_OPEN_AT_END);
		if (is_whole(w))
			e->max_ns = MAX(e->max_ns, w->max_ns ?: w->blocked_ns);
	}
	EACH_ROW(i, const struct wait, w, f->profile->waits) {
		struct ends *e = &all[f->blocked_in[i]];

		if (!is_whole(w) || (w->max_ns ?: w->blocked_ns) < e->max_ns / REST_PART)
			continue;
		e->cnt += w->count;
		e->ns += w->blocked_ns;
	}
	return all;
}

/* Clients wait for its answers or to be accepted, so it should continue. */
static bool is_asked(const struct findings *f, const struct finding *row)
{
	uint32_t pid = finding_pid(f, row);

	return row->backlog || profile_find_limit(f->profile, LIMIT_OWED, pid, 0) ||
	       profile_find_limit(f->profile, LIMIT_BACKLOG, pid, 0);
}

/* With several children, or one that only waits, nobody knows whether one should have ended. */
static bool is_supervisor(const struct findings *f, const struct finding *row)
{
	const struct object *o = finding_object(f, row);
	char there[1];
	struct limit_child c;

	if (row->is_told_elsewhere)
		return false;
	if (!limit_child_read(row->limit.limit, &c, there, sizeof(there)))
		return !row->limit.limit && o && o->kind == OBJECT_CHILD && !o->pid;
	return c.does == CHILD_SEVERAL || c.does == CHILD_EVENTS || c.does == CHILD_WAITS || c.does == CHILD_SLEEPS ||
	       c.does == CHILD_OTHER;
}

/* It sleeps between its ticks, as a leader does that keeps the lock. */
static bool ticks(const struct findings *f, const struct finding_by *by)
{
	return by->does == REASON_SLEEP && by->does_wait && reasons_idle(f->reasons, by->does_wait - 1) == IDLE_TIMER &&
	       profile_wait(f->profile, by->does_wait - 1)->count >= TICKS_MIN;
}

/* A leader and its standby run the same program, and the leader waits for nothing but its next tick. */
static bool is_held_by_own_kind(const struct findings *f, const struct finding *row)
{
	uint32_t holder = row->by.pid ? cause_thread(f->profile, row->by.pid, row->by.pid) : CAUSE_NONE;

	if (holder == CAUSE_NONE)
		return row->reason != REASON_LOCK_KERNEL;
	return f->programs[holder] == row->process && (!row->by.does_ns || ticks(f, &row->by));
}

static bool may_be_meant(const struct findings *f, const struct finding *row, const struct ending *ending)
{
	if (!ending->may_be_meant || is_asked(f, row) || row->deadlock)
		return false;
	if (row->reason == REASON_CHILD_EXIT)
		return is_supervisor(f, row);
	return !row->limit.limit && is_held_by_own_kind(f, row);
}

static bool is_of_resting_server(const struct findings *f, const struct finding *row)
{
	const struct object *o = finding_object(f, row);
	const struct rule *rule = finding_rule(f, row);

	return o && row->reason == REASON_NETWORK_RECEIVE && profile_server_does(f->profile, o->pid) == SERVER_RESTS &&
	       !(rule && rule->advice);	/* which knows what was asked for, as a task's result */
}

/*
 * A server with all data in memory answers at once, so these are commands that wait for work with a time limit; if it
 * was seen to rest meanwhile all that are longer than a moment.
 */
static bool is_for_work(const struct findings *f, const struct finding *row)
{
	const bool rests = is_of_resting_server(f, row);

	return (rests || finding_is_by(f, row, RULES_MEMORY_SERVER "*")) && row->count &&
	       row->time_ns / row->count >= (rests ? RESTS_NS : FINDING_WORK_NS) && !row->limit.limit && !row->loop &&
	       !is_asked(f, row);
}

/* By the process that is asked, or from one that is unknown, as on another machine. */
static bool is_brought(const struct profile *p, const struct wake *wake)
{
	const struct wait *w = profile_wait(p, wake->wait);
	const struct object *o = profile_wait_object(p, w);
	const struct waker *by = profile_get_waker(p, wake->waker);

	return idle_is_asked(p, w, by) || (o && o->kind == OBJECT_EPOLL && !o->pid && waker_brings_by_tcp(p, by));
}

/* The peer that its loop asks answers slowly, or is unknown, and nobody waits for this process. */
static bool is_late_answer(const struct findings *f, const struct finding *row)
{
	const struct profile *p = f->profile;
	const struct object *o = finding_object(f, row);
	const bool is_known = !o || o->kind != OBJECT_EPOLL || o->pid;
	uint64_t ns = 0, cnt = 0;

	if (row->reason != REASON_NETWORK_RECEIVE || row->loop || row->limit.limit || row->threads_cnt != 1 ||
	    is_asked(f, row) || profile_is_of_command(p))
		return false;
	const struct peer_ends ends = peer_ends_of(p, finding_pid(f, row));

	if (!ends.is_one || ends.clients_cnt)
		return false;
	EACH_ROW(i, const struct wake, wake, p->wakes) {
		if (f->blocked_in[wake->wait] != row->id || !is_brought(p, wake))
			continue;
		ns += wake->blocked_ns;
		cnt += wake->count;
	}
	return cnt >= 2 && (!is_known || ns / cnt >= LATE_ANSWER_NS);
}

/* How far the longest is from whole or half seconds. */
static uint64_t off_halves_ns(const struct ends *e)
{
	const uint64_t even_ns = (e->max_ns + HALF_NS / 2) / HALF_NS * HALF_NS;

	return e->max_ns > even_ns ? e->max_ns - even_ns : even_ns - e->max_ns;
}

/* All take the same whole or half seconds. */
static bool is_even(const struct ends *e)
{
	return off_halves_ns(e) <= e->max_ns / SAME_PART && e->ns >= e->cnt * (e->max_ns - e->max_ns / SAME_PART);
}

/*
 * An answer comes each time after the same whole or half seconds: the time limit of a long poll, which is meant, or
 * one of the peer's.  A few, of which ends of the window cut some off, tell that if they are exact, and nothing else
 * is waited for.
 */
static bool is_long_poll(const struct findings *f, const struct finding *row, const struct ends *e)
{
	const bool is_all = e->cnt && row->count >= POLLS_MIN && finding_waits_always(f->profile, row) &&
			    off_halves_ns(e) <= e->max_ns / EXACT_PART &&
			    row->max_ns <= e->max_ns + e->max_ns / EXACT_PART;

	/* somebody waits for the end of a command */
	if (profile_is_of_command(f->profile) || row->reason != REASON_NETWORK_RECEIVE || row->loop ||
	    row->limit.limit || row->timed_out_cnt || is_asked(f, row))
		return false;
	return (e->cnt >= POLLS_MIN || is_all) && e->max_ns >= POLL_NS - POLL_NS / SAME_PART && is_even(e);
}

/* The writer of what it reads, if known. */
static uint32_t writer_of(const struct findings *f, const struct finding *row)
{
	const struct object *o = finding_object(f, row);

	if (finding_is_by(f, row, "message-queue"))
		return row->by.pid;
	if (!o || !finding_is_by(f, row, "pipe-read"))
		return 0;
	return o->pid ?: row->by.pid != finding_pid(f, row) ? row->by.pid : 0;	/* of a FIFO writers come and go */
}

/* A child was probably asked for what it writes, but for one that sleeps, and writes each whole or half second (vmstat 1). */
static bool is_of_asked_child(const struct findings *f, const struct finding *row, const struct ends *e,
			      uint32_t writer)
{
	const struct profile_limit *l = profile_find_limit(f->profile, LIMIT_CHILD, finding_pid(f, row), 0);
	char there[1];
	struct limit_child c;

	return l && !(limit_child_read(l, &c, there, sizeof(there)) && c.does == CHILD_SLEEPS && c.pid == writer &&
		      e->cnt >= TICKS_MIN && is_even(e));
}

/*
 * It is ready whenever data arrives, and the writer was not recorded: logs are read like that, and output of slow
 * programs.
 */
static bool keeps_up(const struct findings *f, const struct finding *row, const struct ends *e)
{
	uint32_t writer = writer_of(f, row);

	return writer && !row->loop && !row->deadlock && !row->spawned_cnt && !row->by.is_program &&
	       !row->limit.limit && !is_of_asked_child(f, row, e, writer) &&
	       cause_thread(f->profile, writer, writer) == CAUSE_NONE && finding_waits_always(f->profile, row);
}

/* Several threads of a server: each likely serves a client. */
static bool is_for_clients(const struct findings *f, const struct finding *row)
{
	return row->threads_cnt > 1 && peer_ends_of(f->profile, finding_pid(f, row)).listens;
}

/* It is as slow as its user configured it, by mistake or not. */
static bool has_own_rate(const struct findings *f, const struct finding *row)
{
	return finding_is_by(f, row, RULES_OWN_RATE "*") && !row->loop && !is_asked(f, row) && !is_for_clients(f, row);
}

/*
 * A helper thread hands it what arrives (ZeroMQ), and nothing that it does wakes that thread: it has asked for
 * nothing.
 */
static bool is_fed(const struct findings *f, const struct finding *row)
{
	const struct profile *p = f->profile;
	uint32_t helper = row->by.tid && row->by.pid == row->pid ? cause_thread(p, row->by.pid, row->by.tid)
								 : CAUSE_NONE;

	const struct object *o = finding_object(f, row);

	if (row->reason != REASON_NETWORK_RECEIVE || row->loop || row->limit.limit || helper == CAUSE_NONE ||
	    is_asked(f, row) || !o || o->kind == OBJECT_SOCKET || row->by.blocked_ns < row->time_ns / 2)
		return false;
	EACH_ROW(i, const struct wake, wake, p->wakes) {
		const struct waker *by = profile_get_waker(p, wake->waker);

		if (profile_wait(p, wake->wait)->thread == helper && !by->irq && by->pid == row->pid &&
		    by->tid != row->by.tid)
			return false;
	}
	return true;
}

/* NULL: unknown. */
static const char *session_does(const struct findings *f, const struct finding *row)
{
	const struct thread *t = profile_thread(f->profile, profile_wait(f->profile, row->wait)->thread);
	const struct profile_limit *l = row->reason == REASON_NETWORK_RECEIVE
						? profile_find_limit(f->profile, LIMIT_SESSION, t->pid, t->tid)
						: NULL;

	return l ? l->text : NULL;
}

/* NULL: it is no such program. */
static const struct session *session_of(const struct findings *f, const struct finding *row)
{
	const struct object *o = finding_object(f, row);
	const char *does = session_does(f, row);

	if (row->reason != REASON_NETWORK_RECEIVE || row->count != 1 || !o || !strstr(o->name, "(postgres)") ||
	    !deadlock_is_alone(f->profile, finding_pid(f, row)) || row->limit.limit || is_asked(f, row))
		return NULL;
	return does ? FIRST(x, sessions, g_pattern_match_simple(x->does, does), x, NULL) : &unknown_session;
}

void unended_append_evidence(GString *s, const struct findings *f, const struct finding *row)
{
	const char *does = session_does(f, row);

	if (!does)
		return;
	g_string_append(s, "; as the recording ended its session was at `");
	text_safe_cut(s, does, FINDING_NAME_COLUMNS);
	g_string_append_c(s, '`');
}

/* The result is to come from a pool of processes, all of which wait for work all the time. */
static bool is_task_lost(const struct findings *f, const struct finding *row)
{
	static const char *const results[] = { "ApplyResult.", "MapResult.", NULL };
	const struct profile *p = f->profile;
	g_autoptr(GHashTable) rest = g_hash_table_new(NULL, NULL);	/* pids */

	if (!finding_is_by(f, row, "python-future") || !row->pid ||
	    !profile_stack_names(p, profile_wait(p, row->wait)->user, results))
		return false;
	EACH_ROW(i, const struct wait, w, p->waits) {
		const struct rule *other = reasons_rule(f->reasons, i);

		if (finding_wait_is_all_along(w) && other && strcmp(other->name, "python-process-pool") == 0)
			g_hash_table_add(rest, GUINT_TO_POINTER(profile_thread(p, w->thread)->pid));
	}
	EACH_ROW(i, const struct thread, t, p->threads)
		if (f->programs[i] == row->process && t->pid != row->pid &&
		    !g_hash_table_contains(rest, GUINT_TO_POINTER(t->pid)))
			return false;
	return g_hash_table_size(rest) > 0;
}

/* By a connection on which it asks for nothing comes what others have to tell: a feed, a subscription. */
static bool listens(const struct findings *f, const struct finding *row)
{
	const struct rule *rule = finding_rule(f, row);

	return row->reason == REASON_NETWORK_RECEIVE && !row->loop && !row->limit.limit && row->count &&
	       !(rule && rule->advice) && row->time_ns / row->count >= PEER_UNASKED_NS &&
	       !profile_is_of_command(f->profile) && finding_waits_always(f->profile, row) && !is_asked(f, row) &&
	       idle_only_listens(f->profile, profile_wait(f->profile, row->wait));
}

/* It has asked a peer through a library without a rule of its own. */
static bool may_wait_for_ever(const struct findings *f, const struct finding *row)
{
	const struct rule *rule = finding_rule(f, row);
	const struct object *o = finding_object(f, row);

	return row->reason == REASON_NETWORK_RECEIVE && o && o->kind == OBJECT_SOCKET && !object_is_accepted(o) &&
	       !row->limit.limit && !row->loop && !(rule && rule->advice);
}

/* Threads of its own wait until it hands on to them what it takes. */
static bool is_handed_on(const struct findings *f, const struct finding *row, const struct finding *other)
{
	return other->process == row->process && reason_is_signalled(other->reason) && !finding_is_by(f, other, "*barrier*") &&
	       finding_mostly_does(other) && !other->deadlock && !other->is_stuck && !is_asked(f, other);
}

/* Others that are told wait for those who wait here; takes: not for what it only takes itself. */
static bool is_waited_for(const struct findings *f, const struct finding *row, bool takes)
{
	EACH_FIRST(i, other, f, FINDINGS_WITH_CAUSES) {
		if (other != row && !other->may_be_meant && finding_cause(f, other) == row &&
		    !(takes && is_handed_on(f, row, other)))
			return true;
	}
	return false;
}

/* It sleeps, or looks for something by a time limit of its own, and nobody asks it. */
static bool keeps_own_pace(const struct findings *f, const struct finding *row)
{
	const struct rule *rule = finding_rule(f, row);
	const bool is_pace = row->is_own_limit || (row->reason == REASON_SLEEP && !(rule && rule->advice));

	return is_pace && !row->limit.limit && !row->loop && !row->busy && !row->waited_ns && !row->leads_ns &&
	       !is_asked(f, row);
}

void unended_find(struct findings *f)
{
	g_autofree struct ends *ends = ends_new(f);
	const bool is_host = profile_is_of_host(f->profile);
	const struct finding *taker = NULL;

	EACH_ROW(i, struct finding, row, f->rows) {
		const struct rule *rule = finding_rule(f, row);
		const struct ending *ending = rule ? ending_of(rule->name) : NULL;
		const bool is_unasked = listens(f, row);
		const bool takes = is_unasked || keeps_up(f, row, &ends[row->id]) || is_fed(f, row);
		const bool asks = !takes && (is_for_work(f, row) || has_own_rate(f, row));
		const bool is_late = !takes && !asks && is_late_answer(f, row);
		const bool is_unended = !ends[row->id].has_ended && finding_fills_window(f->profile, row->max_ns);

		if (takes || asks || is_late || is_long_poll(f, row, &ends[row->id])) {
			row->unended = is_unasked ? UNASKED_ADVICE
				       : takes	 ? READER_ADVICE
				       : asks && is_of_resting_server(f, row) ? SERVER_RESTS_ADVICE
				       : asks	 ? (rule ? rule->advice : NULL)
				       : is_late ? LATE_ANSWER_ADVICE
						 : LONG_POLL_ADVICE;
			row->may_be_meant = true;
		}
		row->may_be_meant = row->may_be_meant || pauses_are_all_work(f, row);
		if (!row->may_be_meant && asked_leaves_room(f, row)) {
			row->unended = ROOM_ADVICE;
			row->may_be_meant = true;
		}
		if (ending && is_unended && !row->busy) {
			row->may_be_meant = may_be_meant(f, row, ending);
			row->unended = row->may_be_meant || row->reason != REASON_CHILD_EXIT ? ending->advice : NULL;
		}
		if (is_unended && is_task_lost(f, row)) {
			row->unended = LOST_TASK_ADVICE;
			row->may_be_meant = false;
		}
		if (is_host && !row->may_be_meant && !row->unended && keeps_own_pace(f, row)) {
			row->unended = PACE_ADVICE;
			row->may_be_meant = row->keeps_pace = true;
		}
		row->is_unanswered = is_unended && may_wait_for_ever(f, row);
		const struct session *session = is_unended ? session_of(f, row) : NULL;
		if (session) {
			row->unended = session->advice;
			row->may_be_meant = session->may_be_meant;
		}
		row->may_be_meant = row->may_be_meant && !is_waited_for(f, row, takes);
		f->meant_ns += row->may_be_meant ? row->time_ns : 0;
		taker = taker ?: takes && row->may_be_meant ? row : NULL;
	}
	EACH_FIRST(i, row, f, FINDINGS_WITH_CAUSES) {
		if (!taker || row->may_be_meant || finding_cause(f, row) != taker || !is_handed_on(f, taker, row))
			continue;
		row->may_be_meant = true;
		row->unended = taker->unended;
		f->meant_ns += row->time_ns;
	}
	f->matters_ns -= f->meant_ns;
}
