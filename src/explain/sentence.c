/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/sentence.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analyse/actors.h"
#include "features/blame/analysis.h"
#include "analyse/label.h"
#include "analyse/locks.h"
#include "analyse/peers.h"
#include "analyse/plumbing.h"
#include "features/wakers/analysis.h"
#include "base/module.h"
#include "explain/limits.h"
#include "explain/findings_part.h"
#include "explain/text.h"
#include "profile/profile.h"
#include "features/tasks/rows.h"

#define PINNED "pinned to its carrier: "	/* as in runtimes/java/look.c */

static bool has_function(const struct task_row *row, const char *function)
{
	for (unsigned i = 0; i < row->frame_cnt; i++)
		if (!g_strcmp0(row->frames[i].name, function))
			return true;
	return false;
}

/* The one seen most often in that function. */
static const struct task_row *pinned_row(const struct findings *f, const struct finding *row)
{
	const char *function = row->frame < 0 ? NULL : profile_get_frame(f->profile, (uint32_t)row->frame)->name;
	const struct task_row *best = NULL;

	for (guint i = 0; function && i < f->profile->tasks->len; i++) {
		const struct tasks *t = profile_tasks(f->profile, i);

		for (guint k = 0; t->kind == TASKS_JAVA && t->pid == row->pid && k < t->rows->len; k++) {
			const struct task_row *one = tasks_get(t, k);

			if (one->reason && g_str_has_prefix(one->reason, PINNED) && has_function(one, function) &&
			    (!best || one->seen > best->seen))
				best = one;
		}
	}
	return best;
}

/*
 * Why a virtual thread of Java keeps its carrier while it waits: "; pinned by a native frame of Scorer.call", if looks
 * at its tasks show it.
 */
static void pinned_append_evidence(GString *s, const struct findings *f, const struct finding *row)
{
	const struct task_row *seen = row->reason == REASON_LOCK_PINNED ? pinned_row(f, row) : NULL;

	if (!seen)
		return;
	g_string_append(s, "; pinned: ");
	text_safe_cut(s, seen->reason + strlen(PINNED), FINDING_NAME_COLUMNS);
}

#define HOLDERS_SHOWN 3
#define LIMIT_COLUMNS 120
#define GREP_WHOLE 5

bool sentence_is_shell(const char *name)
{
	static const char *const shells[] = { "bash", "dash", "sh", "zsh", "ksh", "mksh", "ash", "fish", NULL };

	return g_strv_contains(shells, name);
}

/* wait_for, zread: functions of the shell, not of its script. */
static bool is_of_shell(const struct frame *fr)
{
	const char *module = module_base_name(fr->module);

	return module && sentence_is_shell(module);
}

void sentence_function(GString *s, const struct findings *f, int64_t frame, const char *before)
{
	const struct frame *fr;
	g_autoptr(GString) name = g_string_new(NULL);

	if (frame < 0)
		return;
	fr = profile_get_frame(f->profile, (uint32_t)frame);
	/* interpreter loops and libc do not belong to the program */
	enum runtime_level level = plumbing_frame_level(reasons_plumbing(f->reasons), (uint32_t)frame);
	if (is_of_shell(fr) || fr->why == FRAME_PENDING || level == RUNTIME_ENTRY || level == RUNTIME_LIBC)
		return;
	if (!fr->name && g_strcmp0(fr->module, "[anon]") == 0)	/* generated code; its address means nothing */
		return;
	if (fr->name) {
		g_autofree char *function = function_shown_name(fr->name);
		g_string_append(name, function);
	} else {
		label_append(name, fr);
	}
	g_string_append(s, before);
	text_safe_cut(s, name->str, FINDING_NAME_COLUMNS);
	const char *module = module_base_name(fr->module);
	if (fr->file) {
		g_string_append(s, " (");
		text_safe_cut(s, module_base_name(fr->file), FINDING_NAME_COLUMNS);
		if (fr->line)
			g_string_append_printf(s, ":%" PRIu32, fr->line);
		g_string_append_c(s, ')');
	} else if (fr->name && module && strstr(module, ".so")) {
		g_string_append(s, " (");
		text_safe_cut(s, module, FINDING_NAME_COLUMNS);
		g_string_append_c(s, ')');
	}
}

/* "workers" and "processes", but not "redis", "prometheus", "compress" */
static bool reads_as_several(const char *name)
{
	static const char *const known[] = { "postgres", "nodejs", NULL };
	size_t len = strlen(name);

	return !g_strv_contains(known, name) && len > 2 && name[len - 1] == 's' && g_ascii_isalpha(name[len - 2]) &&
	       !strchr("isu", name[len - 2]);
}

static void append_process(GString *s, const char *name, unsigned width, const char *word)
{
	g_string_append(s, reads_as_several(name) ? word : "");
	text_safe_cut(s, name, width);
}

