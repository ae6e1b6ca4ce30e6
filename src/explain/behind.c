/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/peers.h"
#include "explain/findings_part.h"

#include <string.h>

#include "explain/sentence.h"

/* Most of its time is for one that mostly does what `by` says. */
static bool is_mostly_for(const struct finding *row)
{
	return finding_mostly_does(row) && row->by.blocked_ns > row->time_ns / 2;
}

/*
 * In a pipeline that is as fast as its slowest stage, the process that it waits for waits for a third one, which is
 * nearer to that stage.
 */
static bool is_passed_on(const struct finding *row, const struct finding *cause)
{
	return row->reason == REASON_PIPE && cause->reason == REASON_PIPE && cause->process != row->process &&
	       g_strcmp0(cause->by.comm, row->process) != 0;
}

/*
 * It waits for another program to go on: a pipe's reader, a file system's server, who froze it, or the peer that it has
 * connected to and sends to.  Of a client that reads slowly nobody else need know: the lock is not to be held then.
 */
static bool is_for_program(const struct findings *f, const struct finding *row)
{
	const struct object *o = finding_object(f, row);

	return row->by.pid && row->by.pid != row->pid &&
	       (finding_is_by(f, row, "pipe-write") || finding_is_by(f, row, "fuse*") ||
		finding_is_by(f, row, "frozen-file-system") ||
		(row->reason == REASON_NETWORK_SEND && o && o->kind == OBJECT_SOCKET && !object_is_accepted(o)));
}

/*
 * Who holds the lock, or is to take from the queue, waits for another program: whoever has no lock there waits for that
 * one, too.
 */
static bool is_lock_before_program(const struct findings *f, const struct finding *row, const struct finding *cause)
{
	return (finding_is_held(f, row) || finding_is_by(f, row, "*queue-full")) && reason_family(row->reason) == FAMILY_LOCK &&
	       !row->deadlock && !row->never_let_go && !row->is_stuck && cause->process == row->process &&
	       finding_mostly_does(row) && is_for_program(f, cause);
}

/* It waits for room in a ring buffer of the LMAX Disruptor, or who has the lock does: a timer ends these waits. */
static bool is_for_ring_buffer(const struct findings *f, const struct finding *row)
{
	const bool is_by_holder = finding_is_held(f, row) && finding_mostly_does(row) && row->by.does_wait;
	const struct rule *rule = is_by_holder ? reasons_rule(f->reasons, row->by.does_wait - 1) : finding_rule(f, row);

	return rule && strcmp(rule->name, "disruptor-queue-full") == 0;
}

/*
 * What the thread that takes from the process's full ring buffer waits for most of the time, as an appender of a log for
 * the peer to which it writes; NULL: nothing is known.
 */
static struct finding *ring_taker_of(const struct findings *f, const struct finding *row)
{
	static const char *const taker[] = { "com.lmax.disruptor.BatchEventProcessor.", NULL };

	if (row->deadlock || !is_for_ring_buffer(f, row))
		return NULL;
	EACH_ROW(i, struct finding, cause, f->rows)
		if (cause->process == row->process && !cause->busy &&
		    cause->time_ns > f->profile->info.duration_ns / 2 &&
		    cause->reason != REASON_SLEEP && reason_family(cause->reason) != FAMILY_CPU &&
		    reason_family(cause->reason) != FAMILY_LOCK &&
		    profile_stack_names(f->profile, profile_wait(f->profile, cause->wait)->user, taker))
			return cause;
	return NULL;
}

/* If the lock's holder is throttled, the quota's finding for its process; NULL: it is not. */
static struct finding *throttle_of(const struct findings *f, const struct finding *row)
{
	if (!finding_is_held(f, row) || row->by.does != REASON_CPU_THROTTLED || !finding_mostly_does(row))
		return NULL;
	EACH_ROW(i, struct finding, cause, f->rows)
		if (cause->reason == REASON_CPU_THROTTLED && cause->process == row->process)
			return cause;
	return NULL;
}

/*
 * The finding of the thread that requested the collections which stop this one (System.gc()); NULL: none, or few of
 * them.
 */
