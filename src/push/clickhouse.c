/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "push/clickhouse.h"

#include <string.h>

#include "base/refuse.h"
#include "features/tasks/analysis.h"
#include "features/tasks/rows.h"
#include "push/clickhouse_rows.h"
#include "push/http.h"
#include "push/rowbinary.h"

#define MILLI 1000
#define PPM 1000000

/* First columns of each row of a window. */
#define OF_WINDOW "host, start, window, row"
/* First columns of each row of contents. */
#define OF_SERVICE "host, day, service"
#define OF_TASKS "service, process, pid, kind"
#define OF_THREAD "service, process, comm, pid, tid, thread_start_ns, program"

static const struct table {
	const char *name, *columns;
} tables[] = {
	{ "stacks", OF_SERVICE ", stack, end, names, modules, build_ids, offsets, files, lines, kinds, whys, inlines" },
	{ "objects", OF_SERVICE ", object, kind, is_private, operation, name, place, pid, address, holder_tid" },
	{ "wakers", OF_SERVICE ", waker, pid, tid, start_ns, comm, irq, user_stack, kernel_stack" },
	{ "threads", OF_WINDOW ", " OF_THREAD
			      ", flags, from_ns, to_ns, on_cpu_ns, blocked_ns, runnable_ns, preempted_ns, filtered_ns, "
			      "lost_ns, switches" },
	{ "states", OF_WINDOW ", " OF_THREAD ", state, count, blocked_ns, runnable_ns, preempted_ns" },
	{ "waits", OF_WINDOW ", " OF_THREAD
			    ", state, flags, reason, idle, user_stack, kernel_stack, object, count, blocked_ns, "
			    "runnable_ns, preempted_ns, max_ns, longest_start_unix_ns, longest_waker, off_cpu_se_ns, count_se, first_bar, bars, "
			    "route, trace_id, span_id" },
	{ "wakes", OF_WINDOW ", service, wait, waker, count, blocked_ns, runnable_ns, first_bar, bars" },
	{ "on_cpu", OF_WINDOW ", " OF_THREAD ", user_stack, kernel_stack, samples, weight_ns" },
	{ "task_populations", OF_WINDOW ", " OF_TASKS ", version, window_ns, looks, rate_milli_hz, looked_at_ppm, cpu_ns, stale, "
					"unreadable, no_row, is_cut" },
	{ "tasks", OF_WINDOW ", " OF_TASKS ", state, reason, idle, call, function, stack, end, creator, creator_file, creator_line, parent, name, "
			     "awaited_by, seen, task_ns, task_se_ns" },
	{ "findings", OF_WINDOW ", service, process, kind, reason, time_ns, whole_ns, sentence, evidence, advice" },
	{ "requests", OF_WINDOW ", service, request, count, wall_ns, on_cpu_ns, blocked_ns, runnable_ns, preempted_ns, max_ns, "
				"from_ns, counts" },
	{ "request_times", OF_WINDOW ", service, request, reason, place, from_ns, times_ns" },
	{ "tcp_waits", OF_WINDOW ", service, object, direction, count, blocked_ns, peer_ns, network_ns, silent_ns, unclear_ns, "
				 "resent, srtt_us, min_rtt_us" },
	{ "connections", OF_WINDOW ", service, process, pid, side, local, remote" },
	{ "losses", OF_WINDOW ", reason, help, count, time_ns" },
	{ "windows", OF_WINDOW
	  ", start_unix_ns, start_ns, duration_ns, cpus, kernel, version, command_line, filters, switches, "
	  "tracer_cpu_ns, tracer_start_cpu_ns, tracer_stop_cpu_ns, tracer_bpf_ns, tracer_peak_rss_bytes, knows, unknown, on_cpu_hz, "
	  "on_cpu_end_hz, scale_start_ns, scale_end_ns, scale_max_ns, raised, lowered, over, budget_ppm, used_ppm, peak_ppm, "
	  "looks_rounds, looks_asked_ns, looks_budget_ppm" },
};

void clickhouse_name(GString *sql, const char *name)
{
	g_string_append_c(sql, '`');
	for (; *name; name++) {
		if (*name == '`' || *name == '\\')
			g_string_append_c(sql, '\\');
		g_string_append_c(sql, *name);
	}
	g_string_append_c(sql, '`');
}

void clickhouse_text(GString *sql, const char *text)
{
	g_string_append_c(sql, '\'');
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			g_string_append_c(sql, '\\');
		g_string_append_c(sql, *text);
	}
	g_string_append_c(sql, '\'');
}