void sentence_process(GString *s, const char *name, unsigned width)
{
	append_process(s, name, width, "process ");
}

void sentence_begin_process(GString *s, const char *name, unsigned width)
{
	append_process(s, name, width, "Process ");
}

/* Caused by others' load, so the thread's own function is irrelevant. */
bool sentence_is_for_cpu(const struct finding *row)
{
	return (row->reason == REASON_CPU_QUEUE && !row->is_yield) || row->reason == REASON_CPU_THROTTLED;
}

/* It waits for nothing that anybody holds: for a pinned thread the carrier's own parking place. */
static bool sleeps(const struct finding *row)
{
	return row->reason == REASON_SLEEP || row->reason == REASON_LOCK_PINNED;
}

/* ", one of 12,", ", one of 64 in stripes," */
static void append_one_of(GString *s, const struct finding *row, const struct object *o)
{
	g_autofree char *array = g_strndup(o->name, lock_array_bytes(o));

	g_string_append_printf(s, ", one of %s", TEXT_COUNT(row->locks_cnt));
	if (*array) {
		g_string_append(s, " in ");
		text_safe_cut(s, array, FINDING_NAME_COLUMNS);
	}
	g_string_append_c(s, ',');
}

void sentence_object(GString *s, const struct finding *row, const struct object *o)
{
	static const struct { const char *prefix, *end; } nameless[] = { { "unix socket (", "" }, { "pipe ", ")" } };
	size_t shown = strlen(o->name) - (g_str_has_suffix(o->name, "+0x0") ? strlen("+0x0") : 0);
	bool has_pid = o->kind == OBJECT_KERNEL_LOCK && o->pid;
	g_autofree char *name = has_pid ? g_strdup_printf("%s/%" PRIu32, o->name, o->pid) : g_strndup(o->name, shown);

	if (row->locks_cnt > 1 && !row->has_own_words && object_is_lock(o) && !sleeps(row)) {
		append_one_of(s, row, o);
		return;
	}
	if (lock_is_nameless(o) || o->kind == OBJECT_NOTHING || (o->kind == OBJECT_PIPE && strcmp(name, "pipe") == 0))
		return;
	if (row->limit.helpers) {
		helpers_append(s, row);
		return;
	}
	const char *upstream = owed_upstream(row) ?: object_upstream(o);

	if (upstream && o->kind == OBJECT_EPOLL &&
	    (row->reason == REASON_NETWORK_RECEIVE || row->reason == REASON_NETWORK_SEND)) {
		g_string_append(s, row->reason == REASON_NETWORK_SEND ? ", " : " from ");
		text_safe_cut(s, upstream, FINDING_NAME_COLUMNS);
		return;
	}
	if ((o->kind == OBJECT_EVENTFD || o->kind == OBJECT_EPOLL) && row->reason == REASON_SLEEP)
		return;		/* nobody writes to it: a way to sleep */
	if (o->kind == OBJECT_POLL && g_str_has_prefix(name, "pipe ") && row->reason == REASON_NETWORK_RECEIVE)
		return;		/* the relay's own, beside the connections */
	if (o->kind == OBJECT_EPOLL && strstr(name, "signalfd"))
		return;		/* PostgreSQL's own, on which its rules say more */
	if (o->kind == OBJECT_EPOLL && reason_family(row->reason) == FAMILY_LOCK)
		return;		/* a lock that is signalled by a socket or pipe */
	for (size_t i = 0; i < G_N_ELEMENTS(nameless); i++) {
		if (!g_str_has_prefix(o->name, nameless[i].prefix) || g_str_has_prefix(o->name, "pipe and "))
			continue;
		g_string_append(s, " (");
		text_safe_cut(s, o->name + strlen(nameless[i].prefix), FINDING_NAME_COLUMNS);
		g_string_append(s, nameless[i].end);
		return;
	}
	/* its name lists the watched descriptors: "1 pipe, 1 signalfd (fd 9 of postgres)" */
	g_string_append(s, o->kind == OBJECT_EPOLL && g_ascii_isdigit(*name) ? ", a set of " : ", ");
	text_safe_cut(s, name, FINDING_NAME_COLUMNS);
	g_string_append_c(s, ',');
}

