/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The Firefox Profiler's processed profile, version 48, which later versions upgrade.  A track is a thread.  A sample
 * is a part of a row of waits, weighted by its time; its category is the reason's family, or what else the thread did.
 * A marker is a row of waits with its details.  A sum of waits has no position in time: a thread's time axis is its
 * accumulated time, not the clock, and the profile says so.  Single waits (plan->single_waits) and requests
 * (features/requests/rows.h) stand at their own time; requests are markers in separate tracks.
 */
#include "exchange/firefox.h"

#include "base/module.h"
#include "features/requests/rows.h"

#define PROCESSED_VERSION 48
#define GECKO_VERSION 29

static const struct {
	const char *name, *color;
} categories[CATEGORIES] = {
	[FAMILY_OTHER] = { "Other", "grey" },
	[FAMILY_NETWORK] = { "Network", "lightblue" },
	[FAMILY_DISK] = { "Disk", "orange" },
	[FAMILY_LOCK] = { "Lock", "magenta" },
	[FAMILY_EVENT_LOOP] = { "Event loop", "blue" },
	[FAMILY_POOL_IDLE] = { "Idle", "transparent" },
	[FAMILY_SLEEP] = { "Timer", "blue" },
	[FAMILY_CHILD_EXIT] = { "Child", "purple" },
	[FAMILY_PIPE] = { "Pipe", "lightblue" },
	[FAMILY_TERMINAL] = { "Terminal", "darkgrey" },
	[FAMILY_MEMORY] = { "Memory", "brown" },
	[FAMILY_CPU] = { "CPU", "yellow" },
	[FAMILY_STOPPED] = { "Stopped", "purple" },
	[FAMILY_DEVICE] = { "Device", "orange" },
	[FAMILY_DECISION] = { "Decision", "purple" },
	[FAMILY_ON_CPU] = { "On CPU", "green" },
	[CATEGORY_RUN_QUEUE] = { "Run queue", "yellow" },
	[CATEGORY_PREEMPTED] = { "Preempted", "red" },
};

/* spans NULL: the track has the thread's waits, else its requests. */
static void write_thread(struct firefox *w, uint32_t id, GArray *waits, GArray *spans, GArray *path)
{
	const struct thread *th = profile_thread(w->p, id);
	g_autofree char *pid = g_strdup_printf("%u", th->pid);
	struct json *j = &w->json;
	struct firefox_track t;

	firefox_track_init(w, &t, waits, path);
	t.spans = spans;
	g_autofree char *requests = spans ? g_strconcat(th->comm ? th->comm : "", ", requests by the clock", NULL)
					  : NULL;
	json_object_begin(j);
	JSON(j, "name", requests ? requests : th->comm, "processName", th->process, "processType", "default");
	JSON(j, "pid", pid, "tid", th->tid, "isMainThread", (bool)(th->tid == th->pid && !spans), "registerTime", 0);
	json_key(j, "unregisterTime");
	json_null(j);
	json_member_uint(j, "processStartupTime", 0);
	json_key(j, "processShutdownTime");
	json_null(j);
	json_member_array(j, "pausedRanges");
	json_array_end(j);
	firefox_write_track(w, &t);
	json_object_end(j);
	firefox_track_clear(&t);
}

static void write_categories(struct json *j)
{
	JSON_ARRAY(j, "categories")
		for (int i = 0; i < CATEGORIES; i++) {
			json_object_begin(j);
			JSON(j, "name", categories[i].name, "color", categories[i].color);
			json_member_array(j, "subcategories");
			json_string(j, "Other");
			json_array_end(j);
			json_object_end(j);
		}
}

