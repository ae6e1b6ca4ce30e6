/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * OpenTelemetry profiles, v1development as of 1.10: the body of an ExportProfilesServiceRequest.  A profile has a
 * single sample type, so there is one profile each for off_cpu, events, blocked, runnable and preempted; they share
 * the dictionary.  Element 0 of each dictionary table is empty.  Period and its type stay unset, since Pyroscope would
 * not recognize off_cpu otherwise.
 */
#include <string.h>

#include "analyse/strset.h"
#include "base/hash.h"
#include "base/parse.h"
#include "base/version.h"
#include "exchange/otlp_attribute.h"
#include "exchange/parts.h"
#include "profile/profile.h"
#include "base/wire.h"

enum { REQUEST_RESOURCE = 1, REQUEST_DICTIONARY };
enum { RESOURCE_PROFILES_RESOURCE = 1, RESOURCE_PROFILES_SCOPE };
enum { SCOPE_PROFILES_SCOPE = 1, SCOPE_PROFILES_PROFILE };
enum { ANY_STRING = 1, ANY_INT = 3 };
enum { DICT_MAPPING = 1, DICT_LOCATION, DICT_FUNCTION, DICT_LINK, DICT_STRING, DICT_ATTRIBUTE, DICT_STACK };
enum { PROFILE_TYPE = 1, PROFILE_SAMPLES, PROFILE_TIME, PROFILE_DURATION };
enum { TYPE_NAME = 1, TYPE_UNIT };
enum { LINK_TRACE_ID = 1, LINK_SPAN_ID };
enum { SAMPLE_STACK = 1, SAMPLE_ATTRIBUTES, SAMPLE_LINK, SAMPLE_VALUES };
enum { STACK_LOCATIONS = 1 };
enum { LOCATION_MAPPING = 1, LOCATION_ADDRESS, LOCATION_LINES, LOCATION_ATTRIBUTES };
enum { LINE_FUNCTION = 1, LINE_NUMBER };
enum { FUNCTION_NAME = 1, FUNCTION_SYSTEM_NAME, FUNCTION_FILE };
enum { MAPPING_LIMIT = 2, MAPPING_FILE = 4, MAPPING_ATTRIBUTES };
enum { ATTRIBUTE_KEY = 1, ATTRIBUTE_VALUE };

/* A dictionary table: encoded elements and an index. */
struct table {
	GString *out;
	struct strset *index; /* by the values that identify an element */
	uint32_t cnt;
};

struct otlp {
	const struct profile *p;
	const struct export_plan *plan;
	struct table mappings, functions, strings, attributes, links;
	GString *stacks; /* encoded */
	GHashTable *stack_ids; /* uint64_t of user and kernel stack -> index */
	struct locations *locations;
	GArray *path, *ids;
	GArray *context; /* scratch: indices of a trace context's attributes */
	GString *a, *b, *key; /* scratch */
	uint32_t *attributes_of; /* by thread: three indices; 0: not added yet */
};

/* The caller writes the empty first element. */
static void table_begin_empty(struct table *t)
{
	*t = (struct table){ .out = g_string_new(NULL), .index = strset_new(), .cnt = 1 };
	strset_id(t->index, "");
}

static void table_begin(struct table *t, unsigned field)
{
	table_begin_empty(t);
	wire_bytes(t->out, field, "", 0);
}

static void table_end(struct table *t, GString *dictionary)
{
	g_string_append_len(dictionary, t->out->str, (gssize)t->out->len);
	g_string_free(t->out, TRUE);
	strset_free(t->index);
}

/* True if the key is new: the caller then writes the element. */
static bool table_add(struct table *t, const char *key, uint32_t *ret_id)
{
	*ret_id = strset_id(t->index, key);
	if (*ret_id < t->cnt)
		return false;
	t->cnt++;
	return true;
}

static uint32_t string_id(struct otlp *w, const char *s)
{
	uint32_t id;

	if (table_add(&w->strings, s ? s : "", &id))
		wire_bytes(w->strings.out, DICT_STRING, s, strlen(s));
	return id;
}

static void append_any(GString *out, const char *text, uint64_t number)
{
	if (text)
		wire_bytes(out, ANY_STRING, text, strlen(text));
	else
		wire_uint_always(out, ANY_INT, number);
}