/* ": 4 threads wait for the GIL, held by cpu-worker/4711 in crunch (app.py:12)" */
static bool append_gil(GString *s, const struct findings *f, const struct finding *row)
{
	const struct finding_by *by = &row->by;

	if (row->reason != REASON_LOCK_GIL || !by->comm || !row->object ||
	    !object_is_gil(profile_get_object(f->profile, row->object - 1)))
		return false;
	g_string_append_printf(s, ": %s %s for the GIL, held by ", TEXT_COUNT(row->threads_cnt),
			       row->threads_cnt == 1 ? "thread waits" : "threads wait");
	sentence_who(s, by);
	if (by->frame >= 0) {
		sentence_function(s, f, by->frame, " in ");
	} else if (by->place) {
		g_string_append(s, " in ");
		text_safe_cut(s, by->place, FINDING_NAME_COLUMNS);
	}
	if (by->blocked_ns < row->time_ns - row->time_ns / 10)
		g_string_append_printf(s, " (%.0f%%)", text_percent(by->blocked_ns, row->time_ns));
	return true;
}

/* ", while redis-server/4711 is stopped", ": pgbouncer's 2 connections to 127.0.0.1:5432 (postgres) are all busy" */
static void append_peers_limit(GString *s, const struct findings *f, const struct finding *row)
{
	const struct profile_limit *l = row->limit.limit;

	if (l && l->kind == LIMIT_POOL)
		pool_append(s, f, row);
	if (l && l->kind == LIMIT_CONNECT)
		connects_append(s, row);
	if (l && l->kind == LIMIT_FAILS)
		tries_append(s, row);
	if (l && l->kind == LIMIT_LOSS)
		g_string_append(s, loss_is_of_this_machine(row) ? LOSS_LOCAL_SAYS : LOSS_SAYS);
	if (l && l->kind == LIMIT_FULL)
		g_string_append(s, FULL_SAYS);
	if (l && l->kind == LIMIT_CYCLE)
		cycle_append(s, row);
	if (l && l->kind == LIMIT_NAGLE)
		g_string_append(s, NAGLE_SAYS);
	if (!finding_is_for_stopped(row))
		return;
	const struct wait *w = profile_wait(f->profile, row->wait);
	const struct object *o = profile_wait_object(f->profile, w);

	g_string_append(s, ", while ");
	text_who(s, l->text, limit_stopped_pid(l), FINDING_NAME_COLUMNS);
	g_string_append(s, wait_is_for_signal_of_others(f->profile, w)			 ? ", which shares its memory," :
			   wait_is_for_file_lock(f->profile, w) || (o && object_is_lock(o)) ? ", which has it," :
											    "");
	g_string_append(s, " is stopped");
}

static bool is_in_sentence(const struct profile_limit *l)
{
	return l && (l->kind == LIMIT_FROZEN || l->kind == LIMIT_POLICY);
}

/* flock(1) has the lock for the command that it runs, and which is known by who asked for that. */
static bool is_for_command(const struct findings *f, const struct finding *row, const char *name)
{
	return finding_is_by(f, row, "file-lock") && strcmp(row->by.comm, "flock") == 0 && name &&
	       strcmp(name, row->by.comm) != 0;
}

/* The file lock's holder was not recorded, or runs a command with it, but /proc/locks had it at the end. */
static void append_file_holder(GString *s, const struct findings *f, const struct finding *row)
{
	const struct wait *w = profile_wait(f->profile, row->wait);
	const uint32_t pid = profile_thread(f->profile, w->thread)->pid;
	const uint32_t holder = profile_file_lock_holder(f->profile, pid);
	const char *name = profile_file_lock_holder_name(f->profile, pid);

	if (!holder || (row->by.comm ? !is_for_command(f, row, name) : !wait_is_for_file_lock(f->profile, w)))
		return;
	g_string_append(s, row->by.comm ? ", at the end for " : "; ");
	text_safe_cut(s, name ?: "process", FINDING_NAME_COLUMNS);
	g_string_append_printf(s, "%c%" PRIu32 "%s", name ? '/' : ' ', holder, row->by.comm ? "" : " has it");
}

/* "; process 4711 took it and has ended, and cat/4712 has its file open" */
static void append_gone(GString *s, const struct profile_limit *l)
{
	const char *name;
	uint32_t pid = limit_gone_keeper(l, &name);

	g_string_append_printf(s, "; %s %" PRIu32 " took it and has ended", limit_gone_is_file(l) ? "process" : "thread", l->tid);
	if (!pid)
		return;
	g_string_append(s, ", and ");
	text_who(s, name, pid, FINDING_NAME_COLUMNS);
	g_string_append(s, " has its file open");
}

/* "; its process has 1.46 GiB of memory" */
static void append_size(GString *s, const struct findings *f, const struct finding *row)
{
	const struct profile_limit *l = profile_find_limit(f->profile, LIMIT_SIZE, finding_pid(f, row), 0);
	uint64_t kib = l && row->is_fork ? g_ascii_strtoull(l->text, NULL, 10) : 0;

	if (kib && kib < UINT64_MAX >> 10)
		g_string_append_printf(s, "; its process has %s of memory", TEXT_SIZE(kib << 10));
}

