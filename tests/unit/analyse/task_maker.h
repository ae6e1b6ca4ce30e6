/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_TASK_MAKER_H
#define ANALYSE_TASK_MAKER_H

/* Populations of tasks, made by hand. */
#include "../fixture.h"
#include "features/tasks/findings.h"
#include "features/tasks/rows.h"

static const struct task_frame serve[] = {
	{ "runtime.gopark", NULL, 0 }, { "internal/poll.(*FD).Accept", NULL, 0 }, { "net/http.(*Server).Serve", NULL, 0 },
};

static inline struct task_row *row_of(struct tasks *t, uint64_t key, const char *reason, const struct task_frame *frames, unsigned cnt)
{
	bool is_new;
	struct task_row *row = tasks_row(t, key, &is_new);

	if (is_new) {
		row->state = "waiting";
		row->reason = reason;
		row->frames = g_memdup2(frames, cnt * sizeof(*frames));
		row->frame_cnt = cnt;
		row->end = STACK_COMPLETE;
		row->creator = (struct task_frame){ "main.start", "/src/shop/main.go", 44 };
	}
	return row;
}

static inline void see(struct tasks *t, struct task_row *row, unsigned cnt)
{
	for (unsigned i = 0; i < cnt; i++)
		tasks_seen(t, row, 1);
}

static const struct task_frame work[] = { { "runtime.chanrecv2", NULL, 0 }, { "main.worker", "/src/bank.go", 9 } };

static const struct task_frame handler[] = {
	{ "runtime.chanrecv1", NULL, 0 }, { "main.buy", "/src/shop.go", 5 }, { "net/http.serverHandler.ServeHTTP", NULL, 0 }, { "net/http.(*conn).serve", NULL, 0 },
};
static const struct task_frame query[] = {
	{ "net.(*conn).Read", NULL, 0 }, { "main.query", "/src/shop.go", 4 }, { "main.buy", "/src/shop.go", 5 }, { "net/http.serverHandler.ServeHTTP", NULL, 0 },
};

/* The profile has the population from then on. */
static inline struct task_findings *findings_of(struct profile *p, struct tasks *t)
{
	profile_add_tasks(p, t);
	return task_findings_new(p, NULL, NULL);
}

#endif
