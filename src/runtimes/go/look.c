/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Goroutines as struct tasks. */
#include <string.h>
#include <time.h>

#include "base/find.h"
#include "base/hash.h"
#include "base/module.h"
#include "base/refuse.h"
#include "features/tasks/look_parts.h"
#include "runtimes/go/program.h"

#define FRAMES_MAX 256	/* per row, including inlined functions */
#define VALUES_MAX 1000	/* distinct label values */

struct go_source {
	struct go_program program;
	GHashTable *values;	/* "http.route=/a" */
};

struct go_look {
	struct go_source *source;
	struct tasks *tasks;
	double weight;
};

static void close_go(void *source)
{
	struct go_source *s = source;

	go_program_close(&s->program);
	g_hash_table_destroy(s->values);
	g_free(s);
}

static void *open_go(uint32_t pid, const GArray *lines, struct tasks *t, GError **error)
{
	struct go_source *s = g_new0(struct go_source, 1);
	enum go_state state = go_program_open(&s->program, "/proc", pid, lines);

	s->values = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	if (state == GO_NONE) {
		close_go(s);
		return NULL;
	}
	t->program = tasks_string(t, module_base_name(s->program.path));
	t->version = *s->program.file.version ? tasks_string(t, s->program.file.version) : NULL;
	return s;
}

static bool is_go_ready(void *source, const GArray *lines, struct tasks *t, GError **error)
{
	struct go_program *p = &((struct go_source *)source)->program;

	if (p->goroutines || go_program_is_ready(p))
		return true;
	return refuse(error, CENSUS_ERROR, CENSUS_FAILED,
		      "%s (%u) is a Go program%s%s, but its list of goroutines was not found: "
		      "it has just begun, its memory may not be read, or its runtime is of an unknown version",
		      module_base_name(p->path), p->pid, *p->file.version ? " of " : "", p->file.version);
}

static uint64_t count_go(void *source)
{
	const struct go_source *s = source;

	return go_goroutines_listed(&s->program);
}

static const char *state_of(const struct go_goroutine *g)
{
	if (g->is_stale)
		return "changed while it was read";
	switch (g->status) {
	case GO_STATUS_RUNNABLE:
	case GO_STATUS_PREEMPTED: return "runnable";
	case GO_STATUS_RUNNING: return "running";
	case GO_STATUS_SYSCALL: return "syscall";
	case GO_STATUS_COPYING: return "its stack is moved";
	case GO_STATUS_LEAKED: return "leaked";
	default: return "waiting";
	}
}

static uint64_t key_of(const struct go_goroutine *g, const char *state)
{
	uint64_t key = hash_more(hash_more(hash_pointer(state), hash_pointer(g->reason)), g->creator);

	key = hash_more(hash_more(key, g->start), (uint64_t)g->end << 1 | g->begins_at_pc);
	for (unsigned i = 0; i < g->pc_cnt; i++)
		key = hash_more(key, g->pcs[i]);
	for (unsigned i = 0; g->labels && i < g->labels->cnt; i++)
		key = hash_more(hash_more(key, g_str_hash(g->labels->label[i].key)),
				g_str_hash(g->labels->label[i].value));
	return key * HASH_MIX;
}

static struct task_frame frame_of(struct tasks *t, const struct go_place *place)
{
	return (struct task_frame){ tasks_string(t, place->name), tasks_string(t, place->file), place->line };
}

static struct task_frame label_of(struct tasks *t, const struct go_label *label)
{
	g_autofree char *key = g_strdup_printf("[%s]", label->key);

	return (struct task_frame){ .name = tasks_string(t, label->value), .file = tasks_string(t, key) };
}

static void name_frames(struct go_look *look, const struct go_goroutine *g, struct task_row *row)
{
	const struct go_program *program = &look->source->program;
	struct task_frame frames[FRAMES_MAX];
	const struct go_code *code;
	unsigned cnt = 0;

	for (unsigned i = 0; i < g->pc_cnt && cnt < FRAMES_MAX; i++) {
		code = go_program_code(program, g->pcs[i], i || !g->begins_at_pc);
		for (unsigned k = 0; code && k < code->place_cnt && cnt < FRAMES_MAX; k++)
			frames[cnt++] = frame_of(look->tasks, &code->places[k]);
	}
	/* a running goroutine, or one that cannot be walked, is known by its first function */
	if (!cnt && (code = go_program_code(program, g->start, false)))
		frames[cnt++] = (struct task_frame){ .name = tasks_string(look->tasks, code->places[0].name) };
	for (unsigned i = g->labels ? g->labels->cnt : 0; i-- > 0 && cnt < FRAMES_MAX;)
		frames[cnt++] = label_of(look->tasks, &g->labels->label[i]);
	row->frames = g_memdup2(frames, cnt * sizeof(*frames));
	row->frame_cnt = cnt;
}

static void fill_in(struct go_look *look, const struct go_goroutine *g, const char *state, struct task_row *row)
{
	const struct go_program *program = &look->source->program;
	const struct go_code *code;

	row->state = state;
	row->reason = tasks_string(look->tasks, g->reason);
	row->end = g->end;
	name_frames(look, g, row);
	row->parent = g->parent;
	/* the first goroutine has no creator */
	code = go_program_code(program, g->start, false);
	if (code && !strcmp(code->places[0].name, "runtime.main"))
		return;
	code = g->creator ? go_program_code(program, g->creator, true) : NULL;
	if (code)
		row->creator = frame_of(look->tasks, &code->places[0]);
}

/* Limits label values: routes that contain ids would make a row for each. */
static void bound_values(struct go_source *s, struct go_labels *labels)
{
	EACH_IN(i, struct go_label, label, labels->label, labels->cnt) {
		g_autofree char *pair = g_strdup_printf("%s=%s", label->key, label->value);

		if (g_hash_table_contains(s->values, pair))
			continue;
		if (g_hash_table_size(s->values) < VALUES_MAX)
			g_hash_table_add(s->values, g_steal_pointer(&pair));
		else
			g_strlcpy(label->value, "[others]", sizeof(label->value));
	}
}

static void on_goroutine(void *ctx, const struct go_goroutine *found)
{
	struct go_look *look = ctx;
	struct go_labels labels;
	struct go_goroutine own = *found, *g = &own;
	const char *state = state_of(g);
	struct task_row *row;
	bool is_new;

	if (found->labels) {
		labels = *found->labels;
		bound_values(look->source, &labels);
		own.labels = &labels;
	}
	row = tasks_row(look->tasks, key_of(g, state), &is_new);

	look->tasks->stale += g->is_stale;
	if (!row)
		return;
	if (is_new)
		fill_in(look, g, state, row);
	else if (row->parent != g->parent)
		row->parent = 0;
	tasks_seen(look->tasks, row, look->weight);
}

static bool look_go(void *source, struct tasks *t, uint64_t first, uint64_t stride)
{
	struct go_look look = { .source = source, .tasks = t, .weight = (double)stride };
	struct go_census census;
	bool is_there = go_goroutines_read(&look.source->program, first, stride, on_goroutine, &look, &census);

	t->unreadable += census.unreadable;
	t->is_cut |= census.is_cut;
	return is_there;
}

_Static_assert(GO_GOROUTINES_MAX == TASKS_MOST_GO, "reports tell it");

const struct task_source go_task_source = {
	.kind = TASKS_GO, .open = open_go, .is_ready = is_go_ready, .close = close_go,
	.count = count_go, .look = look_go,
};
