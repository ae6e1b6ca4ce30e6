/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_FAILING_RECORD_H
#define FEATURES_FAILING_RECORD_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Whoever sleeps, tries something that fails, and sleeps again waits for that.  So threads that run only now and then
 * are looked for, and for two seconds their failing system calls on files are counted.  Nothing is attached if there
 * are no such threads: programs that have work pay nothing.
 */
struct failing_calls;
struct profile;

struct failing_calls *failing_calls_new(void);
void failing_calls_free(struct failing_calls *f);	/* NULL is fine */
/* Is it time for another look?  elapsed_ns: since the recording began. */
bool failing_calls_is_due(const struct failing_calls *f, uint64_t elapsed_ns);
/* Looks at these processes (uint32_t), which are the recorded ones. */
void failing_calls_look(struct failing_calls *f, const GArray *pids, uint64_t elapsed_ns);
/* Adds LIMIT_FAILS for what failed most often in each thread. */
void failing_calls_put(struct failing_calls *f, struct profile *p);

#endif