/* An attribute with a text, or with a number if that is NULL. */
static uint32_t attribute_id(struct otlp *w, const char *name, const char *text, uint64_t number)
{
	g_autofree char *key = g_strdup_printf("%s=%s%" G_GUINT64_FORMAT, name, text ? text : "#", (guint64)number);
	uint32_t id, name_id = string_id(w, name);

	if (!table_add(&w->attributes, key, &id))
		return id;
	g_string_truncate(w->a, 0);
	append_any(w->a, text, number);
	g_string_truncate(w->b, 0);
	wire_uint(w->b, ATTRIBUTE_KEY, name_id);
	wire_message(w->b, ATTRIBUTE_VALUE, w->a);
	wire_message(w->attributes.out, DICT_ATTRIBUTE, w->b);
	return id;
}

static uint32_t mapping_id(struct otlp *w, const struct frame *f)
{
	uint32_t id, file, build_id = 0;

	if (!f->module || !table_add(&w->mappings, f->module, &id))
		return f->module ? id : 0;
	const char *hex = profile_build_id(w->p, f->module);

	file = string_id(w, f->module);
	if (hex)
		build_id = attribute_id(w, "process.executable.build_id.gnu", hex, 0);
	g_string_truncate(w->a, 0);
	wire_uint(w->a, MAPPING_LIMIT, G_MAXINT64);
	wire_uint(w->a, MAPPING_FILE, file);
	if (build_id)
		wire_uint(w->a, MAPPING_ATTRIBUTES, build_id);
	wire_message(w->mappings.out, DICT_MAPPING, w->a);
	return id;
}

static uint32_t function_id(struct otlp *w, const struct frame *f)
{
	const char *name = f->name ? f->name : "[stack lost]";
	uint32_t id, name_id, file_id;

	g_string_printf(w->key, "%s\n%s", name, f->file ? f->file : "");
	if (!table_add(&w->functions, w->key->str, &id))
		return id;
	name_id = string_id(w, name);
	file_id = string_id(w, f->file);
	g_string_truncate(w->a, 0);
	wire_uint(w->a, FUNCTION_NAME, name_id);
	wire_uint(w->a, FUNCTION_FILE, file_id);
	wire_message(w->functions.out, DICT_FUNCTION, w->a);
	return id;
}

static void write_location(struct otlp *w, GString *out, uint32_t id)
{
	g_autoptr(GString) location = g_string_new(NULL);
	guint cnt;
	const uint32_t *frames = locations_get(w->locations, id, &cnt);
	const struct frame *outer = profile_get_frame(w->p, frames[0]);
	uint32_t type = attribute_id(w, "profile.frame.type", outer->kind == FRAME_KERNEL ? "kernel" : "native", 0);

	wire_uint(location, LOCATION_MAPPING, mapping_id(w, outer));
	wire_uint(location, LOCATION_ADDRESS, outer->offset);
	for (guint i = cnt; i-- > 0;) {
		const struct frame *f = profile_get_frame(w->p, frames[i]);

		if (!f->name && f->why != FRAME_PENDING)
			continue;
		uint32_t function = function_id(w, f);

		g_string_truncate(w->b, 0);
		wire_uint(w->b, LINE_FUNCTION, function);
		wire_uint(w->b, LINE_NUMBER, f->line);
		wire_message(location, LOCATION_LINES, w->b);
	}
	wire_uint(location, LOCATION_ATTRIBUTES, type);
	wire_message(out, DICT_LOCATION, location);
}

/* Index of a stack; its locations are innermost first. */
static uint32_t stack_id(struct otlp *w, const struct wait *wait)
{
	uint64_t key = (uint64_t)wait->user << 32 | wait->kernel;
	uint32_t id = GPOINTER_TO_UINT(g_hash_table_lookup(w->stack_ids, &key));

	if (id)
		return id;
	id = g_hash_table_size(w->stack_ids) + 1;
	g_hash_table_insert(w->stack_ids, g_memdup2(&key, sizeof(key)), GUINT_TO_POINTER(id));
	path_own_frames(w->p, wait->user, wait->kernel, w->path);
	locations_of_path(w->locations, w->path, w->ids);
	g_string_truncate(w->a, 0);
	for (guint i = w->ids->len; i-- > 0;)
		wire_varint(w->a, g_array_index(w->ids, uint32_t, i));
	g_string_truncate(w->b, 0);
	wire_message(w->b, STACK_LOCATIONS, w->a);
	wire_message(w->stacks, DICT_STACK, w->b);
	return id;
}

static const uint32_t *thread_attributes(struct otlp *w, uint32_t thread)
{
	const struct thread *t = profile_thread(w->p, thread);
	uint32_t *ids = &w->attributes_of[3 * (gsize)thread];

	if (!ids[0]) {
		ids[0] = t->comm ? attribute_id(w, "thread.name", t->comm, 0) : 0;
		ids[1] = t->tid ? attribute_id(w, "thread.id", NULL, t->tid) : 0;
		ids[2] = t->pid ? attribute_id(w, "process.pid", NULL, t->pid) : 0;
	}
	return ids;
}

