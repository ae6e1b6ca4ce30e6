/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#include "features/slices/rows_build.h"
#include "features/tasks/analysis.h"

#define SLICE_NS (UINT64_C(200) * 1000 * 1000)	/* one slice per look */
#define NO_WAIT UINT32_MAX
#define IDLE_WORD "[idle]"

static uint32_t push(struct profile *p, uint32_t node, const struct task_frame *f, const char *module)
{
	const struct frame frame = {
		.name = f->name, .module = module, .file = f->file, .line = f->line, .kind = FRAME_USER,
		.why = f->name ? FRAME_NAMED : FRAME_NO_SYMBOLS,
	};

	return profile_node(p, node, profile_frame(p, &frame));
}

/* Like an attribute of a trace context: profile/profile.h. */
static uint32_t push_label(struct profile *p, uint32_t node, const struct task_frame *f)
{
	const struct frame frame = { .name = f->name, .module = f->file, .kind = FRAME_CONTEXT };

	return profile_node(p, node, profile_frame(p, &frame));
}

static uint32_t push_word(struct profile *p, uint32_t node, const char *word)
{
	g_autofree char *name = g_strdup_printf("[%s]", word);

	return push(p, node, &(struct task_frame){ .name = name }, NULL);
}

static uint32_t stack_of(struct profile *p, const struct tasks *t, const struct task_row *row)
{
	const char *idle = task_idle(t->kind, row);
	uint32_t node = idle ? push_word(p, push_word(p, 0, "idle"), idle) : 0;

	for (unsigned i = row->frame_cnt; i-- > 0;)
		node = task_frame_is_label(&row->frames[i]) ? push_label(p, node, &row->frames[i]) : push(p, node, &row->frames[i], task_is_of_python(t->kind) ? "[python]" : NULL);
	node = push_word(p, node, task_reason_text(row->state, row->reason));
	profile_stack_end(p, node, row->end == STACK_NONE ? STACK_COMPLETE : row->end);
	return node;
}

/* What was already added of a row. */
struct added {
	uint64_t ns, count_q8;
};

/* Adds the part of a look's cell within one slice. */
static void add_part(struct slice_builder *b, const struct wait *w, uint32_t row, uint64_t at_ns, uint64_t ns,
		     struct added *added)
{
	/* a task's wait has no known duration, so all get the same one */
	struct slice_cell cell = { .row = row, .blocked_ns = ns, .max_ns = SLICE_NS };
	const uint64_t all_q8 = w->count * SLICE_COUNT_Q8;
	uint64_t upto_q8;

	/* the mean number of tasks is distributed by time */
	added->ns = MIN(added->ns + ns, w->blocked_ns);
	upto_q8 = (uint64_t)((unsigned __int128)all_q8 * added->ns / w->blocked_ns);
	cell.count_q8 = upto_q8 - added->count_q8;
	added->count_q8 = upto_q8;
	slice_hist_add(&cell.bars, profile_hist_slot(SLICE_NS), cell.count_q8);
	slice_builder_add(b, at_ns, &cell);
}

/* A look stands for its period evenly. The part outside of the window counts at its edge. */
static void add_look(struct slice_builder *b, const struct profile *p, const struct task_look *look, uint64_t task_ns,
		     uint32_t wait, struct added *added)
{
	const uint64_t last_ns = p->info.duration_ns - 1, length_ns = slice_builder_length_ns(b);
	uint64_t at_ns = look->start_ns - MIN(p->info.start_ns, look->start_ns), left_ns = look->period_ns;

	while (left_ns) {
		const uint64_t slice_left_ns = at_ns < last_ns ? length_ns - at_ns % length_ns : left_ns,
			       part_ns = MIN(slice_left_ns, left_ns);
		const uint64_t ns = part_ns == left_ns
					    ? task_ns
					    : (uint64_t)((double)task_ns * (double)part_ns / (double)left_ns);

		add_part(b, profile_wait(p, wait), wait, MIN(at_ns, last_ns), ns, added);
		task_ns -= ns;
		at_ns += part_ns;
		left_ns -= part_ns;
	}
}

/* waits: the wait in p for each row of t, or NO_WAIT. */
static void add_slices(struct slice_builder *b, const struct profile *p, const struct tasks *t, const uint32_t *waits,
		       struct added *added)
{
	for (guint i = 0; i < t->when->len; i++) {
		const struct task_look *look = task_looks_get(t, i);

		for (guint k = 0; k < look->cell_cnt; k++) {
			const struct task_cell *cell = task_looks_cell(t, look->first_cell + k);
			const uint32_t wait = waits[cell->row];

			if (wait != NO_WAIT)
				add_look(b, p, look, cell->task_ns, wait, &added[wait]);
		}
	}
}

