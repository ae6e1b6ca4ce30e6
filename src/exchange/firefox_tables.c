/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/firefox.h"

#include <inttypes.h>

#include "base/hash.h"
#include "features/requests/rows.h"
#include "profile/profile.h"

#define NONE UINT32_MAX

struct stack_key {
	uint32_t prefix, frame; /* prefix NONE: outermost */
	uint32_t category;
};

struct sample {
	uint32_t stack;
	uint64_t at_ns, weight_ns;
};

HASH_KEY(key, struct stack_key, prefix, frame, category)

static uint32_t text_id(struct firefox_track *t, const char *text)
{
	uint32_t id = strset_id(t->strings, text ? text : "");

	if (id == t->texts->len)
		g_ptr_array_add(t->texts, (gpointer)strset_get(t->strings, id));
	return id;
}

static enum reason reason_of(const struct firefox *w, uint32_t wait)
{
	return w->plan->single_waits ? reasons_by_rule(w->reasons, wait) : reasons_of(w->reasons, wait);
}

/* For blocked time: what the thread waits for. */
static enum category category_of(const struct firefox *w, uint32_t wait)
{
	return (enum category)reason_family(reason_of(w, wait));
}

static bool is_queued(const struct wait *wait)
{
	return wait->state == 'R';
}

/* --- the tables of a thread --- */

static uint32_t track_frame(struct firefox_track *t, uint32_t of_list)
{
	guint at = GPOINTER_TO_UINT(g_hash_table_lookup(t->frame_ids, GUINT_TO_POINTER(of_list)));

	if (!at) {
		g_array_append_val(t->frames, of_list);
		at = t->frames->len;
		g_hash_table_insert(t->frame_ids, GUINT_TO_POINTER(of_list), GUINT_TO_POINTER(at));
	}
	return at - 1;
}

static uint32_t track_stack(struct firefox *w, struct firefox_track *t, const GArray *path, enum category category)
{
	uint32_t prefix = NONE;

	for (guint i = 0; i < path->len; i++) {
		struct stack_key key = { prefix, track_frame(t, w->frames->id_of[g_array_index(path, uint32_t, i)]),
					category };
		guint at = GPOINTER_TO_UINT(g_hash_table_lookup(t->stack_ids, &key));

		if (!at) {
			g_array_append_val(t->stacks, key);
			at = t->stacks->len;
			g_hash_table_insert(t->stack_ids, g_memdup2(&key, sizeof(key)), GUINT_TO_POINTER(at));
		}
		prefix = at - 1;
	}
	return prefix;
}

static void add_sample(struct firefox *w, struct firefox_track *t, const GArray *path, enum category category,
		       uint64_t ns, uint64_t *at_ns)
{
	struct sample sample = { .at_ns = *at_ns, .weight_ns = ns };

	if (!ns)
		return;
	sample.stack = track_stack(w, t, path, category);
	g_array_append_val(t->samples, sample);
	*at_ns += ns;
}

/* Start of a single wait, relative to the window's. */
static uint64_t single_start_ns(const struct firefox *w, const struct wait *wait)
{
	return wait->max_start_unix_ns - MIN(wait->max_start_unix_ns, w->p->info.start_unix_ns);
}

static void add_samples(struct firefox *w, struct firefox_track *t, GArray *path)
{
	uint64_t at_ns = 0;

	for (guint i = 0; i < t->waits->len; i++) {
		const uint32_t id = g_array_index(t->waits, uint32_t, i);
		const struct wait *wait = profile_wait(w->p, id);

		if (w->plan->single_waits)
			at_ns = single_start_ns(w, wait);
		path_frames(w->p, wait->user, wait->kernel, path);
		add_sample(w, t, path, category_of(w, id), wait->blocked_ns, &at_ns);
		add_sample(w, t, path, CATEGORY_RUN_QUEUE, wait->runnable_ns, &at_ns);
		add_sample(w, t, path, CATEGORY_PREEMPTED, wait->preempted_ns, &at_ns);
		add_sample(w, t, path, (enum category)FAMILY_ON_CPU, wait->on_cpu_ns, &at_ns);
	}
}

/* --- JSON --- */

/* In milliseconds, exact to the nanosecond. */
static void append_ms(struct json *j, uint64_t ns)
{
	char text[40];
	int len = g_snprintf(text, sizeof(text), "%" PRIu64 ".%06" PRIu64, ns / 1000000, ns % 1000000);

	json_raw(j, text, (gsize)len);
}

void firefox_member_ms(struct json *j, const char *key, uint64_t ns)
{
	json_key(j, key);
	append_ms(j, ns);
}

static void id_or_null(struct json *j, uint32_t id)
{
	if (id == NONE)
		json_null(j);
	else
		json_uint(j, id);
}

