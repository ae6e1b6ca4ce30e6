/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PUSH_CLICKHOUSE_ROWS_H
#define PUSH_CLICKHOUSE_ROWS_H

#include "analyse/reason/reasons.h"
#include "features/tasks/rows.h"
#include "push/identity.h"
#include "push/clickhouse.h"
#include "push/unit.h"

/* Internal to clickhouse.c: turns a window into rows. */

#define NS_A_SECOND 1000000000

struct rows {
	const struct profile *p;
	const struct reasons *reasons;
	const struct identities *ids;
	struct sent *sent;	/* NULL: everything is sent */
	struct push_unit *unit;
	GString *out;
	uint64_t window;
	uint64_t rows;		/* in `out` */
};

/* Writes the first columns of each row of a window. */
void rows_of_window(struct rows *r);
/* Ends a table: its rows become a request. */
void rows_end(struct rows *r, const char *table);

/* Writes stacks, objects and wakers that each service's rows refer to, except those that the engine has. */
void rows_put_contents(struct rows *r);
/* Writes the first findings of a report, in order. */
void rows_put_findings(struct rows *r);
void rows_put_requests(struct rows *r);

static inline const char *rows_service(const struct thread *t)
{
	return t->service ? t->service : t->process;
}
/* Any thread of the process; NULL: the profile has none. */
const struct thread *rows_thread_of(const struct profile *p, uint32_t pid);
const char *rows_service_of_tasks(const struct rows *r, const struct tasks *t);

#endif
