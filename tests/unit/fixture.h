/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef TESTS_UNIT_FIXTURE_H
#define TESTS_UNIT_FIXTURE_H

#include "profile/profile.h"

/*
 * A small recording written by hand, for the tests of analyse and render and for the golden
 * files.  What it holds is drawn in fixture.c; the sums in the tests were made from there.
 */
struct profile *fixture_new(void);

/* Gives it wakers, as `record --wakers` does: fixture.c draws who wakes whom. */
void fixture_add_wakers(struct profile *p);

/* And chains, as `record --wakers=8` does. */
void fixture_add_chains(struct profile *p);

/* The two threads that wake each other wait for a mutex, not for work. */
void fixture_set_mutex(struct profile *p);

/* And samples on CPU, as `record --cpu` does: see fixture.c. */
void fixture_add_on_cpu(struct profile *p);

/* A stack from "name@module" words, outermost first, blanks between; "?" for a frame without a name. */
uint32_t fixture_stack(struct profile *p, enum frame_kind kind, enum stack_end end, const char *words);
/* A thread that has only a name and ids. */
uint32_t fixture_thread(struct profile *p, uint32_t pid, uint32_t tid, const char *comm, const char *process);
/*
 * Waits of each_ns each, the thread's account apart; state 'R': preempted.  user, kernel: words of fixture_stack(), "": none.
 * Returns its number.
 */
uint32_t fixture_wait(struct profile *p, uint32_t thread, char state, uint64_t count, uint64_t each_ns, const char *user,
		      const char *kernel);
/* What that wait is for. */
void fixture_is_for(struct profile *p, uint32_t wait, const struct object *o);

/* Fails, with the whole text, unless the part is in it. */
void assert_has(const GString *s, const char *part);

/* Goroutines of process "server", that many of which wait to send. */
void fixture_add_tasks(struct profile *p, unsigned senders);

#endif
