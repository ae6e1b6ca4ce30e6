/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_FOLLOW_FINDINGS_H
#define FEATURES_FOLLOW_FINDINGS_H

#include "analyse/peers.h"
#include "explain/findings.h"

/*
 * Follows a wait for a connection into the recording of the host at its other end: what the server waits for
 * meanwhile, and so on.  Clocks differ between hosts, so only durations are compared, each as a share of its own
 * window.
 */

#define FOLLOW_HOPS_MAX 4	/* after the first */
#define FOLLOW_CHAINS_MAX 3

/* Provides recordings of other hosts. */
struct follow_source {
	/* Appends a struct peer_row for each process that may serve the address.  False on error. */
	bool (*add_rows)(void *ctx, const struct peer_ask *ask, GArray *rows, GError **error);
	/* The recording of that host with that process, owned by the source.  NULL on error. */
	const struct profile *(*recording)(void *ctx, const struct peer *peer, GError **error);
	void *ctx;
};

/* A source of these recordings: struct profile, borrowed. */
struct follow_source follow_source_of(GPtrArray *profiles);

struct follow_hop {
	char *host, *process;
	const char *reason;	/* name of its main reason; "": it computes, or unknown */
	enum peer_how how;	/* how it was found; PEER_NONE for the first */
	uint64_t time_ns, window_ns;
	double percent;		/* share of `of`; negative: none */
	const char *of;		/* the base: "the time that matters", "that time", "what it waits for" */
	char *sentence;		/* all of it as a sentence */
};

struct follow_chain {
	GArray *hops;		/* struct follow_hop */
	char *end;		/* a sentence: advice, or why the chain ends here */
};

/* selection: whose waits to follow; NULL: all.  Returns the chains, perhaps none.  NULL on error. */
GPtrArray *follow_new(const struct profile *p, const struct selection *selection, const struct follow_source *source,
		      GError **error);

#endif