static struct finding *asked_collection_of(const struct findings *f, const struct finding *row)
{
	if (!finding_is_by(f, row, "java-vm-operation*"))
		return NULL;
	EACH_ROW(i, struct finding, cause, f->rows)
		if (finding_is_by(f, cause, "java-gc-asked*") && cause->process == row->process &&
		    cause->time_ns / cause->threads_cnt > row->time_ns / row->threads_cnt / 2)
			return cause;
	return NULL;
}

/* Those who do these tasks wait for others' tasks themselves. */
static bool is_of_starved_workers(const struct findings *f, const struct finding *row, const struct finding *cause)
{
	return sentence_is_for_workers(f, row) && !sentence_is_in_worker(f, row) && sentence_is_in_worker(f, cause) &&
	       cause->process == row->process;
}

/*
 * Each thread waits for its own answer, which other threads of the process bring, and these ask another program for
 * it.
 */
static bool is_for_answer(const struct findings *f, const struct finding *row, const struct finding *cause)
{
	return finding_has_own_locks(row) && cause->process == row->process &&
	       cause->reason == REASON_NETWORK_RECEIVE && is_mostly_for(row) && finding_ends_far(f, cause);
}

/*
 * Another thread of its own process is at the other end of its connection or pipe, and mostly waits itself.  Several
 * that wait for one thread queue there.
 */
static bool is_for_own_thread(const struct findings *f, const struct finding *row, const struct finding *cause)
{
	const struct object *o = finding_object(f, row);

	return (row->reason == REASON_NETWORK_RECEIVE || row->reason == REASON_PIPE) && o && row->pid &&
	       o->pid == row->pid && row->by.pid == row->pid && cause->pid == row->pid && !row->deadlock &&
	       !row->limit.limit && row->threads_cnt <= row->by.threads_cnt && is_mostly_for(row);
}

/* Time that other processes of the name of the one in `by` end. */
static uint64_t by_namesakes_ns(const struct findings *f, const struct finding *row)
{
	const struct profile *p = f->profile;
	uint64_t ns = 0;

	EACH_ROW(i, const struct wake, wake, p->wakes) {
		const struct waker *by = profile_get_waker(p, wake->waker);

		if (f->blocked_in[wake->wait] == row->id && by->comm == row->by.comm &&
		    by->pid != profile_thread(p, profile_wait(p, wake->wait)->thread)->pid)
			ns += wake->blocked_ns;
	}
	return ns;
}

/*
 * Other processes of its own program, at the other ends of socket pairs or pipes, wait for something else for about as
 * long, as the monitors of sshd for a name server.
 */
static bool is_for_own_program(const struct findings *f, const struct finding *row, const struct finding *cause)
{
	const struct object *o = finding_object(f, row);
	const bool is_as_long = cause->time_ns > row->time_ns / 4 * 3 && row->time_ns > cause->time_ns / 4;
	const bool is_pair = row->reason == REASON_NETWORK_RECEIVE && o && strcmp(o->place, "unix") == 0;

	return (is_pair || row->reason == REASON_PIPE) && cause->process == row->process &&
	       cause->reason != REASON_SLEEP && !row->deadlock && !row->limit.limit && is_as_long &&
	       g_strcmp0(finding_process_name(f, row->by.pid), row->process) == 0 && finding_mostly_does(row) &&
	       by_namesakes_ns(f, row) > row->time_ns / 2;
}

/* For each thread: does it end the row's waits for its own process? None: one of another process does, too. */
static bool *own_wakers_new(const struct findings *f, const struct finding *row)
{
	const struct profile *p = f->profile;
	bool *own = g_new0(bool, (gsize)p->threads->len + 1);

	EACH_ROW(i, const struct wake, wake, p->wakes) {
		const struct waker *by = profile_get_waker(p, wake->waker);
		const struct object *o = profile_wait_object(p, profile_wait(p, wake->wait));

		if (f->blocked_in[wake->wait] != row->id || waker_is_timer(by) || !o || o->pid != row->pid)
			continue;
		const uint32_t thread = by->pid == row->pid ? cause_thread(p, by->pid, by->tid) : CAUSE_NONE;

		if (thread == CAUSE_NONE) {
			memset(own, 0, p->threads->len * sizeof(*own));
			break;
		}
		own[thread] = true;
	}
	return own;
}

