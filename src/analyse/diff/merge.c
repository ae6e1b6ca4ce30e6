/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/diff/merge.h"

#include <math.h>

#include "analyse/diff/stats.h"
#include "profile/profile.h"

/* Converts stacks of the diff's tree to stacks of the profile. */
struct merger {
	const struct diff *d;
	struct diff_merged *m;
	uint32_t *user, *kernel;	/* by node of the diff's tree: node of its path in the profile */
	GArray *reasons;		/* struct wait_reason, by wait of the profile */
};

/* The thread's name in the path becomes the thread's.  Lost stacks have no name, which identifies them. */
static void place_stacks(struct merger *g)
{
	const struct tree *t = g->d->tree;
	struct profile *p = g->m->profile;

	for (uint32_t i = 1; i < t->nodes->len; i++) {
		const struct tree_label *l = tree_node_label(t, i);
		uint32_t parent = tree_node(t, i)->parent;

		g->user[i] = g->user[parent];
		g->kernel[i] = g->kernel[parent];
		if (l->kind != TREE_USER && l->kind != TREE_KERNEL)
			continue;
		uint32_t *at = l->kind == TREE_KERNEL ? &g->kernel[i] : &g->user[i];
		*at = profile_node(p, *at, diff_frame_of_label(p, l));
	}
}

static bool is_selected(const struct diff_input *in, uint32_t wait)
{
	return !in->selection || in->selection->waits[wait];
}

/* By thread of the side: its index in the profile + 1. */
static uint32_t *add_threads(struct merger *g, enum diff_side side)
{
	const struct diff_input *in = &g->d->in[side];
	const struct diff_side_keys *keys = &g->d->keys->side[side];
	struct profile *p = g->m->profile;
	uint32_t *numbers = g_new0(uint32_t, in->profile->threads->len + 1);

	for (uint32_t i = 0; i < in->profile->threads->len; i++) {
		struct thread t = *profile_thread(in->profile, i);

		if (in->selection && !in->selection->threads[i])
			continue;
		t.comm = profile_string(p, keys->comms[i]);
		t.process = profile_string(p, keys->processes[i]);
		numbers[i] = profile_add_thread(p, &t) + 1;
	}
	return numbers;
}

/* Objects of both recordings are merged, whatever their address, process and holder. */
static uint32_t object_of(struct merger *g, const struct profile *from, const struct wait *w)
{
	const struct object *o = profile_wait_object(from, w);

	if (!o)
		return 0;
	struct object own = *o;
	own.pid = own.holder_tid = 0;
	own.addr = *o->name ? 0 : o->addr;
	return profile_object(g->m->profile, &own) + 1;
}

static struct wait_reason reason_of(const struct merger *g, enum diff_side side, uint32_t wait)
{
	const struct diff_side_keys *keys = &g->d->keys->side[side];
	struct wait_reason r = { reasons_of(keys->reasons, wait), reasons_idle(keys->reasons, wait) };

	if (!diff_keys_is_idle(g->d->keys, side, wait))
		r.idle = IDLE_NOT;
	else if (r.idle == IDLE_NOT)
		r.idle = IDLE_POOL;
	return r;
}

static void add_waits(struct merger *g, enum diff_side side)
{
	const struct diff_side_keys *keys = &g->d->keys->side[side];
	g_autofree uint32_t *threads = add_threads(g, side);

	g->m->rows[side] = g_new0(uint32_t, keys->p->waits->len + 1);
	for (uint32_t i = 0; i < keys->p->waits->len; i++) {
		struct wait w = *profile_wait(keys->p, i);

		if (!is_selected(&g->d->in[side], i) || !threads[w.thread])
			continue;
		struct wait_reason reason = reason_of(g, side, i);
		w.max_start_unix_ns = w.max_waker = 0;	/* wakers are not copied */
		w.object = object_of(g, keys->p, &w);
		w.thread = threads[w.thread] - 1;
		w.user = g->user[keys->paths[i]];
		w.kernel = g->kernel[keys->paths[i]];
		uint32_t row = profile_add_wait(g->m->profile, &w);
		g->m->rows[side][i] = row + 1;
		if (row == g->reasons->len)
			g_array_append_val(g->reasons, reason);
	}
}

