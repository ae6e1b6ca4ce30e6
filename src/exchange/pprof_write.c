/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * pprof's profile.proto.  A row of waits is a sample.  Each file has two mappings, one for frames with names and one
 * for those without: readers assume that a mapping with functions is fully symbolized, and drop the addresses of its
 * other frames.
 */
#include <string.h>

#include "analyse/strset.h"
#include "analyse/weight.h"
#include "base/hash.h"
#include "base/module.h"
#include "exchange/parts.h"
#include "exchange/pprof.h"
#include "profile/profile.h"
#include "base/wire.h"

#define PAGE_BYTES 4096

/* A file; named and unnamed frames have separate mappings. */
struct mapping {
	const char *module;
	bool is_named, has_files, has_lines, has_inlines;
	uint64_t most_offset, weight;
	uint32_t id; /* from 1 on, assigned after sorting */
};

struct pprof {
	const struct profile *p;
	GString *out, *message, *inner;
	struct strset *strings;
	uint32_t strings_cnt;
	GArray *mappings; /* struct mapping */
	uint32_t *mapping_of; /* by frame: index + 1; 0: none */
	struct locations *locations;
	GString *location;
	GHashTable *functions; /* struct function_key -> id */
	GString *functions_out;
	GArray *path;
	GArray *ids; /* scratch: location ids, outermost first */
};

struct function_key {
	const char *name, *file; /* interned */
};

HASH_BYTES(function, struct function_key)

static uint32_t string_id(struct pprof *w, const char *s)
{
	uint32_t id = strset_id(w->strings, s ? s : "");

	w->strings_cnt = MAX(w->strings_cnt, id + 1);
	return id;
}

/* --- mappings --- */

static uint32_t find_mapping(struct pprof *w, GHashTable *index, const struct frame *f)
{
	struct function_key key = { f->module, f->name ? "" : NULL }; /* the module, and whether it is named */
	guint at = GPOINTER_TO_UINT(g_hash_table_lookup(index, &key));

	if (!f->module || f->kind == FRAME_CONTEXT)
		return 0;
	if (!at) {
		struct mapping m = { .module = f->module, .is_named = f->name != NULL };

		g_array_append_val(w->mappings, m);
		at = w->mappings->len;
		g_hash_table_insert(index, g_memdup2(&key, sizeof(key)), GUINT_TO_POINTER(at));
	}
	struct mapping *m = &g_array_index(w->mappings, struct mapping, at - 1);

	m->has_files |= f->file != NULL;
	m->has_lines |= f->line != 0;
	m->has_inlines |= f->is_inline;
	m->most_offset = MAX(m->most_offset, f->offset);
	return at;
}

/*
 * Pyroscope names a profile's binary after its first mapping, so executables come before libraries, and both before
 * the kernel.
 */
static int mapping_rank(const struct mapping *m)
{
	if (m->module[0] == '[')
		return 2;
	return strstr(module_base_name(m->module), ".so") != NULL;
}

static int mapping_compare(gconstpointer a, gconstpointer b, gpointer ctx)
{
	const GArray *mappings = ctx;
	const struct mapping *x = &g_array_index(mappings, struct mapping, *(const guint *)a);
	const struct mapping *y = &g_array_index(mappings, struct mapping, *(const guint *)b);
	int order = mapping_rank(x) - mapping_rank(y);

	if (!order && x->weight != y->weight)
		order = x->weight < y->weight ? 1 : -1;
	if (!order)
		order = strcmp(x->module, y->module);
	return order ? order : (int)y->is_named - (int)x->is_named;
}

/*
 * Weighs each file by the time of stacks whose outermost frame it has.  Counting every file of a stack would be
 * expensive.
 */
static void weigh_mappings(struct pprof *w, const struct export_plan *plan)
{
	g_autofree uint32_t *outermost = g_new0(uint32_t, w->p->nodes->len); /* by node: index of the mapping + 1 */

	for (guint i = 1; i < w->p->nodes->len; i++) {
		const struct stack_node *n = profile_get_node(w->p, i);

		outermost[i] = outermost[n->parent] ? outermost[n->parent] : w->mapping_of[n->frame];
	}
	for (guint i = 0; i < w->p->waits->len; i++) {
		uint32_t at = outermost[profile_wait(w->p, i)->user];

		if (at && plan_has(plan, i))
			g_array_index(w->mappings, struct mapping, at - 1).weight += weight_of_wait(
				profile_wait(w->p, i), WEIGHT_TIME);
	}
}

