/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_JSON_DIFF_H
#define RENDER_JSON_DIFF_H

#include "analyse/diff/condition.h"
#include "analyse/diff/diff.h"
#include "render/json/write.h"

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

/* Parts of it, for answers.  Members of a row but for its stack; of a row of diff_requests() and of diff_tasks(). */
void diff_json_row(struct json *j, const struct diff_row *r);
void diff_json_request(struct json *j, const GArray *rows, guint at);
void diff_json_task(struct json *j, const GArray *rows, guint at);
/* As one object. */
void diff_json_condition(struct json *j, const struct condition *c, const struct condition_result *r);
const char *diff_json_norm(const struct diff *d);
int64_t diff_json_rounded(double v);
/* A member in thousandths; null where there is no number. */
void diff_json_milli(struct json *j, const char *key, double v);

#endif
