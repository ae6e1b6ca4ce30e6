/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "profile/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/find.h"
#include "base/proc/net_table.h"

#define LIMIT_BACKLOG_SCAN "%" SCNu32 " connections wait at %n"
#define LIMIT_DROPPED_SCAN "%" SCNu32 " datagrams dropped at %n"
#define RESTS_LOOKS_MIN 5	/* fewer may all be by chance */
#define HELD_MIN 2	/* looks */
#define HELD_PART 8	/* of all looks */
#define TEXT_MAX_BYTES 16000	/* of all limits together: readers accept no longer text */

static const char *const kinds[LIMIT_KIND_COUNT] = {
	[LIMIT_STOPPED] = "stopped", [LIMIT_CPUS] = "cpus",	[LIMIT_QUOTA] = "quota",
	[LIMIT_DISK] = "disk",	     [LIMIT_MEMORY] = "memory", [LIMIT_FROZEN] = "frozen",
	[LIMIT_POLICY] = "policy",   [LIMIT_POOL] = "pool",	[LIMIT_CONNECT] = "connect",
	[LIMIT_LOSS] = "loss",	     [LIMIT_UNANSWERED] = "unanswered",
	[LIMIT_BACKLOG] = "backlog", [LIMIT_FULL] = "full",
	[LIMIT_OWED] = "owed",	     [LIMIT_NAGLE] = "nagle",   [LIMIT_CYCLE] = "cycle",
	[LIMIT_SLACK] = "slack",   [LIMIT_FILE_LOCK] = "file-lock",
	[LIMIT_GONE] = "gone",	     [LIMIT_MONITOR] = "monitor",
	[LIMIT_REALTIME] = "realtime", [LIMIT_CHILD] = "child",
	[LIMIT_REFAULTS] = "refaults", [LIMIT_USED] = "used",
	[LIMIT_FILES] = "files",   [LIMIT_TASKS] = "tasks",
	[LIMIT_SEMAPHORE] = "semaphore", [LIMIT_SILENT] = "silent", [LIMIT_FAILS] = "fails",
	[LIMIT_SIZE] = "size", [LIMIT_DROPPED] = "dropped", [LIMIT_WEIGHT] = "weight",
	[LIMIT_SESSION] = "session", [LIMIT_RESTS] = "rests", [LIMIT_RECORDER] = "recorder",
	[LIMIT_BLOCKED] = "blocked", [LIMIT_OTHERS] = "others", [LIMIT_WORKERS] = "workers", [LIMIT_STATEMENTS] = "statements",
	[LIMIT_SIGNALLER] = "signaller",
	[LIMIT_END] = "end",
	[LIMIT_THREADS_DO] = "threads-do", [LIMIT_BUSY] = "busy", [LIMIT_LOCKED] = "locked", [LIMIT_HELD_BACK] = "held-back",
};

void profile_add_limit(struct profile *p, enum profile_limit_kind kind, uint32_t pid, uint32_t tid, const char *text)
{
	const struct profile_limit limit = {
		.kind = (uint8_t)kind, .pid = pid, .tid = tid, .text = profile_string(p, text),
	};

	if (p->limits->len < PROFILE_LIMITS_MAX && (unsigned)kind < LIMIT_KIND_COUNT)
		g_array_append_val(p->limits, limit);
}

const struct profile_limit *profile_find_limit(const struct profile *p, enum profile_limit_kind kind, uint32_t pid,
					       uint32_t tid)
{
	EACH_ROW(i, const struct profile_limit, l, p->limits)
		if (l->kind == kind && l->pid == pid && l->tid == tid)
			return l;
	return NULL;
}

bool limit_blocked_read(const struct profile_limit *l, struct limit_blocked *ret)
{
	int at = 0;

	*ret = (struct limit_blocked){ .name = "" };
	if (!l || sscanf(l->text, "%" SCNu32 " of %" SCNu32 " looks, %" SCNu32 " of these %" SCNu32 " %n", &ret->seen, &ret->all,
			 &ret->held, &ret->holder, &at) != 4 || !at)
		return false;
	ret->name = l->text + at;
	return true;
}