static void write_mapping(struct pprof *w, const struct mapping *m)
{
	g_string_truncate(w->message, 0);
	wire_uint(w->message, MAPPING_ID, m->id);
	/*
	 * Starts at 0, since offsets are addresses within the file.  The limit keeps readers from merging two
	 * mappings.
	 */
	wire_uint(w->message, MAPPING_LIMIT,
		  (m->most_offset | (PAGE_BYTES - 1)) + (m->most_offset < UINT64_MAX - PAGE_BYTES));
	wire_uint(w->message, MAPPING_FILE, string_id(w, m->module));
	wire_uint(w->message, MAPPING_BUILD_ID, string_id(w, profile_build_id(w->p, m->module)));
	wire_uint(w->message, MAPPING_HAS_FUNCTIONS, m->is_named);
	wire_uint(w->message, MAPPING_HAS_FILES, m->has_files);
	wire_uint(w->message, MAPPING_HAS_LINES, m->has_lines);
	wire_uint(w->message, MAPPING_HAS_INLINES, m->has_inlines);
	wire_message(w->out, PROFILE_MAPPING, w->message);
}

static void make_mappings(struct pprof *w, const struct export_plan *plan)
{
	g_autoptr(GHashTable) index = g_hash_table_new_full(function_hash, function_equal, g_free, NULL);

	w->mapping_of = g_new0(uint32_t, w->p->frames->len + 1);
	for (guint i = 0; i < w->p->frames->len; i++)
		w->mapping_of[i] = find_mapping(w, index, profile_get_frame(w->p, i));
	weigh_mappings(w, plan);

	g_autofree guint *order = g_new(guint, w->mappings->len + 1);

	for (guint i = 0; i < w->mappings->len; i++)
		order[i] = i;
	g_qsort_with_data(order, (gint)w->mappings->len, sizeof(*order), mapping_compare, w->mappings);
	for (guint i = 0; i < w->mappings->len; i++) {
		struct mapping *m = &g_array_index(w->mappings, struct mapping, order[i]);

		m->id = i + 1;
		write_mapping(w, m);
	}
}

/* --- functions and locations --- */

static uint32_t function_id(struct pprof *w, const struct frame *f)
{
	static const char lost[] = "[stack lost]";
	struct function_key key = { f->name ? f->name : lost, f->file };
	guint id = GPOINTER_TO_UINT(g_hash_table_lookup(w->functions, &key));

	if (id)
		return id;
	id = g_hash_table_size(w->functions) + 1;
	g_hash_table_insert(w->functions, g_memdup2(&key, sizeof(key)), GUINT_TO_POINTER(id));
	g_string_truncate(w->message, 0);
	wire_uint(w->message, FUNCTION_ID, id);
	wire_uint(w->message, FUNCTION_NAME, string_id(w, key.name));
	wire_uint(w->message, FUNCTION_SYSTEM_NAME, string_id(w, key.name));
	wire_uint(w->message, FUNCTION_FILE, string_id(w, f->file));
	wire_message(w->functions_out, PROFILE_FUNCTION, w->message);
	return id;
}

/* Writes frames that share an address, inlined innermost first. */
static void write_location(struct pprof *w, uint32_t id)
{
	guint cnt;
	const uint32_t *frames = locations_get(w->locations, id, &cnt);
	uint32_t mapping = w->mapping_of[frames[0]];

	g_string_truncate(w->location, 0);
	wire_uint(w->location, LOCATION_ID, id);
	if (mapping)
		wire_uint(w->location, LOCATION_MAPPING, g_array_index(w->mappings, struct mapping, mapping - 1).id);
	wire_uint(w->location, LOCATION_ADDRESS, profile_get_frame(w->p, frames[0])->offset);
	for (guint i = cnt; i-- > 0;) {
		const struct frame *f = profile_get_frame(w->p, frames[i]);

		if (!f->name && f->why != FRAME_PENDING)
			continue;
		uint32_t function = function_id(w, f);

		g_string_truncate(w->inner, 0);
		wire_uint(w->inner, LINE_FUNCTION, function);
		wire_uint(w->inner, LINE_NUMBER, f->line);
		wire_message(w->location, LOCATION_LINE, w->inner);
	}
	wire_message(w->out, PROFILE_LOCATION, w->location);
}