/*
 * It looks again and again by a time limit, as libcurl does, whether a thread of its own process has written into
 * their connection or pipe, and those threads mostly wait for something that is told.
 */
static bool is_for_own_helpers(const struct findings *f, const struct finding *row)
{
	const struct object *o = finding_object(f, row);
	uint64_t all_ns = 0, in_ns = 0;

	if ((row->reason != REASON_NETWORK_RECEIVE && row->reason != REASON_PIPE) || !o || !row->pid ||
	    o->pid != row->pid || row->timed_out_cnt <= row->woken_cnt / 2 || row->deadlock || row->limit.limit)
		return false;
	g_autofree bool *helps = own_wakers_new(f, row);
	const struct wait *longest = NULL;
	uint32_t id = 0;

	EACH_ROW(i, const struct wait, w, f->profile->waits) {
		if (!helps[w->thread] || !f->blocked_in[i])
			continue;
		all_ns += w->blocked_ns;
		if (longest && w->blocked_ns <= longest->blocked_ns)
			continue;
		longest = w;
		id = f->blocked_in[i];
	}
	EACH_ROW(i, const struct wait, w, f->profile->waits)
		in_ns += helps[w->thread] && f->blocked_in[i] == id ? w->blocked_ns : 0;
	const struct finding *cause = longest ? finding_of_id(f, id) : NULL;

	return cause && cause != row && in_ns > all_ns / 2 && cause->time_ns > row->time_ns / 2;
}

/* A script sleeps by a separate program: it is the script that polls or pauses.  The last sleep may be unfinished. */
static bool is_shells_sleep(const struct finding *row, const struct finding *cause)
{
	return row->reason == REASON_CHILD_EXIT && cause->reason == REASON_SLEEP && cause->process != row->process &&
	       strcmp(cause->process, "sleep") == 0 && row->by.does == REASON_SLEEP &&
	       row->by.does_ns > row->by.blocked_ns / 2 && cause->time_ns > row->time_ns / 2;
}

/* The same if that program was not recorded: the child's name tells. */
static bool is_childs_sleep(const struct findings *f, const struct finding *row)
{
	const struct object *o = finding_object(f, row);
	char there[1];
	struct limit_child c;

	if (row->reason != REASON_CHILD_EXIT || !o || o->kind != OBJECT_CHILD)
		return false;
	/* for system("sleep 1"), a shell starts it */
	if (row->count > 1 &&
	    limit_child_read(profile_find_limit(f->profile, LIMIT_CHILD, finding_pid(f, row), 0), &c, there,
			     sizeof(there)) &&
	    c.does == CHILD_SLEEPS && strcmp(c.name, "sleep") == 0)
		return true;
	return strcmp(o->name, "sleep") == 0 || g_str_has_prefix(o->name, "sleep ");
}

/* Another program does a task that has ended, and mostly pauses: nothing else happens meanwhile. */
static bool is_for_job_that_sleeps(const struct findings *f, const struct finding *row, const struct finding *cause)
{
	return row->reason == REASON_CHILD_EXIT && cause->reason == REASON_SLEEP && cause->process != row->process &&
	       row->by.does_ns > row->time_ns / 2 && !(profile_wait(f->profile, row->wait)->flags & WAIT_OPEN_AT_END);
}

/* A relay waits for return data, whose sender indirectly waits for what the relay carries there in another thread. */
static bool is_for_its_own(const struct findings *f, const struct finding *row)
{
	const struct object *o = finding_object(f, row);
	uint32_t pid = row->reason == REASON_PIPE && row->threads_cnt == 1 && o ? o->pid : 0;

	for (unsigned i = 0;
	     pid && i < FINDING_HOPS_MAX && !row->deadlock && !deadlock_is_alone(f->profile, finding_pid(f, row));
	     i++) {
		pid = peers_awaited(f->profile, pid, false);
		if (pid == finding_pid(f, row))
			return true;
	}
	return false;
}