/* NULL: none of that kind, or several. */
static const struct profile_limit *only_of(const struct profile *p, enum profile_limit_kind kind)
{
	const struct profile_limit *one = NULL;

	EACH_ROW(i, const struct profile_limit, l, p->limits) {
		if (l->kind == kind && one)
			return NULL;
		one = l->kind == kind ? l : one;
	}
	return one;
}

bool profile_threads_do(const struct profile *p, struct limit_threads_do *ret)
{
	const struct profile_limit *one = only_of(p, LIMIT_THREADS_DO);

	return one && sscanf(one->text, "%" SCNu32 " looks, %" SCNu32 " ran, %" SCNu32 " at a disk", &ret->looks, &ret->ran,
			     &ret->read) == 3;
}

bool profile_statements(const struct profile *p, struct limit_statements *ret)
{
	const struct profile_limit *one = only_of(p, LIMIT_STATEMENTS);

	ret->flushed = 0;	/* older recordings do not tell it */
	return one && sscanf(one->text, "%" SCNu32 " seen, %" SCNu32 " ran, %" SCNu32 " at a disk, %" SCNu32 " flush", &ret->seen,
			     &ret->ran, &ret->read, &ret->flushed) >= 3;
}

uint32_t limit_workers_read(const struct profile_limit *l, const char **ret_name)
{
	uint32_t cnt = 0;
	int at = 0;

	if (!l || sscanf(l->text, "%" SCNu32 " %n", &cnt, &at) != 1 || !at)
		return 0;
	*ret_name = l->text + at;
	return cnt;
}

bool profile_cpu_others(const struct profile *p, struct limit_others *ret)
{
	const struct profile_limit *l =
		FIRST_ROW(const struct profile_limit, x, p->limits, x->kind == LIMIT_OTHERS, x, NULL);
	int at = 0;

	*ret = (struct limit_others){ .pid = l ? l->pid : 0, .name = "" };
	if (!l || sscanf(l->text, "%" SCNu32 " permille by %" SCNu32 " %n", &ret->permille, &ret->processes, &at) != 2 || !at)
		return false;
	ret->name = l->text + at;
	return true;
}

int profile_cpus_busy(const struct profile *p)
{
	const struct profile_limit *l =
		FIRST_ROW(const struct profile_limit, x, p->limits, x->kind == LIMIT_BUSY, x, NULL);
	uint32_t permille;

	return l && sscanf(l->text, "%" SCNu32 " permille", &permille) == 1 && permille <= 1000 ? (int)permille : -1;
}

static uint32_t holder_of(const struct profile_limit *l)
{
	uint32_t holder = 0;

	return l && sscanf(l->text, "%" SCNu32, &holder) == 1 ? holder : 0;
}

bool limit_gone_is_file(const struct profile_limit *l)
{
	return g_str_has_prefix(l->text, "file");
}

uint32_t limit_gone_keeper(const struct profile_limit *l, const char **ret_name)
{
	uint32_t pid = 0;
	int at = 0;

	if (sscanf(l->text, "file %" SCNu32 " %n", &pid, &at) != 1 || !at)
		return 0;
	if (ret_name)
		*ret_name = l->text + at;
	return pid;
}

uint32_t profile_file_lock_holder(const struct profile *p, uint32_t pid)
{
	return holder_of(profile_find_limit(p, LIMIT_FILE_LOCK, pid, 0));
}

uint32_t profile_file_lock_holder_child(const struct profile *p, uint32_t pid)
{
	const struct profile_limit *l = profile_find_limit(p, LIMIT_FILE_LOCK, pid, 0);
	uint32_t child = 0;

	return l && sscanf(l->text, "%*u %" SCNu32, &child) == 1 ? child : 0;
}

const char *profile_file_lock_holder_name(const struct profile *p, uint32_t pid)
{
	const struct profile_limit *l = profile_find_limit(p, LIMIT_FILE_LOCK, pid, 0);
	int at = 0;

	return l && sscanf(l->text, "%*u %*u %n", &at) == 0 && at && l->text[at] ? l->text + at : NULL;
}

uint32_t profile_monitor_holder(const struct profile *p, uint32_t pid, uint32_t tid)
{
	return holder_of(profile_find_limit(p, LIMIT_MONITOR, pid, tid));
}

bool wait_is_for_monitor(const struct profile *p, const struct wait *w)
{
	/* hotspot share/runtime/objectMonitor.cpp */
	static const char *const functions[] = { "ObjectMonitor::enter", "ObjectMonitor::EnterI", "ObjectMonitor::ReenterI", NULL };

	return profile_stack_names(p, w->user, functions);
}