/* ", of which sidecar.sh/4711 used 0.13, and what is recorded 0.05" */
static void append_used(GString *s, const struct limit_used *u)
{
	if (!u->name)
		return;
	g_string_append(s, ", of which ");
	text_safe_cut(s, u->name, FINDING_NAME_COLUMNS);
	g_string_append_printf(s, "/%" PRIu32 " used %.2f, and what is recorded %.2f", u->other_pid, u->other_permille / 1000.0,
			       u->own_permille / 1000.0);
}

/* "; its one connection is from 10.0.0.7:56524": for a set it is unknown which socket it waits for. */
static void append_only_client(GString *s, const struct findings *f, const struct finding *row)
{
	const struct object *o = finding_object(f, row);
	const struct connection *only = NULL;
	const uint32_t pid = finding_pid(f, row);

	if (row->reason != REASON_NETWORK_SEND || row->threads_cnt != 1 || !o ||
	    (o->kind != OBJECT_EPOLL && o->kind != OBJECT_POLL))
		return;
	EACH_ROW(i, const struct connection, c, f->profile->connections) {
		if (c->pid != pid || c->side != CONNECTION_SERVER || !*c->remote)
			continue;
		if (only)
			return;
		only = c;
	}
	if (!only)
		return;
	g_string_append(s, "; its one client is ");
	text_safe_cut(s, only->remote, FINDING_NAME_COLUMNS);
}

/* "; its control group allows 1.00 MiB/s of reads", "; 4 of its threads may use only CPU 1" */
static void append_limit(GString *s, const struct findings *f, const struct finding *row)
{
	const struct profile_limit *l = row->limit.limit;

	if (!locked_append_evidence(s, f, row) && !l)
		append_file_holder(s, f, row);
	append_only_client(s, f, row);
	child_append_evidence(s, f, row);
	ends_append_evidence(s, f, row);
	helpers_append_evidence(s, f, row);
	if (l && l->kind == LIMIT_POOL)
		pool_append_evidence(s, f, row);
	if (l && l->kind == LIMIT_CONNECT)
		connects_append_evidence(s, row);
	if (l && l->kind == LIMIT_LOSS)
		loss_append_evidence(s, row);
	if (l && l->kind == LIMIT_FULL)
		loss_append_full_evidence(s, row);
	if (l && l->kind == LIMIT_CYCLE)
		cycle_append_evidence(s, f, row);
	if (l && l->kind == LIMIT_SLACK)
		g_string_append_printf(s, "; its timers may be %s late, by its own timer slack",
				       TEXT_NS(g_ascii_strtoull(l->text, NULL, 10)));
	if (l && l->kind == LIMIT_GONE)
		append_gone(s, l);
	if (l && l->kind == LIMIT_OWED)
		owed_append_evidence(s, f, row);
	if (l && (l->kind == LIMIT_FILES || l->kind == LIMIT_TASKS || l->kind == LIMIT_SEMAPHORE))
		full_append_evidence(s, l);
	if (!l || l->kind == LIMIT_STOPPED || is_in_sentence(l) || (l->kind >= LIMIT_POOL && l->kind != LIMIT_WEIGHT))
		return;
	if (l->kind == LIMIT_CPUS) {
		g_string_append_printf(s, "; %s of its threads may use only ", TEXT_COUNT(row->limit.threads_cnt));
		if (!row->limit.is_same) {
			g_string_append(s, "some CPUs");
			return;
		}
		g_string_append(s, strpbrk(l->text, ",-") ? "CPUs " : "CPU ");
	} else {
		g_string_append_printf(s, "; its control group %s ", l->kind == LIMIT_WEIGHT ? "has" : "allows");
	}
	text_safe_cut(s, l->text, LIMIT_COLUMNS);
	append_used(s, &row->limit.used);
	if (!row->limit.refaults)
		return;
	g_string_append(s, "; as the recording ended ");
	text_thousands(s, row->limit.refaults);
	g_string_append(s, " pages a second came back that it had thrown out");
	if (row->limit.kernel_pct)
		g_string_append_printf(s, ", and %" PRIu32 "%% of the CPU time of the process was the kernel's", row->limit.kernel_pct);
}

/* The loop itself waits for whom it has asked: its own function says nothing. */
static bool is_loop_upstream(const struct findings *f, const struct finding *row)
{
	return row->reason == REASON_NETWORK_RECEIVE && row->object &&
	       profile_upstream(f->profile, profile_wait(f->profile, row->wait));
}

/* In a library's loop, where all its users wait. */
static bool is_library_loop(const struct findings *f, const struct finding *row)
{
	const struct rule *rule = reasons_rule(f->reasons, row->wait);

	return rule && rule->reason == REASON_EVENT_LOOP && row->frame >= 0 &&
	       plumbing_frame_level(reasons_plumbing(f->reasons), (uint32_t)row->frame) == RUNTIME_LIBRARY;
}

