/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/findings_part.h"

#include "explain/sentence.h"
#include "explain/text.h"
#include "profile/limits.h"

#define BUSY_SHARE 2	/* of the workers' time: mostly idle workers just received these connections */

/* Threads of these processes with the finding's name mostly do not wait for work. */
static bool is_busy(const struct findings *f, const struct finding *row)
{
	const struct profile *p = f->profile;
	uint64_t row_ns = row->time_ns, threads_ns = 0;

	for (uint32_t i = 0; i < p->threads->len; i++)
		if (f->programs[i] == row->process)
			threads_ns = MAX(threads_ns, thread_observed_ns(profile_thread(p, i)));
	return row->threads_cnt && row_ns / row->threads_cnt >= threads_ns / BUSY_SHARE;
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

void backlog_find(struct findings *f)
{
	for (guint i = 0; i < MIN(f->rows->len, FINDINGS_TOLD_MAX) && f->profile->limits->len; i++) {
		struct finding *row = &g_array_index(f->rows, struct finding, i);
		const struct thread *t = profile_thread(f->profile, profile_wait(f->profile, row->wait)->thread);
		const struct profile_limit *l = profile_find_limit(f->profile, LIMIT_BACKLOG, t->pid, 0);

		if (l && !row->busy && row->reason != REASON_CPU_QUEUE && row->clock_ns <= row->time_ns / 2 &&
		    !is_told(f, l) && is_busy(f, row))
			row->backlog = l;
	}
}

static void append_backlog(GString *s, uint32_t cnt, const char *where)
{
	g_string_append_printf(s, "%s connections at ", TEXT_COUNT(cnt));
	text_safe_cut(s, where, FINDING_NAME_COLUMNS);
	g_string_append(s, " waited to be accepted");
}

void backlog_append_evidence(GString *s, const struct finding *row)
{
	const char *where;
	uint32_t cnt = limit_backlog_read(row->backlog, &where);

	if (!cnt)
		return;
	g_string_append(s, "; as the recording ended ");
	append_backlog(s, cnt, where);
}

void backlog_append_most(GString *s, const struct findings *f)
{
	uint32_t most_cnt = 0;
	const char *most = NULL, *where;

	EACH_ROW(i, const struct profile_limit, l, f->profile->limits) {
		uint32_t cnt = limit_backlog_read(l, &where);

		if (cnt <= most_cnt || !selection_has_process(f->selection, f->profile, l->pid))
			continue;
		most_cnt = cnt;
		most = where;
	}
	if (!most)
		return;
	g_string_append(s, " As the recording ended ");
	append_backlog(s, most_cnt, most);
	g_string_append_c(s, '.');
}

bool backlog_is_of_clients(const struct findings *f, const struct finding *row)
{
	const char *where;

	return row->backlog && row->reason == REASON_NETWORK_RECEIVE && row->object &&
	       limit_backlog_read(row->backlog, &where) &&
	       object_is_accepted_at(profile_get_object(f->profile, row->object - 1), where);
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
