/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "profile/profile_rows.h"

#include <string.h>

#include "profile/profile_file.h"
#include "profile/profile_schema.h"

/* Reads table after table.  A bad value is noted and answered with 0; the row's end looks. */
struct reader {
	sqlite3 *db;
	sqlite3_stmt *stmt;
	struct profile *p;
	const char *table;
	uint64_t text_budget_bytes;
	const char *wrong;	/* the first bad column of this row */
	GPtrArray *strings;	/* string id -> the profile's own string */
	GArray *frames, *nodes, *objects, *waits, *wakers, *wakes, *chains;	/* id in the file -> id in the profile: a forged file may repeat itself */
};

static void wrong(struct reader *r, int column)
{
	if (!r->wrong)
		r->wrong = sqlite3_column_name(r->stmt, column);
}

static bool is_null(struct reader *r, int column)
{
	return sqlite3_column_type(r->stmt, column) == SQLITE_NULL;
}

static uint64_t get(struct reader *r, int column, uint64_t max)
{
	sqlite3_int64 value = sqlite3_column_int64(r->stmt, column);

	if (sqlite3_column_type(r->stmt, column) == SQLITE_INTEGER && value >= 0 && (uint64_t)value <= max)
		return (uint64_t)value;
	wrong(r, column);
	return 0;
}

static uint64_t get_ns(struct reader *r, int column)
{
	return get(r, column, PROFILE_NS_MAX);
}

static uint32_t get_u32(struct reader *r, int column)
{
	return (uint32_t)get(r, column, UINT32_MAX);
}

static uint8_t get_u8(struct reader *r, int column)
{
	return (uint8_t)get(r, column, UINT8_MAX);
}

/* Up to the first NUL, valid until the next step; "" for NULL. */
static const char *get_text(struct reader *r, int column)
{
	/* The type first: asking for text converts the value. */
	int type = sqlite3_column_type(r->stmt, column);
	const char *text = type == SQLITE_TEXT ? (const char *)sqlite3_column_text(r->stmt, column) : NULL;
	uint64_t len_bytes = text ? (uint64_t)sqlite3_column_bytes(r->stmt, column) : 0;

	if (type == SQLITE_NULL)
		return "";
	if (!text || len_bytes > PROFILE_STRING_MAX_BYTES || len_bytes > r->text_budget_bytes) {
		wrong(r, column);
		return "";
	}
	r->text_budget_bytes -= len_bytes;
	return text;
}

/* The frame or node that the file calls by this id; 0 for NULL where `nullable`. */
static uint32_t get_id(struct reader *r, int column, const GArray *ids, bool nullable)
{
	if (nullable && is_null(r, column))
		return 0;
	uint64_t id = get(r, column, UINT32_MAX);

	if (id < ids->len)
		return g_array_index(ids, uint32_t, (guint)id);
	wrong(r, column);
	return 0;
}

static const char *get_string(struct reader *r, int column)
{
	if (is_null(r, column))
		return NULL;
	uint64_t id = get(r, column, UINT32_MAX);

	if (id < r->strings->len)
		return g_ptr_array_index(r->strings, (guint)id);
	wrong(r, column);
	return NULL;
}

static bool G_GNUC_PRINTF(2, 3) fail(GError **error, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	g_autofree char *message = g_strdup_vprintf(format, ap);
	va_end(ap);
	g_set_error_literal(error, PROFILE_FILE_ERROR, PROFILE_FILE_ERROR_DAMAGED, message);
	return false;
}

static bool row_failed(struct reader *r, int rc, GError **error)
{
	if (rc == SQLITE_INTERRUPT)
		return fail(error, "table \"%s\" takes more work than its size allows", r->table);
	return fail(error, "table \"%s\": %s", r->table, sqlite3_errmsg(r->db));
}

struct table {
	const char *name;
	int64_t first_id;	/* -1: rows have no id */
	int64_t min_rows, max_rows;
	void (*row)(struct reader *r);
};

/* One row, the i-th of its table. */
static bool read_row(struct reader *r, const struct table *t, int64_t i, GError **error)
{
	if (i >= t->max_rows)
		return fail(error, "table \"%s\" has more than %" G_GINT64_FORMAT " rows", t->name, t->max_rows);
	if (t->first_id >= 0 && sqlite3_column_int64(r->stmt, 0) != t->first_id + i)
		return fail(error, "the ids of table \"%s\" are not consecutive", t->name);
	r->wrong = NULL;
	t->row(r);
	if (r->wrong)
		return fail(error, "row %" G_GINT64_FORMAT " of table \"%s\" has an invalid %s", i + 1, t->name,
			    r->wrong);
	return true;
}