/*
 * A full queue that nobody takes from: what other threads of the program wait for from outside meanwhile, which are to
 * take from it; NULL: unknown.
 */
static struct finding *taker_of(const struct findings *f, const struct finding *row)
{
	const bool is_stuck = finding_is_by(f, row, "*queue-full") && !row->by.pid && !row->deadlock;
	struct finding *does = is_stuck ? finding_of_id(f, row->meanwhile) : NULL;
	const enum reason_family family = does ? reason_family(does->reason) : FAMILY_COUNT;

	if (family == FAMILY_NETWORK || family == FAMILY_DISK || family == FAMILY_PIPE)
		return does;
	return ring_taker_of(f, row);
}

/* Behind what that one queues behind itself. */
static void queue_behind(const struct findings *f, struct finding *row, struct finding *cause)
{
	for (unsigned i = 0; i < FINDING_HOPS_MAX && cause->is_behind; i++) {
		struct finding *next = finding_cause(f, cause) ?: finding_of_id(f, cause->meanwhile);

		if (!next || next == row)
			break;
		cause = next;
	}
	if (cause->reason == REASON_OTHER && !finding_rule(f, cause))	/* it explains nothing */
		return;
	row->is_told_with = row->is_behind = true;
	cause->leads_ns += row->time_ns + row->leads_ns;
	row->leads_ns = 0;
	/* who waits for a child and is waited for is no shell */
	if (cause->reason == REASON_CHILD_EXIT)
		cause->is_told_elsewhere = false;
}

void behind_find(struct findings *f)
{
	EACH_FIRST(i, row, f, FINDINGS_TOLD_MAX) {
		struct finding *cause = finding_cause(f, row);
		struct finding *known = throttle_of(f, row) ?: asked_collection_of(f, row) ?: taker_of(f, row);

		cause = known ? known : cause;
		row->has_sleep = is_childs_sleep(f, row);
		row->is_told_with = row->is_told_with || is_for_its_own(f, row);
		if (is_for_own_helpers(f, row))
			row->is_told_elsewhere = row->is_behind = true;
		if (!cause)
			continue;
		/* the loop's finding mentions it */
		if (row->loop && !cause->loop &&
		    (cause->process == row->process || (is_for_program(f, row) && is_mostly_for(row))))
			cause->is_told_with = true;
		if (is_shells_sleep(row, cause)) {
			row->is_told_elsewhere = false;
			row->has_sleep = cause->is_told_elsewhere = cause->is_shells_sleep = true;
		} else if (is_for_job_that_sleeps(f, row, cause)) {
			cause->leads_ns += row->time_ns;
		}
		if (is_passed_on(row, cause))
			row->is_told_with = true;
		if (is_for_own_thread(f, row, cause))
			row->is_told_elsewhere = row->is_behind = true;
		if (known || is_lock_before_program(f, row, cause) || is_of_starved_workers(f, row, cause) ||
		    is_for_answer(f, row, cause) || is_for_own_program(f, row, cause))
			queue_behind(f, row, cause);
	}
}

/* The process that it asks waits for a server that does one long command: that many connections would not help. */
static bool is_for_one_command(const struct findings *f, const struct finding *row)
{
	return row->by.pid &&
	       ANY_ROW(struct finding, cause, f->rows,
		       finding_has_process(f, cause, row->by.pid) && one_command_advice_of(f, cause));
}

/* It has a limit of its own that the next process does not wait for. */
static bool has_own_limit(const struct findings *f, const struct finding *row)
{
	const struct profile_limit *l = row->limit.limit;
	uint32_t made = 0;
	const char *there;

	return l && (l->kind != LIMIT_OWED || limit_owed_read(l, &made, &there) > made) && !is_for_one_command(f, row);
}

/* What holds up whoever asks its process: another program, a child, the disk, or all that its event loop waits for. */
static bool may_hold_up(const struct finding *cause)
{
	return cause->loop || cause->reason == REASON_NETWORK_RECEIVE || cause->reason == REASON_NETWORK_CONNECT ||
	       cause->reason == REASON_CHILD_EXIT || reason_family(cause->reason) == FAMILY_DISK;
}