static const struct thread *waiter(const struct findings *f, const struct finding *row)
{
	return profile_thread(f->profile, profile_wait(f->profile, row->wait)->thread);
}

/* "flock+0x2809" of flock: an unnamed function in the program itself says nothing to people. */
static bool is_own_address(const struct findings *f, const struct finding *row)
{
	const struct frame *fr = row->frame >= 0 ? profile_get_frame(f->profile, (uint32_t)row->frame) : NULL;
	const char *module = fr && !fr->name ? module_base_name(fr->module) : NULL;

	return module && strcmp(module, waiter(f, row)->process) == 0;
}

static bool tells_function(const struct findings *f, const struct finding *row)
{
	return row->frame >= 0 && !is_of_shell(profile_get_frame(f->profile, (uint32_t)row->frame)) &&
	       !reasons_is_anywhere(f->reasons, row->wait) && !is_loop_upstream(f, row) && !is_library_loop(f, row) &&
	       !is_own_address(f, row);
}

bool sentence_is_for_workers(const struct findings *f, const struct finding *row)
{
	const struct rule *rule = reasons_rule(f->reasons, row->wait);

	return rule && rule->protocol && g_str_has_suffix(rule->protocol, " future");
}

bool sentence_is_in_worker(const struct findings *f, const struct finding *row)
{
	return sentence_is_for_workers(f, row) && g_str_has_suffix(reasons_rule(f->reasons, row->wait)->name, "-in-worker");
}

bool sentence_is_starved(const struct findings *f, const struct finding *row)
{
	const struct thread *own = waiter(f, row);

	/* thread names distinguish pools, if threads have names of their own */
	return sentence_is_in_worker(f, row) && row->by.tid &&
	       (row->by.is_peer || (own->comm != own->process && actors_same_kind(own->comm, row->by.comm)));
}

/* It reads another process's mappings or memory, which the rule would attribute to its own. */
static bool is_in_others_space(const struct findings *f, const struct finding *row)
{
	const struct object *o = finding_object(f, row);

	return o && o->kind == OBJECT_KERNEL_LOCK && o->pid && o->pid != finding_pid(f, row);
}

/* The rule's words, except where the waker tells more. */
const char *sentence_says(const struct findings *f, const struct finding *row)
{
	if (row->limit.limit && row->limit.limit->kind == LIMIT_POLICY)
		return "is throttled by its own policy";
	if (row->busy == BUSY_SPIN)
		return row->busy_rule->says;
	if (sentence_is_for_cpu(row) || row->busy)
		return reason_says(row->reason);
	if (row->is_broadcast)
		return "is woken with many others by one broadcast";
	if (row->is_fork)
		return "waits for fork() to copy its memory";
	if (row->limit.limit && row->limit.limit->kind == LIMIT_FROZEN)
		return "is frozen by its control group";
	if (tcp_shares_is_way_full(f, row))
		return "waits for room on the way to a peer";
	if (is_in_others_space(f, row))
		return "waits for the lock of another program's address space";
	if (row->asks_itself)
		return SELF_SAYS;
	if (backlog_is_of_clients(f, row))
		return "waits for a client's next request, or the rest of one";
	if (!sentence_is_in_worker(f, row) || !row->by.tid)
		return reasons_says(f->reasons, row->wait);
	return sentence_is_starved(f, row) ? "is a worker of a pool that waits for another task of that pool" :
					     "waits for the result of a task";
}

/* " in its thread lru_maintainer": for a sleep without a function, that name is the only hint at its purpose. */
static void append_sleeper(GString *s, const struct findings *f, const struct finding *row)
{
	const struct thread *t = waiter(f, row);

	if (row->reason != REASON_SLEEP || strcmp(t->comm, t->process) == 0)
		return;
	g_string_append(s, row->threads_cnt == 1 ? " in its thread " : " in threads like ");
	text_safe_cut(s, t->comm, FINDING_NAME_COLUMNS);
}

/*
 * The peer that was asked, where a thread waits for another one of its process that brings the answer: the only peer
 * of the process.  NULL: it waits for a connection itself, or there are several peers.
 */
static const char *only_upstream(const struct findings *f, const struct finding *row)
{
	const struct object *o = finding_object(f, row);
	const uint32_t pid = finding_pid(f, row);

	if (row->reason != REASON_NETWORK_RECEIVE || row->loop || (o && !object_is_lock(o)) ||
	    !peer_ends_of(f->profile, pid).is_one)
		return NULL;
	EACH_ROW(i, const struct wait, w, f->profile->waits) {
		const struct object *set = profile_wait_object(f->profile, w);

		if (set && set->kind == OBJECT_EPOLL && object_upstream(set) &&
		    profile_thread(f->profile, w->thread)->pid == pid)
			return object_upstream(set);
	}
	return NULL;
}