char *clickhouse_insert(const char *database, const char *table)
{
	for (size_t i = 0; i < G_N_ELEMENTS(tables); i++) {
		if (strcmp(tables[i].name, table) != 0)
			continue;
		GString *sql = g_string_new("INSERT INTO ");

		clickhouse_name(sql, database);
		g_string_append_printf(sql, ".%s (%s) FORMAT RowBinary", table, tables[i].columns);
		return g_string_free(sql, FALSE);
	}
	return NULL;
}

void rows_end(struct rows *r, const char *table)
{
	if (r->rows)
		unit_add(r->unit, table, r->out, r->rows);
	g_string_truncate(r->out, 0);
	r->rows = 0;
}

void rows_of_window(struct rows *r)
{
	rb_text(r->out, r->p->info.host);
	rb_u32(r->out, (uint32_t)(r->p->info.start_unix_ns / NS_A_SECOND));
	rb_u64(r->out, r->window);
	rb_u32(r->out, (uint32_t)r->rows++);
}

static void of_thread(struct rows *r, uint32_t thread)
{
	const struct thread *t = profile_thread(r->p, thread);

	RB_TEXT(r->out, rows_service(t), t->process, t->comm);
	RB_U32(r->out, t->pid, t->tid);
	rb_u64(r->out, t->start_ns);
	rb_u32(r->out, r->ids->programs[thread]);
}

static void letter(struct rows *r, uint8_t state)
{
	const char text[2] = { (char)state, '\0' };

	rb_text(r->out, text);
}

/* Omits the empty slots at both ends, which are most of the histogram. */
static void put_hist(struct rows *r, const uint32_t *hist)
{
	guint first = 0, end = PROFILE_HIST_SLOTS;

	while (end && !hist[end - 1])
		end--;
	while (first < end && !hist[first])
		first++;
	rb_u8(r->out, (uint8_t)first);
	rb_cnt(r->out, end - first);
	for (guint i = first; i < end; i++)
		rb_u32(r->out, hist[i]);
}

/* --- rows of a window --- */

static void put_threads(struct rows *r)
{
	EACH_ROW(i, const struct thread, t, r->p->threads) {
		rows_of_window(r);
		of_thread(r, i);
		rb_u32(r->out, t->flags | (t->service ? CLICKHOUSE_HAS_SERVICE : 0));
		RB_U64(r->out, t->from_ns, t->to_ns, t->on_cpu_ns, t->blocked_ns, t->runnable_ns, t->preempted_ns,
			t->filtered_ns, t->lost_ns, t->switches);
	}
	rows_end(r, "threads");
	EACH_ROW(i, const struct state_total, s, r->p->states) {
		rows_of_window(r);
		of_thread(r, s->thread);
		letter(r, s->state);
		RB_U64(r->out, s->count, s->blocked_ns, s->runnable_ns, s->preempted_ns);
	}
	rows_end(r, "states");
}

/* Whom the request was for, and the trace of the longest one; empty: unknown. */
static void put_context(struct rows *r, uint32_t i)
{
	const struct wait *w = profile_wait(r->p, i);
	const struct wait_trace *trace = profile_trace_of(r->p, i);
	g_autoptr(GString) route = g_string_new(NULL);

	if (w->user)
		context_append_route(r->p, w->user, route);
	rb_text(r->out, route->str);
	rb_text(r->out, trace ? trace->trace : "");
	rb_text(r->out, trace ? trace->span : "");
}

static void wait_row(struct rows *r, uint32_t i)
{
	const struct wait *w = profile_wait(r->p, i);
	enum idle_kind idle = reasons_idle(r->reasons, i);

	rows_of_window(r);
	of_thread(r, w->thread);
	letter(r, w->state);
	rb_u8(r->out, w->flags);
	RB_TEXT(r->out, reason_name(reasons_of(r->reasons, i)), idle ? idle_kind_name(idle) : "");
	RB_U64(r->out, r->ids->stacks[w->user], r->ids->stacks[w->kernel],
		w->object ? r->ids->objects[w->object - 1] : 0);
	RB_U64(r->out, w->count, w->blocked_ns, w->runnable_ns, w->preempted_ns, w->max_ns, w->max_start_unix_ns,
		w->max_waker ? r->ids->wakers[w->max_waker - 1] : 0, w->off_cpu_se_ns, w->count_se);
	put_hist(r, w->hist);
	put_context(r, i);
}

