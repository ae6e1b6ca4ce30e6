/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef AGENT_RECORDER_H
#define AGENT_RECORDER_H

#include <stdint.h>

#include "agent/agent.h"

/*
 * A full recording when an alert begins ([alert NAME] record): with chains of wakers, which windows lack because they
 * are cut, and with more on-CPU samples. A separate process makes it, so windows continue meanwhile, and its memory is
 * freed with it. To open other users' files it needs rights that the agent gives up. So it is forked before that; it
 * waits, and reads nothing but how long to record.
 */
struct recorder;

/* Call it before privileges are given up and threads are created. NULL: no alert of the configuration records. */
struct recorder *recorder_new(const struct agent_options *options, const struct agent_config *config);
/* An unfinished recording is lost. NULL is fine. */
void recorder_free(struct recorder *r);

/* Records for this long. Returns the future file's path, for g_free(); NULL: the last recording was too recent. */
char *recorder_begin(struct recorder *r, uint64_t duration_ns);

enum recorder_state { RECORDER_WAITS, RECORDER_RUNS, RECORDER_DONE, RECORDER_FAILED };
/* Its state; a result is returned once. */
enum recorder_state recorder_check(struct recorder *r);

#endif
