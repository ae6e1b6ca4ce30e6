/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "profile/profile_rows.h"

#include <string.h>

#include "profile/limits.h"
#include "profile/profile_reader.h"
#include "profile/profile_schema.h"
#include "profile/requests.h"
#include "profile/slices.h"
#include "profile/tasks_file.h"

static void build_ids_row(struct reader *r)
{
	g_auto(GStrv) lines = g_strsplit(row_text(r, 1), "\n", PROFILE_MODULES_MAX);

	for (char **line = lines; *line; line++) {
		char *blank = strchr(*line, ' ');

		if (!blank)
			continue;
		*blank = '\0';
		profile_set_build_id(r->p, blank + 1, *line);
	}
}

static void meta_row(struct reader *r)
{
	const char *key = row_text(r, 0);
	struct profile_info *info = &r->p->info;
	const struct {
		const char *key;
		const char **to;
	} texts[] = {
		{ "version", &info->version }, { "host", &info->host }, { "kernel", &info->kernel },
		{ "command_line", &info->command_line }, { "filters", &info->filters }, { "not_waits", &info->imported },
		{ "rows_are", &info->rows_are },
	};

	/* Keys may be added to a schema: one that we do not know is no error. */
	for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
		if (strcmp(key, texts[i].key) == 0)
			*texts[i].to = row_own_text(r, 1);
	info->rows_are = profile_rows_known(info->rows_are);
	if (strcmp(key, "build_ids") == 0)
		build_ids_row(r);
	if (strcmp(key, "limits") == 0)
		profile_read_limits(r->p, row_text(r, 1));
	if (strcmp(key, "cpus") == 0)
		info->cpus = row_u32(r, 1);
	if (strcmp(key, "self_excluded") == 0)
		info->self_excluded = row_number(r, 1, 1) != 0;
	if (strcmp(key, "has_locks") == 0)
		info->has_locks = row_number(r, 1, 1) != 0;
	if (strcmp(key, "has_objects") == 0)
		info->has_objects = row_number(r, 1, 1) != 0;
	if (strcmp(key, "has_blame") == 0)
		info->has_blame = row_number(r, 1, 1) != 0;
	if (strcmp(key, "has_storms") == 0)
		info->has_storms = row_number(r, 1, 1) != 0;
	if (strcmp(key, "tracer_start_cpu_ns") == 0)
		info->tracer_start_cpu_ns = row_ns(r, 1);
	if (strcmp(key, "tracer_stop_cpu_ns") == 0)
		info->tracer_stop_cpu_ns = row_ns(r, 1);
	if (strcmp(key, "looks_asked_ns") == 0)
		info->looks.asked_ns = row_ns(r, 1);
	if (strcmp(key, "looks_rounds") == 0)
		info->looks.rounds = row_u32(r, 1);
	if (strcmp(key, "looks_budget_ppm") == 0)
		info->looks.budget_ppm = row_u32(r, 1);
	if (strcmp(key, "unknown") == 0)
		info->unknown = row_u32(r, 1) & UNKNOWN_RECORDED;
	if (strcmp(key, "on_cpu_hz") == 0)
		info->on_cpu_hz = row_u32(r, 1);
	if (strcmp(key, "on_cpu_end_hz") == 0)
		info->on_cpu_end_hz = row_u32(r, 1);
	if (strcmp(key, "request_slower_ns") == 0)
		info->request_slower_ns = row_ns(r, 1);
	if (strcmp(key, "has_tasks") == 0)
		info->has_tasks = row_number(r, 1, 1) != 0;
	if (strcmp(key, "slice_ns") == 0)
		row_of_slice_length(r, 1);
	if (strcmp(key, "has_wakers") == 0)
		info->has_wakers = row_number(r, 1, 1) != 0;
}

