/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_VIEWS_H
#define CMD_VIEWS_H

#include <glib.h>

#include "analyse/actors.h"
#include "analyse/query.h"
#include "profile/profile.h"
#include "render/text/text.h"

/* What `offcpu report` can show in place of its usual text.  A new view is a row in views.c. */

struct view_input {
	const struct profile *profile;
	const struct query *query;
	const struct selection *selection;	/* what the query leaves */
	const struct text_options *text;
	enum actor_by actors;
	unsigned graph_top;	/* edges of a picture; 0: all */
	const char *value;	/* of the view's option */
	struct first_options first;
};

/* Appends; false and *error when the value names nothing in this recording. */
typedef bool (*view_fn)(GString *out, const struct view_input *in, GError **error);

struct view {
	const char *name;	/* of the option, without its dashes; "by task": that value of --by, as it is not of waits */
	const char *value_name;	/* NULL: the option takes no value */
	const char *help;
	/*
	 * What the recording must have, the record option for it, and the flag of its info that says whether it is
	 * there.  NULL, 0: any recording will do.
	 */
	const char *needs, *recorded_with;
	const char *agent_key;	/* of [record] in the agent's configuration; NULL: no history has it */
	size_t has;
	bool groups_actors;	/* --by is about who waits */
	bool is_of_whole_time;	/* a query has no meaning */
	bool is_of_whole_window;	/* what it shows is not known for a part of the window */
	const char *values;	/* "dot, json": the only ones; NULL: any */
	/* one of these */
	view_fn text;
	void (*of_waits)(GString *out, const struct profile *p, const struct selection *selection,
			 const struct text_options *options);
	void (*of_requests)(GString *out, const struct profile *p, const struct text_options *options);
	/* NULL: --json gives the whole report, which holds this too; for `values` it is not asked for */
	view_fn json;
};

extern const struct view views[];
extern const size_t views_cnt;
extern const struct view *const view_of_grouping;	/* what --by means where no view is named */

/*
 * For an answer of a bounded size: pairs of a command and what it shows, of views of this recording without a value; and
 * of the option that records what the others need.  Free with g_strfreev().
 */
char **views_more(const struct profile_info *info, const char *command);
char **views_not_recorded(const struct profile_info *info);

/* Whether the value is one of view->values. */
bool view_takes_value(const struct view *view, const char *value);

/* Appends what the view shows, as a view_fn does. */
bool view_append(const struct view *view, GString *out, const struct view_input *in, GError **error);

static inline bool view_is_there(const struct view *view, const struct profile_info *info)
{
	return !view->has || *(const bool *)((const char *)info + view->has);
}

/* The value of --by that names the view; NULL: it has an option of its own. */
static inline const char *view_by(const struct view *view)
{
	return g_str_has_prefix(view->name, "by ") ? view->name + strlen("by ") : NULL;
}

#endif
