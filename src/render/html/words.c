/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/html/words.h"

#include "render/text/finding.h"

#define FINDINGS_MAX 4
#define FINDING_PERCENT 3 /* of the time that matters; the first one is told in any case */

/* Where in the page it is: the longest of its rows, and the function that its sentence names. */
static void write_place(struct json *j, const struct html_words *w, const struct finding *row)
{
	bool is_cpu = reason_family(row->reason) == FAMILY_CPU && !row->is_yield;

	json_member_bool(j, "cpu", is_cpu);
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

static void write_findings(struct json *j, const struct html_words *w)
{
	const struct findings *f = w->findings;

	json_key(j, "findings");
	json_array_begin(j);
	for (unsigned i = 0; f && i < MIN(f->rows->len, FINDINGS_MAX); i++) {
		if (i && g_array_index(f->rows, struct finding, i).time_ns < f->matters_ns / 100 * FINDING_PERCENT)
			break;
		write_finding(j, w, i);
	}
	json_array_end(j);
}

void html_words_about(struct json *j, const struct html_words *w)
{
	write_findings(j, w);
	json_key(j, "queue");
	json_object_begin(j);
	json_member_string(j, "says", reason_says(REASON_CPU_QUEUE));
	json_member_string(j, "advice", reason_advice(REASON_CPU_QUEUE));
	json_object_end(j);
}

static const char *says_of(const struct html_words *w, uint32_t wait)
{
	return w->findings ? reasons_says(w->findings->reasons, wait) : reason_says(w->known[wait].reason);
}

static const char *advice_of(const struct html_words *w, uint32_t wait)
{
	return w->findings ? reasons_advice(w->findings->reasons, wait) : reason_advice(w->known[wait].reason);
}

void html_words_of_waits(const struct html_words *w, const GArray *waits, struct texts *texts, GByteArray *out)
{
	for (guint i = 0; i < waits->len; i++)
		bytes_put(out, texts_id(texts, says_of(w, g_array_index(waits, uint32_t, i))));
	for (guint i = 0; i < waits->len; i++)
		bytes_put(out, texts_id(texts, advice_of(w, g_array_index(waits, uint32_t, i))));
}
