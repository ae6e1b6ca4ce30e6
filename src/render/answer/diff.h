/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_ANSWER_DIFF_H
#define RENDER_ANSWER_DIFF_H

#include "render/answer/answer.h"
#include "render/json/diff.h"

/*
 * `offcpu diff --json=summary`, in ANSWER_SCHEMA (docs/answers.md): the finding, both sides, and of each table the rows
 * that changed by more than noise, or with is_all all.  Appends one line; false with a sentence where no row of the tables
 * has the id.
 */
bool answer_diff(GString *out, struct diff *d, const struct diff_json_options *what, bool is_all,
		 const struct answer_options *options, GError **error);

#endif