bool wait_is_for_file_lock(const struct profile *p, const struct wait *w)
{
	static const char *const functions[] = { "locks_lock_inode_wait", "flock_lock_inode_wait", "posix_lock_inode_wait",
						 "fcntl_setlk", "fcntl_setlk64", "locks_lock_file_wait", NULL };

	return w->flags & WAIT_OPEN_AT_END && profile_stack_names(p, w->kernel, functions);
}

bool limit_pool_read(const struct profile_limit *l, struct limit_pool *ret)
{
	ret->waiting = 0;
	return l && l->kind == LIMIT_POOL &&
	       sscanf(l->text, "%" SCNu32 " of %" SCNu32 " connections to %63[^, ], for %" SCNu32 " from clients, of which %" SCNu32,
		      &ret->cnt, &ret->made, ret->there, &ret->from_clients, &ret->waiting) >= 4 &&
	       ret->cnt && ret->waiting <= ret->from_clients && ret->cnt <= ret->made && ret->made < ret->from_clients;
}

static const char *const failures[CONNECT_FAILURE_COUNT] = {
	[CONNECT_REFUSED] = "refused", [CONNECT_RESET] = "reset", [CONNECT_UNANSWERED] = "unanswered",
	[CONNECT_UNREACHABLE] = "unreachable", [CONNECT_NO_PORT] = "without a port", [CONNECT_FAILED] = "failed",
};

const char *connect_failure_text(enum connect_failure failure)
{
	return failures[failure];
}

bool limit_connect_read(const struct profile_limit *l, struct limit_connect *ret)
{
	int at = 0;

	if (!l || l->kind != LIMIT_CONNECT ||
	    sscanf(l->text, "%" SCNu64 " connections to %63[^ ] %n", &ret->cnt, ret->there, &at) != 2 || !at || !ret->cnt ||
	    !g_str_has_suffix(ret->there, ":"))
		return false;
	ret->there[strlen(ret->there) - 1] = '\0';
	for (unsigned i = 0; i < CONNECT_FAILURE_COUNT; i++) {
		ret->failure = (enum connect_failure)i;
		if (strcmp(l->text + at, failures[i]) == 0)
			return true;
	}
	return false;
}

uint64_t profile_failed_connects(const struct profile *p, uint32_t pid, uint32_t tid)
{
	uint64_t cnt = 0;

	EACH_ROW(i, const struct profile_limit, l, p->limits) {
		struct limit_connect failed;

		if (l->pid == pid && (!tid || l->tid == tid) && limit_connect_read(l, &failed))
			cnt += failed.cnt;
	}
	return cnt;
}

uint64_t limit_loss_read(const struct profile_limit *l, const char **ret_there)
{
	uint64_t cnt = 0;
	int at = 0;

	if (!l || l->kind != LIMIT_LOSS || sscanf(l->text, "%" SCNu64 " segments sent again: %n", &cnt, &at) != 1 || !at ||
	    !l->text[at])
		return 0;
	*ret_there = l->text + at;
	return cnt;
}

/* What follows the looks. */
static const char *past_looks(const char *text, struct limit_looks *ret)
{
	int at = 0;

	*ret = (struct limit_looks){ 0 };
	if (sscanf(text, "%" SCNu32 " of %" SCNu32 " looks, %" SCNu32 " of %" SCNu32 " asked: %n", &ret->seen, &ret->all, &ret->asked,
		   &ret->connections, &at) != 4 || !at) {
		*ret = (struct limit_looks){ 0 };
		if (sscanf(text, "%" SCNu32 " of %" SCNu32 " looks: %n", &ret->seen, &ret->all, &at) != 2 || !at)
			*ret = (struct limit_looks){ 0 };
	}
	return text + at;
}

const char *limit_held_back_read(const struct profile_limit *l, struct limit_looks *ret)
{
	return past_looks(l->text, ret);
}

struct limit_looks limit_looks_read(const struct profile_limit *l)
{
	struct limit_looks looks;

	past_looks(l->text, &looks);
	return looks;
}

