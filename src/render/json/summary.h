/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_JSON_SUMMARY_H
#define RENDER_JSON_SUMMARY_H

#include "analyse/query.h"
#include "analyse/top.h"

/*
 * What a page says first about a profile: the findings as sentences, where the time of each process went, and the top
 * rows.  It is as long as a screen, not as long as the profile.
 */
struct summary_options {
	bool by_wait;	/* rows are who waits and what for (headlines.h), with the heaviest stack */
	enum top_by by;	/* unless by_wait */
	const char *attribute;	/* of trace contexts: it is by that; NULL: by `by` */
	unsigned top;	/* rows; 0: all */
	bool with_idle;	/* idle waits are rows, too */
};

/* Schema "offcpu.summary/1" (docs/serve.md).  Appends one line; selection NULL: everything. */
void json_summary(GString *out, const struct profile *p, const struct selection *selection,
		  const struct summary_options *options);

#endif
