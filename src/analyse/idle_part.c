/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/idle_part.h"

#include <string.h>

#include "features/slices/rows_build.h"
#include "features/tasks/analysis.h"

#define IDLE_FRAME "[idle]"

static bool is_selected(const struct selection *selection, uint32_t wait)
{
	return !selection || selection->waits[wait];
}

static bool has_user_threads(const struct profile *p, const struct selection *selection)
{
	for (uint32_t i = 0; i < p->waits->len; i++)
		if (is_selected(selection, i) &&
		    !(profile_thread(p, profile_wait(p, i)->thread)->flags & THREAD_KERNEL))
			return true;
	return false;
}

/* Run-queue time is never idle. */
static uint64_t idle_weight(const struct wait *w, enum weight weight)
{
	switch (weight) {
	case WEIGHT_OFF_CPU:
	case WEIGHT_BLOCKED:
	case WEIGHT_TIME: return w->blocked_ns;
	case WEIGHT_COUNT: return weight_of_wait(w, weight);
	default: return 0;
	}
}

static enum idle_kind idle_kind_of(const struct profile *p, const struct reasons *reasons, uint32_t wait)
{
	if (g_strcmp0(p->info.rows_are, ROWS_TASKS) == 0)
		return task_profile_is_idle(p, profile_wait(p, wait)) ? IDLE_POOL : IDLE_NOT;
	return reasons_idle(reasons, wait);
}

struct idle_part *idle_part_new(const struct profile *p, const struct selection *selection, enum weight weight)
{
	struct idle_part *idle = g_new0(struct idle_part, 1);
	struct reasons *reasons = reasons_new(p, NULL);
	bool beside_others = has_user_threads(p, selection);

	idle->waits = g_new0(bool, p->waits->len + 1);
	EACH_ROW(i, const struct wait, w, p->waits) {
		enum idle_kind kind = idle_kind_of(p, reasons, i);
		uint64_t amount = 0;

		if (!is_selected(selection, i))
			continue;
		if (kind != IDLE_NOT && (kind != IDLE_KERNEL || beside_others)) {
			idle->waits[i] = true;
			amount = idle_weight(w, weight);
			idle->of_kind[kind] += amount;
			idle->amount += amount;
		}
		idle->rest += weight_of_wait(w, weight) - amount;
	}
	reasons_free(reasons);
	return idle;
}

FREES(idle_part_free, struct idle_part, idle, g_free(idle->waits))

/* The row for the run-queue time of an idle wait: index + 1, 0: none. */
static uint32_t split_row(struct profile *p, uint32_t i)
{
	struct wait *idle = &g_array_index(p->waits, struct wait, i), rest = *idle;

	if (!idle->runnable_ns && !idle->preempted_ns)
		return 0;
	rest.count = rest.blocked_ns = rest.max_ns = rest.max_start_unix_ns = 0;
	rest.off_cpu_se_ns = rest.count_se = rest.max_waker = 0;
	memset(rest.hist, 0, sizeof(rest.hist));
	idle->runnable_ns = idle->preempted_ns = 0;
	g_array_append_val(p->waits, rest);
	return p->waits->len;
}

/* Moves run-queue delays of wakes to the rows that have them now. */
static void split_wakes(struct profile *p, const uint32_t *rest)
{
	guint cnt = p->wakes->len;

	for (guint i = 0; i < cnt; i++) {
		struct wake *w = &g_array_index(p->wakes, struct wake, i), delay = *w;

		if (!rest[w->wait])
			continue;
		w->runnable_ns = 0;
		memset(w->hist, 0, sizeof(w->hist));
		delay.wait = rest[w->wait] - 1;
		delay.count = delay.blocked_ns = 0;
		g_array_append_val(p->wakes, delay);
	}
}

/* Afterwards the selected rows of idle waits have only idle time.  The flags refer to the original rows. */
static struct idle_part *split(struct profile *p, struct selection *selection)
{
	struct idle_part *idle = idle_part_new(p, selection, WEIGHT_OFF_CPU);
	guint cnt = p->waits->len;
	g_autofree uint32_t *rest = g_new0(uint32_t, cnt + 1);

	for (guint i = 0; i < cnt; i++)
		if (idle->waits[i])
			rest[i] = split_row(p, i);
	split_wakes(p, rest);
	selection->waits = g_renew(bool, selection->waits, p->waits->len + 1);
	memset(selection->waits + cnt, true, p->waits->len - cnt);
	slices_free(p->slices);
	p->slices = NULL;
	return idle;
}

uint64_t idle_part_drop(struct profile *p, struct selection *selection)
{
	guint cnt = p->waits->len;
	struct idle_part *idle = split(p, selection);
	uint64_t amount_ns = idle->amount;

	for (guint i = 0; i < cnt; i++)
		selection->waits[i] = selection->waits[i] && !idle->waits[i];
	selection->whole = false;
	selection->by_stack = true;
	selection->without_idle = true;
	idle_part_free(idle);
	return amount_ns;
}

uint64_t idle_part_fold(struct profile *p, struct selection *selection)
{
	const struct frame frame = { .name = IDLE_FRAME, .kind = FRAME_USER },
			   of_kernel = { .name = IDLE_FRAME, .kind = FRAME_KERNEL };
	uint32_t user = profile_node(p, 0, profile_frame(p, &frame)),
		 kernel = profile_node(p, 0, profile_frame(p, &of_kernel));
	guint cnt = p->waits->len;
	struct idle_part *idle = split(p, selection);
	uint64_t amount_ns = idle->amount;

	for (guint i = 0; i < cnt; i++) {
		struct wait *w = &g_array_index(p->waits, struct wait, i);
		bool is_kernel = profile_thread(p, w->thread)->flags & THREAD_KERNEL;

		if (!idle->waits[i])
			continue;
		w->user = is_kernel ? 0 : user;
		w->kernel = is_kernel ? kernel : 0;
		w->object = 0;
	}
	idle_part_free(idle);
	return amount_ns;
}