uint32_t limit_backlog_read(const struct profile_limit *l, const char **ret_where)
{
	struct limit_looks looks;
	const char *text = l ? past_looks(l->text, &looks) : "";
	uint32_t cnt = 0;
	int at = 0;

	if (!l || (l->kind != LIMIT_BACKLOG && l->kind != LIMIT_DROPPED) ||
	    (l->kind == LIMIT_BACKLOG ? sscanf(text, LIMIT_BACKLOG_SCAN, &cnt, &at)
				      : sscanf(text, LIMIT_DROPPED_SCAN, &cnt, &at)) != 1 || !at)
		return 0;
	*ret_where = text + at;
	return cnt;
}

uint32_t limit_full_read(const struct profile_limit *l, uint32_t *ret_room, const char **ret_there)
{
	uint32_t cnt = 0;
	int at = 0;

	if (!l || l->kind != LIMIT_FULL ||
	    sscanf(l->text, "%" SCNu32 " connections in a queue for %" SCNu32 " at %n", &cnt, ret_room, &at) != 2 || !at ||
	    !l->text[at])
		return 0;
	*ret_there = l->text + at;
	return cnt;
}

uint32_t limit_owed_read(const struct profile_limit *l, uint32_t *ret_made, const char **ret_there)
{
	struct limit_looks looks;
	const char *text = l ? past_looks(l->text, &looks) : "";
	uint32_t cnt = 0;
	int at = 0;

	if (!l || l->kind != LIMIT_OWED ||
	    sscanf(text, "%" SCNu32 " clients wait, %" SCNu32 " connections to %n", &cnt, ret_made, &at) != 2 || !at || !text[at])
		return 0;
	*ret_there = *ret_made ? text + at : NULL;
	return cnt;
}

uint32_t limit_unanswered_read(const struct profile_limit *l, uint64_t *ret_ns)
{
	uint32_t cnt = 0;

	return l && l->kind == LIMIT_UNANSWERED && sscanf(l->text, "%" SCNu32 " connections, the longest for %" SCNu64 " ns", &cnt, ret_ns) == 2 &&
			       *ret_ns <= PROFILE_NS_MAX
		       ? cnt
		       : 0;
}

uint64_t limit_silent_read(const struct profile_limit *l, const char **ret_there)
{
	uint64_t ns = 0;
	int at = 0;

	if (!l || l->kind != LIMIT_SILENT || sscanf(l->text, "nothing for %" SCNu64 " ns from %n", &ns, &at) != 1 || !at ||
	    !l->text[at] || ns > PROFILE_NS_MAX)
		return 0;
	*ret_there = l->text + at;
	return ns;
}

const char *profile_silent_peer(const struct profile *p, const struct wait *w)
{
	const struct object *o = profile_wait_object(p, w);
	const struct thread *t = profile_thread(p, w->thread);
	const char *there;

	if (!o || o->kind != OBJECT_EPOLL || t->pid != t->tid || w->state == 'R')
		return NULL;
	uint64_t silent_ns = limit_silent_read(profile_find_limit(p, LIMIT_SILENT, t->pid, 0), &there);

	return silent_ns > p->info.duration_ns / 2 ? there : NULL;
}

const char *limit_cycle_read(const struct profile_limit *l, uint32_t *ret_pid)
{
	int at = 0;

	if (!l || l->kind != LIMIT_CYCLE || sscanf(l->text, "process %" SCNu32 " waits at %n", ret_pid, &at) != 1 || !at ||
	    !l->text[at])
		return NULL;
	return l->text + at;
}

static const char *const child_words[CHILD_DOES_COUNT] = {
	[CHILD_GONE] = "gone",	   [CHILD_RUNS] = "runs",	[CHILD_DISK] = "disk",
	[CHILD_STOPPED] = "stopped", [CHILD_WAITS] = "waits",	[CHILD_SLEEPS] = "sleeps",
	[CHILD_LOCK] = "lock",	   [CHILD_PIPE] = "pipe",	[CHILD_PIPE_FULL] = "pipe-full",
	[CHILD_FILE_LOCK] = "file-lock", [CHILD_TERMINAL] = "terminal", [CHILD_NETWORK] = "network",
	[CHILD_OWN_PIPE] = "own-pipe", [CHILD_OWN_PIPE_FULL] = "own-pipe-full",
	[CHILD_EVENTS] = "events", [CHILD_OTHER] = "other", [CHILD_SEVERAL] = "several",
	[CHILD_FIFO] = "fifo",
};

