/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/json/json.h"

#include "analyse/accounts.h"
#include "features/blame/analysis.h"
#include "features/slices/rows.h"
#include "features/wakers/analysis.h"
#include "features/wakers/analysis_chains.h"
#include "render/json/parts.h"

static gint heaviest_first(gconstpointer a, gconstpointer b, gpointer profile)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct wait *of_x = profile_wait(profile, x), *of_y = profile_wait(profile, y);
	uint64_t x_ns = wait_off_cpu_ns(of_x) + of_x->on_cpu_ns, y_ns = wait_off_cpu_ns(of_y) + of_y->on_cpu_ns;

	return x_ns != y_ns ? (x_ns > y_ns ? -1 : 1) : (x > y) - (x < y);
}

/* Indices of waits, most time first.  Free with g_free(). */
static uint32_t *json_rows_order(const struct profile *p)
{
	uint32_t *order = g_new(uint32_t, (gsize)p->waits->len + 1);

	for (uint32_t i = 0; i < p->waits->len; i++)
		order[i] = i;
	g_qsort_with_data(order, (gint)p->waits->len, sizeof(*order), heaviest_first, (gpointer)(uintptr_t)p);
	return order;
}

/*
 * Whether there is room for the row; with max_bytes, sorted rows may fill `quarters` of it.  Counts rows without room.
 */
static bool json_rows_room(const struct json *j, struct json_rows *rows, const struct wait *w, unsigned quarters)
{
	if (!rows->max_bytes || j->out->len < (rows->order ? rows->max_bytes / 4 * quarters : rows->max_bytes))
		return true;
	rows->left_rows++;
	rows->left_cnt += w->state == ON_CPU_STATE ? 0 : w->count;
	rows->left_ns += wait_off_cpu_ns(w);
	rows->left_on_cpu_ns += w->on_cpu_ns;
	return false;
}

/* Writes what had no room, if anything. */
static void json_rows_left_out(struct json *j, const struct json_rows *rows)
{
	if (!rows->left_rows)
		return;
	json_member_object(j, "left_out");
	JSON(j, "rows", rows->left_rows, "count", rows->left_cnt, "off_cpu_ns", rows->left_ns);
	json_member_uint(j, "on_cpu_ns", rows->left_on_cpu_ns);
	json_object_end(j);
}

static void write_slice(struct json *j, const struct slice_total *total)
{
	JSON_UINTS(j, total, from_ns, to_ns, count, blocked_ns, runnable_ns, preempted_ns);
	JSON_ARRAY(j, "log2_ns")
		for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++) {
			if (!total->hist[i])
				continue;
			json_array_begin(j);
			json_uint(j, i);
			json_uint(j, total->hist[i]);
			json_array_end(j);
		}
}

/* Writes the selected waits' time in each slice; nothing if the recording has no slices. */
static void json_slices(struct json *j, const struct profile *p, const struct selection *selection)
{
	g_autofree struct slice_total *totals = NULL;

	if (!profile_has_slices(p))
		return;
	totals = profile_slice_totals(p, selection ? selection->waits : NULL);
	json_member_object(j, "slices");
	json_member_uint(j, "length_ns", profile_slice_ns(p));
	JSON_ARRAY(j, "each")
		for (uint32_t i = 0; i < profile_slice_cnt(p); i++)
			JSON_IN(j, write_slice(j, &totals[i]));
	json_object_end(j);
}

/* The selected part of the recording's window. */
static void write_range(struct json *j, const struct profile_range *range)
{
	json_member_object(j, "range");
	JSON(j, "from_ns", range->from_ns, "to_ns", range->to_ns, "of_ns", range->window_ns);
	json_member_bool(j, "estimated", range->is_estimated);
	json_object_end(j);
}

static void write_history(struct json *j, const struct profile_history *h)
{
	json_member_object(j, "history");
	JSON(j, "windows", h->windows, "to_unix_ns", h->to_unix_ns, "gaps", h->gap_cnt, "gap_ns", h->gap_ns);
	JSON(j, "gap_why", h->gap_why, "gone_by_name", h->is_gone_by_name);
	json_object_end(j);
}