/*
 * Reads every row.  Column 0 is the id, which counts up by one: pages that a forged file
 * shares between branches would repeat ids, so nothing grows beyond the file's own size.
 */
static bool read_table(struct reader *r, const struct table *t, GError **error)
{
	g_autofree char *sql = g_strdup_printf("SELECT * FROM main.%s NOT INDEXED", t->name);
	bool ok = true;
	int64_t i = 0;
	int rc;

	r->table = t->name;
	rc = sqlite3_prepare_v2(r->db, sql, -1, &r->stmt, NULL);
	if (rc != SQLITE_OK)
		return row_failed(r, rc, error);
	for (; ok && (rc = sqlite3_step(r->stmt)) == SQLITE_ROW; i++)
		ok = read_row(r, t, i, error);
	if (ok && rc != SQLITE_DONE)
		ok = row_failed(r, rc, error);
	else if (ok && i < t->min_rows)
		ok = fail(error, "table \"%s\" is empty", t->name);
	sqlite3_finalize(r->stmt);
	r->stmt = NULL;
	return ok;
}

static void meta_row(struct reader *r)
{
	const char *key = get_text(r, 0);
	struct profile_info *info = &r->p->info;
	const struct {
		const char *key;
		const char **to;
	} texts[] = {
		{ "version", &info->version }, { "host", &info->host }, { "kernel", &info->kernel },
		{ "command_line", &info->command_line }, { "filters", &info->filters },
	};

	/* Keys may be added to a schema: one that we do not know is no error. */
	for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
		if (strcmp(key, texts[i].key) == 0)
			*texts[i].to = profile_string(r->p, get_text(r, 1));
	if (strcmp(key, "cpus") == 0)
		info->cpus = get_u32(r, 1);
	if (strcmp(key, "self_excluded") == 0)
		info->self_excluded = get(r, 1, 1) != 0;
	if (strcmp(key, "has_locks") == 0)
		info->has_locks = get(r, 1, 1) != 0;
	if (strcmp(key, "has_blame") == 0)
		info->has_blame = get(r, 1, 1) != 0;
	if (strcmp(key, "has_storms") == 0)
		info->has_storms = get(r, 1, 1) != 0;
	if (strcmp(key, "has_wakers") == 0)
		info->has_wakers = get(r, 1, 1) != 0;
}

static void window_row(struct reader *r)
{
	struct profile_info *info = &r->p->info;

	info->start_unix_ns = get_ns(r, 1);
	info->start_ns = get_ns(r, 2);
	info->duration_ns = get_ns(r, 3);
	info->switches = get(r, 4, PROFILE_NS_MAX);
	info->tracer_cpu_ns = get_ns(r, 5);
	info->tracer_peak_rss_bytes = get(r, 6, PROFILE_NS_MAX);
	info->has_bpf_ns = !is_null(r, 7);
	if (info->has_bpf_ns)
		info->tracer_bpf_ns = get_ns(r, 7);
}

/* A recording has one window; files that go on and on are a matter for a later schema. */
static void get_window_id(struct reader *r, int column)
{
	if (get(r, column, PROFILE_WINDOW_ID) != PROFILE_WINDOW_ID)
		wrong(r, column);
}

static void loss_row(struct reader *r)
{
	const char *reason = profile_string(r->p, get_text(r, 2));
	const char *help = profile_string(r->p, get_text(r, 3));

	get_window_id(r, 1);
	profile_add_loss(r->p, reason, help, get(r, 4, INT64_MAX), get_ns(r, 5));
}

static void string_row(struct reader *r)
{
	g_ptr_array_add(r->strings, (gpointer)profile_string(r->p, get_text(r, 1)));
}

