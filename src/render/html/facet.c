/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/html/part.h"

#include <string.h>

#include "analyse/reason/reasons.h"

static void category_clear(gpointer category)
{
	g_free(((struct facet_category *)category)->name);
}

static struct facet *facet_new(const struct profile *p, const char *name)
{
	struct facet *f = g_new0(struct facet, 1);

	f->name = name;
	f->categories = g_array_new(FALSE, TRUE, sizeof(struct facet_category));
	g_array_set_clear_func(f->categories, category_clear);
	f->of_wait = g_new0(uint32_t, p->waits->len + 1);
	f->queue = -1;
	return f;
}

FREES_DATA(facet_free, struct facet, f, g_array_unref(f->categories); g_free(f->of_wait))

static uint32_t facet_category(struct facet *f, const char *name, bool is_idle)
{
	const struct facet_category made = { g_strdup(name), is_idle };

	g_array_append_val(f->categories, made);
	return f->categories->len - 1;
}

/* The scheduler's state in words; time on a run queue is not sleep. */
static const char *state_name(uint8_t state)
{
	switch (state) {
	case 'S': return "sleeping";
	case 'D': return "uninterruptible";
	case 'T':
	case 't': return "stopped";
	case 'R': return "on the run queue";
	case ON_CPU_STATE: return "on CPU";
	case '?': return "unknown";
	default: return "idle or parked";
	}
}

static bool has_queue(const struct profile *p)
{
	for (uint32_t i = 0; i < p->waits->len; i++)
		if (profile_wait(p, i)->runnable_ns || profile_wait(p, i)->preempted_ns)
			return true;
	return false;
}

/* The reasons.  Waits for work are idle, except their time in the run queue. */
static struct facet *by_reason(const struct profile *p, const struct reasons *reasons, const struct wait_reason *known)
{
	struct facet *f = facet_new(p, "reason");
	uint32_t ids[REASON_COUNT], idle_ids[IDLE_KIND_COUNT];

	memset(ids, 0xff, sizeof(ids));
	memset(idle_ids, 0xff, sizeof(idle_ids));
	for (uint32_t i = 0; i < p->waits->len; i++) {
		enum idle_kind idle = known ? known[i].idle : reasons_idle(reasons, i);
		enum reason found = known ? known[i].reason : reasons_of(reasons, i);
		enum reason reason = profile_wait(p, i)->state == 'R' && found == REASON_OTHER ? REASON_CPU_QUEUE
											       : found;
		uint32_t *id = idle == IDLE_NOT ? &ids[reason] : &idle_ids[idle];

		if (*id == UINT32_MAX) {
			g_autofree char *name = idle == IDLE_NOT ? g_strdup(reason_text(reason))
								 : g_strdup_printf("idle: %s", idle_kind_text(idle));

			*id = facet_category(f, name, idle != IDLE_NOT);
		}
		f->of_wait[i] = *id;
	}
	if (ids[REASON_CPU_QUEUE] == UINT32_MAX && has_queue(p))
		ids[REASON_CPU_QUEUE] = facet_category(f, reason_text(REASON_CPU_QUEUE), false);
	f->queue = ids[REASON_CPU_QUEUE] == UINT32_MAX ? -1 : (int64_t)ids[REASON_CPU_QUEUE];
	return f;
}

static struct facet *by_state(const struct profile *p, const struct reasons *reasons, const struct wait_reason *known)
{
	struct facet *f = facet_new(p, "state");
	uint32_t ids[256];

	memset(ids, 0xff, sizeof(ids));
	for (uint32_t i = 0; i < p->waits->len; i++) {
		uint8_t state = profile_wait(p, i)->state;
		const char *name = state_name(state);

		for (uint32_t c = 0; ids[state] == UINT32_MAX && c < f->categories->len; c++)
			if (strcmp(g_array_index(f->categories, struct facet_category, c).name, name) == 0)
				ids[state] = c;
		if (ids[state] == UINT32_MAX)
			ids[state] = facet_category(f, name, false);
		f->of_wait[i] = ids[state];
	}
	return f;
}

static struct facet *(*const makers[])(const struct profile *p, const struct reasons *reasons,
				       const struct wait_reason *known) = { by_reason, by_state };

GPtrArray *facets_new(const struct profile *p, const struct reasons *reasons, const struct wait_reason *known)
{
	GPtrArray *facets = g_ptr_array_new_with_free_func(facet_free);

	for (unsigned i = 0; i < G_N_ELEMENTS(makers); i++) {
		struct facet *f = makers[i](p, reasons, known);

		if (f)
			g_ptr_array_add(facets, f);
	}
	return facets;
}