static void write_window(struct json *j, const struct profile_info *info)
{
	json_member_object(j, "window");
	JSON(j, "start_unix_ns", info->start_unix_ns, "duration_ns", info->duration_ns);
	if (info->range.is_cut)
		write_range(j, &info->range);
	if (info->history.windows)
		write_history(j, &info->history);
	json_object_end(j);

	json_member_object(j, "host");
	JSON(j, "kernel", info->kernel, "cpus", info->cpus, "name", info->host);
	json_member_text(j, "scheduler", info->scheduler);
	json_object_end(j);

	json_member_object(j, "recorder");
	JSON(j, "version", info->version, "command_line", info->command_line, "filters", info->filters);
	JSON(j, "self_excluded", info->self_excluded, "wakers", info->has_wakers);
	json_object_end(j);
}

/* Losses by reason. */
static void write_lost(struct json *j, const struct profile *p)
{
	json_member_object(j, "lost");
	EACH_ROW(i, const struct profile_loss, l, p->losses) {
		json_any_key(j, l->reason);	/* in an untrusted recording this may be any text */
		json_uint(j, l->count);
	}
	json_object_end(j);
}

/* Replaces window and coverage in a profile from another tool. */
static void write_imported(struct json *j, const struct profile *p)
{
	const struct profile_info *info = &p->info;
	g_autofree char *unknown = profile_unknown_text(info->unknown, info->has_wakers);
	const struct rows_kind *kind = profile_rows_kind(info->rows_are);

	json_member_object(j, "imported");
	JSON(j, "format", info->imported, "what", kind ? kind->what : NULL, "unknown", unknown);
	json_member_known(j, "start_unix_ns", info->start_unix_ns, info->start_unix_ns != 0);
	json_member_known(j, "duration_ns", info->duration_ns, !(info->unknown & UNKNOWN_WINDOW));
	write_lost(j, p);
	json_object_end(j);
}

static void write_tracer(struct json *j, const struct profile_info *info)
{
	json_member_object(j, "tracer");
	json_member_known(j, "bpf_ns", info->tracer_bpf_ns, info->has_bpf_ns);
	JSON(j, "cpu_ns", info->tracer_cpu_ns, "start_cpu_ns", info->tracer_start_cpu_ns);
	JSON(j, "running_cpu_ns", profile_running_cpu_ns(info), "peak_rss_bytes", info->tracer_peak_rss_bytes);
	json_object_end(j);
}

/* Only for recordings that were sampled instead of traced. */
static void write_looks(struct json *j, const struct profile_info *info)
{
	if (!info->looks.rounds)
		return;
	json_member_object(j, "looks");
	JSON(j, "rounds", info->looks.rounds, "period_ns", info->duration_ns / info->looks.rounds);
	JSON(j, "asked_period_ns", info->looks.asked_ns, "budget_ppm", info->looks.budget_ppm);
	json_object_end(j);
}

static void write_sampling(struct json *j, const struct profile *p, const struct coverage *c)
{
	const struct profile_sampling *sampling = &p->info.sampling;

	json_member_object(j, "sampling");
	JSON(j, "scale_ns", sampling->end_ns, "scale_start_ns", sampling->start_ns, "scale_max_ns", sampling->max_ns);
	JSON(j, "listed_ns", c->listed_ns, "listed_se_ns", (uint64_t)(c->listed_se_ns + 0.5));
	JSON(j, "raised", sampling->raised_cnt, "lowered", sampling->lowered_cnt, "exceeded", sampling->over_cnt);
	json_member_uint(j, "budget_ppm", sampling->budget_ppm);
	json_member_known(j, "used_ppm", sampling->used_ppm, sampling->has_used);
	json_member_known(j, "peak_ppm", sampling->peak_ppm, sampling->has_used);
	json_object_end(j);
}

