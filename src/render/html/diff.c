/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/html/html.h"

#include <string.h>

#include "render/text/diff.h"

static void member_text(struct json *j, const char *key, struct diff *d,
			void (*append)(GString *s, const struct diff *d))
{
	g_autoptr(GString) s = g_string_new(NULL);

	append(s, d);
	json_member_string(j, key, s->str);
}

static void fraction(struct json *j, double n)
{
	char text[G_ASCII_DTOSTR_BUF_SIZE];

	g_ascii_dtostr(text, sizeof(text), n);
	json_raw(j, text, strlen(text));
}

/* Values of both sides, before first. */
static void pair_begin(struct json *j, const char *key)
{
	json_member_array(j, key);
}

void html_diff_about(struct json *j, const struct html_diff *diff)
{
	struct diff *d = diff->d;
	g_autoptr(GString) finding = g_string_new(NULL);

	diff_text_finding(finding, d);
	json_member_object(j, "diff");
	json_member_string(j, "finding", finding->str);
	pair_begin(j, "sides");
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		g_autoptr(GString) s = g_string_new(NULL);

		diff_text_side(s, d, side);
		json_string(j, s->str);
	}
	json_array_end(j);
	member_text(j, "machines", d, diff_text_machines);
	member_text(j, "norm", d, diff_text_norm);
	json_member_string(j, "unit", diff_text_unit(d));
	pair_begin(j, "scale");
	for (unsigned side = 0; side < DIFF_SIDES; side++)
		fraction(j, d->scale[side]);
	json_array_end(j);
	json_key(j, "byWindow");
	fraction(j, d->by_window);
	pair_begin(j, "window");
	for (unsigned side = 0; side < DIFF_SIDES; side++)
		json_uint(j, d->in[side].profile->info.duration_ns);
	json_array_end(j);
	pair_begin(j, "total");
	for (unsigned side = 0; side < DIFF_SIDES; side++)
		json_uint(j, diff_all_ns(d, side));
	json_array_end(j);
	json_member_bool(j, "perTime", d->options.norm < DIFF_NOT_NORMALISED);
	json_key(j, "noise");
	fraction(j, d->options.noise);
	JSON(j, "counted", (bool)diff_has_counts(d), "beforeThreads", diff->merged->before_threads_cnt);
	json_member_string(j, "wide", diff->options->negated ? "before" : "both");
	json_object_end(j);
}

bool html_diff_page(GString *out, struct diff *d, const struct html_diff_options *options)
{
	struct diff_merged *merged = diff_merged_new(d);
	const struct html_diff diff = { d, merged, options };
	const struct html_options page = {
		.title = options->title ? options->title : "What changed from BEFORE to AFTER",
		.inverted = options->inverted,
		.diff = &diff,
	};
	bool has_waits = merged->profile->waits->len != 0;

	if (has_waits)
		html_page(merged->profile, &page, out);
	diff_merged_free(merged);
	return has_waits;
}
