/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_WHATIF_H
#define EXPLAIN_WHATIF_H

#include <glib.h>
#include <stdbool.h>

#include "profile/profile.h"

/*
 * What a change would gain (docs/whatif.md): threads that go through the same cycle again and again are a closed
 * population, whose cycle is fitted to what the recording says and replayed with the change.
 */

#define WHATIF_CHANGES_MAX 8

enum whatif_kind { WHATIF_LOCK, WHATIF_PEER, WHATIF_REASON, WHATIF_CPUS };

struct whatif_change {
	enum whatif_kind kind;
	char name[256];		/* of the lock, the peer or the reason */
	double factor;		/* of its holds or its time */
	int cpus;		/* that are added */
	uint8_t reason;		/* enum reason */
};

/* False with a sentence: "lock=NAME hold*0.5", "peer=NAME time*0.5", "reason=disk.sync time*0", "cpus+2". */
bool whatif_parse(const char *text, struct whatif_change *ret, GError **error);

struct whatif {
	char *work;			/* "8 threads of cart in reserve" */
	double rate, rate_low, rate_high;	/* cycles a second, as a multiple of those now */
	double on_cpu, queue, locks, changed, handed, rest;	/* shares of a cycle now */
	bool is_pipeline;		/* handed: it waits for other stages */
};

/*
 * of: "comm", "comm/function" or "request:NAME"; NULL: who waits longest for what is changed.  has_pauses: its sleeps
 * are pauses of a fixed time, which no recording tells from sleep until a timer's next tick.  False: why it cannot tell.
 */
bool whatif_answer(const struct profile *p, const struct whatif_change *changes, guint cnt, const char *of,
		   bool has_pauses, struct whatif *ret, GError **error);
void whatif_clear(struct whatif *w);

#endif