static void write_marker_schema(struct json *j)
{
	static const char schema[] =
		"[{\"name\":\"Wait\",\"display\":[\"marker-chart\",\"marker-table\"],"
		"\"chartLabel\":\"{marker.name}\",\"tooltipLabel\":\"{marker.name}\",\"tableLabel\":\"{marker.data.object}\",\"data\":["
		"{\"key\":\"count\",\"label\":\"Waits\",\"format\":\"integer\"},"
		"{\"key\":\"total\",\"label\":\"Off CPU\",\"format\":\"duration\"},"
		"{\"key\":\"blocked\",\"label\":\"Blocked\",\"format\":\"duration\"},"
		"{\"key\":\"runnable\",\"label\":\"Run queue\",\"format\":\"duration\"},"
		"{\"key\":\"preempted\",\"label\":\"Preempted\",\"format\":\"duration\"},"
		"{\"key\":\"max\",\"label\":\"Longest\",\"format\":\"duration\"},"
		"{\"key\":\"state\",\"label\":\"State\",\"format\":\"string\"},"
		"{\"key\":\"open\",\"label\":\"Open\",\"format\":\"string\"},"
		"{\"key\":\"reason\",\"label\":\"Reason\",\"format\":\"string\",\"searchable\":true},"
		"{\"key\":\"object\",\"label\":\"For\",\"format\":\"string\",\"searchable\":true},"
		"{\"key\":\"route\",\"label\":\"Route\",\"format\":\"string\",\"searchable\":true},"
		"{\"key\":\"trace\",\"label\":\"Trace of the longest\",\"format\":\"string\",\"searchable\":true},"
		"{\"key\":\"span\",\"label\":\"Its span\",\"format\":\"string\"},"
		"{\"key\":\"waker\",\"label\":\"Woken by\",\"format\":\"string\",\"searchable\":true},"
		"{\"key\":\"wakerTid\",\"label\":\"Woken by thread\",\"format\":\"integer\"}]},"
		"{\"name\":\"Request\",\"display\":[\"marker-chart\",\"marker-table\",\"timeline-overview\"],"
		"\"chartLabel\":\"{marker.name}\",\"tooltipLabel\":\"{marker.name}\",\"tableLabel\":\"{marker.name}\",\"data\":["
		"{\"key\":\"onCpu\",\"label\":\"On CPU\",\"format\":\"duration\"},"
		"{\"key\":\"blocked\",\"label\":\"Blocked\",\"format\":\"duration\"},"
		"{\"key\":\"runnable\",\"label\":\"Run queue\",\"format\":\"duration\"},"
		"{\"key\":\"preempted\",\"label\":\"Preempted\",\"format\":\"duration\"},"
		"{\"key\":\"route\",\"label\":\"Route\",\"format\":\"string\",\"searchable\":true},"
		"{\"key\":\"trace\",\"label\":\"Trace\",\"format\":\"string\",\"searchable\":true},"
		"{\"key\":\"span\",\"label\":\"Span\",\"format\":\"string\"},"
		"{\"key\":\"thread\",\"label\":\"Thread\",\"format\":\"integer\"}]}]";

	json_key(j, "markerSchema");
	json_raw(j, schema, sizeof(schema) - 1);
}

static void write_meta(struct firefox *w)
{
	static const char units[] = "{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"}";
	static const char none[] = "{\"length\":0,\"id\":[],\"name\":[],\"baseURL\":[]}";
	const struct profile_info *info = &w->p->info;
	struct json *j = &w->json;

	json_member_object(j, "meta");
	JSON(j, "version", GECKO_VERSION, "preprocessedProfileVersion", PROCESSED_VERSION);
	g_autofree char *sums = g_strdup_printf("offcpu: sums of %s; the axis is each thread's sum, not the clock",
						profile_rows_word(info->rows_are, 2));

	JSON(j, "product", w->plan->single_waits ? "offcpu: waits, by the clock" : sums, "interval", 1);
	firefox_member_ms(j, "startTime", info->start_unix_ns);
	JSON(j, "processType", 0, "stackwalk", 1, "debug", 0, "symbolicated", (bool)true);
	JSON(j, "usesOnlyOneStackType", (bool)true, "doesNotUseFrameImplementation", (bool)true);
	JSON(j, "sourceCodeIsNotOnSearchfox", (bool)true, "oscpu", info->kernel, "arguments", info->command_line);
	json_key(j, "sampleUnits");
	json_raw(j, units, sizeof(units) - 1);
	json_key(j, "extensions");
	json_raw(j, none, sizeof(none) - 1);
	write_categories(j);
	write_marker_schema(j);
	json_object_end(j);
}