static void frame_row(struct reader *r)
{
	struct frame f = {
		.name = get_string(r, 1),
		.module = get_string(r, 2),
		.offset = (uint64_t)sqlite3_column_int64(r->stmt, 3),
		.file = get_string(r, 4),
		.line = get_u32(r, 5),
		.kind = (uint8_t)get(r, 6, FRAME_KERNEL),
		.why = (uint8_t)get(r, 7, FRAME_WHY_COUNT - 1),
		.is_inline = get(r, 8, 1) != 0,
	};
	uint32_t id;

	if (sqlite3_column_type(r->stmt, 3) != SQLITE_INTEGER)
		wrong(r, 3);
	if (!f.name != (f.why != FRAME_NAMED))
		wrong(r, 7);
	id = profile_frame(r->p, &f);
	g_array_append_val(r->frames, id);
}

static void stack_row(struct reader *r)
{
	/* Only rows before this one are in r->nodes yet, so there is no cycle. */
	uint32_t parent = get_id(r, 1, r->nodes, true), frame = get_id(r, 2, r->frames, false);
	uint64_t depth = get(r, 3, PROFILE_DEPTH_MAX);
	uint8_t end = (uint8_t)get(r, 4, STACK_END_COUNT - 1);
	uint32_t id = 0;

	if (depth != profile_get_node(r->p, parent)->depth + 1u)
		wrong(r, 3);
	if (!r->wrong) {
		id = profile_node(r->p, parent, frame);
		profile_stack_end(r->p, id, end);
	}
	g_array_append_val(r->nodes, id);
}

static void thread_row(struct reader *r)
{
	struct thread t = {
		.pid = get_u32(r, 2),
		.tid = get_u32(r, 3),
		.start_ns = get_ns(r, 4),
		.comm = profile_string(r->p, get_text(r, 5)),
		.process = profile_string(r->p, get_text(r, 6)),
		.flags = get_u32(r, 7),
		.from_ns = get_ns(r, 8),
		.to_ns = get_ns(r, 9),
		.on_cpu_ns = get_ns(r, 10),
		.blocked_ns = get_ns(r, 11),
		.runnable_ns = get_ns(r, 12),
		.preempted_ns = get_ns(r, 13),
		.filtered_ns = get_ns(r, 14),
		.lost_ns = get_ns(r, 15),
		.switches = get(r, 16, INT64_MAX),
	};

	get_window_id(r, 1);
	if (t.from_ns > t.to_ns)
		wrong(r, 9);
	profile_add_thread(r->p, &t);
}

/* Decimal digits at *s, up to max; *s is behind them then. */
static bool parse_number(const char **s, uint64_t max, uint64_t *ret)
{
	const char *start = *s;

	*ret = 0;
	for (; g_ascii_isdigit(**s) && *s - start < 10; (*s)++)
		*ret = *ret * 10 + (uint64_t)(**s - '0');
	return *s > start && *ret <= max;
}

/* [[exponent,count],...], each exponent above the one before. */
static bool parse_hist_1(const char *s, uint32_t *hist)
{
	int last = -1;

	if (*s++ != '[')
		return false;
	while (*s == '[') {
		uint64_t slot, count;

		s++;
		if (!parse_number(&s, PROFILE_HIST_SLOTS - 1, &slot) || *s++ != ',' || (int)slot <= last)
			return false;
		if (!parse_number(&s, UINT32_MAX, &count) || *s++ != ']')
			return false;
		hist[slot] = (uint32_t)count;
		last = (int)slot;
		if (*s == ',' && s[1] == '[')
			s++;
		else
			break;
	}
	return strcmp(s, "]") == 0;
}

/* What a wait row begins with in all versions, its first column being `at`. */
static struct wait wait_columns(struct reader *r, int at)
{
	const char *state = get_text(r, at + 3);
	struct wait w = {
		.thread = get_u32(r, at),
		.user = get_id(r, at + 1, r->nodes, true),
		.kernel = get_id(r, at + 2, r->nodes, true),
		.state = (uint8_t)state[0],
		.flags = get_u8(r, at + 4),
		.count = get(r, at + 5, INT64_MAX),
		.blocked_ns = get_ns(r, at + 6),
		.runnable_ns = get_ns(r, at + 7),
		.preempted_ns = get_ns(r, at + 8),
	};

	if (w.thread >= r->p->threads->len)
		wrong(r, at);
	if (!w.state || state[1] || !strchr("SDTtPIR", w.state))
		wrong(r, at + 3);
	return w;
}

static void wait_row_1(struct reader *r)
{
	struct wait w = wait_columns(r, 2);

	get_window_id(r, 1);
	w.max_ns = get_ns(r, 11);
	if (!parse_hist_1(get_text(r, 12), w.hist))
		wrong(r, 12);
	if (!r->wrong)
		profile_add_wait(r->p, &w);
}

