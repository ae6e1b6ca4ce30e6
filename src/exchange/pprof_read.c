/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * pprof's profile.proto from any profiler that sums time.  The name of the sample type tells which time.  Fields may
 * come in any order, so tables are read first, then samples.  Ids are arbitrary numbers, so they are looked up.
 */
#include <string.h>

#include "exchange/import.h"
#include "exchange/pprof.h"
#include "base/wire.h"
#include "profile/id_index.h"

#define TYPES_MAX 64

/* Each row begins with its id, by which other rows refer to it. */
struct table {
	GArray *rows;
	struct id_index *ids;
};

struct mapping {
	uint64_t id;
	const char *file; /* interned */
};

struct function {
	uint64_t id;
	const char *name, *file;
};

struct location {
	uint64_t id, address, mapping;
	guint lines_from, lines_cnt; /* innermost first */
	bool has_frames;             /* of its lines, or one of its own */
};

struct line {
	uint64_t function, number;
	uint32_t frame;
	bool is_kernel;
};

enum part { PART_TIME, PART_COUNT, PART_BLOCKED, PART_RUNNABLE, PART_PREEMPTED, PART_CNT };

struct pprof {
	struct import im;
	struct profile *p;
	GPtrArray *strings; /* interned in the profile */
	struct table mappings, functions, locations;
	GArray *lines;
	struct value_type {
		uint64_t name, unit;
	} types[TYPES_MAX];
	guint types_cnt;
	uint64_t period_name; /* name of the period's type */
	int at[PART_CNT]; /* index of each part's sample type, -1: none */
	uint64_t unit_ns[PART_CNT];
};

bool sniff_pprof(const char *bytes, gsize len_bytes)
{
	struct cursor c = { .at = (const uint8_t *)bytes, .end = (const uint8_t *)bytes + len_bytes };
	struct wire_field f;
	guint fields = 0;

	/* The peek may end within a field: everything before must be valid. */
	for (; wire_next(&c, &f); fields++) {
		bool is_message = (f.number >= 1 && f.number <= 6) || f.number == 11;

		if (f.number > 15 || (is_message && f.type != WIRE_BYTES))
			return false;
		if (!is_message && f.type != WIRE_VARINT && f.number != PROFILE_COMMENT)
			return false;
		if (f.number != PROFILE_SAMPLE_TYPE)
			continue;
		for (struct wire_field part; wire_next(&f.bytes, &part);)
			if (part.number > TYPE_UNIT || part.type != WIRE_VARINT)
				return false;
		if (f.bytes.bad)
			return false;
	}
	return fields > (c.bad ? 2 : 0);
}

static const char *string_at(const struct pprof *r, uint64_t id)
{
	return id < r->strings->len ? g_ptr_array_index(r->strings, (guint)id) : "";
}

static bool is_id(const void *ctx, const void *id, uint32_t row)
{
	const GArray *rows = ctx;

	return memcmp(rows->data + (gsize)row * g_array_get_element_size((GArray *)rows), id, sizeof(uint64_t)) == 0;
}

/* NULL: not found. */
static void *find_row(const struct table *t, uint64_t id)
{
	int64_t at = id_index_find(t->ids, id_index_hash(t->ids, &id, sizeof(id)), is_id, t->rows, &id);

	return at < 0 ? NULL : t->rows->data + (gsize)at * g_array_get_element_size(t->rows);
}

/* Of rows with the same id, the first is found. */
static void add_row(struct table *t, const void *row)
{
	if (!find_row(t, *(const uint64_t *)row))
		id_index_add(t->ids, id_index_hash(t->ids, row, sizeof(uint64_t)), t->rows->len);
	g_array_append_vals(t->rows, row, 1);
}

static void read_mapping(struct pprof *r, struct cursor c)
{
	struct mapping m = { .file = "" };

	for (struct wire_field f; wire_next(&c, &f);) {
		if (f.number == MAPPING_ID)
			m.id = f.value;
		else if (f.number == MAPPING_FILE)
			m.file = string_at(r, f.value);
	}
	add_row(&r->mappings, &m);
}

static void read_function(struct pprof *r, struct cursor c)
{
	struct function fn = { .name = "", .file = "" };

	for (struct wire_field f; wire_next(&c, &f);) {
		if (f.number == FUNCTION_ID)
			fn.id = f.value;
		else if (f.number == FUNCTION_NAME || (f.number == FUNCTION_SYSTEM_NAME && !*fn.name))
			fn.name = string_at(r, f.value);
		else if (f.number == FUNCTION_FILE)
			fn.file = string_at(r, f.value);
	}
	add_row(&r->functions, &fn);
}

