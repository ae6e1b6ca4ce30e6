/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_EXPLAIN_H
#define EXPLAIN_EXPLAIN_H

#include "explain/findings.h"
#include "features/tasks/findings.h"

/*
 * What people are told of a profile: one list, the most important first, in words.  Text, JSON, pages and `top` lay it
 * out and judge nothing.  docs/reasons.md, "Findings", has the rules.
 */

#define HEADLINES_MAX 3
#define HEADLINES_MOST 6 /* where those tell less than half of the time that matters, as of a whole machine */

enum headline_kind {
	HEADLINE_WAIT = 0,	/* threads wait */
	HEADLINE_BUSY,		/* threads compute while others' requests wait in their queue */
	HEADLINE_TASKS,		/* goroutines or tasks wait: their time is that of no thread */
	HEADLINE_KIND_COUNT
};

struct headline {
	enum headline_kind kind;
	const struct finding *finding;	/* NULL: of tasks */
	const struct task_wait *task;	/* NULL: of threads */
	uint64_t time_ns, whole_ns;	/* and what its share is of; 0: of nothing, as it may be meant */
	/* not escaped for any format; harmless on a terminal.  The sentence begins with its share where that is of the same
	 * time as the first one's. */
	char *sentence, *evidence;
	char *brief;		/* the sentence for where there is a line for it alone: its share in short */
	const char *advice;
	char *command;		/* what shows more, with `offcpu ..` in backquotes; "": nothing */
};

struct explanation {
	struct findings *findings;
	struct task_findings *tasks;
	GArray *headlines;	/* struct headline, at most HEADLINES_MOST; none where little is found */
	char *little;		/* a sentence that says why there are none; NULL: there are some, or nothing is known of waits */
	/* The run queue, where it has more time than all others but ranks behind: a sentence and a command; NULL: none. */
	char *also;
	char *storm;		/* a sentence about an event that wakes many threads in vain, and a command; NULL: none is known */
	char *unseen;		/* a sentence about what waits and no thread tells of; NULL: nothing is known to */
	guint also_at;		/* the headline that says so, if that is laid out; else no headline does */
};

/* selection NULL: everything.  Borrows from p.  Free with explanation_free(). */
struct explanation *explanation_new(const struct profile *p, const struct selection *selection);
void explanation_free(struct explanation *e);	/* NULL is fine */

const char *headline_kind_name(enum headline_kind kind);
/* 1 for the first headline that the wait is behind; 0: none. */
guint explanation_headline_of(const struct explanation *e, uint32_t wait);
/* What can be done about one wait: as a headline that it is behind says where nobody lets go, else its rule's. */
const char *explanation_advice_of(const struct explanation *e, uint32_t wait);
/* "a mutex, audit_lock, in write_audit (audit.c:27)": of one wait.  Appends. */
void explanation_wait(GString *s, const struct explanation *e, uint32_t wait);
/* "sysbench waits for a mutex, audit_lock, in write_audit (audit.c:27)": the same with who waits.  Appends. */
void explanation_sentence(GString *s, const struct explanation *e, uint32_t wait);

#endif
