/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What Android's `simpleperf report-sample --show-callchain` prints: records of "key: value", a level of indentation
 * each, the stack innermost first.
 *
 *     sample:
 *       event_type: sched:sched_switch
 *       time: 1234
 *       event_count: 1
 *       thread_id: 77
 *       thread_name: RenderThread
 *       vaddr_in_file: 8a2c
 *       file: [kernel.kallsyms]
 *       symbol: __schedule
 *       callchain:
 *         vaddr_in_file: ...
 *
 * With `record --trace-offcpu`, a wait begins with a sample of sched_switch and ends with a context_switch record that
 * says that the thread is on CPU again.  Older versions have no such record, so it ends with the thread's next sample,
 * which is too late.  Without sched_switch, samples of cpu-clock or task-clock are a CPU profile.
 */
#include <string.h>

#include "base/hash.h"
#include "exchange/import.h"

#define THREADS_MAX PROFILE_ROWS_MAX
#define PEEK_BYTES 4096

enum kind { RECORD_OTHER, RECORD_SAMPLE, RECORD_SWITCH };

struct line {
	char *symbol, *file;
};

/* A thread that is off CPU, and since when. */
struct off {
	uint32_t thread, user, kernel;
	uint64_t ns;
};

struct simpleperf {
	struct import im;
	GHashTable *off; /* uint64_t tid -> struct off */
	GArray *samples; /* struct import_sample: used if there are no waits */
	GArray *stack; /* struct line, innermost first */
	enum kind kind;
	GString *event, *comm;
	uint64_t ns, period, tid;
	bool is_on, has_switches, has_waits;
	uint64_t first_ns, last_ns, late_cnt;
	char *other; /* name of an event that measures no time */
};

CLEARS(line_clear, struct line, line, g_free(line->symbol); g_free(line->file))

bool sniff_simpleperf(const char *bytes, gsize len_bytes)
{
	g_autofree char *text = g_strndup(bytes, MIN(len_bytes, PEEK_BYTES));
	const char *sample = HAS_PREFIX(text, "sample:\n") ? text : strstr(text, "\nsample:\n");

	return HAS_PREFIX(text, "meta_info:\n  trace_offcpu: ") || (sample && strstr(sample, "sample:\n  event_type: "));
}

static void take_stack(struct simpleperf *s, uint32_t *ret_user, uint32_t *ret_kernel)
{
	uint32_t at[2] = { 0 };

	for (guint i = s->stack->len; i-- > 0;) {
		const struct line *line = &g_array_index(s->stack, struct line, i);
		const bool is_kernel = import_is_kernel(line->symbol, line->file) ||
				       (line->file && g_str_has_suffix(line->file, ".ko"));
		const struct import_frame f = { .name = line->symbol, .module = line->file, .is_kernel = is_kernel };

		at[is_kernel] = import_node(&s->im, at[is_kernel], &f);
	}
	*ret_user = at[0];
	*ret_kernel = at[1];
}

/* Ends the wait of the record's thread, if it has one. */
static bool end_wait(struct simpleperf *s, bool is_late, GError **error)
{
	const struct off *off = g_hash_table_lookup(s->off, &s->tid);

	if (!off)
		return true;
	const struct wait w = { .thread = off->thread, .state = '?', .user = off->user, .kernel = off->kernel,
				.blocked_ns = s->ns > off->ns ? s->ns - off->ns : 0 };

	s->late_cnt += is_late;
	s->has_waits = true;
	g_hash_table_remove(s->off, &s->tid);
	return import_single_wait(&s->im, &w, error);
}

static void begin_wait(struct simpleperf *s, uint32_t thread)
{
	struct off off = { .thread = thread, .ns = s->ns };

	if (g_hash_table_size(s->off) >= THREADS_MAX)
		return;
	take_stack(s, &off.user, &off.kernel);
	g_hash_table_insert(s->off, g_memdup2(&s->tid, sizeof(s->tid)), g_memdup2(&off, sizeof(off)));
}

static bool take_sample(struct simpleperf *s, GError **error)
{
	const bool is_time = HAS_PREFIX(s->event->str, "cpu-clock") || HAS_PREFIX(s->event->str, "task-clock");
	uint32_t thread;

	if (!s->event->len || !s->ns || s->tid > G_MAXINT32)
		return import_bad(error, "a sample has no event_type, time or thread_id");
	if (!end_wait(s, true, error))
		return false;
	thread = import_thread(&s->im, 0, (uint32_t)s->tid, s->comm->str);
	if (HAS_PREFIX(s->event->str, "sched:sched_switch")) {
		begin_wait(s, thread);
	} else if (is_time && s->samples->len <= PROFILE_ROWS_MAX && s->period <= PROFILE_NS_MAX) {
		struct import_sample one = { .thread = thread, .ns = s->period };

		take_stack(s, &one.user, &one.kernel);
		g_array_append_val(s->samples, one);
	} else if (!s->other) {
		s->other = g_strdup(s->event->str);
	}
	return true;
}

/* Call it when a record is complete. */
static bool end_record(struct simpleperf *s, GError **error)
{
	const enum kind kind = s->kind;
	bool ok = true;

	if (kind != RECORD_OTHER && s->ns) {
		s->first_ns = s->first_ns ? MIN(s->first_ns, s->ns) : s->ns;
		s->last_ns = MAX(s->last_ns, s->ns);
	}
	if (kind == RECORD_SWITCH && s->is_on)
		ok = end_wait(s, false, error);
	else if (kind == RECORD_SAMPLE)
		ok = take_sample(s, error);
	s->has_switches |= kind == RECORD_SWITCH;
	s->kind = RECORD_OTHER;
	s->is_on = false;
	s->ns = s->period = s->tid = 0;
	g_string_truncate(s->event, 0);
	g_string_truncate(s->comm, 0);
	g_array_set_size(s->stack, 0);
	return ok;
}

