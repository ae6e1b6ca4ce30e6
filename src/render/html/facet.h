/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_HTML_FACET_H
#define RENDER_HTML_FACET_H

#include <glib.h>
#include <stdint.h>

#include "analyse/diff/merge.h"
#include "profile/profile.h"

/*
 * A facet sorts the waits of a recording into categories: by state, by reason.  The page shows each facet as a row of
 * switches and can colour by it.  To add one, write its function and put it into the table in facet.c.
 */
struct facet_category {
	char *name;		/* for people; the page knows colours of some */
	bool is_idle;		/* hidden at first: nobody waits for what it waits for */
};

struct facet {
	const char *name;	/* static */
	GArray *categories;	/* struct facet_category */
	uint32_t *of_wait;	/* index into categories, by index of the wait */
	/* category of all time that is a wait for a CPU, whatever came before it; -1: that of its wait */
	int64_t queue;
};

/*
 * Every facet that the recording has, the one to colour by first; free with g_ptr_array_unref().  known: by wait;
 * NULL: found
 *  by the rules, see reasons.
 */
GPtrArray *facets_new(const struct profile *p, const struct reasons *reasons, const struct wait_reason *known);

#endif