/* [exponent,count,...]: the counts of that slot and those that follow. */
static bool parse_hist_2(const char *s, uint32_t *hist)
{
	uint64_t slot = 0;

	if (*s++ != '[' || !parse_number(&s, PROFILE_HIST_SLOTS - 1, &slot) || *s != ',')
		return false;
	while (*s == ',' && slot < PROFILE_HIST_SLOTS) {
		uint64_t count;

		s++;
		if (!parse_number(&s, UINT32_MAX, &count))
			return false;
		hist[slot++] = (uint32_t)count;
	}
	return strcmp(s, "]") == 0;
}

static void wait_row_2(struct reader *r)
{
	struct wait w = wait_columns(r, 1);
	uint64_t off_cpu_ns = wait_off_cpu_ns(&w);

	/* Only of one wait do the duration and its slot say all. */
	if (w.count != 1 || !is_null(r, 10))
		w.max_ns = get_ns(r, 10);
	else
		w.max_ns = MIN(off_cpu_ns, PROFILE_NS_MAX);
	if (w.count == 1 && is_null(r, 11))
		w.hist[profile_hist_slot(off_cpu_ns)] = 1;
	else if (!parse_hist_2(get_text(r, 11), w.hist))
		wrong(r, 11);
	if (!r->wrong)
		profile_add_wait(r->p, &w);
}

/* One text of a row: it is valid until the next one is asked for. */
static const char *own_text(struct reader *r, int column)
{
	return profile_string(r->p, get_text(r, column));
}

static void object_row(struct reader *r)
{
	enum lock_kind kind = LOCK_FUTEX;
	struct object o = {
		.is_private = get(r, 2, 1) != 0,
		.operation = own_text(r, 3),
		.name = own_text(r, 4),
		.place = own_text(r, 5),
		.pid = get_u32(r, 6),
		.addr = (uint64_t)sqlite3_column_int64(r->stmt, 7),
		.holder_tid = is_null(r, 8) ? 0 : get_u32(r, 8),
	};

	if (!lock_kind_parse(get_text(r, 1), &kind))
		wrong(r, 1);
	if (sqlite3_column_type(r->stmt, 7) != SQLITE_INTEGER)
		wrong(r, 7);
	o.kind = (uint8_t)kind;
	uint32_t id = profile_object(r->p, &o);
	g_array_append_val(r->objects, id);
}

static void wait_row_3(struct reader *r)
{
	struct wait w = wait_columns(r, 1);
	uint64_t off_cpu_ns = wait_off_cpu_ns(&w);

	/* Only of one wait do the duration and its slot say all. */
	if (!is_null(r, 10))
		w.off_cpu_se_ns = get_ns(r, 10);
	if (w.count != 1 || !is_null(r, 11))
		w.max_ns = get_ns(r, 11);
	else
		w.max_ns = MIN(off_cpu_ns, PROFILE_NS_MAX);
	if (w.count == 1 && is_null(r, 12))
		w.hist[profile_hist_slot(off_cpu_ns)] = 1;
	else if (!parse_hist_2(get_text(r, 12), w.hist))
		wrong(r, 12);
	if (!is_null(r, 13))
		w.object = get_id(r, 13, r->objects, false) + 1;
	if (!r->wrong) {
		uint32_t id = profile_add_wait(r->p, &w);
		g_array_append_val(r->waits, id);
	}
}

static void state_row(struct reader *r)
{
	const char *state = get_text(r, 2);
	const struct state_total t = {
		.thread = get_u32(r, 1),
		.state = (uint8_t)state[0],
		.count = get(r, 3, INT64_MAX),
		.blocked_ns = get_ns(r, 4),
		.runnable_ns = get_ns(r, 5),
		.preempted_ns = get_ns(r, 6),
	};

	if (t.thread >= r->p->threads->len)
		wrong(r, 1);
	if (!t.state || state[1] || !strchr("SDTtPIR", t.state))
		wrong(r, 2);
	if (!r->wrong)
		profile_add_state(r->p, &t);
}