/* Many threads of several programs are called python3: another process is another program. */
static bool is_of_others(const struct findings *f, const struct finding *row, const struct finding *cause)
{
	return cause->process != row->process || (cause->pid && !finding_has_process(f, row, cause->pid));
}

/*
 * The asked program asks a third one for most of that time, or is held up otherwise.  Many clients may wait for one
 * thread: the one of them that waits longest is the measure.  A limit of the asking one's connections is no cause where
 * the asked one accepts no more.
 */
static bool is_asked_on(const struct findings *f, const struct finding *row, const struct finding *cause)
{
	/* two that ask each other */
	const bool is_mutual = cause->by.pid ? finding_has_process(f, row, cause->by.pid) :
					       g_strcmp0(cause->by.comm, row->process) == 0;

	return row->reason == REASON_NETWORK_RECEIVE && may_hold_up(cause) && is_of_others(f, row, cause) &&
	       finding_process_name(f, row->by.pid) == cause->process && !is_mutual &&
	       (!has_own_limit(f, row) || cause->backlog) &&
	       !row->deadlock && is_mostly_for(row) && cause->time_ns > cause_longest_waiter_ns(f, row) / 2;
}

/* All workers of the asked process are occupied by silent clients, so it was not accepted yet. */
static bool is_for_free_worker(const struct findings *f, const struct finding *row, const struct finding *cause)
{
	return row->reason == REASON_NETWORK_RECEIVE && cause->process != row->process &&
	       backlog_is_of_clients(f, cause) && finding_mostly_does(row) && !has_own_limit(f, row) &&
	       !row->deadlock;
}

/* Who is to read has no room itself: its own queue is full. */
static bool is_for_full_queue(const struct findings *f, const struct finding *row, const struct finding *cause)
{
	return row->reason == REASON_NETWORK_SEND && finding_is_by(f, cause, "*queue-full") && is_mostly_for(row) &&
	       !row->deadlock;
}

/* The peer did not answer: what that process mostly waits for itself; NULL: unknown. */
static struct finding *unanswered_for(const struct findings *f, const struct finding *row)
{
	const struct object *o = finding_object(f, row);

	if (row->reason != REASON_NETWORK_RECEIVE || row->by.blocked_ns || row->deadlock || !o || !o->pid)
		return NULL;
	EACH_ROW(i, struct finding, cause, f->rows)
		if (cause->pid == o->pid && cause->process != row->process && !cause->busy &&
		    cause->reason != REASON_CPU_QUEUE && cause->reason != REASON_NETWORK_RECEIVE &&
		    cause->clock_ns <= cause->time_ns / 2 && cause->time_ns > row->time_ns / 2)
			return cause;
	return NULL;
}

/* Who was asked waits for a lock, or asks others on and on, the last of whom does: that is the cause; NULL: none is. */
static struct finding *lock_asked_for(const struct findings *f, const struct finding *row)
{
	const struct finding *hops[FINDING_HOPS_MAX];
	struct finding *cause;

	if (row->reason != REASON_NETWORK_RECEIVE || row->deadlock || has_own_limit(f, row))
		return NULL;
	unsigned cnt = finding_follow(f, row, hops);

	for (unsigned i = 0; i < cnt; i++)
		if (!is_mostly_for(hops[i]))
			return NULL;
	cause = finding_cause(f, cnt ? hops[cnt - 1] : row);
	return cause && is_mostly_for(row) && reason_family(cause->reason) == FAMILY_LOCK && !cause->is_told_with &&
	       is_of_others(f, row, cause) && cause->time_ns > cause_longest_waiter_ns(f, row) / 2 ? cause : NULL;
}

/* Nobody asks the programs that wait there, as a generator of load, or a job. */
static bool is_of_client(const struct findings *f, const struct finding *row, GHashTable *servers)
{
	EACH_ROW(i, const struct wait, w, f->profile->waits)
		if (f->blocked_in[i] == row->id &&
		    g_hash_table_contains(servers, GUINT_TO_POINTER(profile_thread(f->profile, w->thread)->pid)))
			return false;
	return true;
}

