/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A Perfetto trace: processes, threads, and a stack sample for each row of waits (TracePacket.stack_sample, trace
 * processor v58 and later), weighted by its off-CPU time.  A sum of waits is located in time only by the window's
 * slices (features/slices/rows.h): a row has a sample at the start of each slice in which it has time.  Without
 * slices, all samples stand at the window's start.  Requests (features/requests/rows.h) have their own time: each is a
 * slice on its thread's track, or on a track beside it if a thread serves several at a time.  Each row's longest wait
 * is a slice on a track below its thread's, with an arrow from its waker to its end.
 */
#include <string.h>

#include "analyse/weight.h"
#include "base/hash.h"
#include "base/parse.h"
#include "base/wire.h"
#include "exchange/parts.h"
#include "exchange/perfetto.h"
#include "features/requests/rows.h"
#include "features/slices/rows.h"
#include "features/wakers/analysis.h"

/* Approximate number of samples: rows times parts of the window.  With more rows, parts are longer. */
#define CELLS_MAX (1 << 17)
#define LANES_MAX 16	/* requests of a thread shown side by side; further ones share the last track */
#define WAITS_LANE (LANES_MAX - 1)	/* track of the longest waits; requests do not use it */

struct perfetto {
	const struct profile *p;
	struct writer *writer;
	struct frame_list *frames;
	GHashTable *mappings; /* interned module -> iid */
	GHashTable *stacks; /* uint64_t: nodes of user and kernel stack -> iid */
	GHashTable *tracks; /* uint64_t: ids of tracks already written */
	GString *packet, *a, *b;
};

static void end_packet(struct perfetto *w)
{
	perfetto_end_packet(w->writer, w->packet);
}

static void write_clocks(struct perfetto *w)
{
	g_string_truncate(w->a, 0);
	perfetto_append_clock(w->a, w->b, CLOCK_IS_MONOTONIC, w->p->info.start_ns);
	perfetto_append_clock(w->a, w->b, CLOCK_IS_REALTIME, w->p->info.start_unix_ns);
	wire_uint(w->a, CLOCKS_PRIMARY, CLOCK_IS_MONOTONIC);
	wire_message(w->packet, PACKET_CLOCKS, w->a);
	end_packet(w);
}

static void append_process(struct perfetto *w, const struct thread *t, GHashTable *seen)
{
	if (!g_hash_table_add(seen, GUINT_TO_POINTER(t->pid)))
		return;
	g_string_truncate(w->b, 0);
	wire_uint(w->b, TREE_PROCESS_PID, t->pid);
	wire_string(w->b, TREE_PROCESS_CMDLINE, t->process);
	wire_message(w->a, TREE_PROCESS, w->b);
}

static void write_process_tree(struct perfetto *w, const struct export_plan *plan)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);

	g_string_truncate(w->a, 0);
	EACH_ROW(i, const struct thread, t, w->p->threads) {
		if (plan->selection && !plan->selection->threads[i])
			continue;
		append_process(w, t, seen);
		perfetto_append_thread(w->a, w->b, t->pid, t->tid, t->comm);
	}
	wire_message(w->packet, PACKET_PROCESS_TREE, w->a);
	wire_uint(w->packet, PACKET_TIMESTAMP, w->p->info.start_ns);
	end_packet(w);
}

static void intern(struct perfetto *w, GString *interned, unsigned field, uint64_t iid, const char *text)
{
	perfetto_intern(interned, w->b, field, iid, text, strlen(text));
}

static uint64_t mapping_iid(struct perfetto *w, GString *interned, const char *module)
{
	guint iid = module ? GPOINTER_TO_UINT(g_hash_table_lookup(w->mappings, module)) : 0;
	const char *hex = module ? profile_build_id(w->p, module) : NULL;
	uint8_t bytes[PROFILE_BUILD_ID_MAX_DIGITS / 2];

	if (!module || iid)
		return iid;
	iid = g_hash_table_size(w->mappings) + 1;
	g_hash_table_insert(w->mappings, (gpointer)module, GUINT_TO_POINTER(iid));
	intern(w, interned, INTERNED_PATH, iid, module);
	if (hex)	/* bytes in file order */
		perfetto_intern(interned, w->b, INTERNED_BUILD_ID, iid, bytes, hex_bytes(bytes, sizeof(bytes), hex));
	g_string_truncate(w->b, 0);
	wire_uint(w->b, MAPPING_IID, iid);
	wire_uint(w->b, MAPPING_BUILD_ID, hex ? iid : 0);
	wire_uint(w->b, MAPPING_PATH, iid);
	wire_message(interned, INTERNED_MAPPING, w->b);
	return iid;
}

