/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/idle_part.h"

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

/* What a thread waits for a CPU is never idle. */
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

struct idle_part *idle_part_new(const struct profile *p, const struct selection *selection, enum weight weight)
{
	struct idle_part *idle = g_new0(struct idle_part, 1);
	struct reasons *reasons = reasons_new(p, NULL);
	bool beside_others = has_user_threads(p, selection);

	idle->waits = g_new0(bool, p->waits->len + 1);
	for (uint32_t i = 0; i < p->waits->len; i++) {
		const struct wait *w = profile_wait(p, i);
		enum idle_kind kind = reasons_idle(reasons, i);
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

void idle_part_free(struct idle_part *idle)
{
	if (!idle)
		return;
	g_free(idle->waits);
	g_free(idle);
}