static void measure_squares(struct diff_merged *m)
{
	m->root_squares_ns = g_new0(uint64_t, m->profile->waits->len + 1);
	EACH_ROW(i, const struct wait, w, m->profile->waits) {
		double squares = w->state == ON_CPU_STATE
					 ? (double)w->on_cpu_ns * (double)w->on_cpu_ns / (double)MAX(w->count, 1)
					 : stats_squares(w->hist, wait_off_cpu_ns(w), w->max_ns);

		m->root_squares_ns[i] = (uint64_t)llround(fmin(sqrt(squares), (double)PROFILE_NS_MAX));
	}
}

/* If rows of both sides are one row of the profile, sums their batches. */
static void sum_batches(struct diff_merged *m, const struct diff *d)
{
	m->batches_of = g_new0(uint32_t, m->profile->waits->len + 1);
	m->batches = g_array_new(FALSE, TRUE, sizeof(struct wait_batches));
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		const struct diff_side_keys *keys = &d->keys->side[side];

		for (uint32_t i = 0; i < keys->p->waits->len; i++) {
			uint32_t row = m->rows[side][i];

			if (!row || !row_batches_has(keys->batches, i))
				continue;
			if (!m->batches_of[row - 1]) {
				g_array_set_size(m->batches, m->batches->len + 1);
				m->batches_of[row - 1] = m->batches->len;
			}
			row_batches_sum(keys->batches, i,
					&g_array_index(m->batches, struct wait_batches, m->batches_of[row - 1] - 1));
		}
	}
}

static void merge_info(const struct diff *d, struct profile *p)
{
	const struct profile_info *before = &d->in[DIFF_BEFORE].profile->info,
				  *after = &d->in[DIFF_AFTER].profile->info;

	p->info.start_unix_ns = after->start_unix_ns;
	p->info.start_ns = after->start_ns;
	p->info.duration_ns = after->duration_ns;
	p->info.host = profile_string(p, after->host);
	p->info.kernel = profile_string(p, after->kernel);
	p->info.cpus = after->cpus;
	p->info.has_locks = before->has_locks || after->has_locks;
	p->info.has_wakers = before->has_wakers && after->has_wakers;
	p->info.has_objects = before->has_objects || after->has_objects;
	p->info.on_cpu_as_waits = before->on_cpu_as_waits && after->on_cpu_as_waits;
	p->info.on_cpu_hz = p->info.on_cpu_as_waits ? after->on_cpu_hz : 0;
	p->info.unknown = before->unknown | after->unknown;
}

struct diff_merged *diff_merged_new(const struct diff *d)
{
	uint32_t nodes_cnt = d->tree->nodes->len;
	struct diff_merged *m = g_new0(struct diff_merged, 1);
	struct merger g = {
		.d = d, .m = m, .user = g_new0(uint32_t, nodes_cnt), .kernel = g_new0(uint32_t, nodes_cnt),
		.reasons = g_array_new(FALSE, FALSE, sizeof(struct wait_reason)),
	};

	m->profile = profile_new();
	merge_info(d, m->profile);
	place_stacks(&g);
	add_waits(&g, DIFF_BEFORE);
	m->before_threads_cnt = m->profile->threads->len;
	add_waits(&g, DIFF_AFTER);
	for (unsigned side = 0; side < DIFF_SIDES && m->profile->info.has_wakers; side++)
		diff_add_wakes(d, side, m->rows[side], m->profile);
	measure_squares(m);
	sum_batches(m, d);
	m->reasons = (struct wait_reason *)(void *)g_array_free(g.reasons, FALSE);
	g_free(g.user);
	g_free(g.kernel);
	return m;
}

void diff_merged_free(struct diff_merged *m)
{
	if (!m)
		return;
	profile_free(m->profile);
	for (unsigned side = 0; side < DIFF_SIDES; side++)
		g_free(m->rows[side]);
	g_free(m->reasons);
	g_free(m->root_squares_ns);
	g_free(m->batches_of);
	g_array_unref(m->batches);
	g_free(m);
}
