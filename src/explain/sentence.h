/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_SENTENCE_H
#define EXPLAIN_SENTENCE_H

#include "analyse/reason/reasons.h"
#include "explain/findings.h"
#include "features/tasks/findings.h"

/* A finding in words, internal to explain: each function appends a part, without share or number in front. */

#define FINDING_NAME_COLUMNS 60 /* of a function: some are longer than a line */

/* "sysbench waits for a mutex, audit_lock, in write_audit (audit.c:27)", for busy threads what they do. */
void sentence_finding(GString *s, const struct findings *f, const struct finding *row);
/* Only what it waits for: "a mutex, audit_lock, in write_audit (audit.c:27)". */
void sentence_wait(GString *s, const struct findings *f, const struct finding *row);
void sentence_evidence(GString *s, const struct findings *f, const struct finding *row);
/* Borrowed. */
const char *sentence_says(const struct findings *f, const struct finding *row);
const char *sentence_advice(const struct findings *f, const struct finding *row);
/* The advice for a lock that nobody lets go of is its rule's own, which does not tell that. */
bool sentence_stuck_is_of_rule(const struct findings *f, const struct finding *row);
/* The command that shows its stacks; nothing if a shell would need quotes. */
void sentence_command(GString *s, const struct findings *f, const struct finding *row);

/* " in write_audit (audit.c:27)", with the library if it is not in the program's own file; nothing for frame -1. */
void sentence_function(GString *s, const struct findings *f, int64_t frame, const char *before);
/*
 * A process as the subject of a singular verb, cut to width columns (0: not cut).  A name that looks like a plural
 * gets a prefix: "process threads waits".
 */
void sentence_process(GString *s, const char *name, unsigned width);
/* The same at the beginning of a sentence. */
void sentence_begin_process(GString *s, const char *name, unsigned width);
/* bash and the like, by its file's name. */
bool sentence_is_shell(const char *name);
/* "cpu-worker/4711" */
void sentence_who(GString *s, const struct finding_by *by);
/* ", audit_lock,"; without a name the other end: " (slow-database)"; or nothing. */
void sentence_object(GString *s, const struct finding *row, const struct object *o);
/* "; held by worker/4711 in write_audit, which meanwhile waits for fsync"; nothing if unknown. */
void sentence_by(GString *s, const struct findings *f, const struct finding *row);
/* For a finding with `busy`. */
void sentence_busy(GString *s, const struct findings *f, const struct finding *row);
void sentence_busy_evidence(GString *s, const struct findings *f, const struct finding *row);
const char *sentence_busy_advice(const struct findings *f, const struct finding *row);

/* Caused by others' load, so the thread's own function is irrelevant. */
/* The waiting function is generated code without a name. */
bool sentence_is_nameless(const struct findings *f, const struct finding *row);
bool sentence_is_for_cpu(const struct finding *row);
/* Whether it waits for workers of a pool, and whether it is one of these itself, so that they may run out. */
bool sentence_is_for_workers(const struct findings *f, const struct finding *row);
bool sentence_is_in_worker(const struct findings *f, const struct finding *row);
bool sentence_is_starved(const struct findings *f, const struct finding *row);
/* The waker is outside of the process of a private lock and its waiters, and ends nearly all their waits. */
bool sentence_is_ended_by_kill(const struct findings *f, const struct finding *row);

/* The same for goroutines and asyncio tasks. */
void sentence_task(GString *s, const struct task_wait *w);
void sentence_tasks_whole(GString *s, const struct task_wait *w);
void sentence_task_evidence(GString *s, const struct findings *f, const struct task_wait *w);
/*
 * "; there 18 tasks await Redis.execute_command in place_order (orders_api.py:11)": what most tasks of asyncio of that
 * process wait for, of whom no finding tells.  before: "; there ".
 */
void sentence_tasks_there(GString *s, const struct task_findings *tasks, uint32_t pid, const char *before);

/*
 * Where the server that is waited for shows what it does, for "127.0.0.1:5432 (postgres)"; NULL: not a known server.
 * is_busy: it was running meanwhile.
 */
const char *servers_advice(const char *peer, bool is_busy);
bool servers_is_redis(const char *peer);	/* or a fork of it, which knows its commands */
/* Of a server in memory that rested meanwhile: see profile_server_does(). */
#define SERVER_RESTS_ADVICE \
	"That server had nothing to do meanwhile, so what was asked for is not there yet: a command that waits for work (BRPOP, XREAD, " \
	"SUBSCRIBE, reserve, a worker of Gearman) is meant to wait so. If it should come sooner look at who sends it; WAIT waits for replicas."
/* The same of a pooler, "127.0.0.1:6432 (pgbouncer)", whose clients share connections to a database; NULL: it is none. */
const char *poolers_advice(const char *peer);
bool servers_is_database(const char *peer);	/* or a pooler before one */
/*
 * The same for a wait for data from that object (or NULL), or for its waker "(mariadbd)" or NULL; unless the wait's
 * rule has its own advice.
 */
const char *servers_advice_of_wait(const struct reasons *r, uint32_t wait, const struct object *o, const char *by,
				   bool is_busy);

#endif
