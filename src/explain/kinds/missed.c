/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/findings_part.h"

#include "analyse/reason/timeouts.h"
#include "explain/sentence.h"
#include "explain/text.h"

static bool is_of_thread(const struct findings *f, const struct finding *row, uint32_t thread)
{
	return row->threads_cnt == 1 && !row->busy && profile_wait(f->profile, row->wait)->thread == thread;
}

static uint8_t *reasons_of_all_new(const struct findings *f)
{
	uint8_t *all = g_new0(uint8_t, (gsize)f->profile->waits->len + 1);

	for (uint32_t i = 0; i < f->profile->waits->len; i++)
		all[i] = (uint8_t)reasons_of(f->reasons, i);
	return all;
}

static void find_of(struct findings *f, struct finding *row, uint32_t asked)
{
	const struct thread *asks = profile_thread(f->profile, profile_wait(f->profile, row->wait)->thread);

	EACH_ROW(i, struct finding, answers, f->rows) {
		if (!is_of_thread(f, answers, asked) || answers->by.tid != asks->tid || answers->by.pid != asks->pid)
			continue;
		row->asks = asked + 1;
		answers->is_told_with = answers->waits_for_asker = true;
	}
}

void missed_find(struct findings *f)
{
	const struct profile *p = f->profile;

	if (!p->info.has_wakers || p->info.has_requests)
		return;
	g_autofree uint8_t *reason = reasons_of_all_new(f);
	g_autofree uint32_t *asked = timeouts_asked_new(p, reason);

	EACH_FIRST(i, row, f, FINDINGS_TOLD_MAX) {
		uint32_t thread = profile_wait(p, row->wait)->thread;

		if (asked[thread] && is_of_thread(f, row, thread) && row->timed_out_cnt &&
		    reason_is_parked(row->reason))
			find_of(f, row, asked[thread] - 1);
	}
}

void missed_append_evidence(GString *s, const struct findings *f, const struct finding *row)
{
	if (!row->asks)
		return;
	const struct thread *t = profile_thread(f->profile, row->asks - 1);

	g_string_append(s, "; meanwhile ");
	text_who(s, t->comm, t->tid, FINDING_NAME_COLUMNS);
	g_string_append(s, ", which it asks, waits for it to go on");
}