/* Appends the locations of w->path, innermost first, packed. */
static void append_locations(struct pprof *w, GString *sample)
{
	locations_of_path(w->locations, w->path, w->ids);
	g_string_truncate(w->inner, 0);
	for (guint i = w->ids->len; i-- > 0;)
		wire_varint(w->inner, g_array_index(w->ids, uint32_t, i));
	wire_message(sample, SAMPLE_LOCATION, w->inner);
}

/* --- samples --- */

static void label_string(struct pprof *w, GString *sample, const char *key, const char *value)
{
	if (!value || !*value)
		return;
	g_string_truncate(w->inner, 0);
	wire_uint(w->inner, LABEL_KEY, string_id(w, key));
	wire_uint(w->inner, LABEL_STRING, string_id(w, value));
	wire_message(sample, SAMPLE_LABEL, w->inner);
}

static void label_number(struct pprof *w, GString *sample, const char *key, uint64_t value)
{
	if (!value)
		return;
	g_string_truncate(w->inner, 0);
	wire_uint(w->inner, LABEL_KEY, string_id(w, key));
	wire_uint(w->inner, LABEL_NUMBER, value);
	wire_message(sample, SAMPLE_LABEL, w->inner);
}

struct labelled {
	struct pprof *w;
	GString *sample;
};

static void label_attribute(const char *attribute, const char *value, void *data)
{
	struct labelled *to = data;

	label_string(to->w, to->sample, attribute, value);
}

/*
 * Labels of the request, with the names that Pyroscope's tracing uses.  A row of several waits may belong to several
 * traces; its labels are then those of the longest wait.
 */
static void label_context(struct pprof *w, GString *sample, const struct wait *wait, uint32_t row)
{
	const struct wait_trace *trace = profile_trace_of(w->p, row);
	g_autoptr(GString) route = g_string_new(NULL);
	bool is_one = wait->count == 1;

	context_for_each(w->p, wait->user, label_attribute, &(struct labelled){ w, sample });
	if (context_append_route(w->p, wait->user, route))
		label_string(w, sample, "span_name", route->str);
	if (!trace)
		return;
	label_string(w, sample, is_one ? "trace_id" : "longest_trace_id", trace->trace);
	label_string(w, sample, is_one ? "span_id" : "longest_span_id", trace->span);
	if (is_one)
		label_string(w, sample, "profile_id", trace->span);
}

static void write_labels(struct pprof *w, GString *sample, const struct wait *wait)
{
	const struct thread *t = profile_thread(w->p, wait->thread);
	const struct object *o = profile_wait_object(w->p, wait);
	char state[2] = { wait->state == '?' ? '\0' : (char)wait->state, '\0' };

	label_string(w, sample, "comm", t->comm);
	label_string(w, sample, "process", t->process);
	label_string(w, sample, "state", state);
	label_string(w, sample, "open", open_text(wait->flags));
	if (o) {
		g_autoptr(GString) text = g_string_new(NULL);

		object_text(text, o);
		label_string(w, sample, "object", text->str);
	}
	label_number(w, sample, "pid", t->pid);
	label_number(w, sample, "tid", t->tid);
}

static void write_sample(struct pprof *w, uint32_t row)
{
	const struct wait *wait = profile_wait(w->p, row);
	g_autoptr(GString) sample = g_string_new(NULL);
	const uint64_t values[] = { weight_of_wait(wait, WEIGHT_COUNT),
				    wait_off_cpu_ns(wait),
				    wait->blocked_ns,
				    wait->runnable_ns,
				    wait->preempted_ns,
				    wait->on_cpu_ns,
				    wait_off_cpu_ns(wait) + wait->on_cpu_ns };
	gsize cnt = profile_rows_are_counted(w->p->info.rows_are) ? 1
		    : w->p->info.unknown & UNKNOWN_PARTS          ? 2
		    : w->p->info.on_cpu_as_waits                  ? G_N_ELEMENTS(values)
								  : 5;

	path_own_frames(w->p, wait->user, wait->kernel, w->path);
	append_locations(w, sample);
	g_string_truncate(w->inner, 0);
	for (gsize i = w->p->info.unknown & UNKNOWN_COUNTS ? 1 : 0; i < cnt; i++)
		wire_varint(w->inner, values[i]);
	wire_message(sample, SAMPLE_VALUE, w->inner);
	write_labels(w, sample, wait);
	label_context(w, sample, wait, row);
	wire_message(w->out, PROFILE_SAMPLE, sample);
}