/* Writes frames of all stacks and defaults of samples. */
static void write_interned(struct perfetto *w)
{
	g_autoptr(GString) interned = g_string_new(NULL);

	for (guint i = 0; i < w->frames->first->len; i++) {
		const struct frame *f = frame_list_frame(w->frames, i);
		uint64_t mapping = mapping_iid(w, interned, f->module);

		intern(w, interned, INTERNED_FUNCTION_NAME, i + 1, frame_list_label(w->frames, i));
		perfetto_intern_frame(interned, w->b, i + 1, mapping, f->offset);
	}
	wire_message(w->packet, PACKET_INTERNED, interned);
	perfetto_append_defaults(w->packet, CLOCK_IS_MONOTONIC, w->p->info.rows_are);
	end_packet(w);
}

/* The iid of the wait's stack, which is written into the packet on first use; 0: no frames. */
static guint callstack_iid(struct perfetto *w, const struct wait *wait, GArray *path)
{
	const uint64_t key = (uint64_t)wait->user << 32 | wait->kernel;
	guint iid = GPOINTER_TO_UINT(g_hash_table_lookup(w->stacks, &key));

	if (iid)
		return iid;
	path_frames(w->p, wait->user, wait->kernel, path);
	if (!path->len)
		return 0;
	iid = g_hash_table_size(w->stacks) + 1;
	g_hash_table_insert(w->stacks, g_memdup2(&key, sizeof(key)), GUINT_TO_POINTER(iid));
	g_string_truncate(w->b, 0);
	wire_uint(w->b, CALLSTACK_IID, iid);
	for (guint i = 0; i < path->len; i++)
		wire_uint(w->b, CALLSTACK_FRAME, w->frames->id_of[g_array_index(path, uint32_t, i)] + 1);
	g_string_truncate(w->a, 0);
	wire_message(w->a, INTERNED_CALLSTACK, w->b);
	wire_message(w->packet, PACKET_INTERNED, w->a);
	return iid;
}

static void write_sample(struct perfetto *w, const struct wait *wait, uint64_t at_ns, uint64_t off_cpu_ns,
			 GArray *path)
{
	const struct thread *t = profile_thread(w->p, wait->thread);
	const guint stack = callstack_iid(w, wait, path);
	const struct perfetto_sample s = { t->pid, t->tid, stack, off_cpu_ns, w->p->info.start_ns + at_ns };

	perfetto_put_sample(w->packet, &s);
	end_packet(w);
}

/* The time of each row in each part of the window.  A part is several slices long. */
struct parts {
	uint64_t *ns;	/* by part, then by row */
	guint row_cnt;
	uint32_t slices_each;
};

static void add_part(uint32_t slice, const struct slice_part *part, void *data)
{
	struct parts *parts = data;

	parts->ns[(gsize)(slice / parts->slices_each) * parts->row_cnt + part->wait] +=
		part->blocked_ns + part->runnable_ns + part->preempted_ns;
}

static void write_samples(struct perfetto *w, const struct export_plan *plan)
{
	const struct profile *p = w->p;
	g_autoptr(GArray) path = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	struct parts parts = { .row_cnt = p->waits->len };
	uint32_t slices = profile_has_slices(p) ? profile_slice_cnt(p) : 0,
		 most = CELLS_MAX / MAX(parts.row_cnt, 1) + 1;

	parts.slices_each = slices ? (slices + most - 1) / most : 1;
	uint32_t part_cnt = slices ? (slices + parts.slices_each - 1) / parts.slices_each : 1;
	uint64_t part_ns = slices ? parts.slices_each * profile_slice_ns(p) : 0;

	parts.ns = g_new0(uint64_t, (gsize)part_cnt * parts.row_cnt + 1);
	if (slices)
		profile_slices_visit(p, add_part, &parts);
	for (guint i = 0; !slices && i < parts.row_cnt; i++)
		parts.ns[i] = wait_off_cpu_ns(profile_wait(p, i));
	for (gsize i = 0; i < (gsize)part_cnt * parts.row_cnt; i++)
		if (parts.ns[i] && plan_has(plan, i % parts.row_cnt))
			write_sample(w, profile_wait(p, i % parts.row_cnt), i / parts.row_cnt * part_ns, parts.ns[i],
				     path);
	g_free(parts.ns);
}

static uint64_t track_uuid(uint32_t thread, unsigned lane)
{
	return (uint64_t)(thread + 1) * LANES_MAX + lane;
}

