/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef LIVE_GPU_H
#define LIVE_GPU_H

#include <stdint.h>

/*
 * A library in the place of a GPU's, by the names that the build gives: LAUNCH(us) queues work, which a thread that
 * sleeps does in the GPU's place, and SYNC() looks at a word of memory until it is done, as the drivers do.
 */
int LAUNCH(unsigned us);
int SYNC(void);
uint64_t WAITED(void);	/* CPU time in SYNC(), nanoseconds */

#endif
