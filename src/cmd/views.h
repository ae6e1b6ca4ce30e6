/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_VIEWS_H
#define CMD_VIEWS_H

#include <glib.h>

#include "analyse/actors.h"
#include "analyse/query.h"
#include "profile/profile.h"
#include "render/text/text.h"

/* What `offcpu report` can show instead of its usual text.  A view is a row in views.c. */

struct view_input {
	const struct profile *profile;
	const struct query *query;
	const struct selection *selection;	/* what the query selects */
	const struct text_options *text;
	enum actor_by actors;
	unsigned graph_top;	/* maximum edges of a picture; 0: all */
	const char *value;	/* value of the view's option */
	struct first_options first;
};

/* Appends; false with *error if the value names nothing in this recording. */
typedef bool (*view_fn)(GString *out, const struct view_input *in, GError **error);

struct view {
	/* of the option, without dashes; "by task": a value of --by, since its rows are not waits */
	const char *name;
	const char *value_name;	/* NULL: the option takes no value */
	const char *help;
	/*
	 * What the recording must have, the option of record for it, and the flag in its info.  NULL, 0: no
	 * requirement.
	 */
	const char *needs, *recorded_with;
	const char *agent_key;	/* key of [record] in the agent's configuration; NULL: histories never have it */
	size_t has;
	bool groups_actors;	/* --by groups the waiting threads */
	bool is_of_whole_time;	/* queries do not apply */
	bool is_of_whole_window;	/* unknown for a part of the window */
	const char *values;	/* "dot, json": the only values; NULL: any */
	/* exactly one of these */
	view_fn text;
	void (*of_waits)(GString *out, const struct profile *p, const struct selection *selection,
			 const struct text_options *options);
	void (*of_requests)(GString *out, const struct profile *p, const struct text_options *options);
	/* NULL: --json gives the whole report, which includes it; not used if `values` is set */
	view_fn json;
};

extern const struct view views[];
extern const size_t views_cnt;
extern const struct view *const view_of_grouping;	/* what --by means without a view */

/*
 * For answers of bounded size: pairs of a command and what it shows, for views of this recording that take no value;
 * and pairs of what is missing and the option that records it.  Free with g_strfreev().
 */
char **views_more(const struct profile_info *info, const char *command);
char **views_not_recorded(const struct profile_info *info);

/* Whether it is one of view->values. */
bool view_takes_value(const struct view *view, const char *value);

/* Appends the view, like a view_fn. */
bool view_append(const struct view *view, GString *out, const struct view_input *in, GError **error);

static inline bool view_is_there(const struct view *view, const struct profile_info *info)
{
	return !view->has || *(const bool *)((const char *)info + view->has);
}

/* The value of --by for the view; NULL: it has its own option. */
static inline const char *view_by(const struct view *view)
{
	return g_str_has_prefix(view->name, "by ") ? view->name + strlen("by ") : NULL;
}

#endif
