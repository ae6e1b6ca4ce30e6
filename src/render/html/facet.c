/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/html/facet.h"

#include "analyse/weight.h"

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
	return f;
}

static void facet_free(gpointer facet)
{
	struct facet *f = facet;

	g_array_unref(f->categories);
	g_free(f->of_wait);
	g_free(f);
}

static uint32_t facet_category(struct facet *f, const char *name, bool is_idle)
{
	const struct facet_category made = { g_strdup(name), is_idle };

	g_array_append_val(f->categories, made);
	return f->categories->len - 1;
}

/* The scheduler's state in words; what was on a run queue is no sleep. */
static const char *state_name(uint8_t state)
{
	switch (state) {
	case 'S': return "sleeping";
	case 'D': return "uninterruptible";
	case 'T':
	case 't': return "stopped";
	case 'R': return "on the run queue";
	default: return "idle or parked";
	}
}

static struct facet *by_state(const struct profile *p)
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

static struct facet *(*const makers[])(const struct profile *p) = { by_state };

GPtrArray *facets_new(const struct profile *p)
{
	GPtrArray *facets = g_ptr_array_new_with_free_func(facet_free);

	for (unsigned i = 0; i < G_N_ELEMENTS(makers); i++) {
		struct facet *f = makers[i](p);

		if (f)
			g_ptr_array_add(facets, f);
	}
	return facets;
}
