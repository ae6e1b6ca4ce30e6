/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef AGENT_RECORDER_H
#define AGENT_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/agent.h"

/*
 * A full recording as an alert begins ([alert NAME] record): with who woke the wakers, which windows cannot have as they
 * are cut, and with more samples of what runs.  A process of its own makes it, so windows go on meanwhile, and its memory
 * goes with it.  To open what other users have that process needs rights that the agent gives up.  So one is made before
 * that, which waits, and reads nothing but how long to record.
 */
struct recorder;

/* Before privileges are given up and before there are threads.  NULL: no alert of the configuration records. */
struct recorder *recorder_new(const struct agent_options *options, const struct agent_config *config);
/* A recording that is not over is lost.  NULL is fine. */
void recorder_free(struct recorder *r);

/* Records from now on, for so long.  Where its file will be, for g_free(); NULL: it did so a short while ago. */
char *recorder_begin(struct recorder *r, uint64_t duration_ns);

enum recorder_state { RECORDER_WAITS, RECORDER_RUNS, RECORDER_DONE, RECORDER_FAILED };
/* How it is; a result is told once. */
enum recorder_state recorder_check(struct recorder *r);

#endif
