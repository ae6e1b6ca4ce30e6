/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_OPEN_REQUESTS_H
#define FOLD_OPEN_REQUESTS_H

#include "profile/profile.h"

/*
 * Requests that began before there were probes, and go on as the window ends: no probe tells of what hangs.
 *
 * Of a function the stack of a wait that is open tells: the function is in it.  Of a port its connections tell: one
 * that has received something since it last sent anything has a request that is not answered.  The kernel says since
 * when, of connections in our network namespace.  Which thread works on it is known where the process has no more
 * waits that may be of one than such connections.
 */
struct open_requests;

#define OPEN_REQUESTS_PROCESSES_MAX 64	/* whose connections are looked at */

/*
 * functions: char *, as symbols have them, or ports: uint16_t; the other one NULL.  Borrows both.
 */
struct open_requests *open_requests_new(const char *proc_dir, const GPtrArray *functions, const GArray *ports);
void open_requests_free(struct open_requests *o);	/* NULL is fine */

/* A wait that is open as the window ends, of a thread in no request that was seen to begin.  All are told first. */
void open_requests_tell(struct open_requests *o, const struct profile *p, const struct wait *w);
/* Then, once: reads the connections of their processes and adds LIMIT_UNANSWERED to the profile. */
void open_requests_look(struct open_requests *o, struct profile *p);
/* Then: is it a wait of an open request? */
bool open_requests_has(const struct open_requests *o, const struct profile *p, const struct wait *w);

/*
 * How many there are: of functions such waits, of ports such connections.  *ret_longest_ns: the longest, where the
 * connections tell; else 0.
 */
unsigned open_requests_cnt(const struct open_requests *o, uint64_t *ret_longest_ns);

#endif
