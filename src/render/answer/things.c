/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/answer/things.h"

#include "base/each.h"
#include "render/json/parts.h"

static void add_thing(struct things *t, enum thing_kind kind, guint at, const char *prefix, const char *const *parts,
		      unsigned parts_cnt)
{
	char *id = answer_id(t->by_id, prefix, parts, parts_cnt);
	struct thing *thing = g_new(struct thing, 1);

	*thing = (struct thing){ .kind = kind, .at = at, .id = id };
	g_ptr_array_add(t->of_kind[kind], thing);
	g_hash_table_insert(t->by_id, id, thing);
}

/* Ids are made of what distinguishes findings, without numbers that vary between runs. */
static void add_findings(struct things *t)
{
	const struct findings *f = t->e->findings;

	EACH_ROW(i, const struct finding, row, f->rows) {
		const struct frame *frame = row->frame >= 0 ? profile_get_frame(t->p, (uint32_t)row->frame) : NULL;
		const char *parts[] = { row->process, reason_name(row->reason), frame ? frame->name : NULL,
					row->loop ? row->loop->name : NULL,
					row->busy_rule ? row->busy_rule->name : NULL };

		add_thing(t, THING_FINDING, i, row->busy ? "busy" : "wait", parts, G_N_ELEMENTS(parts));
	}
}

static void add_tasks(struct things *t)
{
	const struct task_findings *tasks = t->e->tasks;

	for (guint i = 0; i < tasks->cnt; i++) {
		const struct task_wait *w = &g_array_index(tasks->rows, struct task_wait, i);
		const char *parts[] = { w->program, w->state, w->reason, w->function, w->call, w->creator };

		add_thing(t, THING_TASK, i, "tasks", parts, G_N_ELEMENTS(parts));
	}
}

static void add_groups(struct things *t)
{
	for (guint i = 0; i < t->groups->rows->len; i++) {
		const struct wait_group *h = things_group(t, i);
		const char *parts[] = { profile_thread(t->p, profile_wait(t->p, h->wait)->thread)->comm,
					reason_name(h->reason), h->name };

		add_thing(t, THING_STACK, i, "stack", parts, G_N_ELEMENTS(parts));
	}
}

static void add_processes(struct things *t)
{
	const GArray *classes = t->e->findings->classes;

	for (guint i = 0; i < classes->len; i++)
		add_thing(t, THING_PROCESS, i, "process", &g_array_index(classes, struct finding_class, i).process, 1);
}

static void add_requests(struct things *t)
{
	for (guint i = 0; i < t->p->requests->len; i++) {
		const char *parts[] = { profile_request(t->p, i)->name, profile_request(t->p, i)->file };

		add_thing(t, THING_REQUEST, i, "request", parts, G_N_ELEMENTS(parts));
	}
}

static void thing_free(gpointer thing)
{
	g_free(thing);
}

struct things *things_new(const struct profile *p, const struct explanation *e)
{
	struct things *t = g_new0(struct things, 1);

	t->p = p;
	t->e = e;
	t->by_id = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, thing_free);
	for (unsigned i = 0; i < THING_KIND_COUNT; i++)
		t->of_kind[i] = g_ptr_array_new();
	t->awake = json_without_idle(e->findings);
	t->groups = wait_groups_new(p, e->findings->reasons, t->awake);
	add_findings(t);
	add_tasks(t);
	add_groups(t);
	add_processes(t);
	add_requests(t);
	return t;
}

FREES(things_free, struct things, t,
      for (unsigned i = 0; i < THING_KIND_COUNT; i++) g_ptr_array_unref(t->of_kind[i]);
      g_hash_table_unref(t->by_id); wait_groups_free(t->groups); selection_free(t->awake))

const struct headline *things_headline(const struct things *t, const struct thing *thing)
{
	const struct explanation *e = t->e;

	EACH_ROW(i, const struct headline, h, e->headlines) {
		if (thing->kind == THING_FINDING && h->finding &&
		    h->finding == &g_array_index(e->findings->rows, struct finding, thing->at))
			return h;
		if (thing->kind == THING_TASK && h->task == &g_array_index(e->tasks->rows, struct task_wait, thing->at))
			return h;
	}
	return NULL;
}

gint64 things_finding_of(const struct things *t, guint group)
{
	const struct findings *f = t->e->findings;
	const uint32_t wait = things_group(t, group)->wait;
	uint32_t id = f->blocked_in[wait] ? f->blocked_in[wait] : f->queued_in[wait];

	for (guint i = 0; id && i < f->rows->len; i++)
		if (g_array_index(f->rows, struct finding, i).id == id)
			return i;
	return -1;
}
