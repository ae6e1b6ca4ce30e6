/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/html/part.h"

#include "render/text/text.h"

/* Where the finding is in the page: its kind of time, its longest row, and the function named in its sentence. */
static void write_place(struct json *j, const struct html_words *w, const struct finding *row)
{
	bool is_queue = reason_family(row->reason) == FAMILY_CPU, is_cpu = is_queue && !row->is_yield;

	json_member_string(j, "of", row->busy ? "all" : is_queue ? "queue" : "blocked");
	json_key(j, "wait");
	json_int(j, (int64_t)w->wait_number[row->wait] - 1);
	json_key(j, "label");
	json_int(j, !is_cpu && row->frame >= 0 && w->frame_id[row->frame] ? (int64_t)w->frame_label[row->frame] : -1);
}

static void write_headline(struct json *j, const struct html_words *w, const struct headline *h)
{
	JSON(j, "kind", headline_kind_name(h->kind), "sentence", h->sentence, "evidence", h->evidence);
	JSON(j, "advice", h->advice, "command", h->command);
	if (h->finding)
		write_place(j, w, h->finding);
	else	/* tasks are no threads, so no row of the page is theirs */
		json_member_bool(j, "tasks", true);
}

static void write_headlines(struct json *j, const struct html_words *w)
{
	const struct explanation *e = w->explanation;

	JSON_ARRAY(j, "findings")
		for (guint i = 0; e && i < e->headlines->len; i++)
			JSON_IN(j, write_headline(j, w, &g_array_index(e->headlines, struct headline, i)));
	json_member_string(j, "little", e ? e->little : NULL);
}

char *html_words_target(const struct findings *f)
{
	GString *target = g_string_new(NULL);

	text_target(target, f);
	return g_string_free(target, FALSE);
}

void html_words_about(struct json *j, const struct html_words *w)
{
	const struct findings *findings = w->explanation ? w->explanation->findings : NULL;

	write_headlines(j, w);
	if (findings) {
		g_autofree char *target = html_words_target(findings);
		g_autoptr(GString) verdict = g_string_new(NULL);

		text_verdict(verdict, findings->profile);
		JSON(j, "target", target, "verdict", verdict->str);
	}
	json_member_object(j, "queue");
	json_member_string(j, "says", reason_says(REASON_CPU_QUEUE));
	/* with blame recorded, do not advise to record it */
	json_member_string(j, "advice",
			   findings && findings->profile->info.has_blame
				   ? "More runnable threads than CPUs: add CPUs or run fewer."
				   : reason_advice(REASON_CPU_QUEUE));
	json_object_end(j);
}

static bool has_rules(const struct html_words *w)
{
	return !w->explanation || !w->explanation->findings->profile->info.rows_are;
}

static const char *says_of(const struct html_words *w, uint32_t wait)
{
	if (!has_rules(w))
		return "waits";
	return w->explanation ? reasons_says(w->explanation->findings->reasons, wait)
			      : reason_says(w->known[wait].reason);
}

static const char *advice_of(const struct html_words *w, uint32_t wait)
{
	if (!has_rules(w))
		return "";
	return w->explanation ? explanation_advice_of(w->explanation, wait) : reason_advice(w->known[wait].reason);
}

void html_words_of_waits(const struct html_words *w, const GArray *waits, struct texts *texts, GByteArray *out)
{
	for (guint i = 0; i < waits->len; i++)
		bytes_put(out, texts_id(texts, says_of(w, g_array_index(waits, uint32_t, i))));
	for (guint i = 0; i < waits->len; i++)
		bytes_put(out, texts_id(texts, advice_of(w, g_array_index(waits, uint32_t, i))));
}
