/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_QUERY_H
#define ANALYSE_QUERY_H

#include "profile/profile.h"

/* Which threads and which of their waits a report is about. */

struct query {
	const char *states;	/* letters of SEMANTICS, "SD"; commas are skipped; NULL: all */
	const char *comm;	/* glob on the thread's comm; NULL: all */
	const char *grep;	/* regular expression on any frame's label; NULL: all */
	const char *attribute;	/* "http.route=/order/..": of the trace context, with a glob; NULL: all */
	const char *trace;	/* hexadecimal digits that a trace's id begins with; NULL: all */
	const uint32_t *pids;	/* any of these; pids_cnt 0: all */
	unsigned pids_cnt;
	const char *const *processes;	/* or a glob on the name of the process or its service; NULL ends it; NULL: all */
	const uint32_t *tids;
	unsigned tids_cnt;
	bool user_only, kernel_only;	/* threads; both: none is left */
};

struct selection {
	bool *threads;	/* one per thread of the profile: comm, pid and tid agree, and by stacks it has such a wait */
	bool *waits;	/* one per wait: its thread is selected, state and stacks agree */
	bool whole;	/* the query asked for everything */
	bool by_stack;	/* stacks took part: what is known per thread and state does not tell */
	bool without_idle;	/* idle_part_drop(): shares are of what is left */
	char *states;	/* the letters asked for; NULL: all */
};

/*
 * Evaluates q.  NULL with one sentence when a state letter or the expression is no good, or
 * when matching the expression takes more steps than a frame's name deserves.
 */
struct selection *selection_new(const struct profile *p, const struct query *q, GError **error);
void selection_free(struct selection *s);
/* Is a thread of the process among them?  NULL: all are. */
bool selection_has_process(const struct selection *s, const struct profile *p, uint32_t pid);

/* Human text of what was asked, "" for everything; free with g_free(). */
char *query_text(const struct query *q);

/* A regular expression as `grep` takes it: of bytes, with a limit of steps.  NULL with one sentence. */
GRegex *query_regex(const char *pattern, GError **error);

/* One sentence when the letters or the expression are no good, without a profile. */
bool query_check(const struct query *q, GError **error);

#endif