/* Each that waits for a pool, or for a result, has a condition: "a connection of a pool, one of 32" reads as its size. */
static bool is_counted_by_waiters(const struct findings *f, const struct finding *row)
{
	const struct rule *rule = finding_rule(f, row);

	return row->locks_cnt > 1 && rule && rule->says && reason_is_signalled(row->reason);
}

/* "waits for a mutex, audit_lock, in write_audit (audit.c:27)" */
static void append_what(GString *s, const struct findings *f, const struct finding *row)
{
	bool is_cpu = sentence_is_for_cpu(row);
	const struct object *o = row->object && !is_cpu ? profile_get_object(f->profile, row->object - 1) : NULL;
	const char *says = sentence_says(f, row);
	const char *protocol = row->loop || is_library_loop(f, row) || reasons_is_anywhere(f->reasons, row->wait) ? "" : reasons_protocol(f->reasons, row->wait);

	const char *silent = row->reason == REASON_NETWORK_RECEIVE ?
				     profile_silent_peer(f->profile, profile_wait(f->profile, row->wait)) : NULL;

	g_string_append(s, says);
	const char *there = silent ? NULL : only_upstream(f, row);

	if (silent) {	/* whatever else its set watches */
		g_string_append(s, " from ");
		text_safe_cut(s, silent, FINDING_NAME_COLUMNS);
	} else if (there) {
		g_string_append(s, ", ");
		text_safe_cut(s, there, FINDING_NAME_COLUMNS);
		g_string_append_c(s, ',');
	} else if (o && *o->name && !is_counted_by_waiters(f, row)) {
		sentence_object(s, row, o);
	}
	if (is_in_sentence(row->limit.limit)) {
		g_string_append(s, ", ");
		text_safe_cut(s, row->limit.limit->text, LIMIT_COLUMNS);
	}
	if (is_cpu)
		return;
	if (row->asked_frame >= 0)
		sentence_function(s, f, row->asked_frame, " for ");
	else if (tells_function(f, row))
		sentence_function(s, f, row->frame, " in ");
	else
		append_sleeper(s, f, row);
	if (s->str[s->len - 1] == ',')	/* after an object */
		g_string_truncate(s, s->len - 1);
	if (*protocol && !strstr(says, protocol)) {
		g_string_append(s, " (");
		text_safe(s, protocol);
		g_string_append_c(s, ')');
	}
	requests_of_append(s, row);
}

void sentence_finding(GString *s, const struct findings *f, const struct finding *row)
{
	if (row->busy == BUSY_ALONE || row->busy == BUSY_REFUSES) {
		(row->busy == BUSY_ALONE ? serial_append(s, f, row) : full_append_refusal(s, row));
		return;
	}
	if (row->busy) {
		sentence_busy(s, f, row);
		return;
	}
	sentence_process(s, row->process, 0);
	if (append_gil(s, f, row))
		return;
	if (row->loop)
		g_string_append_printf(s, " %s (%s): it", row->loop->says ?: "holds up its event loop", row->loop->name);
	if (row->deadlock)
		g_string_append(s, " is deadlocked and");
	g_string_append_c(s, ' ');
	append_what(s, f, row);
	if (sentence_is_for_cpu(row))
		return;
	append_peers_limit(s, f, row);
	if (!row->may_be_meant && !row->asks_itself && !one_command_may_be(f, row))
		tcp_shares_append(s, f, row);
}

void sentence_wait(GString *s, const struct findings *f, const struct finding *row)
{
	static const char prefix[] = "waits for ";
	g_autoptr(GString) what = g_string_new(NULL);

	append_what(what, f, row);
	g_string_append(s, g_str_has_prefix(what->str, prefix) ? what->str + strlen(prefix) : what->str);
}

static bool has_shape(const struct finding *row)
{
	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++) {
		if (row->hist[i])
			return true;
	}
	return false;
}

static bool has_timeouts(const struct finding *row)
{
	return !sleeps(row) && row->timed_out_cnt && row->timed_out_cnt >= row->woken_cnt / 10;
}

static bool has_signals(const struct finding *row)
{
	return row->signalled_cnt && row->signalled_cnt >= row->woken_cnt / 10;
}

static void append_part(GString *s, uint64_t cnt, const struct finding *row, const char *what)
{
	g_string_append_printf(s, "; %s of %s%s", TEXT_COUNT(cnt), TEXT_COUNT(row->woken_cnt), what);
}

/*
 * For a wait that need not end by a timer: "; 25 of 25 timed out", "; 16 of 16 were interrupted by a timer's signal".
 */