static void read_line(struct pprof *r, struct cursor c)
{
	struct line line = { 0 };

	for (struct wire_field f; wire_next(&c, &f);) {
		if (f.number == LINE_FUNCTION)
			line.function = f.value;
		else if (f.number == LINE_NUMBER)
			line.number = f.value;
	}
	g_array_append_val(r->lines, line);
}

static void read_location(struct pprof *r, struct cursor c)
{
	struct location l = { .lines_from = r->lines->len };

	for (struct wire_field f; wire_next(&c, &f);) {
		if (f.number == LOCATION_ID)
			l.id = f.value;
		else if (f.number == LOCATION_MAPPING)
			l.mapping = f.value;
		else if (f.number == LOCATION_ADDRESS)
			l.address = f.value;
		else if (f.number == LOCATION_LINE && f.type == WIRE_BYTES)
			read_line(r, f.bytes);
	}
	l.lines_cnt = r->lines->len - l.lines_from;
	add_row(&r->locations, &l);
}

static struct value_type type_of(struct cursor c)
{
	struct value_type type = { 0 };

	for (struct wire_field f; wire_next(&c, &f);) {
		if (f.number == TYPE_NAME)
			type.name = f.value;
		else if (f.number == TYPE_UNIT)
			type.unit = f.value;
	}
	return type;
}

/* Strings are read first: everything else refers to them. */
static bool read_strings(struct pprof *r, struct cursor c)
{
	for (struct wire_field f; wire_next(&c, &f);) {
		if (f.number != PROFILE_STRING || f.type != WIRE_BYTES)
			continue;
		g_autofree char *s = g_strndup((const char *)f.bytes.at, cursor_left(&f.bytes));

		g_ptr_array_add(r->strings, (gpointer)profile_string(r->p, s));
		if (r->strings->len > PROFILE_ROWS_MAX)
			return false;
	}
	return true;
}

static bool read_tables(struct pprof *r, struct cursor c)
{
	for (struct wire_field f; wire_next(&c, &f);) {
		if (f.number == PROFILE_TIME_NS && f.value <= PROFILE_NS_MAX)
			r->p->info.start_unix_ns = f.value;
		else if (f.number == PROFILE_DURATION_NS && f.value <= PROFILE_NS_MAX)
			r->p->info.duration_ns = f.value;
		if (f.type != WIRE_BYTES)
			continue;
		if (f.number == PROFILE_SAMPLE_TYPE && r->types_cnt++ < TYPES_MAX)
			r->types[r->types_cnt - 1] = type_of(f.bytes);
		else if (f.number == PROFILE_PERIOD_TYPE)
			r->period_name = type_of(f.bytes).name;
		else if (f.number == PROFILE_MAPPING)
			read_mapping(r, f.bytes);
		else if (f.number == PROFILE_FUNCTION)
			read_function(r, f.bytes);
		else if (f.number == PROFILE_LOCATION)
			read_location(r, f.bytes);
		if (r->mappings.rows->len > PROFILE_ROWS_MAX || r->functions.rows->len > PROFILE_ROWS_MAX ||
		    r->locations.rows->len > PROFILE_ROWS_MAX || r->lines->len > PROFILE_NODES_MAX)
			return false;
	}
	if (r->p->info.duration_ns)
		r->p->info.unknown &= ~(uint32_t)UNKNOWN_WINDOW;
	return true;
}

static uint64_t unit_ns(const char *unit)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = { { "nanoseconds", 1 },        { "ns", 1 },       { "microseconds", 1000 },  { "us", 1000 },
		     { "milliseconds", 1000000 }, { "ms", 1000000 }, { "seconds", 1000000000 }, { "s", 1000000000 } };

	for (size_t i = 0; i < G_N_ELEMENTS(units); i++)
		if (strcmp(unit, units[i].name) == 0)
			return units[i].ns;
	return 0;
}