static void write_coverage(struct json *j, const struct profile *p, const struct selection *selection)
{
	struct accounts *a = accounts_new(p, selection);
	struct coverage c;

	coverage_of(p, selection, &c);
	json_member_object(j, "coverage");
	json_member_known(j, "switches", p->info.switches, p->info.switches);
	json_member_uint(j, "thread_switches", a->total.switches);
	write_lost(j, p);
	JSON_UINTS(j, &a->total, lost_ns, observed_ns, off_cpu_ns);
	json_member_int(j, "residual_ns", a->total.residual_ns);
	JSON(j, "residual_abs_ns", a->total.residual_abs_ns, "filtered_ns", a->total.filtered_ns);
	json_member_object(j, "stacks");
	JSON(j, "complete_ns", c.stacks_ns[STACK_COMPLETE], "truncated_ns", c.stacks_ns[STACK_TRUNCATED]);
	JSON(j, "broken_ns", c.stacks_ns[STACK_BROKEN], "pending_ns", c.stacks_ns[STACK_PENDING]);
	json_member_uint(j, "none_ns", c.stacks_ns[STACK_NONE]);
	json_object_end(j);
	JSON(j, "open_at_start_ns", c.open_start_ns, "open_at_end_ns", c.open_end_ns);
	write_sampling(j, p, &c);
	write_looks(j, &p->info);
	write_tracer(j, &p->info);
	json_object_end(j);
	accounts_free(a);
}

/* The thread's exact totals, from *at on: they are sorted by thread. */
static void write_states(struct json *j, const struct profile *p, uint32_t thread, unsigned *at)
{
	json_member_array(j, "states");
	while (*at < p->states->len && profile_state(p, *at)->thread < thread)
		(*at)++;
	for (; *at < p->states->len && profile_state(p, *at)->thread == thread; (*at)++) {
		const struct state_total *total = profile_state(p, *at);
		char state[2] = { (char)total->state, '\0' };

		json_object_begin(j);
		json_member_string(j, "state", state);
		JSON_UINTS(j, total, count, blocked_ns, runnable_ns, preempted_ns);
		json_object_end(j);
	}
	json_array_end(j);
}

static void write_thread(struct json *j, const struct profile *p, uint32_t index, uint64_t throttled_ns,
			 unsigned *states_at)
{
	const struct thread *t = profile_thread(p, index);
	const uint32_t unknown = p->info.unknown;
	const bool account = !(unknown & UNKNOWN_ACCOUNTS), parts = !(unknown & UNKNOWN_PARTS),
		   ids = !(unknown & UNKNOWN_IDS);

	json_member_known(j, "pid", t->pid, ids);
	json_member_known(j, "tid", t->tid, ids);
	JSON(j, "comm", t->comm, "process", t->process);
	json_member_text(j, "service", t->service);
	json_member_known(j, "start_ns", t->start_ns, account);
	json_member_known(j, "observed_ns", thread_observed_ns(t), account);
	json_member_known(j, "on_cpu_ns", t->on_cpu_ns, account);
	json_member_known(j, "blocked_ns", t->blocked_ns, parts);
	json_member_known(j, "runnable_ns", t->runnable_ns, parts);
	json_member_known(j, "preempted_ns", t->preempted_ns, parts);
	json_member_uint(j, "throttled_ns", throttled_ns);
	json_member_known(j, "off_cpu_ns", thread_off_cpu_ns(t), !profile_rows_are_counted(p->info.rows_are));
	if (account)
		json_member_int(j, "residual_ns", thread_residual_ns(t));
	json_member_known(j, "filtered_ns", t->filtered_ns, account);
	json_member_known(j, "lost_ns", t->lost_ns, account);
	json_member_known(j, "switches", t->switches, account);
	json_member_bool(j, "open_at_start", t->flags & THREAD_OPEN_AT_START);
	JSON(j, "open_at_end", (bool)(t->flags & THREAD_OPEN_AT_END), "kernel", (bool)(t->flags & THREAD_KERNEL));
	JSON(j, "exited", (bool)(t->flags & THREAD_EXITED), "execed", (bool)(t->flags & THREAD_EXECED));
	write_states(j, p, index, states_at);
}

