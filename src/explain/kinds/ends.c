/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What processes that are not recorded were seen to do: the slow end of a pipeline, one or two hops on, and helpers that
 * an event loop asks over their standard input.
 */
#include "explain/limits.h"

#include <string.h>

#include "base/find.h"
#include "explain/findings_part.h"
#include "explain/sentence.h"
#include "explain/text.h"

#define LOOKS_MIN 3
#define HOPS_MAX 4
#define THERE_BYTES 64
#define BUSY_PERCENT 80	/* of the looks: nearly always */
#define CLIENTS_MIN 2

struct end {
	struct limit_end e;
	char there[THERE_BYTES];
};

static bool read_end(const struct profile_limit *l, struct end *ret)
{
	return limit_end_read(l, &ret->e, ret->there, sizeof(ret->there));
}

/* What one does that is not recorded, at most looks. False: that varied, or is nothing that holds up others. */
static bool find_end(const struct profile *p, uint32_t pid, struct end *ret)
{
	static const enum child_does telling[] = {
		CHILD_RUNS, CHILD_DISK, CHILD_STOPPED, CHILD_SLEEPS, CHILD_PIPE_FULL, CHILD_FILE_LOCK, CHILD_NETWORK,
	};

	return read_end(profile_end(p, pid), ret) && ret->e.looks >= LOOKS_MIN && ret->e.seen * 2 > ret->e.looks &&
	       ANY(x, telling, *x == ret->e.does) && (ret->e.does != CHILD_NETWORK || ret->e.there) &&
	       !ANY_ROW(const struct thread, t, p->threads, t->pid == pid);
}

/* Of the pipe for whose room it waits; 0: it waits for none. */
static uint32_t reader_of(const struct findings *f, const struct finding *row)
{
	const struct object *o = finding_object(f, row);

	return o && o->kind == OBJECT_PIPE && finding_is_by(f, row, "pipe-write") ? o->pid : 0;
}

/* The last one of those who wait for each other; returns their number. */
static unsigned follow(const struct profile *p, uint32_t pid, struct end *ret)
{
	unsigned cnt = 0;
	struct end e;

	for (; pid && cnt < HOPS_MAX && find_end(p, pid, &e); pid = e.e.next) {
		*ret = e;
		ret->e.there = e.e.there ? ret->there : NULL;
		cnt++;
	}
	return cnt;
}

bool ends_are_told(const struct findings *f, const struct finding *row)
{
	struct end last;

	return follow(f->profile, reader_of(f, row), &last);
}

/* "gzip/4712 waits for room in a pipe", "logship.py/4712 waits for 127.0.0.1:9092 (collector.py)" */
static void append_end(GString *s, const struct profile *p, uint32_t pid, const struct end *one)
{
	struct end next;

	text_who(s, one->e.name, pid, FINDING_NAME_COLUMNS);
	const bool is_asking = one->e.does == CHILD_NETWORK;

	g_string_append_c(s, ' ');
	child_append_does(s, one->e.does, !is_asking ? NULL : one->e.there ? one->there : "a connection");
	if (!is_asking || !read_end(profile_end(p, one->e.next), &next))
		return;
	g_string_append(s, " (");
	text_safe_cut(s, next.e.name, FINDING_NAME_COLUMNS);
	g_string_append_c(s, ')');
}

void ends_append_evidence(GString *s, const struct findings *f, const struct finding *row)
{
	uint32_t pid = reader_of(f, row);
	struct end one;

	for (unsigned i = 0; pid && i < HOPS_MAX && find_end(f->profile, pid, &one); i++) {
		g_string_append(s, i ? ", and its reader " : "; its reader ");
		append_end(s, f->profile, pid, &one);
		g_string_append_printf(s, " (at %" PRIu32 " of %" PRIu32 " looks)", one.e.seen, one.e.looks);
		pid = one.e.does == CHILD_PIPE_FULL ? one.e.next : 0;
	}
}

/* It has an option for that. */
static bool limits_rate(const char *name)
{
	static const char *const programs[] = { "curl", "wget", "rsync", "scp", "pv", "mbuffer", "cstream", "throttle", "trickle" };

	return ANY(x, programs, strcmp(*x, name) == 0);
}

const char *ends_advice(const struct findings *f, const struct finding *row)
{
	struct end last;

	if (!follow(f->profile, reader_of(f, row), &last))
		return NULL;
	switch (last.e.does) {
	case CHILD_SLEEPS:
		return limits_rate(last.e.name) ?
			       "If that one keeps to a limit of its own rate (--limit-rate, --bwlimit, -L), this bounds all who write to it: "
			       "such a limit may be meant; else raise it, or leave it out." :
			       "The last reader pauses instead of reading, as a logger that cannot write does (a full disk: df): see its own "
			       "messages, and what it tries (record it, too).";
	case CHILD_NETWORK:
		return "The reader waits there before it reads on, and so do all who write to it: let it hand on many lines at a time, or not "
		       "wait for each answer, or see why that server is slow. More writers do not help.";
	case CHILD_RUNS:
		return "The last reader computes, which bounds all before it: a CPU profile of it tells more, or let several do it (pigz, xz "
		       "-T0).";
	case CHILD_STOPPED:
		return STOPPED_ADVICE;
	case CHILD_DISK:
		return "The last reader waits for its disk, which bounds all before it: see what it does there (record it, too; offcpu io).";
	default:
		return "The last reader bounds all before it: look at what it does (record it, too).";
	}
}