/* Names of sample types that hold these parts, most specific first. */
static const struct part_name {
	enum part part;
	const char *name, *rows_are;	/* rows_are NULL: off-CPU time */
} part_names[] = {
	{ PART_TIME, "off_cpu", NULL },
	{ PART_TIME, "off-cpu", NULL },
	{ PART_TIME, "offcpu", NULL },
	{ PART_TIME, "off-cpu-time", NULL },
	{ PART_TIME, "offcpu-time", NULL },
	{ PART_TIME, "task_time", ROWS_TASKS },
	{ PART_TIME, "wallclock", ROWS_WALL },
	{ PART_TIME, "wall", ROWS_WALL },
	{ PART_TIME, "wall-time", ROWS_WALL },
	{ PART_TIME, "delay", ROWS_CONTENTIONS },
	{ PART_TIME, "cpu", ROWS_CPU },
	{ PART_TIME, "cpu-time", ROWS_CPU },
	{ PART_TIME, "time", ROWS_SAMPLES },
	{ PART_COUNT, "events", NULL },
	{ PART_COUNT, "contentions", NULL },
	{ PART_COUNT, "samples", NULL },
	{ PART_COUNT, "tasks", NULL },
	{ PART_BLOCKED, "blocked", NULL },
	{ PART_RUNNABLE, "runnable", NULL },
	{ PART_PREEMPTED, "preempted", NULL },
};

static void find_value_types(struct pprof *r, const struct part_name *n)
{
	for (guint i = 0; r->at[n->part] < 0 && i < r->types_cnt; i++) {
		uint64_t ns = n->part == PART_COUNT ? 1 : unit_ns(string_at(r, r->types[i].unit));

		if (!ns || strcmp(string_at(r, r->types[i].name), n->name) != 0)
			continue;
		r->at[n->part] = (int)i;
		r->unit_ns[n->part] = ns;
		if (n->part == PART_TIME)
			r->p->info.rows_are = n->rows_are;
	}
}

/* A type named "time" is ambiguous: fgprof reveals only by its period that it samples wall-clock time. */
static void set_rows_by_period(struct pprof *r)
{
	const char *name = string_at(r, r->period_name);

	if (g_strcmp0(r->p->info.rows_are, ROWS_SAMPLES) != 0)
		return;
	for (size_t i = 0; i < G_N_ELEMENTS(part_names); i++)
		if (part_names[i].part == PART_TIME && part_names[i].rows_are && strcmp(part_names[i].name, name) == 0)
			r->p->info.rows_are = part_names[i].rows_are;
}

static bool find_types(struct pprof *r, GError **error)
{
	g_autoptr(GString) names = g_string_new(NULL);

	if (!r->types_cnt || r->types_cnt > TYPES_MAX)
		return import_bad(error, "it has %s types of samples", r->types_cnt ? "too many" : "no");
	for (enum part part = 0; part < PART_CNT; part++)
		r->at[part] = -1;
	for (size_t i = 0; i < G_N_ELEMENTS(part_names); i++)
		find_value_types(r, &part_names[i]);
	set_rows_by_period(r);
	for (guint i = 0; i < r->types_cnt; i++)
		g_string_append_printf(names, "%s%s/%s", i ? ", " : "", string_at(r, r->types[i].name),
				       string_at(r, r->types[i].unit));
	if (r->at[PART_TIME] < 0)
		return import_bad(error, "it is a pprof profile without times: it has %s", names->str);

	const struct value_type *used = &r->types[r->at[PART_TIME]];
	g_autofree char *from = g_strdup_printf("pprof (%s in %s)", string_at(r, used->name), string_at(r, used->unit));

	r->p->info.imported = profile_string(r->p, from);
	if (r->at[PART_COUNT] >= 0)
		r->p->info.unknown &= ~(uint32_t)UNKNOWN_COUNTS;
	if (r->at[PART_BLOCKED] >= 0 && r->at[PART_RUNNABLE] >= 0 && r->at[PART_PREEMPTED] >= 0)
		r->p->info.unknown &= ~(uint32_t)UNKNOWN_PARTS;
	return true;
}

/* A location occurs in many stacks. Its frames are made when it is first used. */
static void location_frames(struct pprof *r, struct location *l)
{
	const struct mapping *mapping = l->mapping ? find_row(&r->mappings, l->mapping) : NULL;
	const char *module = mapping ? mapping->file : "";
	struct import_frame f = { .module = module, .offset = l->address };

	for (guint i = 0; i < l->lines_cnt; i++) {
		struct line *line = &g_array_index(r->lines, struct line, l->lines_from + i);
		const struct function *fn = find_row(&r->functions, line->function);

		f.name = fn ? fn->name : "[unknown]";
		f.file = fn ? fn->file : NULL;
		f.line = (uint32_t)MIN(line->number, G_MAXINT32);
		f.is_inline = i + 1 < l->lines_cnt;
		line->is_kernel = f.is_kernel = import_is_kernel(f.name, module);
		line->frame = import_frame(&r->im, &f);
	}
	if (!l->lines_cnt) {
		struct line own = { .is_kernel = f.is_kernel = import_is_kernel(NULL, module) };

		own.frame = import_frame(&r->im, &f);
		l->lines_from = r->lines->len;
		l->lines_cnt = 1;
		g_array_append_val(r->lines, own);
	}
	l->has_frames = true;
}