static void append_timeouts(GString *s, const struct finding *row)
{
	if (has_timeouts(row))
		append_part(s, row->timed_out_cnt, row, " timed out");
	if (has_signals(row))
		append_part(s, row->signalled_cnt, row, " were interrupted by a timer's signal");
}

/* " at 14:32:18.250": for a range of the history, where one may look further. */
static void append_when(GString *s, const struct profile *p, const struct finding *row)
{
	const struct wait *w = row->longest ? profile_wait(p, row->longest - 1) : NULL;

	if (!w || !w->max_start_unix_ns || w->flags & WAIT_OPEN_AT_START || !p->info.history.windows)
		return;
	g_string_append(s, " at ");
	text_clock_ms(s, w->max_start_unix_ns, &p->info);
}

/* " ±1.2 s, seen in about 12 looks" */
static void append_looks(GString *s, const struct finding *row)
{
	if (row->time_se_ns > 0)
		g_string_append_printf(s, " ±%s", TEXT_NS((uint64_t)llround(2 * row->time_se_ns)));
	g_string_append(s, row->looks == 1 ? ", seen in about one look" : ", seen in about ");
	if (row->looks > 1)
		g_string_append_printf(s, "%s looks", TEXT_COUNT(row->looks));
}

/* "8 threads, 12,402 waits of 3.1 s; median 1.1 ms, p99 14 ms, max 20 ms" */
static void append_evidence(GString *s, const struct findings *f, const struct finding *row)
{
	const char *process = waiter(f, row)->process;

	text_thousands(s, row->threads_cnt);
	g_string_append(s, row->threads_cnt == 1 ? " thread" : " threads");
	if (!row->pid && row->process != process) {
		g_string_append(s, " of processes like ");
		text_safe_cut(s, process, FINDING_NAME_COLUMNS);
	}
	g_string_append(s, ", ");
	if (!(f->profile->info.unknown & UNKNOWN_COUNTS))
		g_string_append_printf(s, "%s%s", TEXT_COUNT(row->count), row->count == 1 ? " wait, " : " waits, ");
	text_duration(s, row->time_ns);
	if (row->looks)
		append_looks(s, row);
	double seconds = (double)f->profile->info.duration_ns / 1e9;
	if (row->is_poll_loop && seconds > 0)
		g_string_append_printf(s, ", %.0f times a second", (double)row->count / seconds);
	if (row->count == 1)
		append_when(s, f->profile, row);
	if (!has_shape(row) || row->count < 2)
		return;
	bool is_many = row->count > 2;	/* for one or two waits, the longest and the sum suffice */
	if (is_many)
		g_string_append_printf(s, "; median %s, p99 %s", TEXT_NS(finding_percentile_ns(row, 0.5)),
				       TEXT_NS(finding_percentile_ns(row, 0.99)));
	if (row->max_ns) {
		g_string_append_printf(s, "%s%s", is_many ? ", max " : "; max ", TEXT_NS(row->max_ns));
		append_when(s, f->profile, row);
	}
}

/* "; the CPUs were held by sysbench 61%, mariadbd 30%", if --runq-blame was recorded */
static void append_holders(GString *s, const struct findings *f)
{
	struct blame_table *t = blame_table_new(f->profile, f->selection);
	uint64_t all = t->runnable_ns + t->preempted_ns;

	unsigned shown = 0;

	/* unknown with a BPF scheduler */
	for (guint i = 0; i < t->culprits->len && shown < HOLDERS_SHOWN && !f->profile->info.scheduler; i++) {
		const struct blame_row *r = &g_array_index(t->culprits, struct blame_row, i);

		if (shown && blame_row_ns(r) < all / 10)
			break;
		if (r->kind == BLAME_THREAD && !strcmp(r->culprit, BLAME_OTHERS_NAME))
			continue;	/* in a history: many small ones */
		g_string_append(s, shown++ ? ", " : "; the CPUs were held by ");
		text_safe_cut(s, blame_name(r->kind, r->culprit), FINDING_NAME_COLUMNS);
		g_string_append_printf(s, " %.0f%%", text_percent(blame_row_ns(r), all));
	}
	if (t->own_ns > all / 10)
		g_string_append_printf(s, "; %.0f%% by threads of the same process", text_percent(t->own_ns, all));
	blame_table_free(t);
}