static void sampling_row(struct reader *r)
{
	struct profile_sampling *sampling = &r->p->info.sampling;

	get_window_id(r, 1);
	*sampling = (struct profile_sampling){
		.start_ns = get_ns(r, 2),
		.end_ns = get_ns(r, 3),
		.max_ns = get_ns(r, 4),
		.raised_cnt = get_u32(r, 5),
		.lowered_cnt = get_u32(r, 6),
		.over_cnt = get_u32(r, 7),
		.budget_ppm = get_u32(r, 8),
		.has_used = !is_null(r, 9) && !is_null(r, 10),
	};
	if (sampling->has_used) {
		sampling->used_ppm = get_u32(r, 9);
		sampling->peak_ppm = get_u32(r, 10);
	}
}

static void waker_row(struct reader *r)
{
	struct waker w = {
		.pid = get_u32(r, 1),
		.tid = get_u32(r, 2),
		.start_ns = get_ns(r, 3),
		.comm = get_text(r, 4),
	};
	g_autofree char *comm = g_strdup(w.comm);	/* valid until the next text is asked for */

	w.comm = comm;
	w.irq = is_null(r, 5) ? NULL : get_text(r, 5);
	w.user = get_id(r, 6, r->nodes, true);
	w.kernel = get_id(r, 7, r->nodes, true);
	uint32_t id = profile_waker(r->p, &w);
	g_array_append_val(r->wakers, id);
}

static void wake_row(struct reader *r)
{
	struct wake w = {
		.wait = get_id(r, 1, r->waits, false),
		.waker = get_id(r, 2, r->wakers, false),
		.count = get(r, 3, INT64_MAX),
		.blocked_ns = get_ns(r, 4),
		.runnable_ns = get_ns(r, 5),
	};

	if (!parse_hist_2(get_text(r, 6), w.hist))
		wrong(r, 6);
	if (!r->wrong) {
		uint32_t id = profile_add_wake(r->p, &w);
		g_array_append_val(r->wakes, id);
	}
}

static void chain_row(struct reader *r)
{
	struct chain_node c = {
		.waker = get_id(r, 1, r->wakers, false),
		.end = (uint8_t)get(r, 3, CHAIN_END_COUNT - 1),
		.loop_steps = (uint8_t)get(r, 4, PROFILE_CHAIN_MAX),
	};

	/* Only rows before this one are in r->chains yet, so there is no cycle. */
	if (!is_null(r, 2))
		c.next = get_id(r, 2, r->chains, false) + 1;
	if ((c.end == CHAIN_GOES_ON) != (c.next > 0))
		wrong(r, 3);
	if (r->wrong)
		return;
	if (c.next && profile_chain_len(r->p, c.next - 1) >= PROFILE_CHAIN_MAX) {
		wrong(r, 2);
		return;
	}
	uint32_t id = profile_chain(r->p, &c);
	g_array_append_val(r->chains, id);
}

static void story_row(struct reader *r)
{
	const struct story s = {
		.wake = get_id(r, 1, r->wakes, false),
		.chain = get_id(r, 2, r->chains, false),
		.count = get(r, 3, INT64_MAX),
		.blocked_ns = get_ns(r, 4),
		.runnable_ns = get_ns(r, 5),
		.rest_ns = get_ns(r, 6),
	};

	if (!r->wrong)
		profile_add_story(r->p, &s);
}

static void hop_row(struct reader *r)
{
	const uint32_t story = get_u32(r, 1);
	const uint64_t step = get(r, 2, PROFILE_CHAIN_MAX);
	const struct hop hop = { .ran_ns = get_ns(r, 3), .runnable_ns = get_ns(r, 4), .earlier_ns = get_ns(r, 5) };

	if (story >= r->p->stories->len)
		wrong(r, 1);
	else if (!step || step > profile_chain_len(r->p, profile_story(r->p, story)->chain))
		wrong(r, 2);
	if (!r->wrong)
		g_array_index(r->p->stories, struct story, story).hop[step - 1] = hop;
}

static bool read_tables(struct reader *r, const struct table *tables, size_t cnt, GError **error)
{
	for (size_t i = 0; i < cnt; i++)
		if (!read_table(r, &tables[i], error))
			return false;
	return true;
}

