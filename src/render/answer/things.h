/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_ANSWER_THINGS_H
#define RENDER_ANSWER_THINGS_H

#include "analyse/wait_groups.h"
#include "explain/explain.h"
#include "render/answer/answer.h"

/* The parts of a report that have an id, and how to write each in short and in full. */

enum thing_kind {
	THING_FINDING = 0,	/* a finding of threads */
	THING_TASK,		/* a finding of tasks */
	THING_STACK,		/* a group of waits */
	THING_PROCESS,
	THING_REQUEST,
	THING_KIND_COUNT
};

struct thing {
	enum thing_kind kind;
	guint at;	/* index in findings->rows, tasks->rows, groups->rows, findings->classes, profile->requests */
	const char *id;
};

struct things {
	const struct profile *p;
	const struct explanation *e;
	struct selection *awake;	/* the selection without idle waits */
	struct wait_groups *groups;	/* groups of these waits */
	GPtrArray *of_kind[THING_KIND_COUNT];	/* struct thing, by `at` */
	GHashTable *by_id;	/* by id; owns things and ids */
};

/* Borrows p and e. */
struct things *things_new(const struct profile *p, const struct explanation *e);
void things_free(struct things *t);

static inline const char *thing_id(const struct things *t, enum thing_kind kind, guint at)
{
	return at < t->of_kind[kind]->len ? ((struct thing *)g_ptr_array_index(t->of_kind[kind], at))->id : NULL;
}
static inline const struct wait_group *things_group(const struct things *t, guint at)
{
	return &g_array_index(t->groups->rows, struct wait_group, at);
}
/* The headline of a finding of threads or tasks; NULL: none. */
const struct headline *things_headline(const struct things *t, const struct thing *thing);
/* Index of the finding that has the blocked time of the group's longest row, or its other time; -1: none. */
gint64 things_finding_of(const struct things *t, guint group);

/* Write items of arrays, and a single thing in full. */
void things_write_headline(struct answer *a, const struct things *t, const struct headline *h, unsigned rank);
void things_write_stack(struct answer *a, const struct things *t, const char *key, guint group, unsigned rank);
void things_write_process(struct answer *a, const struct things *t, guint at, unsigned rank);
void things_write_other(struct answer *a, const struct things *t, const char *key, guint finding, unsigned rank);
/* Writes "requests" and "slowest"; nothing if no requests were recorded. */
void things_write_requests(struct answer *a, const struct things *t, unsigned rank);
void things_write_request(struct answer *a, const struct things *t, guint at);
void things_write_all(struct answer *a, const struct things *t, const struct thing *thing);

#endif
