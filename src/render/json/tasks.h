/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_JSON_TASKS_H
#define RENDER_JSON_TASKS_H

#include "profile/tasks.h"

/*
 * A population of tasks as one JSON object and a newline, in integer nanoseconds; offcpu-tasks(1) describes it.
 * Appends.
 */
void tasks_json(GString *out, const struct tasks *t);

#endif
