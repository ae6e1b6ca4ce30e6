/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_TEXT_TASKS_H
#define RENDER_TEXT_TASKS_H

#include "analyse/query.h"
#include "profile/tasks.h"
#include "render/text/text.h"

/* A population of tasks for people: findings first, then reasons, what is idle, stacks, what is missing.  Appends. */
void text_tasks(GString *s, const struct tasks *t, const struct text_options *options);

/* The same of each population of a recording. */
void text_tasks_of(GString *s, const struct profile *p, const struct selection *selection,
		   const struct text_options *options);
/* One sentence of each for the first screen, of the largest ones. */
void text_tasks_first(GString *s, const struct profile *p, const struct selection *selection,
		      const struct text_options *options);

#endif