static void write_link(GString *out, const struct wait_trace *trace)
{
	g_autoptr(GString) link = g_string_new(NULL);
	uint8_t bytes[16];

	wire_bytes(link, LINK_TRACE_ID, bytes, hex_bytes(bytes, 16, trace->trace));
	wire_bytes(link, LINK_SPAN_ID, bytes, hex_bytes(bytes, 8, trace->span));
	wire_message(out, DICT_LINK, link);
}

/* The empty link has ids of full length, all zero: some readers reject shorter ids. */
static void begin_links(struct table *links)
{
	static const struct wait_trace none = { .trace = "00000000000000000000000000000000", .span = "0000000000000000" };

	table_begin_empty(links);
	write_link(links->out, &none);
}

static void put_attribute(const char *attribute, const char *value, void *data)
{
	struct otlp *w = data;
	uint32_t id = attribute_id(w, attribute, value, 0);

	g_array_append_val(w->context, id);
}

/*
 * A single wait is linked to its span.  A row of several waits may belong to several traces, so it has an attribute
 * with that of its longest wait.  Returns the link, 0: none.
 */
static uint32_t context_attributes(struct otlp *w, const struct wait *wait, uint32_t row)
{
	const struct wait_trace *trace = profile_trace_of(w->p, row);
	uint32_t id;

	g_array_set_size(w->context, 0);
	context_for_each(w->p, wait->user, put_attribute, w);
	if (trace && wait->count != 1) {
		put_attribute("offcpu.longest.trace_id", trace->trace, w);
		put_attribute("offcpu.longest.span_id", trace->span, w);
	}
	if (!trace || wait->count != 1)
		return 0;
	g_string_printf(w->key, "%s%s", trace->trace, trace->span);
	if (table_add(&w->links, w->key->str, &id))
		write_link(w->links.out, trace);
	return id;
}

static void write_sample(struct otlp *w, GString *profile, uint32_t row, uint64_t value)
{
	g_autoptr(GString) sample = g_string_new(NULL);
	const struct wait *wait = profile_wait(w->p, row);
	char state[2] = { (char)wait->state, '\0' };
	uint32_t stack = stack_id(w, wait),
		 of_state = wait->state == '?' ? 0 : attribute_id(w, "offcpu.state", state, 0);
	const uint32_t *ids = thread_attributes(w, wait->thread);
	uint32_t link = context_attributes(w, wait, row);

	wire_uint(sample, SAMPLE_STACK, stack);
	g_string_truncate(w->a, 0);
	for (int i = 0; i < 3; i++)
		if (ids[i])
			wire_varint(w->a, ids[i]);
	if (of_state)
		wire_varint(w->a, of_state);
	for (guint i = 0; i < w->context->len; i++)
		wire_varint(w->a, g_array_index(w->context, uint32_t, i));
	wire_message(sample, SAMPLE_ATTRIBUTES, w->a);
	wire_uint(sample, SAMPLE_LINK, link);
	g_string_truncate(w->a, 0);
	wire_varint(w->a, value);
	wire_message(sample, SAMPLE_VALUES, w->a);
	wire_message(profile, PROFILE_SAMPLES, sample);
}

static void write_profile(struct otlp *w, GString *scope, enum weight weight)
{
	g_autoptr(GString) profile = g_string_new(NULL);
	const struct rows_kind *kind = profile_rows_kind(w->p->info.rows_are);
	uint32_t name = string_id(w, weight == WEIGHT_COUNT		    ? kind ? kind->count_type : "events"
				     : kind && weight == WEIGHT_OFF_CPU ? kind->time_type
								      : weight_name(weight));
	uint32_t unit = string_id(w, weight == WEIGHT_COUNT ? "count" : "nanoseconds");

	g_string_truncate(w->b, 0);
	wire_uint(w->b, TYPE_NAME, name);
	wire_uint(w->b, TYPE_UNIT, unit);
	wire_message(profile, PROFILE_TYPE, w->b);
	EACH_ROW(i, const struct wait, wait, w->p->waits) {
		uint64_t value = weight_of_wait(wait, weight);

		if (value && plan_has(w->plan, i))
			write_sample(w, profile, i, value);
	}
	wire_fixed64(profile, PROFILE_TIME, w->p->info.start_unix_ns);
	wire_uint(profile, PROFILE_DURATION, w->p->info.duration_ns);
	wire_message(scope, SCOPE_PROFILES_PROFILE, profile);
}

