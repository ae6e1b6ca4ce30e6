/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "store/pack_part.h"

#include "features/tasks/rows.h"
#include "store/blob.h"

#define PPM 1000000
#define MILLI 1000

static void put_string(struct dict_writer *w, GByteArray *into, const char *s)
{
	blob_put(into, dict_writer_string(w, s));
}

static void put_row(struct dict_writer *w, GByteArray *into, const struct task_row *row)
{
	const uint64_t numbers[] = {
		dict_writer_node(w, row->stack), row->end, row->creator.line, row->parent, row->seen, row->task_ns,
		pack_error(row->task_se_ns)
	};
	const char *const strings[] = { row->state, row->reason, row->creator.name, row->creator.file, row->name,
					row->awaited_by };

	for (gsize i = 0; i < G_N_ELEMENTS(strings); i++)
		put_string(w, into, strings[i]);
	for (gsize i = 0; i < G_N_ELEMENTS(numbers); i++)
		blob_put(into, numbers[i]);
}

static void put_population(struct dict_writer *w, GByteArray *into, const struct tasks *t)
{
	const uint64_t numbers[] = { t->kind, t->pid, t->window_ns, t->looks, (uint64_t)(t->rate_hz * MILLI),
				     MAX((uint64_t)(t->looked_at_share * PPM), 1), t->cpu_ns, t->stale, t->unreadable,
				     t->no_row, t->is_cut, t->rows->len };

	put_string(w, into, t->program);
	put_string(w, into, t->version);
	for (gsize i = 0; i < G_N_ELEMENTS(numbers); i++)
		blob_put(into, numbers[i]);
	for (guint i = 0; i < t->rows->len; i++)
		put_row(w, into, tasks_get(t, i));
}

void pack_tasks(struct dict_writer *w, const struct profile *p, GByteArray *into)
{
	blob_put(into, p->tasks->len);
	for (guint i = 0; i < p->tasks->len; i++)
		put_population(w, into, profile_tasks(p, i));
}

struct reading {
	struct dict_map *m;
	struct cursor *c;
	struct profile *p;
};

static uint64_t get_number(struct reading *r)
{
	return blob_get(r->c, PROFILE_NS_MAX);
}

static void get_row(struct reading *r, struct tasks *t)
{
	struct task_row row = { .state = dict_map_next_string(r->m, r->c) };

	row.reason = dict_map_next_string(r->m, r->c);
	row.creator.name = dict_map_next_string(r->m, r->c);
	row.creator.file = dict_map_next_string(r->m, r->c);
	row.name = dict_map_next_string(r->m, r->c);
	row.awaited_by = dict_map_next_string(r->m, r->c);
	row.stack = blob_get_id(r->c, dict_cnt(dict_map_dict(r->m), DICT_NODES));
	row.end = (enum stack_end)blob_get_id(r->c, STACK_END_COUNT);
	row.creator.line = (uint32_t)blob_get(r->c, UINT32_MAX);
	row.parent = get_number(r);
	row.seen = get_number(r);
	row.task_ns = get_number(r);
	row.task_se_ns = pack_error_value(get_number(r));
	if (r->c->bad || !row.state ||
	    DICT_GET(dict_map_dict(r->m), DICT_NODES, struct dict_node, row.stack)->depth > TASKS_DEPTH_MAX) {
		r->c->bad = true;
		return;
	}
	row.stack = dict_map_node(r->m, row.stack);
	row.creator_frame = tasks_creator_frame(r->p, &row.creator);
	tasks_take_frames(r->p, &row);
	g_array_append_val(t->rows, row);
}

static void get_population(struct reading *r)
{
	const char *program = dict_map_next_string(r->m, r->c), *version = dict_map_next_string(r->m, r->c);
	uint64_t n[12];

	for (gsize i = 0; i < G_N_ELEMENTS(n); i++)
		n[i] = get_number(r);
	if (r->c->bad || !program || n[0] >= TASKS_KINDS || n[1] > UINT32_MAX || !n[2] || !n[3] || !n[5] ||
	    n[5] > PPM || n[11] > TASKS_RECORDED_MAX) {
		r->c->bad = true;
		return;
	}
	struct tasks *t = tasks_new((enum tasks_kind)n[0], (uint32_t)n[1]);

	t->program = program;
	t->version = version;
	t->window_ns = n[2];
	t->looks = n[3];
	t->rate_hz = (double)n[4] / MILLI;
	t->looked_at_share = (double)n[5] / PPM;
	t->cpu_ns = n[6];
	t->stale = n[7];
	t->unreadable = n[8];
	t->no_row = n[9];
	t->is_cut = n[10];
	g_ptr_array_add(r->p->tasks, t);
	for (uint64_t i = 0; i < n[11] && !r->c->bad; i++)
		get_row(r, t);
}

bool unpack_tasks(struct dict_map *m, struct cursor *c, struct profile *p)
{
	struct reading r = { m, c, p };
	uint32_t cnt = blob_get_cnt(c, TASKS_POPULATIONS_MAX);

	while (cnt-- && !c->bad)
		get_population(&r);
	return !c->bad;
}
