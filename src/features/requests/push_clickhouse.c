/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Requests, if the agent is configured for them: how many, how long, and what they spent time on, by latency. */
#include "features/requests/analysis_cells.h"
#include "push/clickhouse_rows.h"
#include "push/rowbinary.h"

/* Non-empty slots or latency ranges: the lower limit of each, then its value. */
static void put_sparse(struct rows *r, const uint64_t *numbers, guint cnt, guint slots_each)
{
	guint used = 0;

	for (guint i = 0; i < cnt; i++)
		used += numbers[i] != 0;
	rb_cnt(r->out, used);
	for (guint i = 0; i < cnt; i++)
		if (numbers[i])
			rb_u64(r->out, request_slot_low(i * slots_each));
	rb_cnt(r->out, used);
	for (guint i = 0; i < cnt; i++)
		if (numbers[i])
			rb_u64(r->out, numbers[i]);
}

static void begin_row(struct rows *r, const struct request_cell *cell)
{
	const struct thread *t = request_thread(r->p, cell->name);

	rows_of_window(r);
	RB_TEXT(r->out, t ? rows_service(t) : "", cell->name);
}

static void request_row(struct rows *r, const struct request_cell *cell)
{
	const struct offcpu_request_times *all = &cell->sum.all;

	uint64_t slots[OFFCPU_REQUEST_SLOTS];

	begin_row(r, cell);
	RB_U64(r->out, all->count, all->wall_ns, all->on_cpu_ns, all->blocked_ns, all->runnable_ns, all->preempted_ns,
		cell->sum.max_ns);
	for (unsigned i = 0; i < OFFCPU_REQUEST_SLOTS; i++)
		slots[i] = cell->sum.hist[i];
	put_sparse(r, slots, OFFCPU_REQUEST_SLOTS, 1);
}

static void time_rows(struct rows *r, const struct request_cell *cell)
{
	g_autoptr(GPtrArray) causes = request_causes_bounded(cell->causes);

	EACH_POINTER(i, const struct request_cause_cell, cause, causes) {
		begin_row(r, cell);
		RB_TEXT(r->out, reason_name(cause->reason), cause->where);
		put_sparse(r, cause->ns, OFFCPU_REQUEST_RANGES, OFFCPU_REQUEST_RANGE_SLOTS);
	}
}

void rows_put_requests(struct rows *r)
{
	struct request_cells *cells = request_cells_of(r->p);
	const GPtrArray *list = cells ? request_cells_list(cells) : NULL;

	for (guint i = 0; list && i < list->len; i++)
		request_row(r, list->pdata[i]);
	rows_end(r, "requests");
	for (guint i = 0; list && i < list->len; i++)
		time_rows(r, list->pdata[i]);
	rows_end(r, "request_times");
	request_cells_free(cells);
}
