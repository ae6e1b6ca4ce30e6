/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef TEST_TOKIO_IMAGE_H
#define TEST_TOKIO_IMAGE_H

#include "runtimes/tokio/program.h"

/* A runtime of Tokio's with two lists of tasks, in this process's own memory. */
enum {
	TOKIO_RUNTIME = 0, TOKIO_ENDS = 4, TOKIO_OTHER_ENDS = 8, TOKIO_TASK = 20, TOKIO_TASK_WORDS = 16, TOKIO_TASK_CNT = 4,
	TOKIO_TABLE = 100, TOKIO_IMAGE_WORDS = 128
};

extern uint64_t tokio_image[TOKIO_IMAGE_WORDS];

/* Makes it anew: three tasks of the list 1, of which the second runs, and one of the list 2 that is woken. */
void tokio_image_make(struct tokio_program *p);
void tokio_image_free(struct tokio_program *p);
uint64_t tokio_image_task(unsigned number);

#endif