char *limit_child_text(const struct limit_child *c)
{
	return g_strdup_printf("%" PRIu32 " %s %" PRIu64 " %s %s", c->pid, child_words[c->does], c->silent_ns,
			       c->there ? c->there : "-", c->name);
}

static bool read_does(const char *word, enum child_does *ret)
{
	for (unsigned i = 0; i < CHILD_DOES_COUNT; i++) {
		*ret = (enum child_does)i;
		if (strcmp(word, child_words[i]) == 0)
			return true;
	}
	return false;
}

char *limit_end_text(const struct limit_end *e)
{
	return g_strdup_printf("%" PRIu32 " busy, %" PRIu32 " of %" PRIu32 " looks: %s %" PRIu32 " %s %s", e->busy, e->seen, e->looks,
			       child_words[e->does], e->next, e->there ? e->there : "-", e->name);
}

bool limit_end_read(const struct profile_limit *l, struct limit_end *ret, char *there, size_t size)
{
	char word[16], address[64];
	int at = 0;

	if (!l || l->kind != LIMIT_END ||
	    sscanf(l->text, "%" SCNu32 " busy, %" SCNu32 " of %" SCNu32 " looks: %15s %" SCNu32 " %63s %n", &ret->busy, &ret->seen,
		   &ret->looks, word, &ret->next, address, &at) != 6 || !at || !l->text[at] || ret->seen > ret->looks ||
	    ret->busy > ret->looks)
		return false;
	g_strlcpy(there, address, size);
	ret->there = strcmp(address, "-") ? there : NULL;
	ret->name = l->text + at;
	return read_does(word, &ret->does);
}

const struct profile_limit *profile_end(const struct profile *p, uint32_t pid)
{
	return FIRST_ROW(const struct profile_limit, l, p->limits, l->kind == LIMIT_END && l->pid == pid, l, NULL);
}

bool limit_child_read(const struct profile_limit *l, struct limit_child *ret, char *there, size_t size)
{
	char word[16], address[64];
	int at = 0;

	if (!l || l->kind != LIMIT_CHILD ||
	    sscanf(l->text, "%" SCNu32 " %15s %" SCNu64 " %63s %n", &ret->pid, word, &ret->silent_ns, address, &at) != 4 || !at ||
	    !l->text[at] || ret->silent_ns > PROFILE_NS_MAX)
		return false;
	g_strlcpy(there, address, size);
	ret->there = strcmp(address, "-") ? there : NULL;
	ret->name = l->text + at;
	return read_does(word, &ret->does) && ret->does != CHILD_GONE;
}

char *limit_locked_text(const struct limit_locked *l)
{
	return g_strdup_printf("%" PRIu32 " of %" PRIu32 " looks, %" PRIu32 " of %" PRIu32 " %" PRIu32
			       " %s %s\t%s\t%s\t%s\t%s", l->held, l->seen, l->holder, l->holders, l->doer, child_words[l->does], l->is_sqlite ? "sqlite" : "file", l->name, l->doer_name,
			       l->where, l->path);
}

bool limit_locked_read(const struct profile_limit *l, struct limit_locked *ret, char ***ret_buffer)
{
	char word[16], kind[8];

	*ret = (struct limit_locked){ 0 };
	*ret_buffer = l ? g_strsplit(l->text, "\t", 5) : NULL;
	if (!l || l->kind != LIMIT_LOCKED || g_strv_length(*ret_buffer) != 5 || !*(*ret_buffer)[1] ||
	    sscanf(l->text, "%" SCNu32 " of %" SCNu32 " looks, %" SCNu32 " of %" SCNu32 " %" SCNu32 " %15s %7s", &ret->held,
		   &ret->seen, &ret->holder, &ret->holders, &ret->doer, word, kind) != 7 || ret->held > ret->seen)
		return false;
	if (!read_does(word, &ret->does))
		ret->does = CHILD_GONE;
	ret->is_sqlite = strcmp(kind, "sqlite") == 0;
	ret->name = (*ret_buffer)[1];
	ret->doer_name = (*ret_buffer)[2];
	ret->where = (*ret_buffer)[3];
	ret->path = (*ret_buffer)[4];
	return true;
}

