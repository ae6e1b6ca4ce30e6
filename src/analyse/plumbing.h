/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_PLUMBING_H
#define ANALYSE_PLUMBING_H

#include <glib.h>
#include <stdbool.h>

#include "analyse/reason/rules.h"
#include "profile/profile.h"

/*
 * Names a wait by what it waits for, in a few words: "futex_wait (pthread_cond_wait <- do_work)".
 *
 * Kernel part: from the innermost frame outward, the first that is not plumbing.  Plumbing is
 * what every sleep passes through and so tells nothing: the scheduler's entrances, the helpers
 * that queue a sleeper, and the way from the system call's entry.  If all is plumbing, the
 * system call names the wait.  A few names that only vary between kernels are spelled as one.
 *
 * User part: "API <- CALLER".  CALLER is the innermost named function of the program itself: outside the C library,
 * languages' runtimes, client libraries and the program's own wrappers of waits, which the "runtime" blocks of the
 * rules name.  API is the runtime function it called.  Where all is runtime the one that tells most stands in CALLER's
 * place.  Either may be missing. Addresses in no file are passed over unless there is nothing else.  Without a kernel
 * stack the user part stands alone, in its parentheses.
 *
 * State R: "preempted", "throttled" when mostly a CPU quota took its time, "sched_yield" when the kernel stack says
 * so, "new thread" for a thread that waits for its first time on a CPU, and "runnable" for one that was on a run queue
 * as the window began, woken before.
 */
struct plumbing;

struct matcher;

struct plumbing *plumbing_new(const struct profile *p);	/* keeps p, which must not grow; by rules_default() */
struct plumbing *plumbing_new_with(const struct profile *p, const struct rule_set *rules);
/* From now on it is about waits of p, which has the same frames and stacks as the profile that it was made for. */
void plumbing_look_at(struct plumbing *pl, const struct profile *p);
/* One more owner, who calls plumbing_free() too. */
struct plumbing *plumbing_ref(struct plumbing *pl);
void plumbing_free(struct plumbing *pl);

/* The headline name; lives as long as pl, equal strings are the same pointer. */
const char *plumbing_leaf(struct plumbing *pl, const struct wait *w);

/*
 * What a waker does, in the same words: "futex_wake (sem_post <- LWLockRelease)", "hrtimer_wakeup"; plumbing are the
 * functions every waking passes through.  "" when nothing is known but who.  Same lifetime and identity.
 */
const char *plumbing_waker(struct plumbing *pl, const struct waker *w);

/*
 * "futex", "read", ...; "page fault", "interrupt", "kernel thread", "new thread", "exit to
 * user mode", "[no kernel stack]".  Same lifetime and identity.
 */
const char *plumbing_syscall(struct plumbing *pl, const struct wait *w);

/* The same of a kernel stack; NULL: there is none. */
const char *plumbing_entry(struct plumbing *pl, uint32_t kernel);

/* Index in the profile of the frame that is CALLER of that stack's headline, or -1. */
int64_t plumbing_user_parent(const struct plumbing *pl, uint32_t user_node);
/* Is what waits in functions that it calls and that have no name, as in a stripped program? */
bool plumbing_user_parent_is_outer(const struct plumbing *pl, uint32_t user_node);

/* What the rules say of a frame. */
enum runtime_level plumbing_frame_level(const struct plumbing *pl, uint32_t frame);
/* Is it no frame of the program itself? */
/* in ".../lib/python3.11/ssl.py" or an installed gem: its callers say more */
bool plumbing_is_scripts_library(const struct frame *f);
bool plumbing_frame_is_runtime(const struct plumbing *pl, uint32_t frame);
/* Which patterns of the rules agree with which frames; lives as long as pl. */
struct matcher *plumbing_matcher(struct plumbing *pl);

/* True for the C and C++ runtime, by the file's name. */
bool plumbing_is_runtime(const char *module);

/* The tables behind plumbing.h, asked by name.  Clone marks (.isra.0) never matter. */

/* True when a rule knows the kernel function; *ret_shown is NULL for plumbing. */
bool plumbing_kernel_rule(const char *name, const char **ret_shown);
/* True of functions that every waking, or every interrupt, passes through: they tell nothing of who wakes. */
bool plumbing_is_waking(const char *name);
/* True of functions that take the CPU from a thread which could go on. */
bool plumbing_is_preemption(const char *name);
/* True of functions that only a tracer's own work passes through. */
bool plumbing_is_tracer(const char *name);
/* How the kernel was entered, if the function tells: "page fault", ...; or NULL. */
const char *plumbing_entry_rule(const char *name);
/* "read" of __x64_sys_read, or NULL; free with g_free(). */
char *plumbing_syscall_name(const char *name);
/* Without clone marks; free with g_free(). */
char *plumbing_plain_name(const char *name);
/* `base`: the file's name without folders; NULL is none. */
bool plumbing_runtime_file(const char *base);
/* Whether a demangled name is one of the C++ or Rust standard library: std::, core::, alloc::, ... */
bool plumbing_runtime_name(const char *name);

#endif
