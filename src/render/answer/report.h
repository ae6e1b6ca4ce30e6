/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_ANSWER_REPORT_H
#define RENDER_ANSWER_REPORT_H

#include "analyse/query.h"
#include "render/answer/answer.h"

/*
 * `offcpu report --json=summary`, in ANSWER_SCHEMA (docs/answers.md): what was recorded, the headlines, the stacks and
 * processes that matter, and ids of what is to be had in full.  Appends one line; selection NULL: everything;
 * `of`: the command that answers.  False
 * with a sentence where nothing has the id.
 */
bool answer_report(GString *out, const char *of, const struct profile *p, const struct selection *selection,
		   const struct answer_options *options, GError **error);

#endif
