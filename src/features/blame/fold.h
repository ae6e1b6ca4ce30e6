/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_BLAME_FOLD_H
#define FEATURES_BLAME_FOLD_H

#include <glib.h>
#include <stdint.h>

#include "abi/offcpu_abi.h"
#include "features/blame/abi.h"

/*
 * Who held the CPU in a single wait.  A wait's parts arrive before its event, some from other CPUs' queues,
 * interleaved with other threads'.  Delay without a part is unknown.
 */

struct wait_blame;
struct wait_blame *wait_blame_new(void);
void wait_blame_free(struct wait_blame *b);	/* NULL is fine */

void wait_blame_add(struct wait_blame *b, const struct offcpu_rec_blame *part);

/* The threads of one name in a process, or nobody. */
struct held {
	uint32_t kind;		/* enum blame_kind */
	uint32_t pid, tid;	/* tid 0: several threads */
	char comm[BLAME_COMM_LEN + 1];
	uint64_t ns;
	uint64_t stretch_cnt;
};

/*
 * Takes the parts of the event's wait: struct held, longest first; free with g_array_unref(). *ret_unknown_ns: its
 * runnable and preempted time without a part.
 */
GArray *wait_blame_take(struct wait_blame *b, const struct offcpu_rec_event *event, uint64_t *ret_unknown_ns);

#endif