/* Writes every frame once, since the same frames are in thousands of stacks. */
static GPtrArray *write_frames(const struct profile *p)
{
	GPtrArray *frames = g_ptr_array_new_full(p->frames->len, (GDestroyNotify)g_bytes_unref);

	EACH_ROW(i, const struct frame, f, p->frames) {
		GString *text = g_string_new(NULL);
		struct json j;

		json_begin(&j, text);
		JSON(&j, "name", f->name, "module", f->module, "offset", f->offset, "file", f->file, "line", f->line);
		json_member_bool(&j, "inline", f->is_inline);
		if (!f->name)
			json_member_string(&j, "why", frame_why_text((enum frame_why)f->why));
		json_object_end(&j);
		g_ptr_array_add(frames, g_string_free_to_bytes(text));
	}
	return frames;
}

void json_stack(struct json *j, const struct wait_writer *w, const char *key, uint32_t node)
{
	g_array_set_size(w->path, 0);
	for (uint32_t n = node; n; n = profile_get_node(w->p, n)->parent)
		g_array_append_val(w->path, profile_get_node(w->p, n)->frame);
	json_member_array(j, key);
	for (unsigned i = w->path->len; i-- > 0;) {
		gsize len;
		const char *text = g_bytes_get_data(g_ptr_array_index(w->frames, g_array_index(w->path, uint32_t, i)),
						    &len);

		json_raw(j, text, len);
	}
	json_array_end(j);
}

void json_who(struct json *j, const struct waker *waker)
{
	JSON(j, "comm", waker->comm, "pid", waker->pid, "tid", waker->tid, "irq", waker->irq);
}

static void write_story(struct json *j, const struct profile *p, const struct story *s)
{
	const struct chain_node *link = profile_get_chain(p, s->chain);

	JSON(j, "count", s->count, "blocked_ns", s->blocked_ns);
	JSON_ARRAY(j, "hops")
		for (unsigned step = 0; step < PROFILE_CHAIN_MAX; step++) {
			json_object_begin(j);
			json_who(j, profile_get_waker(p, link->waker));
			JSON(j, "ran_ns", s->hop[step].ran_ns, "ready_ns", s->hop[step].runnable_ns);
			json_member_uint(j, "earlier_ns", s->hop[step].earlier_ns);
			json_object_end(j);
			if (!link->next)
				break;
			link = profile_get_chain(p, link->next - 1);
		}
	JSON(j, "rest_ns", s->rest_ns, "end", chain_end_name((enum chain_end)link->end));
}

static void write_stories(struct json *j, const struct wait_writer *w, uint32_t wake)
{
	JSON_ARRAY(j, "stories")
		for (uint32_t i = w->stories->first[wake]; i < w->stories->first[wake + 1]; i++)
			JSON_IN(j, write_story(j, w->p, profile_story(w->p, w->stories->order[i])));
}

static void write_wakers(struct json *j, const struct wait_writer *w, uint32_t wait)
{
	JSON_ARRAY(j, "wakers")
		for (uint32_t n = w->wakes->first[wait]; n < w->wakes->first[wait + 1]; n++) {
			uint32_t wake = w->wakes->order[n];
			const struct wake *k = profile_wake(w->p, wake);
			const struct waker *waker = profile_get_waker(w->p, k->waker);

			json_object_begin(j);
			json_who(j, waker);
			JSON_UINTS(j, k, count, blocked_ns, runnable_ns);
			json_member_hist(j, k->hist);
			json_stack(j, w, "user", waker->user);
			json_stack(j, w, "kernel", waker->kernel);
			if (w->p->stories->len)
				write_stories(j, w, wake);
			json_object_end(j);
		}
}

/* The longest wait of the row. */
static void write_longest(struct json *j, const struct profile *p, const struct wait *w)
{
	json_member_uint(j, "max_start_unix_ns", w->max_start_unix_ns);
	if (!w->max_waker)
		return;
	json_member_object(j, "max_waker");
	json_who(j, profile_get_waker(p, w->max_waker - 1));
	json_object_end(j);
}

/* The request that it was for, and the trace of the longest wait. */
static void write_context(struct json *j, const struct wait_writer *writer, uint32_t wait)
{
	const struct wait_trace *trace = profile_trace_of(writer->p, wait);
	const char *route = routes_of(writer->explanation->findings->routes, profile_wait(writer->p, wait)->user);

	json_member_text(j, "route", route);
	if (!trace)
		return;
	JSON_MEMBER(j, "longest_trace", "trace_id", trace->trace, "span_id", trace->span, "start_ns", trace->start_ns,
		    "ns", trace->ns);
}