static void sample_frames(struct pprof *r, struct location *l, uint32_t at[2])
{
	if (!l->has_frames)
		location_frames(r, l);
	for (guint i = l->lines_cnt; i-- > 0;) {
		const struct line *line = &g_array_index(r->lines, struct line, l->lines_from + i);

		at[line->is_kernel] = import_child(&r->im, at[line->is_kernel], line->frame);
	}
}

/* Known labels of a sample; others are ignored. */
struct labels {
	const char *comm, *process, *thread, *state, *open;
	uint64_t pid, tid;
};

static void read_label(struct pprof *r, struct cursor c, struct labels *l)
{
	const char *key = "", *text = "";
	uint64_t number = 0;

	for (struct wire_field f; wire_next(&c, &f);) {
		if (f.number == LABEL_KEY)
			key = string_at(r, f.value);
		else if (f.number == LABEL_STRING)
			text = string_at(r, f.value);
		else if (f.number == LABEL_NUMBER)
			number = f.value;
	}
	if (strcmp(key, "comm") == 0)
		l->comm = text;
	else if (strcmp(key, "process") == 0)
		l->process = text;
	else if (strcmp(key, "thread") == 0 || strcmp(key, "thread_name") == 0 || strcmp(key, "thread_comm") == 0)
		l->thread = text;
	else if (strcmp(key, "state") == 0)
		l->state = text;
	else if (strcmp(key, "open") == 0)
		l->open = text;
	else if (strcmp(key, "pid") == 0 || strcmp(key, "process_id") == 0)
		l->pid = number;
	else if (strcmp(key, "tid") == 0 || strcmp(key, "thread_id") == 0)
		l->tid = number;
}

static uint8_t open_flags(const char *text)
{
	if (strcmp(text, "all the time") == 0)
		return WAIT_OPEN_AT_START | WAIT_OPEN_AT_END;
	return strcmp(text, "at the start") == 0 ? WAIT_OPEN_AT_START
	       : strcmp(text, "at the end") == 0 ? WAIT_OPEN_AT_END
						 : 0;
}

static void apply_labels(struct pprof *r, const struct labels *l, struct wait *w)
{
	const char *comm = l->comm ? l->comm : l->thread ? l->thread : "";
	uint32_t pid = l->pid <= G_MAXINT32 ? (uint32_t)l->pid : 0, tid = l->tid <= G_MAXINT32 ? (uint32_t)l->tid : 0;

	w->state = '?';
	if (l->state && strlen(l->state) == 1 && strchr("SDTtPIR", l->state[0])) {
		w->state = (uint8_t)l->state[0];
		r->p->info.unknown &= ~(uint32_t)UNKNOWN_STATES;
	}
	if (pid || tid)
		r->p->info.unknown &= ~(uint32_t)UNKNOWN_IDS;
	if (l->open)
		w->flags = open_flags(l->open);
	w->thread = import_thread(&r->im, pid, tid, comm);
	if (l->process)
		g_array_index(r->p->threads, struct thread, w->thread).process = profile_string(r->p, l->process);
}

/* Applies the sample's values; false if they are invalid or too large. */
static bool apply_values(const struct pprof *r, const GArray *values, struct wait *w)
{
	uint64_t parts[PART_CNT] = { 0 };

	if (values->len != r->types_cnt)
		return false;
	for (enum part part = 0; part < PART_CNT; part++) {
		if (r->at[part] < 0)
			continue;
		uint64_t value = g_array_index(values, uint64_t, r->at[part]);

		if (value > PROFILE_NS_MAX / r->unit_ns[part])
			return false;
		parts[part] = value * r->unit_ns[part];
	}
	w->count = parts[PART_COUNT];
	w->blocked_ns = parts[PART_TIME];
	if (r->p->info.unknown & UNKNOWN_PARTS)
		return true;
	w->blocked_ns = parts[PART_BLOCKED];
	w->runnable_ns = parts[PART_RUNNABLE];
	w->preempted_ns = parts[PART_PREEMPTED];
	return wait_off_cpu_ns(w) == parts[PART_TIME];
}

