/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef STORE_MERGE_PART_H
#define STORE_MERGE_PART_H

#include "profile/id_index.h"
#include "profile/profile_map.h"
#include "store/merge.h"
#include "store/pack_part.h"

/* Inside of merge: what its files share. */

/* The wait that is open as the last window ends: it may go on in the next one. */
struct open_wait {
	struct wait wait;
	struct wake wake;	/* count 0: there is none */
	bool is_longer;		/* the window that is added has made it longer, and it is open still */
};

/* Of a row of threads, what is known of it meanwhile. */
struct merge_thread {
	struct state_total states[PACK_STATE_CNT];
	uint32_t open;		/* index + 1 into merger.open; 0: none */
};

struct merger {
	struct profile *p;
	uint64_t edge_ns;
	bool has_window, is_shared;
	GArray *threads;	/* struct merge_thread, of each row of p */
	GArray *open;		/* struct open_wait */
	GArray *latest;		/* uint32_t, row of each identity */
	GArray *samples;	/* struct on_cpu_sample */
	const bool *coarse;	/* of each wait of the window: it goes without its stacks; NULL: none */
	struct id_index *identities;	/* of latest */
	struct id_index *sample_index;
	struct id_index *story_index;	/* of the stories of p: by wake and chain */
};

/* One window on its way into the sum. */
struct merge_step {
	struct merger *m;
	const struct profile *window;
	struct profile_map map;
	bool is_next;		/* it begins where the last one ended */
	uint64_t shift_ns;	/* of its CLOCK_MONOTONIC to that of the sum, modulo 2^64 */
	uint32_t *thread;	/* row of the sum, of each thread */
	bool *goes_on;		/* that row was there before */
	uint32_t *wait;		/* index + 1 in the sum of each wait; 0: it is among the open ones */
	uint32_t *open;		/* index + 1 into `open` of each wait that is open or was joined */
	uint32_t *wake;		/* index + 1 in the sum of each wake; 0: its wait is open, or was joined */
	bool *is_woken;		/* of each wait; NULL: none is */
	GArray *open_next;	/* struct open_wait: those of this window */
	GArray *joined;		/* struct join */
};

/* merge_waits.c: waits and wakings of the window, and what was open before. */
void merge_waits(struct merge_step *s);
/*
 * merge_blame.c: struct blame, those of the window by name of who it is, the many that are little as
 * BLAME_OTHERS_NAME.
 */
GArray *merge_coarse_blames(const struct profile *window);
/* merge_tasks.c */
void merge_tasks(struct merge_step *s);
void merge_end_tasks(struct profile *p);
/* The waits that are open at last. */
void merge_flush_open(struct merger *m, bool is_inner_edge);

#endif