/* Rows that are not waits have their own types. */
static const char *type_name(const struct pprof *w, const char *usual, enum weight weight)
{
	const struct rows_kind *kind = profile_rows_kind(w->p->info.rows_are);

	return kind && weight == WEIGHT_OFF_CPU ? kind->time_type
	       : kind && weight == WEIGHT_COUNT ? kind->count_type
						: usual;
}

/* Writes only types whose values are known. */
static void write_types(struct pprof *w, enum weight preferred)
{
	static const struct {
		const char *name, *unit;
		enum weight weight;
		uint32_t unknown;
	} types[] = {
		{ "events", "count", WEIGHT_COUNT, UNKNOWN_COUNTS },
		{ "off_cpu", "nanoseconds", WEIGHT_OFF_CPU, 0 },
		{ "blocked", "nanoseconds", WEIGHT_BLOCKED, UNKNOWN_PARTS },
		{ "runnable", "nanoseconds", WEIGHT_RUNNABLE, UNKNOWN_PARTS },
		{ "preempted", "nanoseconds", WEIGHT_PREEMPTED, UNKNOWN_PARTS },
		{ "on_cpu", "nanoseconds", WEIGHT_ON_CPU, UNKNOWN_PARTS },
		{ "time", "nanoseconds", WEIGHT_TIME, UNKNOWN_PARTS },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
		if (types[i].unknown & w->p->info.unknown ||
		    (types[i].weight != WEIGHT_COUNT && profile_rows_are_counted(w->p->info.rows_are)) ||
		    (!w->p->info.on_cpu_as_waits &&
		     (types[i].weight == WEIGHT_ON_CPU || types[i].weight == WEIGHT_TIME)))
			continue;
		const char *name = type_name(w, types[i].name, types[i].weight);

		g_string_truncate(w->message, 0);
		wire_uint(w->message, TYPE_NAME, string_id(w, name));
		wire_uint(w->message, TYPE_UNIT, string_id(w, types[i].unit));
		wire_message(w->out, PROFILE_SAMPLE_TYPE, w->message);
		if (types[i].weight == preferred)
			wire_uint(w->out, PROFILE_DEFAULT_TYPE, string_id(w, name));
	}
}

static void write_end(struct pprof *w, const struct export_plan *plan)
{
	g_autoptr(GPtrArray) notes = profile_notes(w->p, plan);

	wire_uint(w->out, PROFILE_TIME_NS, w->p->info.start_unix_ns);
	wire_uint(w->out, PROFILE_DURATION_NS, w->p->info.duration_ns);
	for (guint i = 0; i < notes->len; i++)
		wire_uint(w->out, PROFILE_COMMENT, string_id(w, g_ptr_array_index(notes, i)));
	for (uint32_t i = 0; i < w->strings_cnt; i++) {
		const char *s = strset_get(w->strings, i);

		wire_bytes(w->out, PROFILE_STRING, s, strlen(s));
	}
}

void write_pprof(struct writer *writer, const struct profile *p, const struct export_plan *plan)
{
	struct pprof w = {
		.p = p,
		.out = writer_text(writer),
		.message = g_string_new(NULL),
		.inner = g_string_new(NULL),
		.strings = strset_new(),
		.mappings = g_array_new(FALSE, FALSE, sizeof(struct mapping)),
		.locations = locations_new(p),
		.location = g_string_new(NULL),
		.functions = g_hash_table_new_full(function_hash, function_equal, g_free, NULL),
		.functions_out = g_string_new(NULL),
		.path = g_array_new(FALSE, FALSE, sizeof(uint32_t)),
		.ids = g_array_new(FALSE, FALSE, sizeof(uint32_t)),
	};

	string_id(&w, "");
	write_types(&w, plan->folded.weight);
	make_mappings(&w, plan);
	for (guint i = 0; i < p->waits->len; i++) {
		if (plan_has(plan, i))
			write_sample(&w, i);
		writer_flush(writer);
	}
	for (uint32_t id = 1; id <= locations_cnt(w.locations); id++) {
		write_location(&w, id);
		writer_flush(writer);
	}
	g_string_append_len(w.out, w.functions_out->str, (gssize)w.functions_out->len);
	write_end(&w, plan);
	g_string_free(w.message, TRUE);
	g_string_free(w.inner, TRUE);
	g_string_free(w.location, TRUE);
	locations_free(w.locations);
	g_string_free(w.functions_out, TRUE);
	g_hash_table_unref(w.functions);
	g_array_unref(w.mappings);
	g_array_unref(w.path);
	g_array_unref(w.ids);
	g_free(w.mapping_of);
	strset_free(w.strings);
}
