/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_REASON_RULES_H
#define ANALYSE_REASON_RULES_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "analyse/reason/reason.h"

/*
 * The rules that tell what a wait waits for, as data: rules.txt, which is built in and says how they are written,
 * and files of a user's own in the same words (docs/reasons.md).  They are tried in order and the first that agrees
 * gives the reason; a user's come first, and one with the name of a built-in rule takes its place.
 */

#define RULES_BYTES_MAX (1 << 20) /* of one file */
#define RULES_MAX 4096 /* blocks of one set */
#define RULE_WORDS_MAX 256 /* of one condition */
#define RULE_WORD_BYTES_MAX 256

/* What a condition is about. */
enum rule_field {
	RULE_SYSCALL = 0, /* how the kernel was entered: "read", "page fault", ... as plumbing_syscall() names it */
	RULE_KERNEL, /* any frame of the kernel stack */
	RULE_USER, /* any frame of the user stack: functions without arguments and versions */
	RULE_CALLER, /* of the user functions the innermost that is not libc's, an interpreter's, or a sleep */
	RULE_MODULE, /* the file of any user frame, without folders */
	RULE_STATE, /* the state's letter */
	RULE_OBJECT, /* kind of the object: "mutex", "file", "socket", ... */
	RULE_NAME, /* its name */
	RULE_PATH, /* where it lies: a file's path */
	RULE_OPERATION, /* what was asked of it: "FUTEX_WAIT", ... */
	RULE_THREAD, /* the thread's name */
	RULE_PROCESS,
	RULE_TASK, /* "kernel" or "user": whose thread it is */
	RULE_ENDED, /* "timer", "waking", "exit" or "stop": what ended most of these waits, where wakers are known */
	RULE_FIELD_COUNT
};
const char *rule_field_name(enum rule_field field);

struct rule_condition {
	uint8_t field; /* enum rule_field */
	bool is_not; /* none of the patterns agrees */
	bool is_before; /* of a loop: a function of its "user" comes before these, from the innermost one out */
	GArray *patterns; /* uint32_t, index in the set's patterns: any of these */
};

enum rule_idle {
	RULE_IDLE_UNSAID = 0, /* evidence decides: idle.h */
	RULE_IDLE_YES, /* waits of this rule are for work to come */
	RULE_IDLE_NO, /* never: somebody waits for the result */
};

enum rule_kind {
	RULE_REASON = 0, /* "rule": gives the reason */
	RULE_PROTOCOL, /* "protocol": names a client library or runtime by its frames */
	RULE_RUNTIME, /* "runtime": frames that are no program's own */
	/* of the frames of a user stack alone */
	RULE_LOOP, /* "loop": an event loop's callback is under way, by its frames */
	RULE_POOL, /* "pool": the thread works for a pool in whose queue no thread waits, by its frames */
	RULE_SPIN, /* "spin": the thread waits on CPU, by its frames */
	RULE_KIND_COUNT
};
const char *rule_kind_name(enum rule_kind kind); /* "rule", as a block begins */

#define RULES_RETRY "retry-" /* names of rules of sleeps between tries begin so */
#define RULES_OWN_RATE "own-rate-" /* names of rules of sleeps that keep to a limit of the program's own begin so */
#define RULES_MEMORY_SERVER "memory-server" /* names of rules of servers that answer at once begin so */

struct rule {
	const char *name;
	const char *file; /* that it comes from: "built in", or the user's path */
	unsigned line;
	uint8_t kind; /* enum rule_kind */
	uint8_t reason; /* enum reason, of RULE_REASON */
	uint8_t idle; /* enum rule_idle */
	uint8_t level; /* of RULE_RUNTIME: enum runtime_level */
	uint8_t objectless; /* 1: what the system call was asked for is not what the wait is for */
	uint8_t anywhere; /* 1: nor is what the program called */
	const char *says; /* in place of reason_says(); NULL */
	const char *advice; /* in place of reason_advice(); NULL */
	const char *protocol; /* NULL: found by its own rules */
	const char *source; /* where that is known from; NULL */
	GArray *conditions; /* struct rule_condition: all of them */
};

/* A shell waits for its child sleep.  NULL is fine. */
static inline bool rule_is_shell_sleep(const struct rule *rule)
{
	return rule && strcmp(rule->name, "shell-sleep") == 0;
}

/* It has called sched_yield(), and so lost its CPU by its own doing.  NULL is fine. */
static inline bool rule_is_yield(const struct rule *rule)
{
	return rule && g_str_has_prefix(rule->name, "yield");
}

/* How little a frame of a runtime tells of what a program does. */
enum runtime_level {
	RUNTIME_NONE = 0, /* the program's own */
	RUNTIME_LIBRARY, /* a client library, a language's runtime, a program's own wrappers of waits */
	RUNTIME_ENTRY, /* starts of threads, loops of interpreters: named only if there is nothing else */
	RUNTIME_LIBC,
};

struct rule_pattern {
	const char *text;
	uint8_t field; /* enum rule_field */
};

struct rule_set {
	GPtrArray *rules; /* struct rule *, of all kinds in order */
	GArray *patterns; /* struct rule_pattern, each once */
	/* private */
	GStringChunk *strings;
	GHashTable *names, *pattern_ids;
};

struct rule_set *rule_set_new(void); /* empty */
void rule_set_free(struct rule_set *set); /* NULL is fine */
/*
 * Appends the rules of a text, `file` being what messages call it.  Rules whose names are there already, from another
 * file, are left out.  False with one sentence that names line and column: "FILE:3:9: ...".  Then the set is of no
 * use.
 */
bool rule_set_add(struct rule_set *set, const char *text, gsize len, const char *file, GError **error);
/* The rule of that name, of any kind; NULL: none. */
const struct rule *rule_set_find(const struct rule_set *set, const char *name);

/* The built-in ones alone; the program's. */
const struct rule_set *rules_builtin(void);
/* What all analyses go by: the built-in ones, unless a set was chosen, before any analysis; it must then stay. */
const struct rule_set *rules_default(void);
void rules_set_default(const struct rule_set *set);

/* A rule as it is written, in the words of a rule file.  Appends; escapes nothing. */
void rule_append_text(GString *s, const struct rule_set *set, const struct rule *rule);

#endif
