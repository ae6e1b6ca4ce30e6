/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_QUERY_H
#define ANALYSE_QUERY_H

#include "profile/profile.h"

/* Which threads and which of their waits a report is about. */

struct query {
	const char *states;	/* letters of docs/semantics.md, "SD"; commas are skipped; NULL: all */
	const char *comm;	/* glob on the thread's comm; NULL: all */
	const char *grep;	/* regular expression for any frame's label; NULL: all */
	const char *attribute;	/* "http.route=/order/..", an attribute of the trace context with a glob; NULL: all */
	const char *trace;	/* prefix of a trace id in hexadecimal; NULL: all */
	const uint32_t *pids;	/* any of these; pids_cnt 0: all */
	unsigned pids_cnt;
	/* or a glob for the name of the process or its service; ended by NULL; NULL: all */
	const char *const *processes;
	const uint32_t *tids;
	unsigned tids_cnt;
	bool user_only, kernel_only;	/* threads; both: none is selected */
};

struct selection {
	/* by thread of the profile: comm, pid and tid match, and with criteria for stacks it has such a wait */
	bool *threads;
	bool *waits;	/* by wait: its thread is selected, and state and stacks match */
	bool whole;	/* everything is selected */
	bool by_stack;	/* stacks matter, so totals by thread and state cannot be used */
	bool without_idle;	/* after idle_part_drop(): shares are of what is left */
	char *states;	/* letters of the query; NULL: all */
};

/*
 * Evaluates q.  NULL on error: an invalid state letter or expression, or one that takes too many steps on a frame's
 * name.
 */
struct selection *selection_new(const struct profile *p, const struct query *q, GError **error);
void selection_free(struct selection *s);
/* Whether a thread of the process is selected; s NULL: always. */
bool selection_has_process(const struct selection *s, const struct profile *p, uint32_t pid);

/* The query as text, "" for everything; free with g_free(). */
char *query_text(const struct query *q);

/* A regular expression as for `grep`: on bytes, with a limit of steps.  NULL on error. */
GRegex *query_regex(const char *pattern, GError **error);

/* Checks letters and expression without a profile; false on error. */
bool query_check(const struct query *q, GError **error);

#endif