/* Separate fields, so that programs need not parse a name. */
static void write_object(struct json *j, const struct object *o)
{
	bool is_lock = o && object_is_lock(o);

	json_member_string(j, "object", o ? o->name : NULL);
	if (!o)
		return;
	if (!is_lock) {
		JSON(j, "object_kind", object_kind_text(o->kind), "object_detail", o->place, "peer_pid", o->pid);
		return;
	}
	json_member_object(j, "lock");
	JSON(j, "kind", object_kind_text(o->kind), "operation", o->operation, "private", o->is_private);
	JSON(j, "place", o->place, "pid", o->pid, "address", o->addr, "holder_tid", o->holder_tid);
	json_object_end(j);
}

static void write_wait(struct json *j, const struct wait_writer *writer, uint32_t wait)
{
	const struct profile *p = writer->p;
	const struct wait *w = profile_wait(p, wait);
	const struct thread *t = profile_thread(p, w->thread);
	const uint32_t unknown = p->info.unknown;
	const bool parts = !(unknown & UNKNOWN_PARTS), ids = !(unknown & UNKNOWN_IDS);
	char state[2] = { (char)w->state, '\0' };
	uint64_t hist[PROFILE_HIST_SLOTS];
	guint headline = explanation_headline_of(writer->explanation, wait);

	json_member_known(j, "pid", t->pid, ids);
	json_member_known(j, "tid", t->tid, ids);
	JSON(j, "comm", t->comm, "state", w->state == '?' ? NULL : state);
	json_member_string(j, "reason", reason_name(reasons_of(writer->reasons, wait)));
	json_member_string(j, "protocol", reasons_protocol(writer->reasons, wait));
	json_member_string(j, "idle",
			   reasons_is_idle(writer->reasons, wait) ? idle_kind_name(reasons_idle(writer->reasons, wait))
								  : NULL);
	json_member_known(j, "count", w->count, !(unknown & UNKNOWN_COUNTS));
	json_member_known(j, "off_cpu_ns", wait_off_cpu_ns(w), !profile_rows_are_counted(p->info.rows_are));
	json_member_known(j, "blocked_ns", w->blocked_ns, parts);
	json_member_known(j, "runnable_ns", w->runnable_ns, parts);
	json_member_known(j, "preempted_ns", w->preempted_ns, parts);
	if (!(unknown & UNKNOWN_DURATIONS)) {
		for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++)
			hist[i] = w->hist[i];
		json_percentiles(j, hist, wait_off_cpu_ns(w), w->max_ns);
	}
	if (w->max_start_unix_ns)
		write_longest(j, p, w);
	write_context(j, writer, wait);
	JSON(j, "off_cpu_se_ns", w->off_cpu_se_ns, "count_se", w->count_se);
	json_member_hist(j, w->hist);
	json_member_bool(j, "open_at_start", w->flags & WAIT_OPEN_AT_START);
	JSON(j, "open_at_end", (bool)(w->flags & WAIT_OPEN_AT_END), "throttled", (bool)(w->flags & WAIT_THROTTLED));
	json_stack(j, writer, "user", w->user);
	json_stack(j, writer, "kernel", w->kernel);
	json_member_string(j, "user_end",
			   unknown & UNKNOWN_STACK_ENDS ? NULL : stack_end_text(coverage_stack_end(p, w)));
	if (headline)
		json_member_uint(j, "headline", headline);
	write_object(j, profile_wait_object(writer->p, w));
	write_wakers(j, writer, wait);
}

static void write_waits(struct json *j, const struct wait_writer *writer, const struct selection *selection,
			struct json_rows *rows)
{
	json_member_array(j, "waits");
	for (unsigned i = 0; i < writer->p->waits->len; i++) {
		uint32_t at = rows->order ? rows->order[i] : i;
		const struct wait *w = profile_wait(writer->p, at);

		if ((!selection || selection->waits[at]) && w->state != ON_CPU_STATE && json_rows_room(j, rows, w, 2))
			JSON_IN(j, write_wait(j, writer, at));
		drain_rows(rows->drain);
	}
	json_array_end(j);
}