/* The command that shows this finding's stacks, if it needs no difficult quoting. */
void sentence_command(GString *s, const struct findings *f, const struct finding *row)
{
	bool is_told = row->asked_frame < 0 && tells_function(f, row);
	const char *name = is_told ? profile_get_frame(f->profile, (uint32_t)row->frame)->name : NULL;
	g_autofree char *function = name ? function_plain_name(name) : NULL;

	if (row->busy == BUSY_ALONE)
		serial_append_command(s, f, row);
	if (row->busy == BUSY_ALONE || row->busy == BUSY_REFUSES)
		return;
	if (row->busy && (row->frame < 0 || row->looks_cnt || row->has_samples)) {
		g_string_append(s, row->has_samples ? "`offcpu report --weight on_cpu --stacks`"
						    : "Functions: `offcpu record --cpu`");
		return;
	}
	if (sentence_is_for_cpu(row) && !row->busy) {
		g_string_append(s, f->profile->info.has_blame ? "`offcpu report --runq-blame`"
							      : "`offcpu report --weight runnable --stacks`");
		return;
	}
	if (!function || strlen(function) > 40 || row->never_let_go || sentence_is_ended_by_kill(f, row))
		return;
	for (const char *c = function; *c; c++) {
		if (!g_ascii_isalnum(*c) && *c != '_' && *c != ':')
			return;
	}
	/* a short name would match many others as a regular expression */
	bool is_short = strlen(function) < GREP_WHOLE;
	g_string_append_printf(s, is_short ? "`offcpu report --stacks --grep '^%s$'`" : "`offcpu report --stacks --grep %s`",
			       function);
}

/* "; meanwhile 4 other threads wait for data from the network, 10.0.0.7:80, in load_curve" */
static void append_meanwhile(GString *s, const struct findings *f, const struct finding *row)
{
	if (!row)
		return;
	const struct finding plain = finding_plain(row);
	bool is_asleep = row->reason == REASON_SLEEP;

	g_string_append(s, "; meanwhile ");
	text_thousands(s, row->threads_cnt);
	g_string_append(s, row->threads_cnt == 1 ? " other thread " : is_asleep ? " other threads, each of which " : " other threads ");
	g_string_append(s, is_asleep ? "" : row->threads_cnt == 1 ? "waits for " : "wait for ");
	sentence_wait(s, f, &plain);
}

void sentence_evidence(GString *s, const struct findings *f, const struct finding *r)
{
	if (r->busy == BUSY_ALONE) {
		serial_append_evidence(s, f);
		return;
	}
	if (r->busy == BUSY_REFUSES) {
		g_string_append_printf(s, "process %" PRIu32, r->pid);
		backlog_append_evidence(s, r->backlog);
		return;
	}
	if (r->busy) {
		sentence_busy_evidence(s, f, r);
		return;
	}
	append_evidence(s, f, r);
	requests_of_append_share(s, r);
	append_timeouts(s, r);
	pinned_append_evidence(s, f, r);
	if (r->queue_at_once)
		g_string_append_printf(s, "; libuv does %" PRIu32 " of them at a time, so others queue", r->queue_at_once);
	if (r->queue_tasks)
		g_string_append_printf(s, "; %s tasks await what that pool does", TEXT_COUNT(r->queue_tasks));
	if (r->is_pool_taken)
		g_string_append_printf(s, "; no thread of that pool ever waits for work, so what comes meanwhile queues for %s "
					  "(max_workers)", r->threads_cnt == 1 ? "it" : "one of them");
	if (r->loop_on_cpu_ns) {
		g_string_append_printf(s, "; callbacks ran %s", TEXT_NS(r->loop_on_cpu_ns));
		sentence_function(s, f, r->loop_on_cpu_frame, " on CPU, mostly in ");
	}
	/* else it is mentioned */
	if (r->by.tid || (!has_timeouts(r) && !has_signals(r)) || g_strcmp0(r->by.comm, "timer") != 0)
		sentence_by(s, f, r);
	nameless_append_evidence(s, f, r);
	pool_append_connections(s, f, r);
	if (r->never_let_go && r->reason == REASON_LOCK_RWLOCK && !has_timeouts(r) &&
	    (r->deadlock || sentence_stuck_is_of_rule(f, r)))
		g_string_append(s, "; nobody let go of it while this was recorded");
	both_stuck_append_evidence(s, f, r);
	missed_append_evidence(s, f, r);
	pauses_append_evidence(s, f, r);
	one_by_one_append_evidence(s, f, r);
	append_meanwhile(s, f, finding_of_id(f, r->meanwhile));
	bursts_append_evidence(s, f, r);
	append_limit(s, f, r);
	append_size(s, f, r);
	unended_append_evidence(s, f, r);
	blocked_append_evidence(s, f, r);
	peer_runs_append_evidence(s, f, r);
	one_command_append_evidence(s, f, r);
	backlog_append_evidence(s, r->backlog);
	spawns_append_evidence(s, f, r);
	restarts_append_evidence(s, f, r);
	if (r->reason == REASON_CPU_QUEUE && f->profile->info.has_blame)
		append_holders(s, f);
	else
		ran_append_evidence(s, f, r);
}