/* Nearly always it did something else than to wait for a question. */
static bool is_busy(const struct limit_end *e)
{
	return e->looks >= LOOKS_MIN && e->busy * 100 >= e->looks * BUSY_PERCENT;
}

/* Those of one name, if all of them are busy; *ret: one of them. 0: there are none, or some have nothing to do. */
static uint32_t busy_helpers(const struct profile *p, uint32_t asker, const struct profile_limit **ret)
{
	struct end first = { .e = { .name = NULL } }, one;
	uint32_t cnt = 0;

	EACH_ROW(i, const struct profile_limit, l, p->limits) {
		if (l->kind != LIMIT_END || l->tid != asker || !read_end(l, &one) || !is_busy(&one.e) || first.e.name)
			continue;
		first = one;
		*ret = l;
	}
	EACH_ROW(i, const struct profile_limit, l, p->limits) {
		if (!first.e.name || l->kind != LIMIT_END || l->tid != asker || !read_end(l, &one) ||
		    strcmp(one.e.name, first.e.name) != 0)
			continue;
		if (!is_busy(&one.e))
			return 0;
		cnt++;
	}
	return cnt;
}

/* Clients wait for the process, and those whom it asks over the network mostly owe it nothing. */
static bool is_owing(const struct profile *p, uint32_t pid)
{
	const struct profile_limit *l = profile_find_limit(p, LIMIT_OWED, pid, 0);
	const char *there;
	uint32_t made;

	if (limit_owed_read(l, &made, &there) < CLIENTS_MIN)
		return false;
	const struct limit_looks looks = limit_looks_read(l);

	return looks.asked * 2 <= looks.connections;
}

bool helpers_find(const struct findings *f, const struct finding *row, struct finding_limit *ret)
{
	const struct object *o = finding_object(f, row);
	const uint32_t pid = finding_pid(f, row);
	const struct profile_limit *l = NULL;

	if (row->reason != REASON_NETWORK_RECEIVE || !o || (o->kind != OBJECT_EPOLL && o->kind != OBJECT_POLL) ||
	    !is_owing(f->profile, pid))
		return false;
	const uint32_t cnt = busy_helpers(f->profile, pid, &l);

	*ret = (struct finding_limit){ .limit = l, .helpers = cnt };
	return cnt;
}

/* " from its 2 children policy.py" */
void helpers_append(GString *s, const struct finding *row)
{
	struct end e;

	if (!read_end(row->limit.limit, &e))
		return;
	if (row->limit.helpers == 1)
		g_string_append(s, " from its child ");
	else
		g_string_append_printf(s, " from its %" PRIu32 " children ", row->limit.helpers);
	text_safe_cut(s, e.e.name, FINDING_NAME_COLUMNS);
}

void helpers_append_evidence(GString *s, const struct findings *f, const struct finding *row)
{
	const struct profile_limit *l = row->limit.limit;
	const char *there;
	uint32_t made;
	struct end e;

	if (!row->limit.helpers || !read_end(l, &e))
		return;
	const struct profile_limit *owed = profile_find_limit(f->profile, LIMIT_OWED, finding_pid(f, row), 0);
	const uint32_t clients = limit_owed_read(owed, &made, &there);

	g_string_append_printf(s, "; %s clients wait for answers, and %s busy at %" PRIu32 " of %" PRIu32 " looks", TEXT_COUNT(clients),
			       row->limit.helpers == 1 ? "that child was" : "those children were", e.e.busy, e.e.looks);
	if (e.e.seen * 2 <= e.e.looks || (e.e.does == CHILD_NETWORK && !e.e.there))
		return;
	g_string_append(s, ": ");
	append_end(s, f->profile, l->pid, &e);
}

bool helpers_append_busy(GString *s, const struct profile *p, uint32_t asker)
{
	const struct profile_limit *l = NULL;
	const uint32_t cnt = is_owing(p, asker) ? busy_helpers(p, asker, &l) : 0;
	struct end e;

	if (!cnt || !read_end(l, &e))
		return false;
	g_string_append(s, cnt == 1 ? ", and its child " : ", and all ");
	if (cnt > 1)
		g_string_append_printf(s, "of its %" PRIu32 " children ", cnt);
	text_safe_cut(s, e.e.name, FINDING_NAME_COLUMNS);
	g_string_append_printf(s, " %s busy at %" PRIu32 " of %" PRIu32 " looks: ", cnt == 1 ? "was" : "were", e.e.busy, e.e.looks);
	append_end(s, p, l->pid, &e);
	g_string_append(s, ". Requests queue for these: have more of them, or shorten what they do");
	return true;
}

const char *helpers_advice(void)
{
	return "Requests queue for these: have more of them, or several requests at a time in each, shorten what they wait for, or keep "
	       "their answers.";
}
