/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/views.h"

#include <string.h>

#include "base/find.h"
#include "features/critical/analysis.h"
#include "features/requests/text.h"
#include "features/waitgraph/analysis.h"
#include "features/wakers/text.h"

/*
 * Kernel threads are omitted unless the query asks for them or nothing else has waits.  NULL: the input's own
 * selection.
 */
static struct selection *whose_waits(const struct view_input *in)
{
	struct query users = *in->query;
	struct selection *s;
	bool any = false;

	if (users.user_only || users.kernel_only || users.comm || users.pids_cnt || users.processes || users.tids_cnt)
		return NULL;
	users.user_only = true;
	s = selection_new(in->profile, &users, NULL);
	for (unsigned i = 0; s && i < in->profile->waits->len && !any; i++)
		any = s->waits[i];
	if (any)
		return s;
	selection_free(s);
	return NULL;
}

static void show_header(GString *out, const struct view_input *in, const struct query *query)
{
	if (in->profile->info.imported)
		text_imported(out, in->profile, query, in->selection, in->text);
	else
		text_header(out, in->profile, query, in->text);
}

static bool show_wakers(GString *out, const struct view_input *in, GError **error)
{
	struct selection *users = whose_waits(in);
	const struct selection *selection = users ? users : in->selection;
	struct waitgraph *g = waitgraph_new(in->profile, selection, in->actors, users != NULL);

	show_header(out, in, in->query);
	text_coverage(out, in->profile, in->selection, in->text);
	if (users)
		g_string_append(out,
				"\nBelow: user threads, and the kernel threads they waited for. Others: see -k.\n");
	wakers_text(out, g, in->text);
	chains_text(out, in->profile, g->actors, selection, in->text->top);
	waitgraph_free(g);
	selection_free(users);
	return true;
}

static bool show_graph(GString *out, const struct view_input *in, GError **error)
{
	struct selection *users = whose_waits(in);
	struct waitgraph *g = waitgraph_new(in->profile, users ? users : in->selection, in->actors, users != NULL);

	if (strcmp(in->value, "json") == 0)
		waitgraph_json(out, g);
	else
		waitgraph_dot(out, g, in->graph_top);
	waitgraph_free(g);
	selection_free(users);
	return true;
}

static bool show_critical(GString *out, const struct view_input *in, GError **error)
{
	struct critical *c = critical_new(in->profile, in->value, in->actors, error);

	if (!c)
		return false;
	show_header(out, in, NULL);
	text_coverage(out, in->profile, c->selection, in->text);
	critical_text(out, c, in->text);
	critical_free(c);
	return true;
}

static bool show_critical_json(GString *out, const struct view_input *in, GError **error)
{
	struct critical *c = critical_new(in->profile, in->value, in->actors, error);

	if (c)
		critical_json(out, c);
	critical_free(c);
	return c != NULL;
}

static bool show_full(GString *out, const struct view_input *in, GError **error)
{
	text_report(out, in->profile, in->query, in->selection, in->text);
	return true;
}

static bool show_stacks(GString *out, const struct view_input *in, GError **error)
{
	text_ranked(out, in->profile, in->query, in->selection, in->text);
	return true;
}

static bool show_accounts(GString *out, const struct view_input *in, GError **error)
{
	struct accounts *a = accounts_new(in->profile, in->selection);
	struct findings *f = findings_new(in->profile, in->selection);

	show_header(out, in, in->query);
	text_coverage(out, in->profile, in->selection, in->text);
	text_accounts(out, a, in->text);
	text_budget(out, f, in->text, in->first.rate);
	findings_free(f);
	accounts_free(a);
	return true;
}

static bool show_tasks(GString *out, const struct view_input *in, GError **error)
{
	show_header(out, in, in->query);
	g_string_append_c(out, '\n');
	text_tasks_of(out, in->profile, in->selection, in->text);
	return true;
}

