/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_REASON_RULES_H
#define ANALYSE_REASON_RULES_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "analyse/reason/reason.h"

/*
 * The rules that tell what a wait is for, as data: the built-in rules.txt, which documents the syntax, and users'
 * files in the same syntax (docs/reasons.md).  Rules are tried in order, and the first match gives the reason.  Users'
 * rules come first; one with the name of a built-in rule replaces it.
 */

#define RULES_BYTES_MAX (1 << 20) /* per file */
#define RULES_MAX 4096 /* blocks per set */
#define RULE_WORDS_MAX 256 /* per condition */
#define RULE_WORD_BYTES_MAX 256

/* The subject of a condition. */
enum rule_field {
	RULE_SYSCALL = 0, /* how the kernel was entered: "read", "page fault", ..., named by plumbing_syscall() */
	RULE_KERNEL, /* any frame of the kernel stack */
	RULE_USER, /* any frame of the user stack: functions without arguments or versions */
	RULE_CALLER, /* the innermost user function that is not of libc, an interpreter, or a sleep */
	RULE_MODULE, /* file name of any user frame, without folders */
	RULE_STATE, /* letter of the state */
	RULE_OBJECT, /* kind of the object: "mutex", "file", "socket", ... */
	RULE_NAME, /* its name */
	RULE_PATH, /* where it is: a file's path */
	RULE_OPERATION, /* the operation on it: "FUTEX_WAIT", ... */
	RULE_THREAD, /* the thread's name */
	RULE_PROCESS,
	RULE_TASK, /* "kernel" or "user" thread */
	RULE_ENDED, /* "timer", "waking", "exit" or "stop": what ended most of these waits, if wakers are known */
	RULE_FIELD_COUNT
};
const char *rule_field_name(enum rule_field field);

struct rule_condition {
	uint8_t field; /* enum rule_field */
	bool is_not; /* matches if no pattern does */
	bool is_before; /* for a loop: a function in its "user" precedes these, from the innermost one outwards */
	GArray *patterns; /* uint32_t, indices of the set's patterns: any of these */
};

enum rule_idle {
	RULE_IDLE_UNSAID = 0, /* decided by evidence: idle.h */
	RULE_IDLE_YES, /* waits of this rule are for work */
	RULE_IDLE_NO, /* never idle: somebody waits for the result */
};

enum rule_kind {
	RULE_REASON = 0, /* "rule": gives the reason */
	RULE_PROTOCOL, /* "protocol": names a client library or runtime by its frames */
	RULE_RUNTIME, /* "runtime": frames that do not belong to a program */
	/* rules about frames of the user stack only */
	RULE_LOOP, /* "loop": an event loop is executing a callback */
	RULE_POOL, /* "pool": the thread works for a pool whose queue is not visible as waiting threads */
	RULE_SPIN, /* "spin": the thread busy-waits */
	RULE_KIND_COUNT
};
const char *rule_kind_name(enum rule_kind kind); /* "rule": the keyword that begins a block */

#define RULES_RETRY "retry-" /* names of rules of sleeps between tries begin so */
#define RULES_OWN_RATE "own-rate-" /* names of rules of sleeps that keep to a limit of the program's own begin so */
#define RULES_MEMORY_SERVER "memory-server" /* names of rules of servers that answer at once begin so */
#define RULES_QUEUE_TURN "python-process-queue-turn"	/* others have theirs: what they take from is empty */
#define RULES_NOT_LOOKED_AT "not-looked-at" /* names of rules of waits that sampling left out begin so */

struct rule {
	const char *name;
	const char *file; /* its origin: "built in", or the user's path */
	unsigned line;
	uint8_t kind; /* enum rule_kind */
	uint8_t reason; /* enum reason, for RULE_REASON */
	uint8_t idle; /* enum rule_idle */
	uint8_t level; /* for RULE_RUNTIME: enum runtime_level */
	uint8_t objectless; /* 1: the system call's object is not what the wait is for */
	uint8_t anywhere; /* 1: neither is the program's function */
	const char *says; /* replaces reason_says(); or NULL */
	const char *advice; /* replaces reason_advice(); or NULL */
	const char *protocol; /* NULL: determined by protocol rules */
	const char *source; /* source of this knowledge; or NULL */
	GArray *conditions; /* struct rule_condition: all must match */
};

/* A shell waiting for its child sleep.  rule may be NULL. */
static inline bool rule_is_shell_sleep(const struct rule *rule)
{
	return rule && strcmp(rule->name, "shell-sleep") == 0;
}

/* The thread called sched_yield(), so it gave up its CPU voluntarily.  rule may be NULL. */
static inline bool rule_is_yield(const struct rule *rule)
{
	return rule && g_str_has_prefix(rule->name, "yield");
}

/* How little a runtime's frame says about a program. */
enum runtime_level {
	RUNTIME_NONE = 0, /* the program itself */
	RUNTIME_LIBRARY, /* client libraries, language runtimes, a program's wrappers of waits */
	RUNTIME_ENTRY, /* thread starts, interpreter loops: named only if there is nothing else */
	RUNTIME_LIBC,
};

struct rule_pattern {
	const char *text;
	uint8_t field; /* enum rule_field */
};

struct rule_set {
	GPtrArray *rules; /* struct rule *, all kinds, in order */
	GArray *patterns; /* struct rule_pattern, without duplicates */
	/* private */
	GStringChunk *strings;
	GHashTable *names, *pattern_ids;
};

struct rule_set *rule_set_new(void); /* empty */
void rule_set_free(struct rule_set *set); /* NULL is fine */
/*
 * Appends the rules of a text; `file` is its name in messages.  Rules whose names exist already, from another file,
 * are skipped.  False on error, with line and column: "FILE:3:9: ...".  The set is then unusable.
 */
bool rule_set_add(struct rule_set *set, const char *text, gsize len, const char *file, GError **error);
/* The rule with that name, of any kind; NULL: none. */
const struct rule *rule_set_find(const struct rule_set *set, const char *name);

/* The built-in rules; never freed. */
const struct rule_set *rules_builtin(void);
/*
 * The rules for all analyses: the built-in ones, unless a set was chosen before the first analysis; it must stay
 * valid.
 */
const struct rule_set *rules_default(void);
void rules_set_default(const struct rule_set *set);

/* Appends a rule in the syntax of rule files; no escaping. */
void rule_append_text(GString *s, const struct rule_set *set, const struct rule *rule);

#endif