static void blame_row(struct reader *r)
{
	const struct blame b = {
		.thread = get_u32(r, 1),
		.kind = (uint8_t)get(r, 2, BLAME_THROTTLED),
		.pid = get_u32(r, 3),
		.tid = get_u32(r, 4),
		.comm = get_text(r, 5),
		.count = get(r, 6, INT64_MAX),
		.runnable_ns = get_ns(r, 7),
		.preempted_ns = get_ns(r, 8),
	};

	if (b.thread >= r->p->threads->len)
		wrong(r, 1);
	if (b.kind < BLAME_THREAD)
		wrong(r, 2);
	if (!r->wrong)
		profile_add_blame(r->p, &b);
}

static void storm_row(struct reader *r)
{
	const struct storm s = {
		.waker = get_id(r, 1, r->wakers, false),
		.event_cnt = get(r, 2, INT64_MAX),
		.call_cnt = get(r, 3, INT64_MAX),
		.woken_cnt = get(r, 4, INT64_MAX),
		.most_cnt = get(r, 5, INT64_MAX),
		.ended_cnt = get(r, 6, INT64_MAX),
		.again_cnt = get(r, 7, INT64_MAX),
		.cpu_ns = get_ns(r, 8),
		.again_ns = get_ns(r, 9),
		.delay_ns = get_ns(r, 10),
	};

	if (!r->wrong)
		profile_add_storm(r->p, &s);
}

static bool read_version(struct reader *r, unsigned version, GError **error)
{
	static void (*const wait_rows[])(struct reader *) = { NULL, wait_row_1, wait_row_2, wait_row_3 };
	const struct table tables[] = {
		{ "meta", -1, 0, 64, meta_row },
		{ "window", PROFILE_WINDOW_ID, 1, 1, window_row },
		{ "loss", 0, 0, 1024, loss_row },
		{ "string", 0, 0, 3 * PROFILE_ROWS_MAX, string_row },
		{ "frame", 0, 0, PROFILE_ROWS_MAX, frame_row },
		{ "stack", 1, 0, PROFILE_NODES_MAX, stack_row },
		{ "thread", 0, 0, PROFILE_ROWS_MAX, thread_row },
	};
	const struct table object = { "object", 0, 0, PROFILE_ROWS_MAX, object_row };
	const struct table wait = { "wait", 0, 0, PROFILE_ROWS_MAX, wait_rows[version] };
	const struct table since_3[] = {
		{ "state_total", 0, 0, PROFILE_ROWS_MAX, state_row },
		{ "sampling", PROFILE_WINDOW_ID, 0, 1, sampling_row },
		{ "waker", 0, 0, PROFILE_ROWS_MAX, waker_row },
		{ "wake", 0, 0, PROFILE_ROWS_MAX, wake_row },
		{ "chain", 0, 0, PROFILE_ROWS_MAX, chain_row },
		{ "story", 0, 0, PROFILE_ROWS_MAX, story_row },
		{ "hop", 0, 0, PROFILE_CHAIN_MAX * PROFILE_ROWS_MAX, hop_row },
		{ "blame", 0, 0, PROFILE_ROWS_MAX, blame_row },
		{ "storm", 0, 0, PROFILE_ROWS_MAX, storm_row },
	};

	return read_tables(r, tables, G_N_ELEMENTS(tables), error) &&
	       (version < 3 || read_table(r, &object, error)) && read_table(r, &wait, error) &&
	       (version < 3 || read_tables(r, since_3, G_N_ELEMENTS(since_3), error));
}

static bool read_rows(sqlite3 *db, struct profile *p, uint64_t text_budget_bytes, unsigned version, GError **error)
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
	};

	g_array_append_val(r.nodes, root);
	bool ok = read_version(&r, version, error);

	g_ptr_array_unref(r.strings);
	g_array_unref(r.frames);
	g_array_unref(r.nodes);
	g_array_unref(r.objects);
	g_array_unref(r.waits);
	g_array_unref(r.wakers);
	g_array_unref(r.wakes);
	g_array_unref(r.chains);
	return ok;
}

bool profile_read_rows_1(sqlite3 *db, struct profile *p, uint64_t text_budget_bytes, GError **error)
{
	return read_rows(db, p, text_budget_bytes, 1, error);
}

bool profile_read_rows_2(sqlite3 *db, struct profile *p, uint64_t text_budget_bytes, GError **error)
{
	return read_rows(db, p, text_budget_bytes, 2, error);
}

bool profile_read_rows_3(sqlite3 *db, struct profile *p, uint64_t text_budget_bytes, GError **error)
{
	return read_rows(db, p, text_budget_bytes, 3, error);
}