static void window_row(struct reader *r)
{
	struct profile_info *info = &r->p->info;

	info->start_unix_ns = row_ns(r, 1);
	info->start_ns = row_ns(r, 2);
	info->duration_ns = row_ns(r, 3);
	info->switches = row_number(r, 4, PROFILE_NS_MAX);
	info->tracer_cpu_ns = row_ns(r, 5);
	info->tracer_peak_rss_bytes = row_number(r, 6, PROFILE_NS_MAX);
	info->has_bpf_ns = !row_is_null(r, 7);
	if (info->has_bpf_ns)
		info->tracer_bpf_ns = row_ns(r, 7);
}

/* A recording has one window; files that go on and on are a matter for a later schema. */
static void get_window_id(struct reader *r, int column)
{
	if (row_number(r, column, PROFILE_WINDOW_ID) != PROFILE_WINDOW_ID)
		row_wrong(r, column);
}

static void loss_row(struct reader *r)
{
	const char *reason = row_own_text(r, 2);
	const char *help = row_own_text(r, 3);

	get_window_id(r, 1);
	profile_add_loss(r->p, reason, help, row_number(r, 4, INT64_MAX), row_ns(r, 5));
}

static void string_row(struct reader *r)
{
	g_ptr_array_add(r->strings, (gpointer)row_own_text(r, 1));
}

static void frame_row(struct reader *r)
{
	struct frame f = {
		.name = row_string(r, 1),
		.module = row_string(r, 2),
		.offset = (uint64_t)sqlite3_column_int64(r->stmt, 3),
		.file = row_string(r, 4),
		.line = row_u32(r, 5),
		.kind = (uint8_t)row_number(r, 6, FRAME_KERNEL),
		.why = (uint8_t)row_number(r, 7, FRAME_WHY_COUNT - 1),
		.is_inline = row_number(r, 8, 1) != 0,
	};
	uint32_t id;

	if (sqlite3_column_type(r->stmt, 3) != SQLITE_INTEGER)
		row_wrong(r, 3);
	if (!f.name != (f.why != FRAME_NAMED))
		row_wrong(r, 7);
	id = profile_frame(r->p, &f);
	g_array_append_val(r->frames, id);
}

static void stack_row(struct reader *r)
{
	/* Only rows before this one are in r->nodes yet, so there is no cycle. */
	uint32_t parent = row_id(r, 1, r->nodes, true), frame = row_id(r, 2, r->frames, false);
	uint64_t depth = row_number(r, 3, PROFILE_DEPTH_MAX);
	uint8_t end = (uint8_t)row_number(r, 4, STACK_END_COUNT - 1);
	uint32_t id = 0;

	if (depth != profile_get_node(r->p, parent)->depth + 1u)
		row_wrong(r, 3);
	if (!r->wrong) {
		id = profile_node(r->p, parent, frame);
		profile_stack_end(r->p, id, end);
	}
	g_array_append_val(r->nodes, id);
}

static void thread_row(struct reader *r)
{
	struct thread t = {
		.pid = row_u32(r, 2),
		.tid = row_u32(r, 3),
		.start_ns = row_ns(r, 4),
		.comm = row_own_text(r, 5),
		.process = row_own_text(r, 6),
		.flags = row_u32(r, 7),
		.from_ns = row_ns(r, 8),
		.to_ns = row_ns(r, 9),
		.on_cpu_ns = row_ns(r, 10),
		.blocked_ns = row_ns(r, 11),
		.runnable_ns = row_ns(r, 12),
		.preempted_ns = row_ns(r, 13),
		.filtered_ns = row_ns(r, 14),
		.lost_ns = row_ns(r, 15),
		.switches = row_number(r, 16, INT64_MAX),
	};

	get_window_id(r, 1);
	if (t.from_ns > t.to_ns)
		row_wrong(r, 9);
	if (!row_is_null(r, 17))
		t.service = row_own_text(r, 17);
	profile_add_thread(r->p, &t);
}