/* The process that listens for others of its program, which do its work: it waits for nothing that is told. */
static bool is_master_of(const struct findings *f, const struct finding *cause, uint32_t pid)
{
	return !cause->pid && finding_process_name(f, pid) == cause->process &&
	       !ANY_ROW(struct finding, row, f->rows,
			row->reason != REASON_CPU_QUEUE && finding_has_process(f, row, pid));
}

/* A database with a process for each session, of which the asker's connections lead to any. */
static bool is_of_sessions(const struct findings *f, const struct finding *cause, uint32_t pid)
{
	g_autofree char *name = g_strdup_printf("(%s)", cause->process);

	return !cause->pid && finding_process_name(f, pid) == cause->process && servers_is_database(name);
}

/* Does it take that process's time, so that whoever asks it waits? */
static bool may_take_time(const struct findings *f, const struct finding *cause, uint32_t pid)
{
	return (cause->reason != REASON_CPU_QUEUE || cause->is_for_hog) && !cause->may_be_meant &&
	       !cause->is_told_elsewhere && cause->clock_ns <= cause->time_ns / 2 &&
	       (cause->pid == pid || finding_has_process(f, cause, pid) || is_master_of(f, cause, pid) ||
		is_of_sessions(f, cause, pid));
}

#define SERVED_PART 4	/* of its longest waiting client's time: less does not explain that */

struct finding *behind_served_by(const struct findings *f, uint32_t pid, const struct finding *client,
				 uint64_t least_ns)
{
	for (unsigned i = 0; pid && i < FINDING_HOPS_MAX; i++, pid = peers_awaited(f->profile, pid, false)) {
		struct finding *most = NULL;

		EACH_ROW(k, struct finding, cause, f->rows)
			if (cause != client && cause->time_ns >= least_ns &&
			    (!most || cause->time_ns > most->time_ns) && may_take_time(f, cause, pid))
				most = cause;
		if (most)
			return most;
	}
	return NULL;
}

/* What the process mostly waits for that a client asks, or the next one that it asks itself; NULL: nothing that long. */
static struct finding *served_by(const struct findings *f, const struct finding *row, GHashTable *servers)
{
	const struct object *o = finding_object(f, row);
	uint32_t pid = row->by.pid ?: o && !object_is_lock(o) ? o->pid : 0;

	if (!servers || row->reason != REASON_NETWORK_RECEIVE || row->deadlock || row->is_behind ||
	    has_own_limit(f, row) || !is_of_client(f, row, servers))
		return NULL;
	return behind_served_by(f, pid, row, cause_longest_waiter_ns(f, row) / SERVED_PART);
}

/* The program that it asks has a queue of its own, which leads on to what this one's sentence does not name. */
static bool has_led_peer(const struct findings *f, const struct finding *row, const struct finding *cause)
{
	return row->reason == REASON_NETWORK_RECEIVE && cause->process != row->process &&
	       ANY_ROW(struct finding, led, f->rows,
		       led->process == cause->process && led != cause && led->leads_ns &&
			       led->leads_ns + led->time_ns > row->time_ns - row->time_ns / PEER_PART);
}

void behind_find_peers(struct findings *f)
{
	/* else whoever was chosen is what the user looks at */
	g_autoptr(GHashTable) servers = profile_is_of_machine(f->profile) ? peers_servers_new(f->profile) : NULL;

	EACH_FIRST(i, row, f, FINDINGS_TOLD_MAX) {
		const struct object *o = finding_object(f, row);

		row->is_of_client = servers && row->reason == REASON_NETWORK_RECEIVE && o && o->pid &&
				    finding_process_name(f, o->pid) && is_of_client(f, row, servers);
		struct finding *known = unanswered_for(f, row) ?: lock_asked_for(f, row) ?: served_by(f, row, servers);
		struct finding *cause = known ?: finding_cause(f, row);

		row->has_led_peer = cause && has_led_peer(f, row, cause);
		if (cause && (known || is_asked_on(f, row, cause) || is_for_free_worker(f, row, cause) ||
			      is_for_full_queue(f, row, cause)))
			queue_behind(f, row, cause);
	}
}
