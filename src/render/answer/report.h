/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_ANSWER_REPORT_H
#define RENDER_ANSWER_REPORT_H

#include "analyse/query.h"
#include "render/answer/answer.h"
#include "render/json/json.h"

/*
 * `offcpu report --json=summary`, in ANSWER_SCHEMA (docs/answers.md): what was recorded, headlines, the stacks and
 * processes that matter, and ids of everything available in full.  Appends one line.  selection NULL: everything;
 * `of`: the command that answers.  False on error: unknown id.
 */
bool answer_report(GString *out, const char *of, const struct profile *p, const struct selection *selection,
		   const struct answer_options *options, GError **error);

/*
 * A report object from our own writers as an answer of bounded size: its members first, then items of its arrays in
 * turn.  Stacks are cut in the middle, histograms are left out.  `told`: lines to put first, as "told"; NULL: none.
 * Appends one line.
 */
void answer_object(GString *out, const char *of, const GString *object, const char *told, size_t max_bytes);

/*
 * `offcpu diff --json=summary`, in ANSWER_SCHEMA (docs/answers.md): the finding, both sides, and the rows of each
 * table that changed by more than noise, or all rows with is_all.  Appends one line.  False on error: no row has that
 * id.
 */
bool answer_diff(GString *out, struct diff *d, const struct diff_json_options *what, bool is_all,
		 const struct answer_options *options, GError **error);

#endif
