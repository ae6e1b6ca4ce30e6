/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_EXPLAIN_H
#define EXPLAIN_EXPLAIN_H

#include "explain/findings.h"
#include "features/tasks/findings.h"

/*
 * What people are told about a profile: one list of sentences, most important first.  Text, JSON, pages and `top` only
 * lay it out.  See docs/reasons.md, "Findings".
 */

#define HEADLINES_MAX 3
/* limit if the usual ones explain less than half of the time that matters, as on a whole machine */
#define HEADLINES_MOST 6

enum headline_kind {
	HEADLINE_WAIT = 0,	/* threads wait */
	HEADLINE_BUSY,		/* threads compute while others' requests are queued */
	HEADLINE_TASKS,		/* goroutines or tasks wait: not the time of any thread */
	HEADLINE_KIND_COUNT
};

struct headline {
	enum headline_kind kind;
	const struct finding *finding;	/* NULL for tasks */
	const struct task_wait *task;	/* NULL for threads */
	uint64_t time_ns, whole_ns;	/* whole_ns: base of its share; 0: no share, as it may be intended */
	/*
	 * not escaped for any format, but safe for terminals.  The sentence begins with its share if that has the same
	 * base as the first one's.
	 */
	char *sentence, *evidence;
	char *brief;		/* a short form with its share, in one line */
	const char *advice;
	char *command;		/* how to see more, with `offcpu ..` in backquotes; "": none */
};

struct explanation {
	struct findings *findings;
	struct task_findings *tasks;
	GArray *headlines;	/* struct headline, at most HEADLINES_MOST; empty if little was found */
	char *little;		/* why there are none; NULL: there are some, or nothing is known about waits */
	/*
	 * The run queue, if it has more time than all others but is ranked behind them: a sentence and a command;
	 * NULL: no.
	 */
	char *also;
	char *storm;		/* an event that wakes many threads uselessly, and a command; NULL: none */
	char *unseen;		/* what waits without being visible in any thread; NULL: nothing known */
	guint also_at;		/* the headline that includes `also`, if it is shown; else none does */
};

/* selection NULL: everything.  Borrows p.  Free with explanation_free(). */
struct explanation *explanation_new(const struct profile *p, const struct selection *selection);
void explanation_free(struct explanation *e);	/* NULL is fine */

const char *headline_kind_name(enum headline_kind kind);
/* Number of the first headline that includes the wait, from 1 on; 0: none. */
guint explanation_headline_of(const struct explanation *e, uint32_t wait);
/* Advice on a wait: its headline's if nobody releases a lock, else its rule's. */
const char *explanation_advice_of(const struct explanation *e, uint32_t wait);
/* Appends "a mutex, audit_lock, in write_audit (audit.c:27)" for a wait. */
void explanation_wait(GString *s, const struct explanation *e, uint32_t wait);
/* Appends the same with the waiting process: "sysbench waits for a mutex, audit_lock, in write_audit (audit.c:27)". */
void explanation_sentence(GString *s, const struct explanation *e, uint32_t wait);

#endif
