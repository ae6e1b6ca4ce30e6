/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/json/json.h"

#include "features/tasks/analysis.h"
#include "render/json/parts.h"

static void put_frame(struct json *j, const struct task_frame *f)
{
	JSON(j, "name", f->name, "file", f->file);
	json_member_known(j, "line", f->line, f->line);
}

/* As all numbers are integers, means are written in thousandths. */
static void put_tasks(struct json *j, double tasks)
{
	json_member_uint(j, "tasks_milli", (uint64_t)(tasks * 1000 + 0.5));
}

static void put_row(struct json *j, const struct tasks *t, const struct task_row *row)
{
	const struct task_frame *own = task_own_frame(t->kind, row);

	JSON(j, "state", row->state, "reason", row->reason, "idle", task_idle(t->kind, row));
	put_tasks(j, row->tasks);
	json_member_known(j, "task_ns", row->task_ns, t->window_ns);
	json_member_known(j, "task_se_ns", row->task_se_ns, t->window_ns);
	json_member_uint(j, "seen", row->seen);
	json_key(j, "own");
	if (own)
		JSON_IN(j, put_frame(j, own));
	else
		json_null(j);
	JSON_ARRAY(j, "stack")
		for (unsigned i = 0; i < row->frame_cnt; i++)
			JSON_IN(j, put_frame(j, &row->frames[i]));
	json_member_string(j, "stack_end", stack_end_text(row->end));
	json_key(j, "creator");
	if (row->creator.name)
		JSON_IN(j, put_frame(j, &row->creator));
	else
		json_null(j);
	json_member_known(j, "parent", row->parent, row->parent);
	JSON(j, "name", row->name, "awaited_by", row->awaited_by);
}

static void put_rows(struct json *j, const struct tasks *t, const struct drain *drain)
{
	JSON_ARRAY(j, "rows")
		for (guint i = 0; i < t->rows->len; i++) {
			JSON_IN(j, put_row(j, t, tasks_get(t, i)));
			drain_rows(drain);
		}
}

static void put_population(struct json *j, const struct tasks *t, const struct drain *drain)
{
	JSON(j, "kind", tasks_kind_name(t->kind), "pid", t->pid, "program", t->program, "version", t->version);
	JSON(j, "window_ns", t->window_ns, "looks", t->looks);
	json_member_uint(j, "looked_at_ppm", (uint64_t)(t->looked_at_share * 1e6 + 0.5));
	put_tasks(j, t->tasks);
	json_member_uint(j, "cpu_ns", t->cpu_ns);
	put_rows(j, t, drain);
	json_member_object(j, "lacks");
	JSON_UINTS(j, t, stale, unreadable, no_row);
	json_member_bool(j, "cut", t->is_cut);
	json_object_end(j);
}

void tasks_json(GString *out, const struct tasks *t)
{
	struct json j;

	json_begin(&j, out);
	json_member_string(&j, "schema", "offcpu.tasks/1");
	put_population(&j, t, NULL);
	json_end(&j);
}

void json_tasks(struct json *j, const struct profile *p, const struct selection *selection, const struct drain *drain)
{
	if (!p->info.has_tasks)
		return;
	JSON_ARRAY(j, "tasks")
		for (guint i = 0; i < p->tasks->len; i++) {
			if (!selection_has_process(selection, p, profile_tasks(p, i)->pid))
				continue;
			json_object_begin(j);
			put_population(j, profile_tasks(p, i), drain);
			json_object_end(j);
		}
}