/* On-CPU samples, which are not in `waits`. */
static void write_on_cpu(struct json *j, const struct wait_writer *writer, const struct selection *selection,
			 struct json_rows *rows)
{
	const struct profile *p = writer->p;

	if (!p->info.on_cpu_as_waits)
		return;
	json_member_object(j, "on_cpu");
	JSON(j, "hz", p->info.on_cpu_hz, "end_hz", p->info.on_cpu_end_hz);
	json_member_array(j, "stacks");
	for (unsigned i = 0; i < p->waits->len; i++) {
		uint32_t at = rows->order ? rows->order[i] : i;
		const struct wait *w = profile_wait(p, at);
		const struct thread *t = profile_thread(p, w->thread);

		if (w->state != ON_CPU_STATE || (selection && !selection->waits[at]) || !json_rows_room(j, rows, w, 3))
			continue;
		json_object_begin(j);
		JSON(j, "pid", t->pid, "tid", t->tid, "comm", t->comm, "samples", w->count, "on_cpu_ns", w->on_cpu_ns);
		json_member_uint(j, "on_cpu_se_ns", w->off_cpu_se_ns);
		json_stack(j, writer, "user", w->user);
		json_stack(j, writer, "kernel", w->kernel);
		json_member_string(j, "user_end", stack_end_text(coverage_stack_end(p, w)));
		json_object_end(j);
		drain_rows(rows->drain);
	}
	json_array_end(j);
	json_object_end(j);
}

static void report(GString *out, const struct profile *p, const struct selection *selection, struct json_rows *rows)
{
	g_autoptr(GPtrArray) frames = write_frames(p);
	g_autoptr(GArray) path = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	g_autofree uint64_t *throttled_ns = throttled_by_thread(p);
	unsigned states_at = 0;
	struct explanation *e = explanation_new(p, selection);
	struct top *reasons = top_new(p, selection, TOP_BY_REASON, WEIGHT_OFF_CPU);
	struct wait_writer writer = {
		.p = p,
		.explanation = e,
		.reasons = e->findings->reasons,
		.frames = frames,
		.path = path,
		.wakes = wakes_by_wait_new(p),
		.stories = stories_by_wake_new(p),
	};
	struct json j;

	json_begin(&j, out);
	json_member_uint(&j, "schema", 1);
	if (p->info.imported) {
		write_imported(&j, p);
	} else {
		write_window(&j, &p->info);
		write_coverage(&j, p, selection);
	}
	json_findings(&j, e);
	json_reasons(&j, reasons);
	JSON_ARRAY(&j, "threads")
		for (unsigned i = 0; i < p->threads->len; i++) {
			if (!selection || selection->threads[i])
				JSON_IN(&j, write_thread(&j, p, i, throttled_ns[i], &states_at));
			drain_rows(rows->drain);
		}
	write_waits(&j, &writer, selection, rows);
	write_on_cpu(&j, &writer, selection, rows);
	json_rows_left_out(&j, rows);
	json_runq_blame(&j, p, selection);
	json_storms(&j, &writer, selection);
	json_tcp_waits(&j, p, selection);
	json_slices(&j, p, selection);
	json_requests(&j, p);
	json_tasks(&j, p, selection, rows->drain);
	json_object_end(&j);
	wakes_by_wait_free(writer.wakes);
	stories_by_wake_free(writer.stories);
	top_free(reasons);
	explanation_free(e);
	g_string_append_c(out, '\n');
}

void json_report_drained(GString *out, const struct profile *p, const struct selection *selection,
			 const struct drain *drain)
{
	report(out, p, selection, &(struct json_rows){ .drain = drain });
}

void json_report_within(GString *out, const struct profile *p, const struct selection *selection, size_t max_bytes)
{
	g_autofree uint32_t *order = NULL;
	struct json_rows whole = { .max_bytes = max_bytes };
	const gsize begin = out->len;

	report(out, p, selection, &whole);
	if (!whole.left_rows && out->len <= max_bytes)
		return;
	g_string_truncate(out, begin);
	order = json_rows_order(p);
	report(out, p, selection, &(struct json_rows){ .order = order, .max_bytes = max_bytes });
}
