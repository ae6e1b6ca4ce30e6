/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/html/words.h"

#include "render/text/finding.h"
#include "render/text/head.h"

#define FINDINGS_MAX 4
#define FINDING_PERCENT 3 /* of the time that matters; the first one is told in any case */

/* Where in the page it is: of which time, the longest of its rows, and the function that its sentence names. */
static void write_place(struct json *j, const struct html_words *w, const struct finding *row)
{
	bool is_queue = reason_family(row->reason) == FAMILY_CPU, is_cpu = is_queue && !row->is_yield;

	json_member_string(j, "of", row->busy ? "all" : is_queue ? "queue" : "blocked");
	json_key(j, "wait");
	json_int(j, (int64_t)w->wait_number[row->wait] - 1);
	json_key(j, "label");
	json_int(j, !is_cpu && row->frame >= 0 && w->frame_id[row->frame] ? (int64_t)w->frame_label[row->frame] : -1);
}

static void write_finding(struct json *j, const struct html_words *w, unsigned row)
{
	struct text_finding_parts parts;

	text_finding_parts(w->findings, row, &parts);
	json_object_begin(j);
	json_member_string(j, "sentence", parts.sentence);
	json_member_string(j, "evidence", parts.evidence);
	json_member_string(j, "advice", parts.advice);
	write_place(j, w, &g_array_index(w->findings->rows, struct finding, row));
	json_object_end(j);
	text_finding_parts_clear(&parts);
}

/* Tasks are no threads: none of the page's rows is theirs. */
static void write_task_finding(struct json *j, const struct profile *p, const struct task_wait *row)
{
	struct text_finding_parts parts;

	text_task_finding_parts(p, row, &parts);
	json_object_begin(j);
	json_member_string(j, "sentence", parts.sentence);
	json_member_string(j, "evidence", parts.evidence);
	json_member_string(j, "advice", parts.advice);
	json_member_bool(j, "tasks", true);
	json_object_end(j);
	text_finding_parts_clear(&parts);
}

static bool is_task_worth_telling(const struct task_findings *f, guint i)
{
	const struct task_wait *w = &g_array_index(f->rows, struct task_wait, i);

	return i < f->cnt && (!i || w->task_ns >= w->busy_ns / 100 * FINDING_PERCENT);
}

/* Of threads and of tasks, as the report has them. */
static void write_all(struct json *j, const struct html_words *w, const struct findings *f,
		      const struct task_findings *tasks)
{
	guint next = 0, next_task = 0;

	while (next + next_task < FINDINGS_MAX) {
		bool has_row = next < f->rows->len && finding_is_worth(f, next, FINDING_PERCENT);
		bool has_task = is_task_worth_telling(tasks, next_task);
		const struct task_wait *task = &g_array_index(tasks->rows, struct task_wait, next_task);

		if (!has_row && !has_task)
			break;
		if (has_task && (!has_row || (next_task <= next &&
					      task->rank_ns >= finding_rank_ns(&g_array_index(f->rows, struct finding, next))))) {
			write_task_finding(j, f->profile, task);
			next_task++;
		} else {
			write_finding(j, w, next++);
		}
	}
}

static void write_findings(struct json *j, const struct html_words *w)
{
	const struct findings *f = w->findings;

	json_key(j, "findings");
	json_array_begin(j);
	/* rules are about waits of threads */
	if (f && !f->profile->info.rows_are) {
		struct task_findings *tasks = task_findings_new(f->profile);

		write_all(j, w, f, tasks);
		task_findings_free(tasks);
	}
	json_array_end(j);
}

char *html_words_target(const struct findings *f)
{
	GString *target = g_string_new(NULL);

	text_target(target, f);
	return g_string_free(target, FALSE);
}

void html_words_about(struct json *j, const struct html_words *w)
{
	write_findings(j, w);
	if (w->findings) {
		g_autofree char *target = html_words_target(w->findings);
		g_autoptr(GString) verdict = g_string_new(NULL);

		text_verdict(verdict, w->findings->profile);
		json_member_string(j, "target", target);
		json_member_string(j, "verdict", verdict->str);
	}
	json_key(j, "queue");
	json_object_begin(j);
	json_member_string(j, "says", reason_says(REASON_CPU_QUEUE));
	/* who holds the CPUs is asked for once */
	json_member_string(j, "advice",
			   w->findings && w->findings->profile->info.has_blame
				   ? "More runnable threads than CPUs: add CPUs or run fewer."
				   : reason_advice(REASON_CPU_QUEUE));
	json_object_end(j);
}

static bool has_rules(const struct html_words *w)
{
	return !w->findings || !w->findings->profile->info.rows_are;
}

static const char *says_of(const struct html_words *w, uint32_t wait)
{
	if (!has_rules(w))
		return "waits";
	return w->findings ? reasons_says(w->findings->reasons, wait) : reason_says(w->known[wait].reason);
}

/* Of a lock that nobody lets go what its finding says: it cannot be held for less time. */
static const char *advice_of_stuck(const struct findings *f, uint32_t wait)
{
	const struct wait *w = profile_wait(f->profile, wait);

	for (guint i = 0; i < f->rows->len && i < FINDINGS_MAX; i++) {
		const struct finding *row = &g_array_index(f->rows, struct finding, i);
		const struct wait *of = profile_wait(f->profile, row->wait);

		if ((row->deadlock || row->never_let_go) && reasons_of(f->reasons, wait) == row->reason &&
		    w->object == of->object && profile_thread(f->profile, w->thread)->process == row->process)
			return text_finding_advice(f, row);
	}
	return NULL;
}

static const char *advice_of(const struct html_words *w, uint32_t wait)
{
	if (!has_rules(w))
		return "";
	const char *stuck = w->findings ? advice_of_stuck(w->findings, wait) : NULL;
	if (stuck)
		return stuck;
	return w->findings ? reasons_advice(w->findings->reasons, wait) : reason_advice(w->known[wait].reason);
}

void html_words_of_waits(const struct html_words *w, const GArray *waits, struct texts *texts, GByteArray *out)
{
	for (guint i = 0; i < waits->len; i++)
		bytes_put(out, texts_id(texts, says_of(w, g_array_index(waits, uint32_t, i))));
	for (guint i = 0; i < waits->len; i++)
		bytes_put(out, texts_id(texts, advice_of(w, g_array_index(waits, uint32_t, i))));
}