bool limit_child_is_unanswered(const struct profile *p, const struct limit_child *c)
{
	return c->does == CHILD_NETWORK && c->silent_ns > p->info.duration_ns / 2;
}

char *limit_fails_text(const struct limit_fails *f)
{
	return g_strdup_printf("%" PRIu64 " in %" PRIu64 " ns, errno %" PRIu32 ", %s %s", f->cnt, f->ns, f->error, f->call, f->name);
}

bool limit_fails_read(const struct profile_limit *l, struct limit_fails *ret)
{
	int at = 0;

	_Static_assert(sizeof(ret->call) == 16, "%15s");
	if (!l || l->kind != LIMIT_FAILS ||
	    sscanf(l->text, "%" SCNu64 " in %" SCNu64 " ns, errno %" SCNu32 ", %15s %n", &ret->cnt, &ret->ns, &ret->error, ret->call,
		   &at) != 4 || !at || !ret->ns || ret->cnt > PROFILE_NS_MAX || ret->ns > PROFILE_NS_MAX)
		return false;
	ret->name = l->text + at;
	return true;
}

bool limit_fails_is_hard(const struct limit_fails *f)
{
	static const uint32_t errors[] = { EPERM, EIO, EACCES, ENOSPC, EROFS, EDQUOT };

	return ANY(x, errors, *x == f->error);
}

bool limit_fails_is_as_often(const struct limit_fails *f, double per_second)
{
	return (double)f->cnt * 2e9 >= per_second * (double)f->ns;
}

bool limit_used_read(const struct profile_limit *l, struct limit_used *ret)
{
	int at = 0;

	if (!l || l->kind != LIMIT_USED ||
	    sscanf(l->text, "%" SCNu32 " of itself, %" SCNu32 " of process %" SCNu32 " %n", &ret->own_permille, &ret->other_permille,
		   &ret->other_pid, &at) != 3 || !at || !l->text[at])
		return false;
	ret->name = l->text + at;
	return true;
}

uint64_t limit_refaults_read(const struct profile_limit *l, uint32_t *ret_kernel_pct)
{
	uint64_t pages;

	return l && l->kind == LIMIT_REFAULTS &&
			       sscanf(l->text, "%" SCNu64 " pages a second, %" SCNu32 " percent", &pages, ret_kernel_pct) == 2 &&
			       *ret_kernel_pct <= 100
		       ? pages
		       : 0;
}

const char *profile_upstream(const struct profile *p, const struct wait *w)
{
	const struct object *o = profile_wait_object(p, w);
	const char *owed = NULL;
	uint32_t made;

	if (!o || o->kind != OBJECT_EPOLL)
		return object_upstream(o);
	/* of several the one that has not answered; and the process at that end may have become known only later */
	limit_owed_read(profile_find_limit(p, LIMIT_OWED, profile_thread(p, w->thread)->pid, 0), &made, &owed);
	const char *silent = object_upstream(o) ? NULL : profile_silent_peer(p, w);

	return silent ?: owed ?: object_upstream(o);
}

bool wait_is_for_signal_of_others(const struct profile *p, const struct wait *w)
{
	const struct object *o = profile_wait_object(p, w);

	/* its place tells it apart, so it has no process's address */
	return o && (o->kind == LOCK_SEMAPHORE || o->kind == LOCK_CONDITION || o->kind == LOCK_FUTEX) &&
	       !o->is_private && !o->pid &&
	       !o->holder_tid && *o->place == '/' && wait_is_asleep(w);
}

uint32_t profile_awaited(const struct profile *p, const struct wait *w)
{
	const struct object *o = profile_wait_object(p, w);
	const struct thread *t = profile_thread(p, w->thread);

	/* others' events cut a loop's wait for an answer into pieces */
	if (!(w->flags & WAIT_OPEN_AT_END) && !(o && o->kind == OBJECT_EPOLL))
		return 0;
	if (wait_is_for_file_lock(p, w))
		return profile_file_lock_holder(p, t->pid);
	if (wait_is_for_signal_of_others(p, w))
		return holder_of(profile_find_limit(p, LIMIT_SEMAPHORE, t->pid, t->tid));
	if (!o || object_is_lock(o))
		return o && !o->is_private && o->kind != OBJECT_KERNEL_LOCK ? o->holder_tid : 0;
	return o->pid;
}

