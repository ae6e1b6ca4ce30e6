/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef STORE_MERGE_PART_H
#define STORE_MERGE_PART_H

#include "profile/id_index.h"
#include "profile/profile_map.h"
#include "store/merge.h"
#include "store/pack_part.h"

/* Internal to merge. */

/* A wait that is open at the end of the last window and may continue in the next one. */
struct open_wait {
	struct wait wait;
	struct wake wake;	/* count 0: there is none */
	bool is_longer;		/* the window that is being added extended it, and it is still open */
};

/* State of a thread's row during the merge. */
struct merge_thread {
	struct state_total states[PACK_STATE_CNT];
	uint32_t open;		/* index + 1 into merger.open; 0: no open wait */
};

struct merger {
	struct profile *p;
	uint64_t edge_ns;
	bool has_window, is_shared;
	GArray *threads;	/* struct merge_thread for each row of p */
	GArray *open;		/* struct open_wait */
	GArray *latest;		/* uint32_t: the row of each identity */
	GArray *samples;	/* struct on_cpu_sample */
	const bool *coarse;	/* for each wait of the window: drop its stacks; NULL: keep all */
	struct id_index *identities;	/* index of `latest` */
	struct id_index *sample_index;
	struct id_index *story_index;	/* index of p's stories, by wake and chain */
};

/* One window while it is added to the sum. */
struct merge_step {
	struct merger *m;
	const struct profile *window;
	struct profile_map map;
	bool is_next;		/* it begins where the last one ended */
	uint64_t shift_ns;	/* offset from its CLOCK_MONOTONIC to the sum's, modulo 2^64 */
	uint32_t *thread;	/* for each thread: its row in the sum */
	bool *goes_on;		/* for each thread: that row existed before */
	uint32_t *wait;		/* for each wait: index + 1 in the sum; 0: it is open */
	uint32_t *open;		/* for each wait that is open or was joined: index + 1 into `open` */
	uint32_t *wake;		/* for each wake: index + 1 in the sum; 0: its wait is open or was joined */
	bool *is_woken;		/* for each wait; NULL: none is */
	GArray *open_next;	/* struct open_wait of this window */
	GArray *joined;		/* struct join */
};

/* merge_waits.c: adds waits and wakings of the window, and joins them with open ones. */
void merge_waits(struct merge_step *s);
/* features/blame/history.c: struct blame of the window by name of the culprit.  Small ones are merged into BLAME_OTHERS_NAME. */
GArray *merge_coarse_blames(const struct profile *window);
/* features/tasks/history.c: adds up task populations. */
void merge_tasks(struct merge_step *s);
void merge_end_tasks(struct profile *p);
/* Adds the waits that are still open at the end. */
void merge_flush_open(struct merger *m, bool is_inner_edge);

#endif
