/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_REQUESTS_FOLD_H
#define FEATURES_REQUESTS_FOLD_H

#include <stddef.h>

#include "fold/fold.h"
#include "profile/profile.h"

/*
 * Selects the requests that a recording keeps as spans: the slowest of all, the slowest of each route, and a uniform
 * sample of the others. A request faster than the slowest kept ones can never become one of them, so the kernel only
 * sends it for the sample.
 */

#define SPANS_SLOWEST 5000
#define SPANS_OF_ROUTE 20	/* per route, slowest of those not kept above */
#define SPANS_SAMPLED 5000

struct spans;

struct spans *spans_new(guint slowest, guint sampled);
void spans_free(struct spans *s);	/* NULL is fine */
/* struct offcpu_rec_request_span; only the header and the notes that fit in `size` are read. */
void spans_add(struct spans *s, const void *record, size_t size);
/* What the kernel should send from now on: all requests from this latency on, one in 2^*ret_shift of the others. */
uint64_t spans_from_ns(const struct spans *s);
unsigned spans_shift(const struct spans *s);
/* Likewise for a route: all from this latency on. */
uint64_t spans_route_from_ns(const struct spans *s, uint64_t route);
/* After fold_finish(): adds the spans to the profile, in the order of their begin. */
void spans_finish(struct spans *s, struct fold *fold, struct profile *p);

/*
 * Requests that began before there were probes and are open at the window's end. No probe reports a request that
 * hangs.
 *
 * A function: its open waits have it in their stack. A port: a connection that received data after it last sent any
 * has an unanswered request. The kernel knows since when, for connections in our network namespace. The thread that
 * works on it is known if the process has no more candidate waits than such connections.
 */
struct open_requests;

#define OPEN_REQUESTS_PROCESSES_MAX 64	/* limit for reading connections */

/* functions: char *, names of symbols; or ports: uint16_t; the other one is NULL. Borrows both. */
struct open_requests *open_requests_new(const char *proc_dir, const GPtrArray *functions, const GArray *ports);
void open_requests_free(struct open_requests *o);	/* NULL is fine */

/* Adds a wait that is open at the window's end, of a thread without a traced request. Add all of them first. */
void open_requests_tell(struct open_requests *o, const struct profile *p, const struct wait *w);
/* Then call this once: it reads the processes' connections and adds LIMIT_UNANSWERED to the profile. */
void open_requests_look(struct open_requests *o, struct profile *p);
/* Then: is it a wait of an open request? */
bool open_requests_has(const struct open_requests *o, const struct profile *p, const struct wait *w);

/*
 * The number of open requests: such waits, or such connections of ports. *ret_longest_ns: the longest, or 0 if
 * unknown.
 */
unsigned open_requests_cnt(const struct open_requests *o, uint64_t *ret_longest_ns);

#endif
