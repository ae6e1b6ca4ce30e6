/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/traces/fold.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/trace_attributes.h"
#include "fold/parts.h"
#include "symbolize/process/process_context.h"

#define PROGRAMS_MAX 1024	/* programs whose attribute names are kept */
#define VALUE_MAX_BYTES 200	/* longer values are cut */
#define READ_AGAIN_US 1000000	/* retry interval if a name of a program is missing */

struct program {
	uint64_t space;
	struct process_context *context;	/* NULL: reading failed */
	gint64 read_us;
	GHashTable *values;	/* distinct attributes such as "http.route=/a"; their number is limited */
};

struct fold_contexts {
	struct profile *profile;
	const char *proc_dir;
	GHashTable *programs;	/* struct program, by address space */
	const char *labels[OFFCPU_LABEL_NAMES];	/* numbered as in the BPF programs, from 1 on */
	unsigned label_cnt;
};

FREES_DATA(program_free, struct program, program, process_context_free(program->context);
	   g_hash_table_destroy(program->values))

struct fold_contexts *fold_contexts_new(struct profile *profile, const char *proc_dir)
{
	struct fold_contexts *c = g_new0(struct fold_contexts, 1);

	c->profile = profile;
	c->proc_dir = proc_dir;
	c->label_cnt = trace_attributes_wanted(OFFCPU_LABEL_NAME_BYTES - 1, c->labels + 1, OFFCPU_LABEL_NAMES - 1);
	c->programs = g_hash_table_new_full(hash_u64, g_int64_equal, NULL, program_free);
	return c;
}

FREES(fold_contexts_free, struct fold_contexts, c, g_hash_table_destroy(c->programs))

bool fold_contexts_is_sound(const struct offcpu_rec_context *rec, size_t size)
{
	return size >= sizeof(*rec) && rec->shift < sizeof(rec->word[0]);
}

static void read_names(const struct fold_contexts *c, struct program *program, uint32_t pid)
{
	struct process_context *found = process_context_read(c->proc_dir, pid);

	program->read_us = g_get_monotonic_time();
	if (!found)
		return;	/* the process may have ended: keep what is known */
	process_context_free(program->context);
	program->context = found;
}

static struct program *program_of(struct fold_contexts *c, const struct offcpu_rec_context *rec)
{
	uint64_t space = fold_space(rec->proc_start_ns, rec->pid, rec->exec_no);
	struct program *program = g_hash_table_lookup(c->programs, &space);

	if (program)
		return program;
	if (g_hash_table_size(c->programs) >= PROGRAMS_MAX)
		g_hash_table_remove_all(c->programs);
	program = g_new0(struct program, 1);
	program->space = space;
	program->values = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	read_names(c, program, rec->pid);
	g_hash_table_add(c->programs, program);
	return program;
}

static const char *name_known(const struct program *program, unsigned key)
{
	const GPtrArray *keys = program->context ? program->context->keys : NULL;
	const char *name = keys && key < keys->len ? g_ptr_array_index(keys, key) : NULL;

	return name && *name ? name : NULL;
}

/* The attribute's name for this number. NULL: the program does not publish one. */
static const char *name_of(struct fold_contexts *c, struct program *program, const struct offcpu_rec_context *rec,
			   unsigned key)
{
	const char *name = name_known(program, key);

	if (rec->is_labels)
		return key && key <= c->label_cnt ? c->labels[key] : NULL;
	if (name || g_get_monotonic_time() - program->read_us < READ_AGAIN_US)
		return name;
	read_names(c, program, rec->pid);
	return name_known(program, key);
}

struct attribute {
	const char *name;
	const uint8_t *value;
	unsigned bytes;
};

/* If a key occurs twice, the last one counts. */
static void put_attribute(struct attribute *list, unsigned *cnt, const struct attribute *a)
{
	unsigned i = 0;

	while (i < *cnt && strcmp(list[i].name, a->name))
		i++;
	if (i < FOLD_CONTEXT_FRAMES)
		list[i] = *a;
	*cnt = MAX(*cnt, MIN(i + 1, FOLD_CONTEXT_FRAMES));
}

/* By name, but the route comes first, because people group by it. */
static int compare_attributes(const void *a, const void *b)
{
	const struct attribute *x = a, *y = b;
	int by_route = trace_attribute_is_route(y->name) - trace_attribute_is_route(x->name);

	return by_route ? by_route : strcmp(x->name, y->name);
}

static unsigned read_attributes(struct fold_contexts *c, struct program *program, const struct offcpu_rec_context *rec,
				struct attribute *ret)
{
	const uint8_t *record = (const uint8_t *)rec->word + rec->shift, *at = record + OFFCPU_CONTEXT_HEAD_BYTES, *end;
	unsigned cnt = 0;
	uint16_t bytes;

	memcpy(&bytes, record + OFFCPU_CONTEXT_SIZE_AT, sizeof(bytes));
	end = at + MIN(bytes, OFFCPU_CONTEXT_BYTES);
	for (; end - at >= 2 && end - at - 2 >= at[1]; at += 2 + at[1]) {
		struct attribute a = { name_of(c, program, rec, at[0]), at + 2, at[1] };

		if (!a.name)
			profile_add_loss(c->profile, "trace_attribute",
					 "a trace context has an attribute whose name its process does not tell", 1, 0);
		else if (a.bytes && trace_attribute_is_wanted(a.name))
			put_attribute(ret, &cnt, &a);
	}
	return cnt;
}

static uint32_t frame_of(struct fold_contexts *c, const struct attribute *a, const char *value)
{
	g_autofree char *module = g_strdup_printf("[%s]", a->name);
	const struct frame frame = { .name = value, .module = module, .kind = FRAME_CONTEXT };

	return profile_frame(c->profile, &frame);
}

/* Limits a program's distinct values: routes that contain ids would make a row for each request. */
static uint32_t bounded_frame(struct fold_contexts *c, struct program *program, const struct attribute *a)
{
	unsigned bytes = MIN(a->bytes, VALUE_MAX_BYTES);
	const uint8_t *nul = memchr(a->value, 0, bytes);
	g_autofree char *value = g_utf8_make_valid((const char *)a->value, nul ? nul - a->value : (gssize)bytes);
	g_autofree char *pair = g_strdup_printf("%s=%s", a->name, value);

	if (g_hash_table_contains(program->values, pair))
		return frame_of(c, a, value);
	if (g_hash_table_size(program->values) >= FOLD_CONTEXT_VALUES_MAX) {
		profile_add_loss(c->profile, "trace_routes",
				 "a program has so many routes that those met last are one, [others]", 1, 0);
		return frame_of(c, a, "[others]");
	}
	g_hash_table_add(program->values, g_steal_pointer(&pair));
	return frame_of(c, a, value);
}

unsigned fold_contexts_frames(struct fold_contexts *c, const struct offcpu_rec_context *rec, uint32_t *ret_frames)
{
	struct attribute list[FOLD_CONTEXT_FRAMES];
	struct program *program = program_of(c, rec);
	unsigned cnt = read_attributes(c, program, rec, list);

	qsort(list, cnt, sizeof(list[0]), compare_attributes);
	for (unsigned i = 0; i < cnt; i++)
		ret_frames[i] = bounded_frame(c, program, &list[i]);
	return cnt;
}

const char *fold_contexts_service(struct fold_contexts *c, const struct offcpu_rec_context *rec)
{
	const struct program *program = program_of(c, rec);

	return program->context ? program->context->service : NULL;
}