/* Writes a table's column; `value` writes an element. */
typedef void (*column_fn)(struct firefox *w, struct firefox_track *t, guint i);

/* Defines such a function of one statement. */
#define PUTS(name, put) static void put_##name(struct firefox *w, struct firefox_track *t, guint i) { put; }

static void column(struct firefox *w, struct firefox_track *t, const char *key, guint cnt, column_fn value)
{
	JSON_ARRAY(&w->json, key)
		for (guint i = 0; i < cnt; i++)
			value(w, t, i);
	writer_flush(w->writer);
}

PUTS(null, json_null(&w->json))
PUTS(zero, json_uint(&w->json, 0))
PUTS(one, json_uint(&w->json, 1))
PUTS(false, json_bool(&w->json, false))
PUTS(index, json_uint(&w->json, i))

static const struct frame *frame_at(const struct firefox *w, const struct firefox_track *t, guint i)
{
	return frame_list_frame(w->frames, g_array_index(t->frames, uint32_t, i));
}

static void put_frame_address(struct firefox *w, struct firefox_track *t, guint i)
{
	if (frame_at(w, t, i)->module && frame_at(w, t, i)->offset <= G_MAXINT64)
		json_uint(&w->json, frame_at(w, t, i)->offset);
	else
		json_int(&w->json, -1);
}

PUTS(frame_inline, json_uint(&w->json, frame_at(w, t, i)->is_inline))
PUTS(frame_line, id_or_null(&w->json, frame_at(w, t, i)->line ? frame_at(w, t, i)->line : NONE))
PUTS(func_name, json_uint(&w->json, text_id(t, frame_list_label(w->frames, g_array_index(t->frames, uint32_t, i)))))
PUTS(func_file, id_or_null(&w->json, frame_at(w, t, i)->file ? text_id(t, frame_at(w, t, i)->file) : NONE))

static void put_func_resource(struct firefox *w, struct firefox_track *t, guint i)
{
	if (frame_at(w, t, i)->module)
		json_uint(&w->json, strset_id(w->modules, frame_at(w, t, i)->module));
	else
		json_int(&w->json, -1);
}

PUTS(module_name, json_uint(&w->json, text_id(t, g_array_index(w->module_names, const char *, i))))
PUTS(stack_frame, json_uint(&w->json, g_array_index(t->stacks, struct stack_key, i).frame))
PUTS(stack_prefix, id_or_null(&w->json, g_array_index(t->stacks, struct stack_key, i).prefix))
PUTS(stack_category, json_uint(&w->json, g_array_index(t->stacks, struct stack_key, i).category))
PUTS(sample_stack, id_or_null(&w->json, g_array_index(t->samples, struct sample, i).stack))
PUTS(sample_time, append_ms(&w->json, g_array_index(t->samples, struct sample, i).at_ns))
PUTS(sample_weight, append_ms(&w->json, g_array_index(t->samples, struct sample, i).weight_ns))
PUTS(text, json_string(&w->json, g_ptr_array_index(t->texts, i)))

static void begin_table(struct firefox *w, const char *key, guint cnt)
{
	json_member_object(&w->json, key);
	json_member_uint(&w->json, "length", cnt);
}

static void write_samples(struct firefox *w, struct firefox_track *t)
{
	guint cnt = t->samples->len;

	begin_table(w, "samples", cnt);
	json_member_string(&w->json, "weightType", "tracing-ms");
	column(w, t, "stack", cnt, put_sample_stack);
	column(w, t, "time", cnt, put_sample_time);
	column(w, t, "weight", cnt, put_sample_weight);
	column(w, t, "threadCPUDelta", cnt, put_zero);
	json_object_end(&w->json);
}

static void write_code_tables(struct firefox *w, struct firefox_track *t)
{
	guint frames = t->frames->len, stacks = t->stacks->len, modules = w->module_names->len;

	begin_table(w, "stackTable", stacks);
	column(w, t, "frame", stacks, put_stack_frame);
	column(w, t, "prefix", stacks, put_stack_prefix);
	column(w, t, "category", stacks, put_stack_category);
	column(w, t, "subcategory", stacks, put_zero);
	json_object_end(&w->json);
	begin_table(w, "frameTable", frames);
	column(w, t, "address", frames, put_frame_address);
	column(w, t, "inlineDepth", frames, put_frame_inline);
	column(w, t, "category", frames, put_null);
	column(w, t, "subcategory", frames, put_null);
	column(w, t, "func", frames, put_index);
	column(w, t, "nativeSymbol", frames, put_null);
	column(w, t, "innerWindowID", frames, put_null);
	column(w, t, "implementation", frames, put_null);
	column(w, t, "line", frames, put_frame_line);
	column(w, t, "column", frames, put_null);
	json_object_end(&w->json);
	begin_table(w, "funcTable", frames);
	column(w, t, "name", frames, put_func_name);
	column(w, t, "isJS", frames, put_false);
	column(w, t, "relevantForJS", frames, put_false);
	column(w, t, "resource", frames, put_func_resource);
	column(w, t, "fileName", frames, put_func_file);
	column(w, t, "lineNumber", frames, put_null);
	column(w, t, "columnNumber", frames, put_null);
	json_object_end(&w->json);
	begin_table(w, "resourceTable", modules);
	column(w, t, "lib", modules, put_index);
	column(w, t, "name", modules, put_module_name);
	column(w, t, "host", modules, put_null);
	column(w, t, "type", modules, put_one);
	json_object_end(&w->json);
	begin_table(w, "nativeSymbols", 0);
	column(w, t, "libIndex", 0, put_null);
	column(w, t, "address", 0, put_null);
	column(w, t, "name", 0, put_null);
	column(w, t, "functionSize", 0, put_null);
	json_object_end(&w->json);
}

