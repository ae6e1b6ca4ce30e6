/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Greenlets as struct tasks. */
#include "base/find.h"
#include "base/hash.h"
#include "base/opener/opener.h"
#include "features/tasks/look_parts.h"
#include "runtimes/python/greenlets.h"

static void close_greenlets(void *source)
{
	python_greenlets_close(source);
	g_free(source);
}

static void *open_greenlets(uint32_t pid, const GArray *lines, struct tasks *t, GError **error)
{
	struct python_greenlets *g = g_new0(struct python_greenlets, 1);
	enum python_greenlets_state state = python_greenlets_open(g, "/proc", pid, lines);
	g_autofree char *comm = NULL, *version = NULL;

	if (state == PYTHON_GREENLETS_READABLE && (comm = opener_process_text("/proc", pid, "comm"))) {
		version = g_strdup_printf("CPython 3.%u, greenlet", g->p.minor);
		t->program = tasks_string(t, g_strchomp(comm));
		t->version = tasks_string(t, version);
		python_greenlet_lists_read(g);	/* the first look needs their number */
		return g;
	}
	if (state == PYTHON_GREENLETS_OTHER_VERSION)
		g_set_error(error, CENSUS_ERROR, CENSUS_FAILED,
			    "process %u is CPython 3.%u: greenlets are read of 3.%u to 3.%u with a GIL", pid, g->p.minor,
			    PYTHON_GREENLET_MINOR_MIN, PYTHON_GREENLET_MINOR_MAX);
	close_greenlets(g);
	return NULL;
}

static uint64_t count_greenlets(void *source)
{
	const struct python_greenlets *g = source;

	return g_hash_table_size(g->greenlets);
}

static uint64_t listing_ns(void *source)
{
	const struct python_greenlets *g = source;

	return g->listing_ns;
}

static uint64_t key_of(const struct python_greenlet *greenlet, const char *state)
{
	uint64_t key = hash_more(hash_pointer(state), hash_pointer(greenlet->waits_in));

	for (unsigned i = 0; i < greenlet->frame_cnt; i++)
		key = hash_more(hash_more(key, hash_pointer(greenlet->frames[i].name)), greenlet->frames[i].line);
	return key * HASH_MIX;
}

/* A compiled method has no frame, so one is created for it. */
static void fill_in(struct tasks *t, const struct python_greenlet *greenlet, struct task_row *row)
{
	unsigned made = greenlet->waits_in && greenlet->frame_cnt;
	struct task_frame *frames = g_new0(struct task_frame, MAX(greenlet->frame_cnt + made, 1));

	if (made)
		frames[0].name = tasks_string(t, greenlet->waits_in);
	EACH_IN(i, const struct language_frame, f, greenlet->frames, greenlet->frame_cnt)
		frames[made + i] = (struct task_frame){ tasks_string(t, f->name), tasks_string(t, f->file), f->line };
	row->frames = frames;
	row->frame_cnt = greenlet->frame_cnt + made;
	row->end = greenlet->is_cut ? STACK_TRUNCATED : row->frame_cnt ? STACK_COMPLETE : STACK_NONE;
}

struct seeing {
	struct tasks *tasks;
	double weight;
};

static void see_greenlet(void *ctx, const struct python_greenlet *greenlet)
{
	const struct seeing *s = ctx;
	const char *state = greenlet->is_stale	  ? "changed while it was read"
			    : greenlet->is_parked ? "waiting"
						  : "not begun";
	bool is_new;
	struct task_row *row = tasks_row(s->tasks, key_of(greenlet, state), &is_new);

	s->tasks->stale += greenlet->is_stale;
	if (!row)
		return;
	if (is_new) {
		fill_in(s->tasks, greenlet, row);
		row->state = state;
		row->reason = greenlet->is_parked && !greenlet->is_stale ? "a switch to another greenlet" : NULL;
	}
	tasks_seen(s->tasks, row, s->weight);
}

static bool look_greenlets(void *source, struct tasks *t, uint64_t first, uint64_t stride)
{
	struct seeing s = { t, (double)stride };
	struct python_tasks_census census;
	bool is_there = python_greenlets_read(source, first, stride, see_greenlet, &s, &census);

	t->unreadable += census.unreadable;
	t->is_cut |= census.is_cut;
	return is_there;
}

_Static_assert(PYTHON_GREENLETS_MAX == TASKS_MOST_ASYNCIO, "reports tell it");

const struct task_source greenlet_task_source = {
	.kind = TASKS_GREENLET, .open = open_greenlets, .close = close_greenlets, .count = count_greenlets,
	.look = look_greenlets, .fixed_cost_ns = listing_ns,
};
