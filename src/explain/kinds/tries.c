/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Threads that sleep between tries of a system call that fails: what they try tells what they wait for. */
#include "explain/limits.h"

#include <errno.h>
#include <string.h>

#include "base/each.h"
#include "base/find.h"
#include "explain/sentence.h"
#include "explain/text.h"

#define NAME_COLUMNS 48
#define REQUESTS_PART 4	/* of a thread's waits: between its tries it rather serves requests */

/* man 2 open, flock, write */
static const struct words {
	uint32_t error;
	const char *why, *advice;
} words[] = {
	{ EAGAIN, "another process has locked it",
	  "See who has it (lslocks, /proc/locks), and what that does. A standby is meant to wait so." },
	{ EACCES, "it may not", "See whose that file is, and as whom the program runs." },
	{ EPERM, "it may not", "See whose that file is, and as whom the program runs." },
	{ EBUSY, "it is in use", "See who uses it (fuser, lsof)." },
	{ ETXTBSY, "it is in use", "See who uses it (fuser, lsof)." },
	{ EEXIST, "it is there already",
	  "See who made it, and whether that still runs: a killed program leaves such files behind." },
	{ ENOENT, "it is not there", "If it needs that, see who should have made it." },
	{ ENOTDIR, "that path leads nowhere", "If it needs that, see who should have made it." },
	{ ENXIO, "nobody reads it", "See why its reader does not run." },
	{ ENOSPC, "no space is left there", "Free some of that file system (df, df -i)." },
	{ EDQUOT, "its quota is used up", "Free space, or raise the quota." },
	{ EROFS, "that file system is read-only", "See why: after an error of its disk the kernel mounts it so (dmesg)." },
	{ EIO, "of an error of the device", "See dmesg for errors of that device." },
	{ EMFILE, "it has too many open files", "See why so many are open, or raise its limit (ulimit -n)." },
};

static const struct words *words_of(const struct limit_fails *f)
{
	return FIRST(x, words, x->error == f->error, x, NULL);
}

static const char *verb_of(const struct limit_fails *f)
{
	static const struct { const char *call, *verb; } verbs[] = {
		{ "stat", "find" },	 { "access", "find" },	{ "mkdir", "make" },  { "link", "make" },
		{ "symlink", "make" },	 { "fcntl", "lock" },	{ "flock", "lock" },  { "fsync", "write" },
		{ "fallocate", "write" }, { "unlink", "remove" }, { "rmdir", "remove" }, { "execve", "start" },
	};

	if (strcmp(f->call, "open") == 0 && f->error == EEXIST)
		return "make";
	return FIRST(x, verbs, strcmp(x->call, f->call) == 0, x->verb, f->call);
}

/* Servers look for files that may come, as that is usual; a program without connections waits for it. */
static bool is_servers_look(const struct profile *p, uint32_t pid, const struct limit_fails *f)
{
	if (f->error != ENOENT && f->error != ENOTDIR)
		return false;
	EACH_ROW(i, const struct wait, w, p->waits) {
		const struct object *o = profile_thread(p, w->thread)->pid == pid ? profile_wait_object(p, w) : NULL;

		if (o && (o->kind == OBJECT_SOCKET ||
			  ((o->kind == OBJECT_EPOLL || o->kind == OBJECT_POLL) && strstr(o->name, "socket"))))
			return true;
	}
	return false;
}

/* A failure that there are words for, and that may be what the program waits for. */
static bool read_known(const struct profile *p, const struct profile_limit *l, struct limit_fails *ret)
{
	return limit_fails_read(l, ret) && words_of(ret) && !is_servers_look(p, l->pid, ret);
}

/* It waits for a client's request, or for a client. */
static bool is_for_request(const struct findings *f, uint32_t wait)
{
	const struct object *o = profile_wait_object(f->profile, profile_wait(f->profile, wait));

	return idle_kind_is_rest(reasons_idle(f->reasons, wait)) && o && o->kind == OBJECT_SOCKET;
}

/*
 * The thread tries about as often as it waits, so these are pauses between its tries. One that serves a request each
 * time tries for that.
 */
static bool is_tried_between(const struct findings *f, const struct profile_limit *l, const struct limit_fails *fails)
{
	const struct profile *p = f->profile;
	uint64_t waits = 0, requests = 0;

	EACH_ROW(i, const struct wait, w, p->waits) {
		if (profile_thread(p, w->thread)->tid != l->tid || w->state == 'R')
			continue;
		waits += w->count;
		requests += is_for_request(f, i) ? w->count : 0;
	}
	return requests <= waits / REQUESTS_PART &&
	       limit_fails_is_as_often(fails, (double)waits * 1e9 / (double)MAX(p->info.duration_ns, 1));
}

bool tries_find(const struct findings *f, const struct finding *row, struct finding_limit *ret)
{
	struct limit_fails fails;

	if (row->reason != REASON_SLEEP)
		return false;
	EACH_ROW(i, const struct wait, w, f->profile->waits) {
		const struct thread *t = profile_thread(f->profile, w->thread);
		const struct profile_limit *l = f->blocked_in[i] != row->id
							? NULL
							: profile_find_limit(f->profile, LIMIT_FAILS, t->pid, t->tid);

		if (!l || !read_known(f->profile, l, &fails) || !is_tried_between(f, l, &fails))
			continue;
		*ret = (struct finding_limit){ .limit = l };
		return true;
	}
	return false;
}

/* "tries to lock store.lock fail, as another process has locked it" */
static void append_tries(GString *s, const struct limit_fails *f)
{
	g_string_append_printf(s, "tries to %s ", verb_of(f));
	text_safe_cut(s, *f->name ? f->name : "a file", NAME_COLUMNS);
	g_string_append_printf(s, " fail, as %s", words_of(f)->why);
}

const char *tries_of_process(const struct profile *p, uint32_t pid, GString *s)
{
	struct limit_fails fails, most = { 0 };

	EACH_ROW(i, const struct profile_limit, l, p->limits)
		if (l->pid == pid && read_known(p, l, &fails) && fails.cnt > most.cnt)
			most = fails;
	if (!most.cnt)
		return NULL;
	if (s) {
		g_string_append(s, "; its ");
		append_tries(s, &most);
	}
	return words_of(&most)->advice;
}

void tries_append(GString *s, const struct finding *row)
{
	struct limit_fails f;

	if (!limit_fails_read(row->limit.limit, &f))
		return;
	g_string_append(s, ": its ");
	append_tries(s, &f);
}

const char *tries_advice(const struct finding *row)
{
	struct limit_fails f;

	return limit_fails_read(row->limit.limit, &f) ? words_of(&f)->advice : NULL;
}

bool tries_append_most(GString *s, const struct findings *f)
{
	struct limit_fails fails, most = { 0 };
	uint32_t pid = 0;

	EACH_ROW(i, const struct profile_limit, l, f->profile->limits) {
		if (!read_known(f->profile, l, &fails) || fails.cnt <= most.cnt ||
		    !selection_has_process(f->selection, f->profile, l->pid) || !is_tried_between(f, l, &fails))
			continue;
		most = fails;
		pid = l->pid;
	}
	if (!most.cnt)
		return false;
	text_safe_cut(s, finding_process_name(f, pid) ?: "a process", FINDING_NAME_COLUMNS);
	g_string_append(s, " sleeps, and its ");
	append_tries(s, &most);
	g_string_append_printf(s, ". %s", words_of(&most)->advice);
	return true;
}