static void put_waits(struct rows *r)
{
	for (guint i = 0; i < r->p->waits->len; i++)
		wait_row(r, i);
	rows_end(r, "waits");
	EACH_ROW(i, const struct wake, w, r->p->wakes) {
		rows_of_window(r);
		rb_text(r->out, rows_service(profile_thread(r->p, profile_wait(r->p, w->wait)->thread)));
		rb_u32(r->out, w->wait);
		RB_U64(r->out, r->ids->wakers[w->waker], w->count, w->blocked_ns, w->runnable_ns);
		put_hist(r, w->hist);
	}
	rows_end(r, "wakes");
}

/* Adds up the window's slices: one row for each thread and stack. */
static void put_on_cpu(struct rows *r)
{
	g_autoptr(GArray) sums = profile_on_cpu_of_stacks(r->p);

	EACH_ROW(i, const struct on_cpu_sample, s, sums) {
		rows_of_window(r);
		of_thread(r, s->thread);
		RB_U64(r->out, r->ids->stacks[s->user], r->ids->stacks[s->kernel], s->samples, s->weight_ns);
	}
	rows_end(r, "on_cpu");
}

/* --- tasks: a population of their own --- */

static void of_tasks(struct rows *r, const struct tasks *t)
{
	rows_of_window(r);
	RB_TEXT(r->out, rows_service_of_tasks(r, t), t->program);
	rb_u32(r->out, t->pid);
	rb_text(r->out, tasks_kind_name(t->kind));
}

static void task_row(struct rows *r, const struct tasks *t, const struct task_row *row)
{
	const struct task_frame *own = task_own_frame(t->kind, row);

	of_tasks(r, t);
	RB_TEXT(r->out, row->state, row->reason, task_idle(t->kind, row), task_call(t->kind, row),
		own ? own->name : NULL);
	rb_u64(r->out, r->ids->stacks[row->stack]);
	rb_u8(r->out, row->end);
	RB_TEXT(r->out, row->creator.name, row->creator.file);
	rb_u32(r->out, row->creator.line);
	rb_u64(r->out, row->parent);
	RB_TEXT(r->out, row->name, row->awaited_by);
	RB_U64(r->out, row->seen, row->task_ns, row->task_se_ns);
}

static void population_row(struct rows *r, const struct tasks *t)
{
	of_tasks(r, t);
	rb_text(r->out, t->version);
	RB_U64(r->out, t->window_ns, t->looks, (uint64_t)(t->rate_hz * MILLI),
		MAX((uint64_t)(t->looked_at_share * PPM), 1), t->cpu_ns, t->stale, t->unreadable, t->no_row);
	rb_u8(r->out, t->is_cut);
}

static void put_tasks(struct rows *r)
{
	for (guint i = 0; i < r->p->tasks->len; i++)
		population_row(r, profile_tasks(r->p, i));
	rows_end(r, "task_populations");
	for (guint i = 0; i < r->p->tasks->len; i++) {
		const struct tasks *t = profile_tasks(r->p, i);

		for (guint k = 0; k < t->rows->len; k++)
			task_row(r, t, tasks_get(t, k));
	}
	rows_end(r, "tasks");
}

/* For each object: index + 1 of the row with its longest wait; 0: nobody waited for it. */
static uint32_t *longest_waits(const struct profile *p)
{
	uint32_t *longest = g_new0(uint32_t, p->objects->len + 1);

	EACH_ROW(i, const struct wait, w, p->waits) {
		uint32_t *into = w->object ? &longest[w->object - 1] : NULL;

		if (into && (!*into || profile_wait(p, *into - 1)->blocked_ns < w->blocked_ns))
			*into = i + 1;
	}
	return longest;
}

/* Each row names the service that waits longest for the object. */
static void put_tcp_waits(struct rows *r)
{
	g_autofree uint32_t *longest = longest_waits(r->p);

	EACH_ROW(i, const struct tcp_wait, t, r->p->tcp_waits) {
		if (!longest[t->object])
			continue;
		rows_of_window(r);
		rb_text(r->out, rows_service(profile_thread(r->p, profile_wait(r->p, longest[t->object] - 1)->thread)));
		rb_u64(r->out, r->ids->objects[t->object]);
		rb_text(r->out, tcp_wait_direction_text(t->direction));
		RB_U64(r->out, t->count, t->blocked_ns, t->peer_ns, t->network_ns, t->silent_ns, t->unclear_ns,
			t->resent);
		RB_U32(r->out, t->srtt_us, t->min_rtt_us);
	}
	rows_end(r, "tcp_waits");
}