/* Longest wait and histogram, from column `at` on; only of one wait do its times say all. */
static void duration_columns(struct reader *r, int at, struct wait *w)
{
	uint64_t off_cpu_ns = wait_off_cpu_ns(w);

	if (w->count != 1 || !row_is_null(r, at))
		w->max_ns = row_ns(r, at);
	else
		w->max_ns = MIN(off_cpu_ns, PROFILE_NS_MAX);
	if (w->count == 1 && row_is_null(r, at + 1))
		w->hist[profile_hist_slot(off_cpu_ns)] = 1;
	else
		row_hist(r, at + 1, w->hist);
}

static void wait_row(struct reader *r)
{
	const char *state = row_text(r, 4);
	struct wait w = {
		.thread = row_u32(r, 1),
		.user = row_id(r, 2, r->nodes, true),
		.kernel = row_id(r, 3, r->nodes, true),
		.state = (uint8_t)state[0],
		.flags = row_u8(r, 5),
		.count = row_number(r, 6, INT64_MAX),
		.blocked_ns = row_ns(r, 7),
		.runnable_ns = row_ns(r, 8),
		.preempted_ns = row_ns(r, 9),
	};

	if (w.thread >= r->p->threads->len)
		row_wrong(r, 1);
	if (!w.state || state[1] || !strchr(r->p->info.unknown & UNKNOWN_STATES ? "SDTtPIR?" : "SDTtPIR", w.state))
		row_wrong(r, 4);
	if (!row_is_null(r, 10))
		w.off_cpu_se_ns = row_ns(r, 10);
	duration_columns(r, 11, &w);
	if (!row_is_null(r, 13))
		w.object = row_id(r, 13, r->objects, false) + 1;
	if (!row_is_null(r, 14))
		w.count_se = row_number(r, 14, INT64_MAX);
	if (!r->wrong) {
		uint32_t id = profile_add_wait(r->p, &w);
		g_array_append_val(r->waits, id);
	}
}

static void state_row(struct reader *r)
{
	const char *state = row_text(r, 2);
	const struct state_total t = {
		.thread = row_u32(r, 1),
		.state = (uint8_t)state[0],
		.count = row_number(r, 3, INT64_MAX),
		.blocked_ns = row_ns(r, 4),
		.runnable_ns = row_ns(r, 5),
		.preempted_ns = row_ns(r, 6),
	};

	if (t.thread >= r->p->threads->len)
		row_wrong(r, 1);
	if (!t.state || state[1] || !strchr("SDTtPIR", t.state))
		row_wrong(r, 2);
	if (!r->wrong)
		profile_add_state(r->p, &t);
}

static void sampling_row(struct reader *r)
{
	struct profile_sampling *sampling = &r->p->info.sampling;

	get_window_id(r, 1);
	*sampling = (struct profile_sampling){
		.start_ns = row_ns(r, 2),
		.end_ns = row_ns(r, 3),
		.max_ns = row_ns(r, 4),
		.raised_cnt = row_u32(r, 5),
		.lowered_cnt = row_u32(r, 6),
		.over_cnt = row_u32(r, 7),
		.budget_ppm = row_u32(r, 8),
		.has_used = !row_is_null(r, 9) && !row_is_null(r, 10),
	};
	if (sampling->has_used) {
		sampling->used_ppm = row_u32(r, 9);
		sampling->peak_ppm = row_u32(r, 10);
	}
}

