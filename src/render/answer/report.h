/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_ANSWER_REPORT_H
#define RENDER_ANSWER_REPORT_H

#include "analyse/query.h"
#include "render/answer/answer.h"
#include "render/json/json.h"

/*
 * `offcpu report --json=summary`, in ANSWER_SCHEMA (docs/answers.md): what was recorded, the headlines, the stacks and
 * processes that matter, and ids of what is to be had in full.  Appends one line; selection NULL: everything;
 * `of`: the command that answers.  False
 * with a sentence where nothing has the id.
 */
bool answer_report(GString *out, const char *of, const struct profile *p, const struct selection *selection,
		   const struct answer_options *options, GError **error);

/*
 * A whole report, an object that our own writers made, as an answer of a bounded size: its members first, then the items of
 * its arrays in their order, of all arrays in turn.  Stacks are cut in the middle, and histograms left out.  `told`: lines
 * for people that come first, as "told"; NULL: none.  Appends one line.
 */
void answer_object(GString *out, const char *of, const GString *object, const char *told, size_t max_bytes);

/*
 * `offcpu diff --json=summary`, in ANSWER_SCHEMA (docs/answers.md): the finding, both sides, and of each table the rows
 * that changed by more than noise, or with is_all all.  Appends one line; false with a sentence where no row of the tables
 * has the id.
 */
bool answer_diff(GString *out, struct diff *d, const struct diff_json_options *what, bool is_all,
		 const struct answer_options *options, GError **error);

#endif
