/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_SENTENCE_H
#define EXPLAIN_SENTENCE_H

#include "analyse/reason/reasons.h"
#include "explain/findings.h"
#include "features/tasks/findings.h"

/* A finding in words, inside explain: each appends a part of it.  No share and no number stand in front. */

#define FINDING_NAME_COLUMNS 60 /* of a function: some are longer than a line */

/* "sysbench waits for a mutex, audit_lock, in write_audit (audit.c:27)", of busy threads what they do. */
void sentence_finding(GString *s, const struct findings *f, const struct finding *row);
/* Only what it waits for: "a mutex, audit_lock, in write_audit (audit.c:27)". */
void sentence_wait(GString *s, const struct findings *f, const struct finding *row);
void sentence_evidence(GString *s, const struct findings *f, const struct finding *row);
/* Borrowed. */
const char *sentence_says(const struct findings *f, const struct finding *row);
const char *sentence_advice(const struct findings *f, const struct finding *row);
/* What shows its stacks; nothing where a shell would need quotes. */
void sentence_command(GString *s, const struct findings *f, const struct finding *row);

/* " in write_audit (audit.c:27)", with the library where it is not the program's own file; nothing of frame -1. */
void sentence_function(GString *s, const struct findings *f, int64_t frame, const char *before);
/*
 * A process as the subject of a verb in the singular, cut to so many columns (0: not).  A name that reads as several is
 * told as a process's: "process threads waits".
 */
void sentence_process(GString *s, const char *name, unsigned width);
/* The same where a sentence begins. */
void sentence_begin_process(GString *s, const char *name, unsigned width);
/* "cpu-worker/4711" */
void sentence_who(GString *s, const struct finding_by *by);
/* ", audit_lock,"; of what has no name of its own who is at the other end: " (slow-database)"; or nothing. */
void sentence_object(GString *s, const struct finding *row, const struct object *o);
/* "; held by worker/4711 in write_audit, which meanwhile waits for fsync"; nothing where nobody is known. */
void sentence_by(GString *s, const struct findings *f, const struct finding *row);
/* Of a finding whose `busy` is set. */
void sentence_busy(GString *s, const struct findings *f, const struct finding *row);
void sentence_busy_evidence(GString *s, const struct finding *row);
const char *sentence_busy_advice(const struct finding *row);

/* Others' load makes these waits; what the thread itself called is beside the point. */
/* What waits was compiled at run time, and nobody told its name. */
bool sentence_is_nameless(const struct findings *f, const struct finding *row);
bool sentence_is_for_cpu(const struct finding *row);
/* Does it wait for what the workers of a pool do?  And is it one of these workers itself, so that they may run out? */
bool sentence_is_for_workers(const struct findings *f, const struct finding *row);
bool sentence_is_in_worker(const struct findings *f, const struct finding *row);
bool sentence_is_starved(const struct findings *f, const struct finding *row);
/* Who is of another process than a private lock and its waiters, and ends nearly all of their waits. */
bool sentence_is_ended_by_kill(const struct findings *f, const struct finding *row);

/* The same of goroutines and tasks of asyncio. */
void sentence_task(GString *s, const struct task_wait *w);
void sentence_tasks_whole(GString *s, const struct task_wait *w);
void sentence_task_evidence(GString *s, const struct findings *f, const struct task_wait *w);

/*
 * Where a server that is waited for tells what it does: of "127.0.0.1:5432 (postgres)"; NULL: it is none that is known.
 * is_busy: it has run meanwhile.
 */
const char *servers_advice(const char *peer, bool is_busy);
/*
 * The same of a wait for data from that object (or NULL), or of who ends it: "(mariadbd)", NULL; unless the rule of the wait
 * has an advice of its own.
 */
const char *servers_advice_of_wait(const struct reasons *r, uint32_t wait, const struct object *o, const char *by,
				   bool is_busy);

#endif
