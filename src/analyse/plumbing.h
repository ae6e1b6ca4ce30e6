/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_PLUMBING_H
#define ANALYSE_PLUMBING_H

#include <glib.h>
#include <stdbool.h>

#include "analyse/reason/rules.h"
#include "profile/profile.h"

/*
 * Short names for what a wait is for: "futex_wait (pthread_cond_wait <- do_work)".
 *
 * Kernel part: the innermost frame that is not plumbing.  Plumbing is in every sleep and so says nothing: scheduler
 * entries, helpers that queue a sleeper, and system call entry.  If all frames are plumbing, the system call is the
 * name.  A few names that vary between kernels are unified.
 *
 * User part: "API <- CALLER".  CALLER is the innermost named function of the program itself, outside the C library,
 * language runtimes, client libraries and the program's own wrappers of waits, which the "runtime" blocks of the rules
 * list.  API is the runtime function that it called.  If all frames are runtime, CALLER is the most informative one.
 * Either may be missing.  Addresses without a file are skipped unless there is nothing else.  Without a kernel stack
 * there is only the user part in parentheses.
 *
 * State R: "preempted", "throttled" if a CPU quota took most of the time, "sched_yield" if the kernel stack says so,
 * "new thread" before a thread's first time on CPU, "runnable" if it had been woken and was on a run queue when the
 * window began.
 */
struct plumbing;

struct matcher;

struct plumbing *plumbing_new(const struct profile *p);	/* keeps p, which must not grow; uses rules_default() */
struct plumbing *plumbing_new_with(const struct profile *p, const struct rule_set *rules);
/* Switches to waits of p, which must have the same frames and stacks as the original profile. */
void plumbing_look_at(struct plumbing *pl, const struct profile *p);
/* Adds an owner, which calls plumbing_free() too. */
struct plumbing *plumbing_ref(struct plumbing *pl);
void plumbing_free(struct plumbing *pl);

/* The headline; valid as long as pl.  Equal strings are the same pointer. */
const char *plumbing_leaf(struct plumbing *pl, const struct wait *w);

/*
 * What a waker does, named in the same way: "futex_wake (sem_post <- LWLockRelease)", "hrtimer_wakeup"; here plumbing
 * is what every waking passes through.  "" if its stack is unknown.  Lifetime and identity as above.
 */
const char *plumbing_waker(struct plumbing *pl, const struct waker *w);

/*
 * "futex", "read", ...; "page fault", "interrupt", "kernel thread", "new thread", "exit to user mode", "[no kernel
 * stack]".  Lifetime and identity as above.
 */
const char *plumbing_syscall(struct plumbing *pl, const struct wait *w);

/* The same for a kernel stack; NULL: none. */
const char *plumbing_entry(struct plumbing *pl, uint32_t kernel);

/* Index of the frame that is CALLER in that stack's headline, or -1. */
int64_t plumbing_user_parent(const struct plumbing *pl, uint32_t user_node);
/* Whether the wait is in unnamed functions called by that frame, as in a stripped program. */
bool plumbing_user_parent_is_outer(const struct plumbing *pl, uint32_t user_node);

/* What the rules say about a frame. */
enum runtime_level plumbing_frame_level(const struct plumbing *pl, uint32_t frame);
/* Whether the frame is not of the program itself. */
/* in ".../lib/python3.11/ssl.py" or an installed gem: its callers are more informative */
bool plumbing_is_scripts_library(const struct frame *f);
bool plumbing_frame_is_runtime(const struct plumbing *pl, uint32_t frame);
/* Which patterns of the rules match which frames; valid as long as pl. */
struct matcher *plumbing_matcher(struct plumbing *pl);

/* Whether it is a file of the C or C++ runtime, by its name. */
bool plumbing_is_runtime(const char *module);

/* Lookups in the tables behind plumbing.h.  Clone suffixes (.isra.0) are ignored. */

/* True if a rule has the kernel function; *ret_shown is NULL for plumbing. */
bool plumbing_kernel_rule(const char *name, const char **ret_shown);
/* True for functions that every waking or interrupt passes through: they do not tell the waker. */
bool plumbing_is_waking(const char *name);
/* True for functions that take the CPU from a runnable thread. */
bool plumbing_is_preemption(const char *name);
/* True for functions that only tracers use. */
bool plumbing_is_tracer(const char *name);
/* How the kernel was entered, if the function tells: "page fault", ...; or NULL. */
const char *plumbing_entry_rule(const char *name);
/* "read" for __x64_sys_read, or NULL; free with g_free(). */
char *plumbing_syscall_name(const char *name);
/* Without clone suffixes; free with g_free(). */
char *plumbing_plain_name(const char *name);
/* `base`: the file's name without folders; may be NULL. */
bool plumbing_runtime_file(const char *base);
/* Whether a demangled name belongs to the C++ or Rust standard library: std::, core::, alloc::, ... */
bool plumbing_runtime_name(const char *name);

#endif