static bool read_sample(struct pprof *r, struct cursor c, GArray *locations, GArray *values, GError **error)
{
	struct labels labels = { 0 };
	struct wait w = { 0 };
	uint32_t at[2] = { 0 };
	uint64_t n;

	g_array_set_size(locations, 0);
	g_array_set_size(values, 0);
	for (struct wire_field f; wire_next(&c, &f);) {
		if (f.number == SAMPLE_LABEL && f.type == WIRE_BYTES)
			read_label(r, f.bytes, &labels);
		else if (f.number == SAMPLE_LOCATION || f.number == SAMPLE_VALUE)
			while (wire_packed_next(&f, &n))
				g_array_append_val(f.number == SAMPLE_LOCATION ? locations : values, n);
	}
	if (c.bad || !apply_values(r, values, &w))
		return import_bad(error, "a sample of it has not the values of its types, or they are out of range");
	for (guint i = locations->len; i-- > 0;) {
		struct location *l = find_row(&r->locations, g_array_index(locations, uint64_t, i));

		if (!l)
			return import_bad(error, "a sample of it has no such location");
		sample_frames(r, l, at);
	}
	w.user = at[0];
	w.kernel = at[1];
	apply_labels(r, &labels, &w);
	return import_wait(&r->im, &w, error);
}

static bool read_samples(struct pprof *r, struct cursor c, GError **error)
{
	g_autoptr(GArray) locations = g_array_new(FALSE, FALSE, sizeof(uint64_t));
	g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(uint64_t));
	bool ok = true;

	for (struct wire_field f; ok && wire_next(&c, &f);)
		if (f.number == PROFILE_SAMPLE && f.type == WIRE_BYTES)
			ok = read_sample(r, f.bytes, locations, values, error);
	return ok && (!c.bad || import_bad(error, "it is a damaged pprof profile"));
}

/*
 * Go's mutex and block profiles have the same types.  Stacks of mutex profiles are of the unlocking goroutine.  All
 * stacks are of goroutines, which have no thread while they wait.
 */
static void set_go_kind(struct pprof *r)
{
	double all_ns = 0, go_ns = 0, unlock_ns = 0;

	EACH_ROW(i, const struct wait, w, r->p->waits) {
		const struct frame *f = w->user ? profile_get_frame(r->p, profile_get_node(r->p, w->user)->frame)
						: NULL;
		double ns = (double)w->blocked_ns;

		all_ns += ns;
		if (!f || !f->name || !(HAS_PREFIX(f->name, "sync.") || HAS_PREFIX(f->name, "runtime.") ||
					HAS_PREFIX(f->name, "internal/sync.")))
			continue;
		go_ns += ns;
		unlock_ns += g_str_has_suffix(f->name, "nlock") ? ns : 0;
	}
	if (go_ns <= all_ns / 2)
		return;
	g_autofree char *from = g_strconcat("Go's ", r->p->info.imported, NULL);

	r->p->info.imported = profile_string(r->p, from);
	if (unlock_ns <= go_ns / 2)
		r->p->info.rows_are = ROWS_GOROUTINES;
}

static struct table table_new(gsize row_bytes)
{
	return (struct table){ .rows = g_array_new(FALSE, FALSE, (guint)row_bytes), .ids = id_index_new() };
}

static void table_clear(struct table *t)
{
	g_array_unref(t->rows);
	id_index_free(t->ids);
}

static void clear_tables(struct pprof *r)
{
	g_ptr_array_unref(r->strings);
	table_clear(&r->mappings);
	table_clear(&r->functions);
	table_clear(&r->locations);
	g_array_unref(r->lines);
}

bool read_pprof(struct source *source, const struct import_options *options, struct profile *p, GError **error)
{
	GByteArray *all = source_all(source, error);

	if (!all)
		return false;
	struct cursor c = cursor_of(all->data, all->len);
	struct pprof r = {
		.p = p,
		.strings = g_ptr_array_new(),
		.mappings = table_new(sizeof(struct mapping)),
		.functions = table_new(sizeof(struct function)),
		.locations = table_new(sizeof(struct location)),
		.lines = g_array_new(FALSE, FALSE, sizeof(struct line)),
	};

	import_begin(&r.im, p, "pprof", UNKNOWN_ALL);
	bool ok = (read_strings(&r, c) && read_tables(&r, c)) ||
		  import_bad(error, "its tables are larger than a recording's can be");

	ok = ok && find_types(&r, error) && read_samples(&r, c, error);
	if (ok && g_strcmp0(p->info.rows_are, ROWS_CONTENTIONS) == 0)
		set_go_kind(&r);
	clear_tables(&r);
	g_byte_array_unref(all);
	return import_end(&r.im, ok, NULL, error);
}