static void write_track(struct perfetto *w, uint32_t thread, unsigned lane)
{
	const struct thread *t = profile_thread(w->p, thread);

	g_string_truncate(w->a, 0);
	wire_uint(w->a, TRACK_UUID, track_uuid(thread, lane));
	if (lane) {
		wire_string(w->a, TRACK_NAME, lane == WAITS_LANE ? "longest waits" : "requests");
		wire_uint(w->a, TRACK_PARENT, track_uuid(thread, 0));
	} else {
		g_string_truncate(w->b, 0);
		wire_uint(w->b, TRACK_THREAD_PID, t->pid);
		wire_uint(w->b, TRACK_THREAD_TID, t->tid);
		wire_message(w->a, TRACK_THREAD, w->b);
	}
	wire_message(w->packet, PACKET_TRACK_DESCRIPTOR, w->a);
	end_packet(w);
}

/* The track's id.  Writes the track before its first event, and the thread's own track before that. */
static uint64_t track_of(struct perfetto *w, uint32_t thread, unsigned lane)
{
	const uint64_t track = track_uuid(thread, lane), parent = track_uuid(thread, 0);

	if (g_hash_table_add(w->tracks, g_memdup2(&parent, sizeof(parent))))
		write_track(w, thread, 0);
	if (lane && g_hash_table_add(w->tracks, g_memdup2(&track, sizeof(track))))
		write_track(w, thread, lane);
	return track;
}

/* Of the request; 0 and NULL: unknown. */
static void append_context(struct perfetto *w, uint32_t node, const char *trace, const char *span)
{
	g_autoptr(GString) route = g_string_new(NULL);

	if (node && context_append_route(w->p, node, route))
		perfetto_annotate_text(w->a, w->b, "route", route->str);
	if (!trace)
		return;
	perfetto_annotate_text(w->a, w->b, "trace_id", trace);
	perfetto_annotate_text(w->a, w->b, "span_id", span);
}

static void end_event(struct perfetto *w, unsigned type, uint64_t track, uint64_t ns, const char *category,
		      const char *name)
{
	perfetto_put_event(w->packet, w->a, type, track, ns, category, name);
	end_packet(w);
}

static void write_event(struct perfetto *w, uint64_t track, uint64_t ns, const struct request_span *begun)
{
	g_string_truncate(w->a, 0);
	if (begun) {
		perfetto_annotate(w->a, w->b, "on_cpu_ns", ANNOTATION_UINT, begun->on_cpu_ns);
		perfetto_annotate(w->a, w->b, "blocked_ns", ANNOTATION_UINT, begun->blocked_ns);
		perfetto_annotate(w->a, w->b, "runnable_ns", ANNOTATION_UINT, begun->runnable_ns);
		perfetto_annotate(w->a, w->b, "preempted_ns", ANNOTATION_UINT, begun->preempted_ns);
		if (begun->flags & OFFCPU_SPAN_THROWN)
			perfetto_annotate(w->a, w->b, "thrown", ANNOTATION_BOOL, true);
		perfetto_annotate(w->a, w->b, "sampled", ANNOTATION_BOOL, !(begun->flags & OFFCPU_SPAN_SLOWEST));
		append_context(w, begun->context, begun->trace, begun->trace_span);
	}
	end_event(w, begun ? EVENT_IS_BEGIN : EVENT_IS_END, track, ns, "request",
		  begun ? profile_request(w->p, begun->func)->name : NULL);
}

/* They are sorted by start. */
static void write_spans(struct perfetto *w, const struct export_plan *plan)
{
	g_autofree uint64_t(*until)[LANES_MAX] = w->p->spans->len ? g_malloc0_n(w->p->threads->len, sizeof(*until))
								  : NULL;

	EACH_ROW(i, const struct request_span, s, w->p->spans) {
		unsigned lane = 0;

		if (plan->selection && !plan->selection->threads[s->thread])
			continue;
		while (lane < WAITS_LANE - 1 && until[s->thread][lane] > s->start_ns)
			lane++;
		uint64_t track = track_of(w, s->thread, lane);

		until[s->thread][lane] = span_end_ns(s);
		write_event(w, track, s->start_ns, s);
		write_event(w, track, span_end_ns(s), NULL);
	}
}

/* Index + 1 of a thread by its tid.  A tid rarely changes owners within a window; then the last one counts. */
static GHashTable *threads_by_tid(const struct profile *p)
{
	GHashTable *by_tid = g_hash_table_new(NULL, NULL);

	for (guint i = 0; i < p->threads->len; i++)
		if (profile_thread(p, i)->tid)
			g_hash_table_insert(by_tid, GUINT_TO_POINTER(profile_thread(p, i)->tid),
					    GUINT_TO_POINTER(i + 1));
	return by_tid;
}

