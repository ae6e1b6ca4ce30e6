/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_JSON_DIFF_H
#define RENDER_JSON_DIFF_H

#include "analyse/diff/condition.h"
#include "analyse/diff/diff.h"

struct diff_json_options {
	const enum diff_by *tables;	/* which are written */
	unsigned tables_cnt;
	unsigned top;		/* rows of each; 0: all */
	const char *finding;	/* a sentence for people */
	const struct condition *const *conditions;
	const struct condition_result *results;	/* of each */
	unsigned conditions_cnt;
};

/* `offcpu diff --json`, schema "offcpu.diff/1" (docs: the man page of diff).  Appends one line. */
void diff_json(GString *out, struct diff *d, const struct diff_json_options *options);

#endif
