/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_FOLLOW_FINDINGS_H
#define FEATURES_FOLLOW_FINDINGS_H

#include "analyse/peers.h"
#include "explain/findings.h"

/*
 * A wait for a connection, followed into the recording of the host at its other end: what whoever serves it waits for
 * meanwhile, and on from there.  Clocks differ, so only durations are compared, each as a part of its own window.
 */

#define FOLLOW_HOPS_MAX 4	/* behind the first */
#define FOLLOW_CHAINS_MAX 3

/* Where recordings of other hosts come from. */
struct follow_source {
	/* Appends a struct peer_row for whoever may serve that.  False with one sentence. */
	bool (*add_rows)(void *ctx, const struct peer_ask *ask, GArray *rows, GError **error);
	/* The recording of that host, with that process, valid as long as the source.  NULL with one sentence. */
	const struct profile *(*recording)(void *ctx, const struct peer *peer, GError **error);
	void *ctx;
};

/* These recordings alone: struct profile, borrowed. */
struct follow_source follow_source_of(GPtrArray *profiles);

struct follow_hop {
	char *host, *process;
	const char *reason;	/* its name; "": it computes, or nothing is known */
	enum peer_how how;	/* by what it was found; of the first PEER_NONE */
	uint64_t time_ns, window_ns;
	double percent;		/* of `of`; below 0: there is none */
	const char *of;		/* "the time that matters", "that time", "what it waits for" */
	char *sentence;		/* all of it in words */
};

struct follow_chain {
	GArray *hops;		/* struct follow_hop */
	char *end;		/* a sentence: what to do at its end, or why it is not followed on */
};

/* selection: who is followed; NULL: everything.  Chains, perhaps none.  NULL with one sentence. */
GPtrArray *follow_new(const struct profile *p, const struct selection *selection, const struct follow_source *source,
		      GError **error);

#endif