/*
 * The arrow from the waker ends at the waking.  From there a nested slice shows the time in the run queue.  For a row
 * of several waits the longest one's run-queue time is unknown, so the arrow ends at an instant at the wait's end.  It
 * must not end at the wait's own slice, since Perfetto draws arrows to the start of a slice, whichever event has the
 * flow.
 */
static void write_arrow(struct perfetto *w, const struct wait *wait, uint64_t start_ns, uint64_t track, uint64_t flow,
			uint32_t by)
{
	const uint64_t queued_ns = wait->count == 1 ? MIN(wait->runnable_ns, wait->max_ns) : 0;
	const uint64_t end_ns = start_ns + wait->max_ns, woken_ns = end_ns - queued_ns;
	uint64_t of_waker = track_of(w, by, 0);

	g_string_truncate(w->a, 0);
	wire_fixed64(w->a, EVENT_FLOW, flow);
	end_event(w, EVENT_IS_INSTANT, of_waker, woken_ns, "wait", "wakes");
	wire_fixed64(w->a, EVENT_FLOW_END, flow);
	if (!queued_ns) {
		end_event(w, EVENT_IS_INSTANT, track, end_ns, "wait", "woken");
		return;
	}
	end_event(w, EVENT_IS_BEGIN, track, woken_ns, "wait", "run queue");
	end_event(w, EVENT_IS_END, track, end_ns, NULL, NULL);
}

static void write_longest_of(struct perfetto *w, uint32_t row, GHashTable *by_tid)
{
	const struct profile *p = w->p;
	const struct wait *wait = profile_wait(p, row);
	const struct waker *waker = wait->max_waker ? profile_get_waker(p, wait->max_waker - 1) : NULL;
	const struct object *object = profile_wait_object(p, wait);
	const struct wait_trace *trace = profile_trace_of(p, row);
	uint64_t start_ns = p->info.start_ns + (wait->max_start_unix_ns - p->info.start_unix_ns);
	uint64_t track = track_of(w, wait->thread, WAITS_LANE);
	uint32_t by = waker && waker->tid ? GPOINTER_TO_UINT(g_hash_table_lookup(by_tid, GUINT_TO_POINTER(waker->tid)))
					  : 0;
	g_autoptr(GString) text = g_string_new(NULL);

	g_string_truncate(w->a, 0);
	perfetto_annotate(w->a, w->b, "longest_of", ANNOTATION_UINT, wait->count);
	if (object) {
		object_text(text, object);
		perfetto_annotate_text(w->a, w->b, "for", text->str);
	}
	if (waker)
		perfetto_annotate_text(w->a, w->b, "woken_by", waker_name(waker));
	append_context(w, wait->user, trace ? trace->trace : NULL, trace ? trace->span : NULL);
	end_event(w, EVENT_IS_BEGIN, track, start_ns, "wait", state_text(wait->state));
	if (by)
		write_arrow(w, wait, start_ns, track, row + 1, by - 1);
	end_event(w, EVENT_IS_END, track, start_ns + wait->max_ns, NULL, NULL);
}

static void write_longest(struct perfetto *w, const struct export_plan *plan)
{
	g_autoptr(GHashTable) by_tid = threads_by_tid(w->p);

	for (uint32_t i = 0; w->p->info.start_unix_ns && i < w->p->waits->len; i++)
		if (plan_has(plan, i) && profile_wait(w->p, i)->max_start_unix_ns >= w->p->info.start_unix_ns)
			write_longest_of(w, i, by_tid);
}

void write_perfetto(struct writer *writer, const struct profile *p, const struct export_plan *plan)
{
	struct perfetto w = {
		.p = p,
		.writer = writer,
		.frames = frame_list_new(p),
		.mappings = g_hash_table_new(NULL, NULL),
		.stacks = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, NULL),
		.tracks = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, NULL),
		.packet = g_string_new(NULL),
		.a = g_string_new(NULL),
		.b = g_string_new(NULL),
	};

	write_clocks(&w);
	write_process_tree(&w, plan);
	write_interned(&w);
	write_samples(&w, plan);
	write_spans(&w, plan);
	write_longest(&w, plan);
	frame_list_free(w.frames);
	g_hash_table_unref(w.mappings);
	g_hash_table_unref(w.stacks);
	g_hash_table_unref(w.tracks);
	g_string_free(w.packet, TRUE);
	g_string_free(w.a, TRUE);
	g_string_free(w.b, TRUE);
}
