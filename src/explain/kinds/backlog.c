/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/findings_part.h"

#include <inttypes.h>

#include "explain/limits.h"
#include "explain/sentence.h"
#include "explain/text.h"
#include "profile/limits.h"

#define BUSY_SHARE 2	/* of the workers' time: mostly idle workers just received these connections */

/* Threads of these processes with the finding's name mostly do not wait for work, or for as long as connections waited. */
static bool is_busy(const struct findings *f, const struct finding *row, const struct profile_limit *backlog)
{
	const struct limit_looks looks = limit_looks_read(backlog);
	const double share = looks.all ? (double)looks.seen / looks.all : 1;
	const struct profile *p = f->profile;
	uint64_t row_ns = row->time_ns, threads_ns = 0;

	for (uint32_t i = 0; i < p->threads->len; i++)
		if (f->programs[i] == row->process)
			threads_ns = MAX(threads_ns, thread_observed_ns(profile_thread(p, i)));
	return row->threads_cnt && (double)row_ns * BUSY_SHARE >= (double)threads_ns * share * row->threads_cnt;
}

/* Processes that share a socket, like a master and its workers, are reported once. */
static bool is_told(const struct findings *f, const struct profile_limit *l)
{
	for (guint i = 0; i < MIN(f->rows->len, FINDINGS_TOLD_MAX); i++) {
		const struct profile_limit *other = g_array_index(f->rows, struct finding, i).backlog;

		if (other && other->text == l->text)
			return true;
	}
	return false;
}

/* Datagrams are dropped while the process does this; a pause of it is no clock's then. */
static bool is_of_drops(const struct profile_limit *l)
{
	return l && l->kind == LIMIT_DROPPED;
}

void backlog_find(struct findings *f)
{
	for (guint i = 0; i < MIN(f->rows->len, FINDINGS_TOLD_MAX) && f->profile->limits->len; i++) {
		struct finding *row = &g_array_index(f->rows, struct finding, i);
		const struct thread *t = profile_thread(f->profile, profile_wait(f->profile, row->wait)->thread);
		const struct profile_limit *l = profile_find_limit(f->profile, LIMIT_BACKLOG, t->pid, 0) ?:
						profile_find_limit(f->profile, LIMIT_DROPPED, t->pid, 0);

		if (l && !row->busy && row->reason != REASON_CPU_QUEUE &&
		    (row->clock_ns <= row->time_ns / 2 || is_of_drops(l)) && !is_told(f, l) && is_busy(f, row, l))
			row->backlog = l;
	}
}

static void append_backlog(GString *s, const struct profile_limit *l, bool is_begin)
{
	const char *where;
	uint32_t cnt = limit_backlog_read(l, &where);

	const struct limit_looks looks = limit_looks_read(l);

	if (is_of_drops(l))
		g_string_append_printf(s, "%seanwhile %s datagrams at ", is_begin ? "M" : "m", TEXT_COUNT(cnt));
	else if (looks.all)
		g_string_append_printf(s, "%sn %" PRIu32 " of %" PRIu32 " looks up to %s connections at ", is_begin ? "I" : "i", looks.seen,
				       looks.all, TEXT_COUNT(cnt));
	else
		g_string_append_printf(s, "%ss the recording ended %s connections at ", is_begin ? "A" : "a", TEXT_COUNT(cnt));
	text_safe_cut(s, where, FINDING_NAME_COLUMNS);
	g_string_append(s, is_of_drops(l) ? " were dropped, as nobody read them in time" : " waited to be accepted");
}

void backlog_append_evidence(GString *s, const struct profile_limit *l)
{
	const char *where;

	if (!limit_backlog_read(l, &where))
		return;
	g_string_append(s, "; ");
	append_backlog(s, l, false);
}

static const struct profile_limit *most_of(const struct findings *f)
{
	const struct profile_limit *most = NULL;
	const char *where;

	EACH_ROW(i, const struct profile_limit, l, f->profile->limits)
		if (limit_backlog_read(l, &where) > limit_backlog_read(most, &where) &&
		    selection_has_process(f->selection, f->profile, l->pid))
			most = l;
	return most;
}

void backlog_append_most(GString *s, const struct findings *f)
{
	const struct profile_limit *most = most_of(f);

	if (!most)
		return;
	g_string_append_c(s, ' ');
	append_backlog(s, most, true);
	g_string_append_c(s, '.');
}

bool backlog_append_taken(GString *s, const struct findings *f)
{
	const struct profile_limit *most = most_of(f);

	if (!most || !reasons_are_taken(f->reasons, most))
		return false;
	const struct limit_looks looks = limit_looks_read(most);

	/* what workers do is known as of the end */
	if (looks.seen * 2 < looks.all)
		return false;
	append_backlog(s, most, true);
	g_string_append(s, ", while all recorded workers of ");
	text_safe_cut(s, finding_process_name(f, most->pid) ?: "its process", FINDING_NAME_COLUMNS);
	g_string_append(s, " wait for further requests of connections that are kept open: shorten the keep-alive, or have more workers.");
	return true;
}

bool backlog_is_of_clients(const struct findings *f, const struct finding *row)
{
	const char *where;

	return row->backlog && !is_of_drops(row->backlog) && row->reason == REASON_NETWORK_RECEIVE && row->object &&
	       limit_backlog_read(row->backlog, &where) &&
	       object_is_accepted_at(profile_get_object(f->profile, row->object - 1), where);
}

const char *backlog_advice_of_drops(const struct profile_limit *l)
{
	return is_of_drops(l) ?
		       "Datagrams come faster than they are read: hand this to another thread, or have several sockets at that port "
		       "(SO_REUSEPORT), or send fewer. A larger buffer (SO_RCVBUF) helps against bursts alone." :
		       NULL;
}

const char *backlog_advice(const struct findings *f, const struct finding *row)
{
	bool is_asked = row->reason == REASON_NETWORK_RECEIVE || row->reason == REASON_PIPE ||
			row->reason == REASON_CHILD_EXIT;

	if (!row->backlog || !is_asked || row->limit.limit || row->is_behind)
		return NULL;
	return backlog_is_of_clients(f, row) ?
		       "Clients that are slow, or keep connections and ask for nothing, hold all that could accept others: time limits "
		       "(keep-alive, reading a request), a proxy in front that reads requests first, more workers, or an event loop." :
		       "Requests queue, as all that accept them are busy with this: shorten it, or have more of them (workers, children).";
}
