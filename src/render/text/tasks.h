/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_TEXT_TASKS_H
#define RENDER_TEXT_TASKS_H

#include "profile/tasks.h"
#include "render/text/text.h"

/* A population of tasks for people: findings first, then reasons, what is idle, stacks, what is missing.  Appends. */
void text_tasks(GString *s, const struct tasks *t, const struct text_options *options);

#endif