const struct thread *rows_thread_of(const struct profile *p, uint32_t pid)
{
	for (guint i = 0; i < p->threads->len; i++)
		if (profile_thread(p, i)->pid == pid)
			return profile_thread(p, i);
	return NULL;
}

static void put_connections(struct rows *r)
{
	EACH_ROW(i, const struct connection, c, r->p->connections) {
		const struct thread *t = rows_thread_of(r->p, c->pid);

		rows_of_window(r);
		RB_TEXT(r->out, t ? rows_service(t) : "", t ? t->process : "");
		rb_u32(r->out, c->pid);
		RB_TEXT(r->out, c->side == CONNECTION_SERVER ? "server" : "client", c->local, c->remote);
	}
	rows_end(r, "connections");
}

static void put_losses(struct rows *r)
{
	EACH_ROW(i, const struct profile_loss, l, r->p->losses) {
		rows_of_window(r);
		RB_TEXT(r->out, l->reason, l->help);
		RB_U64(r->out, l->count, l->time_ns);
	}
	rows_end(r, "losses");
}

static uint32_t knows_bits(const struct profile_info *info)
{
	return (info->has_bpf_ns ? KNOWS_BPF : 0) | (info->has_locks ? KNOWS_LOCKS : 0) |
	       (info->has_objects ? KNOWS_OBJECTS : 0) | (info->has_wakers ? KNOWS_WAKERS : 0) |
	       (info->self_excluded ? KNOWS_SELF_EXCLUDED : 0) | (info->sampling.has_used ? KNOWS_USED : 0) |
	       (info->has_tasks ? KNOWS_TASKS : 0);
}

static void put_window(struct rows *r)
{
	const struct profile_info *i = &r->p->info;

	rows_of_window(r);
	RB_U64(r->out, i->start_unix_ns, i->start_ns, i->duration_ns);
	rb_u32(r->out, i->cpus);
	RB_TEXT(r->out, i->kernel, i->version, i->command_line, i->filters);
	RB_U64(r->out, i->switches, i->tracer_cpu_ns, i->tracer_start_cpu_ns, i->tracer_stop_cpu_ns, i->tracer_bpf_ns,
		i->tracer_peak_rss_bytes);
	RB_U32(r->out, knows_bits(i), i->unknown, i->on_cpu_hz, i->on_cpu_end_hz);
	RB_U64(r->out, i->sampling.start_ns, i->sampling.end_ns, i->sampling.max_ns);
	RB_U32(r->out, i->sampling.raised_cnt, i->sampling.lowered_cnt, i->sampling.over_cnt, i->sampling.budget_ppm,
		i->sampling.used_ppm, i->sampling.peak_ppm);
	RB_U64(r->out, i->looks.rounds, i->looks.asked_ns);
	rb_u32(r->out, i->looks.budget_ppm);
	rows_end(r, "windows");
}

struct push_unit *clickhouse_unit(const struct profile *p, const struct reasons *reasons, struct sent *sent,
				  GError **error)
{
	if (p->info.imported)
		return refuse_null(error, PUSH_ERROR, PUSH_ERROR_USAGE,
			"%s does not tell when and where: only recordings can be pushed to ClickHouse",
			p->info.imported);
	if (p->waits->len > CLICKHOUSE_WAITS_MAX)
		return refuse_null(error, PUSH_ERROR, PUSH_ERROR_FAILED,
			"%u different waits are more than the %d of a window: record shorter ones", p->waits->len,
			CLICKHOUSE_WAITS_MAX);
	struct identities *ids = identities_new(p);
	struct rows r = { .p = p, .reasons = reasons, .ids = ids, .sent = sent, .out = g_string_new(NULL),
			  .window = identity_of_window(p) };

	r.unit = unit_new(r.window, 0, p->info.start_unix_ns);
	rows_put_contents(&r);
	put_threads(&r);
	put_waits(&r);
	put_on_cpu(&r);
	put_tasks(&r);
	rows_put_findings(&r);
	rows_put_requests(&r);
	put_tcp_waits(&r);
	put_connections(&r);
	put_losses(&r);
	put_window(&r);
	g_string_free(r.out, TRUE);
	identities_free(ids);
	return r.unit;
}
