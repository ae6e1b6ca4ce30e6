/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PROFILE_TASKS_FILE_H
#define PROFILE_TASKS_FILE_H

#include "profile/profile.h"
#include "profile/tasks.h"

/* Tasks in a recording: a population a process, whose frames and texts are the profile's. */

#define TASKS_POPULATIONS_MAX 1024
#define TASKS_RECORDED_MAX (1u << 14)	/* rows of all populations together */
#define TASKS_DEPTH_MAX 256
#define TASKS_PPM 1000000	/* of a share that is kept as a number */

static inline const struct tasks *profile_tasks(const struct profile *p, guint i)
{
	return g_ptr_array_index(p->tasks, i);
}

/* Takes t over, with looks at a window.  Its rows get stacks of the profile; rows beyond TASKS_RECORDED_MAX are
 * left out and counted; outer frames beyond TASKS_DEPTH_MAX are cut. */
void profile_add_tasks(struct profile *p, struct tasks *t);

/* Of a row that has a stack of the profile, the frames of that; of its creator the frame in the profile + 1. */
void tasks_take_frames(const struct profile *p, struct task_row *row);
uint32_t tasks_creator_frame(struct profile *p, const struct task_frame *creator);
/* Rows of all populations together are no more than TASKS_RECORDED_MAX, those of most tasks of each. */
void profile_bound_tasks(struct profile *p);

/* Ids in range, and times that fit; else *error says what is wrong. */
bool tasks_check(const struct profile *p, GError **error);

#endif