static void write_libs(struct firefox *w)
{
	struct json *j = &w->json;

	for (guint i = 0; i < w->p->frames->len; i++) {
		const char *module = profile_get_frame(w->p, i)->module;

		if (module && strset_id(w->modules, module) == w->module_names->len)
			g_array_append_val(w->module_names, module);
	}
	JSON_ARRAY(j, "libs")
		for (guint i = 0; i < w->module_names->len; i++) {
			const char *path = g_array_index(w->module_names, const char *, i);

			json_object_begin(j);
			JSON(j, "name", module_base_name(path), "path", path, "debugName", module_base_name(path));
			JSON(j, "debugPath", path, "breakpadId", "", "codeId", profile_build_id(w->p, path));
			json_member_string(j, "arch", NULL);
			json_object_end(j);
		}
}

/* The waits of each thread; NULL for a thread without any. */
static GPtrArray *waits_by_thread(const struct profile *p, const struct export_plan *plan)
{
	GPtrArray *by = g_ptr_array_new();

	g_ptr_array_set_size(by, (gint)p->threads->len);
	for (uint32_t i = 0; i < p->waits->len; i++) {
		GArray **waits = (GArray **)&g_ptr_array_index(by, profile_wait(p, i)->thread);

		if (!plan_has(plan, i))
			continue;
		if (!*waits)
			*waits = g_array_new(FALSE, FALSE, sizeof(uint32_t));
		g_array_append_val(*waits, i);
	}
	return by;
}

/* A track for each thread that served requests, which may be nested. */
static void write_requests(struct firefox *w, GArray *path)
{
	g_autoptr(GPtrArray) by_thread = g_ptr_array_new();
	g_autoptr(GArray) no_waits = g_array_new(FALSE, FALSE, sizeof(uint32_t));

	g_ptr_array_set_size(by_thread, (gint)w->p->threads->len);
	for (uint32_t i = 0; i < w->p->spans->len; i++) {
		const uint32_t thread = profile_span(w->p, i)->thread;
		GArray **spans = (GArray **)&g_ptr_array_index(by_thread, thread);

		if (w->plan->selection && !w->plan->selection->threads[thread])
			continue;
		if (!*spans)
			*spans = g_array_new(FALSE, FALSE, sizeof(uint32_t));
		g_array_append_val(*spans, i);
	}
	for (uint32_t i = 0; i < w->p->threads->len; i++) {
		GArray *spans = g_ptr_array_index(by_thread, i);

		if (!spans)
			continue;
		write_thread(w, i, no_waits, spans, path);
		g_array_unref(spans);
	}
}

void write_firefox(struct writer *writer, const struct profile *p, const struct export_plan *plan)
{
	struct firefox w = {
		.p = p,
		.plan = plan,
		.writer = writer,
		.frames = frame_list_new(p),
		.modules = strset_new(),
		.module_names = g_array_new(FALSE, FALSE, sizeof(const char *)),
		.wakes = wakes_by_wait_new(p),
		.reasons = reasons_new(p, NULL),
	};
	g_autoptr(GPtrArray) by_thread = waits_by_thread(p, plan);
	g_autoptr(GArray) path = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	struct json *j = &w.json;

	json_begin(j, writer_text(writer));
	write_meta(&w);
	write_libs(&w);
	json_member_array(j, "pages");
	json_array_end(j);
	json_member_array(j, "threads");
	for (uint32_t i = 0; i < p->threads->len; i++) {
		GArray *waits = g_ptr_array_index(by_thread, i);

		if (!waits)
			continue;
		write_thread(&w, i, waits, NULL, path);
		g_array_unref(waits);
	}
	write_requests(&w, path);
	json_array_end(j);
	json_object_end(j);
	g_string_append_c(writer_text(writer), '\n');
	frame_list_free(w.frames);
	strset_free(w.modules);
	g_array_unref(w.module_names);
	wakes_by_wait_free(w.wakes);
	reasons_free(w.reasons);
}