static void write_profiles(struct otlp *w, GString *scope)
{
	for (enum weight weight = 0; weight < WEIGHT_KINDS; weight++) {
		uint32_t unknown = weight == WEIGHT_OFF_CPU ? 0
				   : weight == WEIGHT_COUNT ? UNKNOWN_COUNTS
							    : UNKNOWN_PARTS;

		if (weight != WEIGHT_COUNT && profile_rows_are_counted(w->p->info.rows_are))
			continue;
		if (!w->p->info.on_cpu_as_waits && (weight == WEIGHT_ON_CPU || weight == WEIGHT_TIME))
			continue;
		if (unknown & w->p->info.unknown || (w->plan->has_weight && weight != w->plan->folded.weight))
			continue;
		write_profile(w, scope, weight);
	}
}

/* Writes the complete resource and scope: some servers require both. */
static void write_resource(struct otlp *w, GString *out)
{
	g_autoptr(GString) resource = g_string_new(NULL), scope = g_string_new(NULL), of_scope = g_string_new(NULL),
			   all = g_string_new(NULL);

	otlp_attribute(resource, OTLP_RESOURCE_ATTRIBUTE, "service.name", w->plan->service ? w->plan->service : "offcpu");
	otlp_attribute(resource, OTLP_RESOURCE_ATTRIBUTE, "host.name", w->p->info.host);
	otlp_attribute(resource, OTLP_RESOURCE_ATTRIBUTE, "offcpu.idle", w->plan->idle);
	otlp_attribute(resource, OTLP_RESOURCE_ATTRIBUTE, "os.version", w->p->info.kernel);
	wire_message(all, RESOURCE_PROFILES_RESOURCE, resource);
	wire_string(of_scope, OTLP_SCOPE_NAME, "off_cpu");
	wire_string(of_scope, OTLP_SCOPE_VERSION, version_text());
	wire_message(scope, SCOPE_PROFILES_SCOPE, of_scope);
	write_profiles(w, scope);
	wire_message(all, RESOURCE_PROFILES_SCOPE, scope);
	wire_message(out, REQUEST_RESOURCE, all);
}

static void write_dictionary(struct otlp *w, GString *out)
{
	g_autoptr(GString) dictionary = g_string_new(NULL);

	wire_bytes(dictionary, DICT_LOCATION, "", 0);
	for (uint32_t id = 1; id <= locations_cnt(w->locations); id++)
		write_location(w, dictionary, id);
	table_end(&w->links, dictionary);
	wire_bytes(dictionary, DICT_STACK, "", 0);
	g_string_append_len(dictionary, w->stacks->str, (gssize)w->stacks->len);
	table_end(&w->mappings, dictionary);
	table_end(&w->functions, dictionary);
	table_end(&w->attributes, dictionary);
	table_end(&w->strings, dictionary);
	wire_message(out, REQUEST_DICTIONARY, dictionary);
}

void write_otlp(struct writer *writer, const struct profile *p, const struct export_plan *plan)
{
	struct otlp w = {
		.p = p,
		.plan = plan,
		.stacks = g_string_new(NULL),
		.locations = locations_new(p),
		.stack_ids = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, NULL),
		.path = g_array_new(FALSE, FALSE, sizeof(uint32_t)),
		.ids = g_array_new(FALSE, FALSE, sizeof(uint32_t)),
		.context = g_array_new(FALSE, FALSE, sizeof(uint32_t)),
		.a = g_string_new(NULL),
		.b = g_string_new(NULL),
		.key = g_string_new(NULL),
		.attributes_of = g_new0(uint32_t, 3 * (gsize)p->threads->len + 1),
	};

	table_begin(&w.mappings, DICT_MAPPING);
	table_begin(&w.functions, DICT_FUNCTION);
	table_begin(&w.attributes, DICT_ATTRIBUTE);
	table_begin(&w.strings, DICT_STRING);
	begin_links(&w.links);
	write_resource(&w, writer_text(writer));
	write_dictionary(&w, writer_text(writer));
	g_hash_table_unref(w.stack_ids);
	locations_free(w.locations);
	g_string_free(w.stacks, TRUE);
	g_string_free(w.a, TRUE);
	g_string_free(w.b, TRUE);
	g_string_free(w.key, TRUE);
	g_array_unref(w.path);
	g_array_unref(w.ids);
	g_array_unref(w.context);
	g_free(w.attributes_of);
}