const struct profile_limit *profile_stopped(const struct profile *p, const struct wait *w)
{
	const uint32_t awaited = p->limits->len ? profile_awaited(p, w) : 0;

	return awaited ? FIRST_ROW(const struct profile_limit, l, p->limits,
				   l->kind == LIMIT_STOPPED && l->pid == awaited, l, NULL) :
			 NULL;
}

bool profile_signaller_works(const struct profile *p, uint32_t pid, uint32_t tid)
{
	const struct profile_limit *l = profile_find_limit(p, LIMIT_SIGNALLER, pid, tid);
	uint32_t busy, looks;

	return l && sscanf(l->text, "%" SCNu32 " of %" SCNu32 " looks", &busy, &looks) == 2 && busy > looks / 2;
}

char *profile_limits_text(const struct profile *p)
{
	GString *s = g_string_new(NULL);

	EACH_ROW(i, const struct profile_limit, l, p->limits) {
		g_autofree char *line = g_strdup_printf("%s %" PRIu32 " %" PRIu32 " %s", kinds[l->kind], l->pid, l->tid,
							l->text);

		if (!strchr(line, '\n') && s->len + strlen(line) + 1 <= TEXT_MAX_BYTES)
			g_string_append_printf(s, "%s\n", line);
	}
	return g_string_free(s, FALSE);
}

static bool read_id(char **at, uint32_t *ret)
{
	char *end;
	uint64_t id = g_ascii_strtoull(*at, &end, 10);

	if (!g_ascii_isdigit(**at) || *end != ' ' || id > UINT32_MAX)
		return false;
	*ret = (uint32_t)id;
	*at = end + 1;
	return true;
}

void profile_read_limits(struct profile *p, const char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", PROFILE_LIMITS_MAX);

	for (char **line = lines; *line; line++) {
		char *at = strchr(*line, ' ');
		uint32_t pid, tid;

		if (!at)
			continue;
		*at++ = '\0';
		for (unsigned k = 0; k < LIMIT_KIND_COUNT; k++) {
			if (strcmp(*line, kinds[k]) != 0)
				continue;
			if (read_id(&at, &pid) && read_id(&at, &tid))
				profile_add_limit(p, (enum profile_limit_kind)k, pid, tid, at);
			break;
		}
	}
}

bool peer_is_memory_server(const char *peer)
{
	static const char *const servers[] = { "redis-server", "valkey-server", "keydb-server", "beanstalkd", "mosquitto", "gearmand" };
	const char *at = peer ? strrchr(peer, '(') : NULL;
	const size_t len = at ? strcspn(at + 1, ")") : 0;

	return peer && ANY(x, servers, at ? strlen(*x) == len && strncmp(at + 1, *x, len) == 0 : strcmp(peer, *x) == 0);
}

enum server_does profile_server_does(const struct profile *p, uint32_t pid)
{
	const struct profile_limit *l = pid ? profile_find_limit(p, LIMIT_RESTS, pid, 0) : NULL;
	uint32_t rests, looks;

	if (!l || sscanf(l->text, "%" SCNu32 " of %" SCNu32 " looks", &rests, &looks) != 2 || looks < RESTS_LOOKS_MIN)
		return SERVER_UNKNOWN;
	return (uint64_t)rests * 10 >= (uint64_t)looks * 9 ? SERVER_RESTS :
	       rests <= looks / 2		   ? SERVER_WORKS :
						     SERVER_WORKS_AT_TIMES;
}

bool profile_server_held(const struct profile *p, uint32_t pid, struct server_held *ret)
{
	const struct profile_limit *l = pid ? profile_find_limit(p, LIMIT_RESTS, pid, 0) : NULL;
	uint32_t rests;
	int at = 0;

	*ret = (struct server_held){ .name = "" };
	if (!l || sscanf(l->text, "%" SCNu32 " of %" SCNu32 " looks, %" SCNu32 " in a command, %" SCNu32 " of %" SCNu32 " %n",
			 &rests, &ret->all, &ret->seen, &ret->of_one, &ret->pid, &at) < 3)
		return false;
	ret->name = at ? l->text + at : "";
	return ret->seen >= HELD_MIN && ret->seen >= ret->all / HELD_PART;
}