bool task_profile_is_idle(const struct profile *tasks, const struct wait *w)
{
	uint32_t node = w->user;

	while (node && profile_get_node(tasks, node)->parent)
		node = profile_get_node(tasks, node)->parent;
	return node && g_strcmp0(profile_get_frame(tasks, profile_get_node(tasks, node)->frame)->name, IDLE_WORD) == 0;
}

static const char *service_of(const struct profile *p, uint32_t pid)
{
	for (guint i = 0; i < p->threads->len; i++)
		if (profile_thread(p, i)->pid == pid && profile_thread(p, i)->service)
			return profile_thread(p, i)->service;
	return NULL;
}

static void add_population(struct profile *p, const struct tasks *t, const char *service, uint32_t *ret_waits)
{
	const struct thread thread = {
		.pid = t->pid,
		.tid = t->pid,
		.comm = profile_string(p, t->program),
		.process = profile_string(p, t->program),
		.service = profile_string(p, service),
		.from_ns = p->info.start_ns,
		.to_ns = p->info.start_ns + p->info.duration_ns,
	};
	uint32_t number = profile_add_thread(p, &thread);

	for (guint i = 0; i < t->rows->len; i++) {
		const struct task_row *row = tasks_get(t, i);
		const struct wait wait = {
			.thread = number, .user = stack_of(p, t, row), .state = '?', .blocked_ns = row->task_ns,
			.count = MAX((uint64_t)(row->tasks + 0.5), 1), .off_cpu_se_ns = row->task_se_ns,
		};

		ret_waits[i] = row->task_ns ? profile_add_wait(p, &wait) : NO_WAIT;
	}
}

static bool is_known_when(const struct profile *p)
{
	for (guint i = 0; i < p->tasks->len; i++)
		if (!profile_tasks(p, i)->when->len)
			return false;
	return p->info.duration_ns;
}

static struct slices *slices_of(const struct profile *of, const struct profile *p, uint32_t *const *waits)
{
	struct slice_builder *b = slice_builder_new(MAX(SLICE_NS, of->info.duration_ns / SLICES_MAX));
	g_autofree struct added *added = g_new0(struct added, (gsize)p->waits->len + 1);
	g_autofree uint32_t *codes = g_new(uint32_t, (gsize)p->waits->len + 1);
	struct slices *slices;

	for (uint32_t i = 0; i < p->waits->len; i++)
		codes[i] = slice_code_of_wait(i);
	for (guint i = 0; i < of->tasks->len; i++)
		add_slices(b, p, profile_tasks(of, i), waits[i], added);
	slices = slice_builder_finish(b, p, codes);
	slice_builder_free(b);
	return slices;
}

struct profile *task_profile_new(const struct profile *p)
{
	struct profile *ret;

	if (!p->tasks->len)
		return NULL;
	ret = profile_new();
	ret->info = (struct profile_info){
		.start_unix_ns = p->info.start_unix_ns,
		.start_ns = p->info.start_ns,
		.duration_ns = p->info.duration_ns,
		.host = profile_string(ret, p->info.host),
		.kernel = profile_string(ret, p->info.kernel),
		.cpus = p->info.cpus,
		.command_line = profile_string(ret, p->info.command_line),
		.filters = profile_string(ret, p->info.filters),
		.version = profile_string(ret, p->info.version),
		.imported = profile_string(ret, "tasks of a recording"),
		.rows_are = ROWS_TASKS,
		.range = p->info.range,
		.unknown = UNKNOWN_STATES | UNKNOWN_PARTS | UNKNOWN_DURATIONS | UNKNOWN_ACCOUNTS,
	};
	uint32_t **waits = g_new0(uint32_t *, p->tasks->len);

	for (guint i = 0; i < p->tasks->len; i++) {
		waits[i] = g_new(uint32_t, (gsize)profile_tasks(p, i)->rows->len + 1);
		add_population(ret, profile_tasks(p, i), service_of(p, profile_tasks(p, i)->pid), waits[i]);
	}
	if (is_known_when(p))
		ret->slices = slices_of(p, ret, waits);
	for (guint i = 0; i < p->tasks->len; i++)
		g_free(waits[i]);
	g_free(waits);
	return ret;
}