/* --- markers --- */

static uint32_t marker_wait(const struct firefox_track *t, guint i)
{
	return g_array_index(t->waits, uint32_t, i);
}

static void put_marker_name(struct firefox *w, struct firefox_track *t, guint i)
{
	const uint32_t id = marker_wait(t, i);
	const uint8_t state = profile_wait(w->p, id)->state;

	const struct rows_kind *kind = profile_rows_kind(w->p->info.rows_are);

	json_uint(&w->json, text_id(t, kind ? kind->one : state == '?' ? "off CPU" : reason_text(reason_of(w, id))));
}

static void put_marker_category(struct firefox *w, struct firefox_track *t, guint i)
{
	const uint32_t id = marker_wait(t, i);
	const struct wait *wait = profile_wait(w->p, id);

	json_uint(&w->json, !is_queued(wait)	  ? category_of(w, id)
			    : wait->preempted_ns ? CATEGORY_PREEMPTED
						 : CATEGORY_RUN_QUEUE);
}

/* The waker that ended most of the blocked time; of a single wait, the one that ended it. */
static const struct waker *main_waker(const struct firefox *w, uint32_t wait)
{
	const struct wake *most = NULL;

	for (uint32_t i = w->wakes->first[wait]; i < w->wakes->first[wait + 1]; i++) {
		const struct wake *wake = profile_wake(w->p, w->wakes->order[i]);

		if (!most || wake->blocked_ns > most->blocked_ns)
			most = wake;
	}
	if (w->plan->single_waits && profile_wait(w->p, wait)->max_waker)
		return profile_get_waker(w->p, profile_wait(w->p, wait)->max_waker - 1);
	return most ? profile_get_waker(w->p, most->waker) : NULL;
}

/* The request's context, if known. */
static void put_context(struct firefox *w, uint32_t node, const char *trace, const char *span)
{
	g_autoptr(GString) route = g_string_new(NULL);

	if (node && context_append_route(w->p, node, route))
		json_member_string(&w->json, "route", route->str);
	if (!trace)
		return;
	json_member_string(&w->json, "trace", trace);
	json_member_string(&w->json, "span", span);
}

/* Unknown values are omitted. */
static void put_marker_data(struct firefox *w, struct firefox_track *t, guint i)
{
	uint32_t id = marker_wait(t, i), unknown = w->p->info.unknown;
	const struct wait *wait = profile_wait(w->p, id);
	const struct object *o = profile_wait_object(w->p, wait);
	const struct waker *waker = main_waker(w, id);
	const struct wait_trace *trace = profile_trace_of(w->p, id);
	g_autoptr(GString) text = g_string_new(NULL);
	struct json *j = &w->json;

	json_object_begin(j);
	json_member_string(j, "type", "Wait");
	if (!(unknown & UNKNOWN_COUNTS))
		json_member_uint(j, "count", wait->count);
	firefox_member_ms(j, "total", wait_off_cpu_ns(wait));
	if (!(unknown & UNKNOWN_PARTS)) {
		firefox_member_ms(j, "blocked", wait->blocked_ns);
		firefox_member_ms(j, "runnable", wait->runnable_ns);
		firefox_member_ms(j, "preempted", wait->preempted_ns);
	}
	if (!(unknown & UNKNOWN_DURATIONS))
		firefox_member_ms(j, "max", wait->max_ns);
	json_member_text(j, "open", open_text(wait->flags));
	if (o) {
		object_text(text, o);
		json_member_string(j, "object", text->str);
	}
	put_context(w, wait->user, trace ? trace->trace : NULL, trace ? trace->span : NULL);
	if (waker)
		json_member_string(j, "waker", waker_name(waker));
	if (waker && waker->tid)
		json_member_uint(j, "wakerTid", waker->tid);
	JSON(j, "state", state_text(wait->state), "reason", reason_name(reason_of(w, id)));
	json_object_end(j);
}