const struct view views[] = {
	{ .name = "full", .help = "All of it: coverage, accounts, leaves, stacks", .text = show_full },
	{ .name = "stacks", .help = "The longest waits with their stacks", .text = show_stacks },
	{ .name = "accounts",
	  .help = "Where the time of each process went, and how much of it is known",
	  .text = show_accounts },
	{ .name = "wakers", .help = "Who woke whom, of a recording made with --wakers",
	  .needs = "wakers", .recorded_with = "--wakers", .agent_key = "wakers = yes",
	  .has = offsetof(struct profile_info, has_wakers), .groups_actors = true, .text = show_wakers },
	{ .name = "graph", .value_name = "FORMAT",
	  .help = "Who waited for whom as a graph: dot (graphviz), json", .needs = "wakers",
	  .recorded_with = "--wakers", .agent_key = "wakers = yes",
	  .has = offsetof(struct profile_info, has_wakers), .groups_actors = true,
	  .values = "dot, json", .text = show_graph },
	{ .name = "critical", .value_name = "THREAD|COMM",
	  .help = "Where the time of this thread or these threads went", .needs = "wakers",
	  .recorded_with = "--wakers", .agent_key = "wakers = yes",
	  .has = offsetof(struct profile_info, has_wakers), .groups_actors = true,
	  .is_of_whole_time = true, .text = show_critical, .json = show_critical_json },
	{ .name = "locks",
	  .help = "Which locks were waited for and who held them, of a recording made with --locks",
	  .needs = "locks", .recorded_with = "--locks", .agent_key = "locks = yes",
	  .has = offsetof(struct profile_info, has_locks), .of_waits = locks_text },
	{ .name = "runq-blame",
	  .help = "Who held the CPU while threads waited for it, of a recording made with --runq-blame",
	  .needs = "blame for run-queue delays", .recorded_with = "--runq-blame",
	  .agent_key = "runq-blame = yes", .has = offsetof(struct profile_info, has_blame),
	  .is_of_whole_window = true, .of_waits = blame_text },
	{ .name = "storms",
	  .help = "Events that woke many threads at once, of a recording made with --storms",
	  .needs = "wakeup storms", .recorded_with = "--storms", .agent_key = "storms = yes",
	  .has = offsetof(struct profile_info, has_storms), .is_of_whole_window = true,
	  .of_waits = storms_text },
	{ .name = "by request", .needs = "requests", .recorded_with = "offcpu request -o",
	  .has = offsetof(struct profile_info, has_requests), .of_requests = requests_table_text },
	{ .name = "by request percentile", .needs = "requests", .recorded_with = "offcpu request -o",
	  .has = offsetof(struct profile_info, has_requests), .of_requests = requests_tails_text },
	{ .name = "by request route", .needs = "requests", .recorded_with = "offcpu request -o",
	  .has = offsetof(struct profile_info, has_requests), .of_requests = requests_routes_text },
	{ .name = "by task", .needs = "tasks", .recorded_with = "--tasks",
	  .has = offsetof(struct profile_info, has_tasks), .text = show_tasks },
};

const struct view *const view_of_grouping = &views[1];
const size_t views_cnt = G_N_ELEMENTS(views);

bool view_append(const struct view *view, GString *out, const struct view_input *in, GError **error)
{
	if (view->text)
		return view->text(out, in, error);
	if (view->of_waits)
		view->of_waits(out, in->profile, in->selection, in->text);
	else
		view->of_requests(out, in->profile, in->text);
	return true;
}

bool view_takes_value(const struct view *view, const char *value)
{
	g_auto(GStrv) known = view->values ? g_strsplit(view->values, ", ", -1) : NULL;

	return !known || g_strv_contains((const char *const *)known, value);
}

static void add_pair(GPtrArray *pairs, char *first, const char *second)
{
	g_ptr_array_add(pairs, first);
	g_ptr_array_add(pairs, g_strdup(second));
}

char **views_more(const struct profile_info *info, const char *command)
{
	GPtrArray *pairs = g_ptr_array_new();

	EACH_IN(i, const struct view, v, views, views_cnt) {
		const char *by = view_by(v);

		if (v->value_name || !view_is_there(v, info))
			continue;
		add_pair(pairs, by ? g_strdup_printf("%s --by '%s'", command, by)
				   : g_strdup_printf("%s --%s", command, v->name), by ? v->needs : v->help);
	}
	g_ptr_array_add(pairs, NULL);
	return (char **)g_ptr_array_free(pairs, FALSE);
}

char **views_not_recorded(const struct profile_info *info)
{
	GPtrArray *pairs = g_ptr_array_new();

	EACH_IN(i, const struct view, v, views, views_cnt)
		if (!v->value_name && !view_is_there(v, info) && g_str_has_prefix(v->recorded_with, "--"))
			add_pair(pairs, g_strdup(v->recorded_with), v->needs);
	g_ptr_array_add(pairs, NULL);
	return (char **)g_ptr_array_free(pairs, FALSE);
}
