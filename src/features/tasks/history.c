/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Sums the tasks of consecutive windows. */
#include <math.h>

#include "base/hash.h"
#include "features/tasks/rows.h"
#include "store/merge_part.h"

static struct tasks *population_of(struct profile *p, const struct tasks *t, const char *program)
{
	struct tasks *own;

	for (guint i = 0; i < p->tasks->len; i++) {
		own = g_ptr_array_index(p->tasks, i);
		if (own->kind == t->kind && own->pid == t->pid && own->program == program)
			return own;
	}
	if (p->tasks->len >= TASKS_POPULATIONS_MAX)
		return NULL;
	own = tasks_new(t->kind, t->pid);
	own->program = program;
	own->version = profile_string(p, t->version);
	own->rate_hz = t->rate_hz;
	g_ptr_array_add(p->tasks, own);
	return own;
}

/* Texts are interned by the sum, so equal ones have the same pointer. */
static struct task_row row_of(struct merge_step *s, const struct task_row *row)
{
	struct profile *p = s->m->p;
	struct task_row own = {
		.state = profile_string(p, row->state),
		.reason = profile_string(p, row->reason),
		.name = profile_string(p, row->name),
		.awaited_by = profile_string(p, row->awaited_by),
		.creator = { profile_string(p, row->creator.name), profile_string(p, row->creator.file),
			     row->creator.line },
		.stack = profile_map_node(&s->map, row->stack),
		.end = row->end,
		.parent = row->parent,
	};

	own.creator_frame = tasks_creator_frame(p, &own.creator);
	return own;
}

static uint64_t key_of(const struct task_row *row)
{
	uint64_t key = hash_more(hash_pointer(row->state), hash_pointer(row->reason));

	key = hash_more(hash_more(key, hash_pointer(row->name)), hash_pointer(row->awaited_by));
	key = hash_more(hash_more(key, row->stack), (uint64_t)row->creator_frame << 3 | row->end);
	return hash_more(key, row->parent) * HASH_MIX;
}

static uint64_t sum(uint64_t a, uint64_t b)
{
	return MIN(a + b, PROFILE_NS_MAX);
}

static void add_row(struct merge_step *s, struct tasks *t, const struct task_row *row)
{
	struct task_row own = row_of(s, row), *into;
	bool is_new;

	into = tasks_row(t, key_of(&own), &is_new);
	if (!into) {
		t->no_row = sum(t->no_row, row->seen);
		return;
	}
	if (is_new) {
		*into = own;
		tasks_take_frames(s->m->p, into);
	}
	into->seen = sum(into->seen, row->seen);
	into->task_ns = sum(into->task_ns, row->task_ns);
	/* errors of different windows are independent */
	into->task_se_ns = (uint64_t)llround(hypot((double)into->task_se_ns, (double)row->task_se_ns));
}

void merge_tasks(struct merge_step *s)
{
	struct profile *p = s->m->p;
	uint64_t left_out = 0;

	for (guint i = 0; i < s->window->tasks->len; i++) {
		const struct tasks *t = profile_tasks(s->window, i);
		struct tasks *own = population_of(p, t, profile_string(p, t->program));

		if (!own) {
			left_out++;
			continue;
		}
		own->looked_at_share = (own->looked_at_share * (double)own->looks +
					t->looked_at_share * (double)t->looks) /
				       (double)(own->looks + t->looks);
		own->window_ns = sum(own->window_ns, t->window_ns);
		own->looks = sum(own->looks, t->looks);
		own->cpu_ns = sum(own->cpu_ns, t->cpu_ns);
		own->stale = sum(own->stale, t->stale);
		own->unreadable = sum(own->unreadable, t->unreadable);
		own->no_row = sum(own->no_row, t->no_row);
		own->is_cut = own->is_cut || t->is_cut;
		for (guint k = 0; k < t->rows->len; k++)
			add_row(s, own, tasks_get(t, k));
	}
	profile_add_loss(p, "task_populations", "processes with tasks beyond the first ones of that time", left_out, 0);
}

void merge_end_tasks(struct profile *p)
{
	for (guint i = 0; i < p->tasks->len; i++)
		tasks_set_means(g_ptr_array_index(p->tasks, i));
	profile_bound_tasks(p);
}