static struct line *last_line(struct simpleperf *s)
{
	return s->stack->len ? &g_array_index(s->stack, struct line, s->stack->len - 1) : NULL;
}

static void take_field(struct simpleperf *s, const char *key, const char *value)
{
	struct line *line = last_line(s);

	if (strcmp(key, "event_type") == 0) {
		g_string_assign(s->event, value);
	} else if (strcmp(key, "thread_name") == 0) {
		g_string_assign(s->comm, value);
	} else if (strcmp(key, "time") == 0) {
		s->ns = MIN(g_ascii_strtoull(value, NULL, 10), PROFILE_NS_MAX);
	} else if (strcmp(key, "event_count") == 0) {
		s->period = g_ascii_strtoull(value, NULL, 10);
	} else if (strcmp(key, "thread_id") == 0) {
		s->tid = g_ascii_strtoull(value, NULL, 10);
	} else if (strcmp(key, "switch_on") == 0) {
		s->is_on = strcmp(value, "true") == 0;
	} else if (strcmp(key, "vaddr_in_file") == 0) {
		if (s->stack->len < PROFILE_DEPTH_MAX)
			g_array_append_val(s->stack, ((struct line){ NULL, NULL }));
	} else if (line && strcmp(key, "file") == 0 && !line->file) {
		line->file = g_strdup(value);
	} else if (line && strcmp(key, "symbol") == 0 && !line->symbol) {
		line->symbol = g_strdup(value);
	}
}

static bool take_line(void *reader, char *line, GError **error)
{
	struct simpleperf *s = reader;
	char *colon;

	g_strchomp(line);
	if (*line && *line != ' ') {
		bool ok = end_record(s, error);

		s->kind = strcmp(line, "sample:") == 0		 ? RECORD_SAMPLE
			  : strcmp(line, "context_switch:") == 0 ? RECORD_SWITCH
								 : RECORD_OTHER;
		return ok;
	}
	line += strspn(line, " ");
	colon = strchr(line, ':');
	if (!colon || s->kind == RECORD_OTHER)
		return true;
	*colon = '\0';
	take_field(s, line, colon[1] == ' ' ? colon + 2 : colon + 1);
	return true;
}

static bool add_samples(struct simpleperf *s, GError **error)
{
	if (!s->samples->len && !s->other)
		return import_bad(error, "it has no samples that make sense");
	if (!s->samples->len)
		return import_bad(error, "its samples are of %s, which is no time: record with --trace-offcpu -e cpu-clock",
				  s->other);
	s->im.p->info.rows_are = ROWS_CPU;
	return import_samples(&s->im, s->samples, error);
}

/* A thread that is off CPU at the end may be waiting, or may have ended. */
static void set_info(struct simpleperf *s)
{
	struct profile_info *info = &s->im.p->info;
	const guint endless = g_hash_table_size(s->off);

	info->duration_ns = s->last_ns - s->first_ns;
	info->unknown = UNKNOWN_ALL &
			~(uint32_t)(UNKNOWN_IDS | UNKNOWN_COUNTS | (info->duration_ns ? UNKNOWN_WINDOW : 0));
	if (!s->has_waits) {
		info->imported = profile_string(s->im.p, "simpleperf (cpu-clock)");
		return;
	}
	info->imported = profile_string(s->im.p, s->has_switches ? "simpleperf (sched_switch)" :
								   "simpleperf (sched_switch; waits last up to the thread's next "
								   "sample, which is too long)");
	if (s->has_switches)
		info->unknown &= ~(uint32_t)UNKNOWN_DURATIONS;
	if (s->has_switches && s->late_cnt)
		profile_add_loss(s->im.p, "missed_switch_in", "ends of waits, which last up to the thread's next sample",
				 s->late_cnt, 0);
	if (endless)
		profile_add_loss(s->im.p, "missed_switch",
				 "waits that were not over, or threads that ended, which are left out", endless, 0);
}

bool read_simpleperf(struct source *source, const struct import_options *options, struct profile *p, GError **error)
{
	struct simpleperf s = { .samples = g_array_new(FALSE, FALSE, sizeof(struct import_sample)),
				.stack = g_array_new(FALSE, FALSE, sizeof(struct line)),
				.event = g_string_new(NULL),
				.comm = g_string_new(NULL) };
	g_autoptr(GError) why = NULL;
	bool ok;

	s.off = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, g_free);
	g_array_set_clear_func(s.stack, line_clear);
	import_begin(&s.im, p, "simpleperf", UNKNOWN_ALL);
	ok = import_lines(&s.im, source, take_line, &s, &why) && (end_record(&s, &why) || import_skip(&s.im, &why)) &&
	     (s.has_waits || add_samples(&s, &why));
	if (ok)
		set_info(&s);
	g_hash_table_unref(s.off);
	g_array_unref(s.samples);
	g_array_unref(s.stack);
	g_string_free(s.event, TRUE);
	g_string_free(s.comm, TRUE);
	g_free(s.other);
	return import_end(&s.im, ok, g_steal_pointer(&why), error);
}
