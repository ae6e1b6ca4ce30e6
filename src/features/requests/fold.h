/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_REQUESTS_FOLD_H
#define FEATURES_REQUESTS_FOLD_H

#include <stddef.h>

#include "fold/fold.h"
#include "profile/profile.h"

/*
 * Which requests a recording keeps as spans: the slowest of all, the slowest of each route, and of the others a sample in
 * which each has the same chance.  A request that is faster than the slowest kept ones can never be one of them, so the kernel need not tell
 * it but for the sample.
 */

#define SPANS_SLOWEST 5000
#define SPANS_OF_ROUTE 20	/* of each route, of those that are not among these: the slowest */
#define SPANS_SAMPLED 5000

struct spans;

struct spans *spans_new(guint slowest, guint sampled);
void spans_free(struct spans *s);	/* NULL is fine */
/* struct offcpu_rec_request_span, of which only the header and as many notes as fit are read. */
void spans_add(struct spans *s, const void *record, size_t size);
/* What the kernel is to tell from now on: all from that latency on, and one in 2^*ret_shift of the others. */
uint64_t spans_from_ns(const struct spans *s);
unsigned spans_shift(const struct spans *s);
/* Of such a route all from that latency on. */
uint64_t spans_route_from_ns(const struct spans *s, uint64_t route);
/* After fold_finish(): puts them into the profile, in the order in which they began. */
void spans_finish(struct spans *s, struct fold *fold, struct profile *p);

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