/* In the order in which rows refer to each other. */
static const struct row_table tables[] = {
	{ "meta", -1, 0, 64, meta_row },
	{ "window", PROFILE_WINDOW_ID, 1, 1, window_row },
	{ "loss", 0, 0, 1024, loss_row },
	{ "string", 0, 0, 3 * PROFILE_ROWS_MAX, string_row },
	{ "frame", 0, 0, PROFILE_ROWS_MAX, frame_row },
	{ "stack", 1, 0, PROFILE_NODES_MAX, stack_row },
	{ "thread", 0, 0, PROFILE_ROWS_MAX, thread_row },
	{ "object", 0, 0, PROFILE_ROWS_MAX, row_of_object },
	{ "wait", 0, 0, PROFILE_ROWS_MAX, wait_row },
	{ "state_total", 0, 0, PROFILE_ROWS_MAX, state_row },
	{ "sampling", PROFILE_WINDOW_ID, 0, 1, sampling_row },
	{ "waker", 0, 0, PROFILE_ROWS_MAX, row_of_waker },
	{ "wake", 0, 0, PROFILE_ROWS_MAX, row_of_wake },
	{ "chain", 0, 0, PROFILE_ROWS_MAX, row_of_chain },
	{ "story", 0, 0, PROFILE_ROWS_MAX, row_of_story },
	{ "hop", 0, 0, PROFILE_CHAIN_MAX * PROFILE_ROWS_MAX, row_of_hop },
	{ "blame", 0, 0, PROFILE_ROWS_MAX, row_of_blame },
	{ "storm", 0, 0, PROFILE_ROWS_MAX, row_of_storm },
	{ "slice", 0, 0, SLICES_MAX, row_of_slice },
	{ "slice_cells", 0, 0, PROFILE_ROWS_MAX, row_of_slice_cells },
	{ "on_cpu", 0, 0, PROFILE_ROWS_MAX, row_of_on_cpu },
	{ "request", 0, 0, OFFCPU_REQUEST_FUNCS_MAX, row_of_request },
	{ "request_calls", 0, 0, OFFCPU_REQUEST_FUNCS_MAX, row_of_request_calls },
	{ "request_part", 0, 0, PROFILE_ROWS_MAX, row_of_request_part },
	{ "span", 0, 0, PROFILE_ROWS_MAX, row_of_span },
	{ "span_wait", 0, 0, PROFILE_ROWS_MAX, row_of_span_wait },
	{ "task_population", 0, 0, TASKS_POPULATIONS_MAX, row_of_task_population },
	{ "task", 0, 0, TASKS_RECORDED_MAX, row_of_task },
	{ "longest", 0, 0, PROFILE_ROWS_MAX, row_of_longest },
	{ "task_look", 0, 0, TASKS_POPULATIONS_MAX * TASK_LOOKS_MAX, row_of_task_look },
	{ "task_look_cells", 0, 0, PROFILE_ROWS_MAX, row_of_task_look_cells },
};

static bool read_tables(struct reader *r, GError **error)
{
	for (size_t i = 0; i < G_N_ELEMENTS(tables); i++)
		if (!reader_table(r, &tables[i], error))
			return false;
	return true;
}

bool profile_read_rows(sqlite3 *db, struct profile *p, uint64_t text_budget_bytes, GError **error)
{
	const uint32_t root = 0;
	struct reader r = {
		.db = db,
		.p = p,
		.text_budget_bytes = text_budget_bytes,
		.strings = g_ptr_array_new(),
		.frames = g_array_new(FALSE, FALSE, sizeof(uint32_t)),
		.nodes = g_array_new(FALSE, FALSE, sizeof(uint32_t)),
		.objects = g_array_new(FALSE, FALSE, sizeof(uint32_t)),
		.waits = g_array_new(FALSE, FALSE, sizeof(uint32_t)),
		.wakers = g_array_new(FALSE, FALSE, sizeof(uint32_t)),
		.wakes = g_array_new(FALSE, FALSE, sizeof(uint32_t)),
		.chains = g_array_new(FALSE, FALSE, sizeof(uint32_t)),
		.task_looks = g_array_new(FALSE, FALSE, sizeof(struct reader_look)),
	};

	g_array_append_val(r.nodes, root);
	bool ok = read_tables(&r, error);

	g_ptr_array_unref(r.strings);
	g_array_unref(r.frames);
	g_array_unref(r.nodes);
	g_array_unref(r.objects);
	g_array_unref(r.waits);
	g_array_unref(r.wakers);
	g_array_unref(r.wakes);
	g_array_unref(r.chains);
	g_array_unref(r.task_looks);
	return ok;
}
