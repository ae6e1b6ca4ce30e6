/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "sample.h"

#include "features/tasks/rows.h"

#define LOOKS 10
#define PERIOD_NS 200000000

static struct task_row *sample_row(struct tasks *t, uint64_t key, const char *state, const char *reason)
{
	static const struct task_frame frames[] = { { "runtime.gopark", "/go/proc.go", 363 }, { NULL, NULL, 0 }, { "main.producer", "/app/main.go", 31 },
						    { "main.start", NULL, 0 } };
	bool is_new;
	struct task_row *row = tasks_row(t, key, &is_new);

	if (!is_new)
		return row;
	row->state = tasks_string(t, state);
	row->reason = tasks_string(t, reason);
	row->frame_cnt = (unsigned)(key % 5);
	row->frames = g_memdup2(frames, row->frame_cnt * sizeof(*frames));
	row->end = row->frame_cnt ? STACK_COMPLETE : STACK_NONE;
	if (key % 2) {
		row->creator = frames[3];
		row->parent = key;
	}
	if (key > 3) {
		row->name = "Task-\303\244";
		row->awaited_by = "several tasks";
	}
	return row;
}

/* One whose rows come and go, and one of the other kind that was looked at once. */
void sample_add_tasks(struct profile *p)
{
	struct tasks *t = tasks_new(TASKS_GO, 3007), *other = tasks_new(TASKS_ASYNCIO, 12);

	p->info.has_tasks = true;
	t->program = "shop";
	t->version = "go1.26.10";
	for (unsigned look = 0; look < LOOKS; look++) {
		for (uint64_t i = 0; i < 5; i++)
			for (uint64_t k = 0; k < 20 * i + look % 3; k++)
				tasks_seen(t, sample_row(t, i, i % 2 ? "waiting" : "runnable", i % 2 ? "chan send" : NULL), 1 + (double)i);
		tasks_look_done(t, p->info.start_ns + (look + 1) * PERIOD_NS, PERIOD_NS);
	}
	t->looked_at_share = 0.5;
	t->rate_hz = 5;
	t->cpu_ns = 12345;
	t->stale = 1;
	t->unreadable = 2;
	t->no_row = 3;
	t->is_cut = true;
	tasks_finish(t);
	profile_add_tasks(p, t);

	other->program = "python3";
	tasks_seen(other, sample_row(other, 9, "waiting", "a future"), 1);
	tasks_look_done(other, p->info.start_ns + PERIOD_NS, PERIOD_NS);
	other->looked_at_share = 1;
	tasks_finish(other);
	profile_add_tasks(p, other);
}

static void assert_frames_equal(const struct task_frame *x, const struct task_frame *y)
{
	g_assert_cmpstr(x->name, ==, y->name);
	g_assert_cmpstr(x->file, ==, y->file);
	g_assert_cmpuint(x->line, ==, y->line);
}

static void assert_rows_equal(const struct task_row *x, const struct task_row *y)
{
	g_assert_cmpstr(x->state, ==, y->state);
	g_assert_cmpstr(x->reason, ==, y->reason);
	g_assert_cmpuint(x->frame_cnt, ==, y->frame_cnt);
	for (unsigned i = 0; i < x->frame_cnt; i++)
		assert_frames_equal(&x->frames[i], &y->frames[i]);
	g_assert_cmpuint(x->end, ==, y->end);
	assert_frames_equal(&x->creator, &y->creator);
	g_assert_cmpstr(x->name, ==, y->name);
	g_assert_cmpstr(x->awaited_by, ==, y->awaited_by);
	g_assert_cmpuint(x->parent, ==, y->parent);
	g_assert_cmpuint(x->seen, ==, y->seen);
	g_assert_cmpuint(x->task_ns, ==, y->task_ns);
	g_assert_cmpuint(x->task_se_ns, ==, y->task_se_ns);
	g_assert_cmpfloat(x->tasks, ==, y->tasks);
}

static void assert_looks_equal(const struct tasks *x, const struct tasks *y)
{
	g_assert_cmpuint(x->when->len, ==, y->when->len);
	for (guint i = 0; i < x->when->len; i++) {
		const struct task_look *a = task_looks_get(x, i), *b = task_looks_get(y, i);

		g_assert_cmpuint(a->start_ns, ==, b->start_ns);
		g_assert_cmpuint(a->period_ns, ==, b->period_ns);
		g_assert_cmpuint(a->looks, ==, b->looks);
		g_assert_cmpfloat(a->weight, ==, b->weight);
		g_assert_cmpuint(a->stale, ==, b->stale);
		g_assert_cmpuint(a->unreadable, ==, b->unreadable);
		g_assert_cmpuint(a->no_row, ==, b->no_row);
		g_assert_cmpuint(a->cell_cnt, ==, b->cell_cnt);
		for (guint k = 0; k < a->cell_cnt; k++) {
			const struct task_cell *c = task_looks_cell(x, a->first_cell + k),
					       *d = task_looks_cell(y, b->first_cell + k);

			g_assert_cmpuint(c->row, ==, d->row);
			g_assert_cmpuint(c->seen, ==, d->seen);
			g_assert_cmpuint(c->task_ns, ==, d->task_ns);
		}
	}
}

void assert_tasks_equal(const struct profile *a, const struct profile *b)
{
	g_assert_cmpuint(a->info.has_tasks, ==, b->info.has_tasks);
	g_assert_cmpuint(a->tasks->len, ==, b->tasks->len);
	for (guint i = 0; i < a->tasks->len; i++) {
		const struct tasks *x = profile_tasks(a, i), *y = profile_tasks(b, i);

		g_assert_cmpuint(x->kind, ==, y->kind);
		g_assert_cmpuint(x->pid, ==, y->pid);
		g_assert_cmpstr(x->program, ==, y->program);
		g_assert_cmpstr(x->version, ==, y->version);
		g_assert_cmpuint(x->window_ns, ==, y->window_ns);
		g_assert_cmpuint(x->looks, ==, y->looks);
		g_assert_cmpfloat(x->rate_hz, ==, y->rate_hz);
		g_assert_cmpfloat(x->looked_at_share, ==, y->looked_at_share);
		g_assert_cmpuint(x->cpu_ns, ==, y->cpu_ns);
		g_assert_cmpuint(x->stale, ==, y->stale);
		g_assert_cmpuint(x->unreadable, ==, y->unreadable);
		g_assert_cmpuint(x->no_row, ==, y->no_row);
		g_assert_cmpuint(x->is_cut, ==, y->is_cut);
		g_assert_cmpuint(x->rows->len, ==, y->rows->len);
		for (guint k = 0; k < x->rows->len; k++)
			assert_rows_equal(tasks_get(x, k), tasks_get(y, k));
		assert_looks_equal(x, y);
	}
}