/* --- markers of requests --- */

static const struct request_span *marker_span(const struct firefox *w, const struct firefox_track *t, guint i)
{
	return profile_span(w->p, g_array_index(t->spans, uint32_t, i));
}

PUTS(request_name, json_uint(&w->json, text_id(t, profile_request(w->p, marker_span(w, t, i)->func)->name)))

static void put_request_start(struct firefox *w, struct firefox_track *t, guint i)
{
	const struct request_span *s = marker_span(w, t, i);

	append_ms(&w->json, s->start_ns - MIN(s->start_ns, w->p->info.start_ns));
}

static void put_request_end(struct firefox *w, struct firefox_track *t, guint i)
{
	const struct request_span *s = marker_span(w, t, i);

	append_ms(&w->json, span_end_ns(s) - MIN(span_end_ns(s), w->p->info.start_ns));
}

static void put_request_data(struct firefox *w, struct firefox_track *t, guint i)
{
	const struct request_span *s = marker_span(w, t, i);
	struct json *j = &w->json;

	json_object_begin(j);
	json_member_string(j, "type", "Request");
	firefox_member_ms(j, "onCpu", s->on_cpu_ns);
	firefox_member_ms(j, "blocked", s->blocked_ns);
	firefox_member_ms(j, "runnable", s->runnable_ns);
	firefox_member_ms(j, "preempted", s->preempted_ns);
	put_context(w, s->context, s->trace, s->trace_span);
	json_member_uint(j, "thread", profile_thread(w->p, s->thread)->tid);
	json_object_end(j);
}

static void write_requests(struct firefox *w, struct firefox_track *t)
{
	guint cnt = t->spans->len;

	begin_table(w, "markers", cnt);
	column(w, t, "name", cnt, put_request_name);
	column(w, t, "category", cnt, put_zero);
	column(w, t, "startTime", cnt, put_request_start);
	column(w, t, "endTime", cnt, put_request_end);
	column(w, t, "phase", cnt, put_one);
	column(w, t, "data", cnt, put_request_data);
	json_object_end(&w->json);
}

/* Sums follow one another on the accumulated time axis. */
static void write_marker_times(struct firefox *w, const struct firefox_track *t, const char *key, guint cnt, bool ends)
{
	uint64_t sum_ns = 0;

	json_member_array(&w->json, key);
	for (guint i = 0; i < cnt; i++) {
		const struct wait *wait = profile_wait(w->p, marker_wait(t, i));
		const uint64_t ns = wait_off_cpu_ns(wait);

		append_ms(&w->json, (w->plan->single_waits ? single_start_ns(w, wait) : sum_ns) + (ends ? ns : 0));
		sum_ns += ns;
	}
	json_array_end(&w->json);
}

static void write_markers(struct firefox *w, struct firefox_track *t)
{
	guint cnt = t->waits->len;

	/* on-CPU samples come last and have no markers */
	while (cnt && profile_wait(w->p, marker_wait(t, cnt - 1))->state == ON_CPU_STATE)
		cnt--;
	begin_table(w, "markers", cnt);
	column(w, t, "name", cnt, put_marker_name);
	column(w, t, "category", cnt, put_marker_category);
	write_marker_times(w, t, "startTime", cnt, false);
	write_marker_times(w, t, "endTime", cnt, true);
	column(w, t, "phase", cnt, put_one);
	column(w, t, "data", cnt, put_marker_data);
	json_object_end(&w->json);
}

void firefox_track_init(struct firefox *w, struct firefox_track *t, GArray *waits, GArray *path)
{
	*t = (struct firefox_track){
		.strings = strset_new(),
		.texts = g_ptr_array_new(),
		.frame_ids = g_hash_table_new(NULL, NULL),
		.frames = g_array_new(FALSE, FALSE, sizeof(uint32_t)),
		.stack_ids = g_hash_table_new_full(key_hash, key_equal, g_free, NULL),
		.stacks = g_array_new(FALSE, FALSE, sizeof(struct stack_key)),
		.samples = g_array_new(FALSE, FALSE, sizeof(struct sample)),
		.waits = waits,
	};
	add_samples(w, t, path);
}

void firefox_track_clear(struct firefox_track *t)
{
	strset_free(t->strings);
	g_ptr_array_unref(t->texts);
	g_hash_table_unref(t->frame_ids);
	g_array_unref(t->frames);
	g_hash_table_unref(t->stack_ids);
	g_array_unref(t->stacks);
	g_array_unref(t->samples);
}

void firefox_write_track(struct firefox *w, struct firefox_track *t)
{
	write_samples(w, t);
	if (t->spans)
		write_requests(w, t);
	else
		write_markers(w, t);
	write_code_tables(w, t);
	column(w, t, "stringArray", t->texts->len, put_text);
}
