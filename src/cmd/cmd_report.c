/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <string.h>
#include <unistd.h>

#include "analyse/idle_part.h"
#include "analyse/reason/reason.h"
#include "base/find.h"
#include "cmd/answering.h"
#include "cmd/cmd.h"
#include "cmd/filters.h"
#include "cmd/fleet_input.h"
#include "cmd/input.h"
#include "cmd/range.h"
#include "cmd/views.h"
#include "profile/profile.h"
#include "render/answer/report.h"
#include "render/json/json.h"
#include "render/text/text.h"

#define TOP_DEFAULT 10
#define TOP_GRAPH 30	/* default number of edges in a picture */

static const char description[] =
	"Shows where the threads of a recording spent the time they were not running.\n"
	"\n"
	"Examples:\n"
	"  offcpu report                              the recording in trace.offcpu\n"
	"  offcpu report db.offcpu --comm 'mariadb*'  threads by name\n"
	"  offcpu report -u --top 20                  without the kernel's own threads\n"
	"  offcpu report --by leaf --state D          what uninterruptible sleeps wait for\n"
	"  offcpu report --grep 'fsync|fdatasync'     waits with such a frame\n"
	"  offcpu report --weight runnable            waits for a CPU\n"
	"  offcpu report --json | jq .coverage        for programs\n"
	"  offcpu report --json=summary               for models: findings in 8 KB, and ids of what is to be had in full\n"
	"  offcpu report --markdown                   for an issue or a chat\n"
	"  offcpu report --wakers                     who woke whom, and who waits in a circle\n"
	"  offcpu report --graph dot | dot -Tsvg      the same as a picture\n"
	"  offcpu report --critical sysbench          for whom these threads waited\n"
	"  offcpu report --follow web1.offcpu db1.offcpu   what the other host's threads wait for meanwhile\n"
	"  offcpu report --full                       coverage, accounts, leaves and stacks\n"
	"  offcpu report --by reason                  what waits were for\n"
	"  offcpu report --history --from 'tue 14:32' --to 'tue 14:35'   what offcpu agent kept\n"
	"\n"
	"--by: leaf, stack, thread, process, service, pod, container, unit, comm, state, syscall,\n"
	"      reason, object; route, attribute:KEY, of trace contexts;\n"
	"      of what offcpu request recorded: request, 'request percentile', 'request route'; with tasks: task;\n"
	"      with --wakers, --graph and --critical: role, thread, comm, process.\n"
	"--weight: off_cpu, blocked, runnable, preempted, count.";

/* Value of a view's option: flag or text. */
struct view_arg {
	gboolean is_asked;
	char *value;
};

/* The command line, and the parsed one. */
struct report_args {
	int top;
	char *by, *weight, *idle, *rate, *rules, *explain;
	struct filters filters;
	struct range_args range;
	struct fleet_args fleet;
	struct answer_args answer;
	gboolean json, csv, markdown, kernel_frames, requests, incidents, follow;
	struct view_arg *views;	/* views_cnt elements */
};

struct report_plan {
	const struct view *view;	/* NULL: the usual text, --json or --csv */
	bool is_full;	/* --weight and --top imply the long text */
	struct view_input input;	/* without profile and selection */
	struct text_options text;
};

static void args_clear(struct report_args *a)
{
	g_free(a->by);
	g_free(a->weight);
	g_free(a->idle);
	g_free(a->rate);
	g_free(a->rules);
	g_free(a->explain);
	filters_clear(&a->filters);
	range_args_clear(&a->range);
	fleet_args_clear(&a->fleet);
	answer_args_clear(&a->answer);
	for (size_t i = 0; i < views_cnt; i++)
		g_free(a->views[i].value);
	g_free(a->views);
}

static bool is_named_by_grouping(const struct report_args *a, const struct view *view)
{
	g_autofree char *by = g_strdelimit(g_strdup(a->by ? a->by : ""), "-", ' ');

	return g_strcmp0(by, view_by(view)) == 0;
}

/* Finds the view that replaces the usual text; false after printing an error. */
static bool plan_view(const struct report_args *a, struct report_plan *plan)
{
	EACH_IN(i, const struct view, view, views, views_cnt) {
		const char *value = a->views[i].value;

		if (!a->views[i].is_asked && !value && !is_named_by_grouping(a, view))
			continue;
		if (plan->view)
			return cmd_refuse("report", "--%s and --%s: only one of them at a time", plan->view->name,
				view->name);
		if (value && !view_takes_value(view, value))
			return cmd_refuse("report", "--%s \"%s\": no such format; known are %s", view->name, value,
				view->values);
		plan->view = view;
		plan->input.value = value;
	}
	return true;
}

/* Chooses the output format; false after printing an error. */
static bool plan_form(const struct report_args *a, struct report_plan *plan)
{
	const char *const forms[] = { a->json ? "--json" : NULL, answer_is_asked(&a->answer) ? "--json=summary" : NULL,
				      a->csv ? "--csv" : NULL, a->markdown ? "--markdown" : NULL };
	const char *form = NULL;

	for (size_t i = 0; i < G_N_ELEMENTS(forms); i++) {
		if (form && forms[i])
			return cmd_refuse("report", "%s and %s: only one output at a time", form, forms[i]);
		form = form ? form : forms[i];
	}
	if (!plan_view(a, plan))
		return false;
	if (plan->view && form && (!a->json || (a->json && plan->view->values))) {
		g_auto(GStrv) known = plan->view->values ? g_strsplit(plan->view->values, ", ", -1) : NULL;
		g_autofree char *values = known ? g_strjoinv(" or ", known) : g_strdup("");

		return cmd_refuse("report", "%s: not together with --%s%s%s", form, plan->view->name,
			  known ? ", which is " : "", values);
	}
	return true;
}

static bool plan_by(const struct report_args *a, struct report_plan *plan)
{
	bool actors = plan->view && plan->view->groups_actors;

	plan->text.by = !actors && a->by && top_by_attribute(a->by) ? TOP_BY_ROUTE : TOP_BY_STACK;
	if (!a->by || (plan->view && is_named_by_grouping(a, plan->view)) ||
	    (!actors && (plan->text.attribute = top_by_attribute(a->by))) ||
	    (actors ? actor_by_parse(a->by, &plan->input.actors) : top_by_parse(a->by, &plan->text.by)))
		return true;
	return cmd_refuse("report", "--by \"%s\": no such grouping; known are %s%s", a->by,
		  actors ? actor_by_names() : top_by_names(), actors ? "" : ", task, request, request percentile, request route");
}

/* Parses options of the first screen; false after printing an error. */
static bool plan_first(const struct report_args *a, struct report_plan *plan)
{
	struct first_options *first = &plan->input.first;

	if (a->idle && !idle_choice_parse(a->idle, &first->idle))
		return cmd_refuse("report", "--idle \"%s\": fold, keep or drop is wanted", a->idle);
	if (a->rate) {
		char *end;

		first->rate = g_ascii_strtod(a->rate, &end);
		if (*end && history_is_asked())
			first->rate = history_request_rate(&a->range, a->rate);
		else if (*end)
			first->rate = 0;
		if (!(first->rate > 0) || first->rate > 1e12)
			return cmd_refuse("report", "--rate \"%s\": a number of requests per second is wanted%s",
				a->rate, history_is_asked() ? ", or the name of requests that the history has" : "");
	}
	/* these concern sections that the first screen does not have */
	plan->is_full = a->weight || a->top >= 0;
	return true;
}

/* False, after printing, for the first invalid value. */
static bool plan_make(struct report_args *a, struct report_plan *plan)
{
	g_autoptr(GError) error = NULL;

	if (!plan_form(a, plan) || !plan_by(a, plan))
		return false;
	if (a->weight && !weight_parse(a->weight, &plan->text.weight))
		return cmd_refuse("report", "--weight \"%s\": no such weight; known are %s", a->weight,
			weight_names());
	if (a->top < -1)
		return cmd_refuse("report", "--top %d: a number of rows is wanted, 0 for all", a->top);
	if (!filters_understand(&a->filters, &error))
		return cmd_refuse("report", "%s", error->message);
	plan->text.top = a->top < 0 ? TOP_DEFAULT : (unsigned)a->top;
	plan->input.graph_top = a->top < 0 ? TOP_GRAPH : (unsigned)a->top;
	plan->text.colour = cmd_stdout_has_colour();
	plan->text.kernel_frames = a->kernel_frames;
	plan->text.width = isatty(STDOUT_FILENO) ? cmd_stdout_width() : 0;
	g_autofree char *asked = query_text(&a->filters.query);
	if (plan->view && plan->view->is_of_whole_time && *asked)
		return cmd_refuse("report", "--%s %s: is about all of the time of these threads, not of %s",
			plan->view->name, plan->input.value, asked);
	if (plan->view && plan->view->is_of_whole_window && range_is_asked(&a->range) && !history_is_asked() &&
	    !fleet_is_asked(&a->fleet))
		return cmd_refuse("report", "--%s: is known of the whole window only, not with --from or --to",
			plan->view->name);
	if (!fleet_is_asked(&a->fleet) && !range_args_check(&a->range, &error))
		return cmd_refuse("report", "%s", error->message);
	if (!plan_first(a, plan))
		return false;
	if (a->by && !plan->view && !a->json && !a->csv && !answer_is_asked(&a->answer) && !a->markdown)
		plan->view = view_of_grouping;
	plan->input.query = &a->filters.query;
	plan->input.text = &plan->text;
	return true;
}

static bool print_answer(GString *out, const struct report_args *a, const struct view_input *in, GError **error)
{
	g_auto(GStrv) more = views_more(&in->profile->info, a->answer.plain);
	g_auto(GStrv) not_recorded = in->profile->info.history.windows || in->profile->info.imported
					     ? NULL
					     : views_not_recorded(&in->profile->info);
	struct answer_options options = a->answer.options;

	options.more = (const char *const *)more;
	options.not_recorded = (const char *const *)not_recorded;
	return answer_report(out, "report", in->profile, in->selection, &options, error);
}

/* Prints in parts: JSON and CSV of many stacks are not kept in memory. */
struct pour {
	GString *text;
	struct output *out;
	bool is_broken;
	GError **error;
};

#define POUR_BYTES (64u << 10)

static void pour_all(struct pour *pour)
{
	if (!pour->is_broken)
		pour->is_broken = !output_put(pour->out, pour->text->str, pour->text->len, pour->error);
	g_string_truncate(pour->text, 0);
}

static void pour_some(void *ctx)
{
	struct pour *pour = ctx;

	if (pour->text->len >= POUR_BYTES)
		pour_all(pour);
}

static bool print_view(struct pour *pour, const struct report_args *a, const struct report_plan *plan,
		       const struct view_input *in)
{
	const struct drain drain = { pour_some, pour };
	GString *out = pour->text;

	if (plan->view && (!a->json || plan->view->json))
		return a->json ? plan->view->json(out, in, pour->error)
			       : view_append(plan->view, out, in, pour->error);
	if (answer_is_asked(&a->answer))
		return print_answer(out, a, in, pour->error);
	if (a->json)
		json_report_drained(out, in->profile, in->selection, &drain);
	else if (a->csv)
		csv_waits(out, in->profile, in->selection, NULL, &drain);
	else if (a->markdown)
		markdown_report(out, in->profile, in->query, in->selection);
	else if (plan->is_full || in->profile->info.imported)
		text_report(out, in->profile, in->query, in->selection, in->text);
	else
		text_first(out, in->profile, in->query, in->selection, in->text, &in->first);
	return true;
}

static bool print_out(const struct report_args *a, const struct report_plan *plan, const struct view_input *in,
		      GError **error)
{
	g_autoptr(GString) text = g_string_new(NULL);
	struct pour pour = { .text = text, .out = output_begin(NULL, error), .error = error };

	if (pour.out && print_view(&pour, a, plan, in)) {
		pour_all(&pour);
		if (!pour.is_broken)
			return output_end(pour.out, error);
	}
	output_drop(pour.out);
	return false;
}

/* False, after printing what the recording lacks and which option records it. */
static bool has_what_is_wanted(const struct profile *p, const struct view *view, const char *path)
{
	const struct rows_kind *kind = profile_rows_kind(p->info.rows_are);
	bool is_of_waits = view && (view->has || (kind && kind->what && strcmp(view->name, "accounts") == 0));

	if (is_of_waits && p->info.imported)
		return cmd_refuse("report", "%s: --%s is of recordings; %s does not tell enough", path, view->name,
			p->info.imported);
	if (!view || view_is_there(view, &p->info))
		return true;
	g_autofree char *advice = recording_advice(view->recorded_with, view->agent_key);

	return cmd_refuse("report", "%s: has no %s: %s", path, view->needs, advice);
}

/* False, after printing: an imported profile lacks what the list is grouped by. */
static bool knows_grouping(const struct profile *p, const char *path, const struct report_plan *plan, GError **error)
{
	const struct query by_state = { .states = "S" };
	const struct rows_kind *kind = profile_rows_kind(p->info.rows_are);

	if (kind && kind->what && plan->text.by == TOP_BY_REASON)
		return refuse(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
			"%s: it is %s: no reason of a wait is known", path, kind->what);
	return plan->text.by != TOP_BY_STATE || recording_knows(p, path, WEIGHT_OFF_CPU, &by_state, error);
}

/* Views of waits omit on-CPU samples. */
static bool with_on_cpu(struct profile *p, const char *path, const struct report_args *a, struct text_options *text,
			const struct report_plan *plan, GError **error)
{
	bool is_about_waits = plan->view && strcmp(plan->view->name, "stacks") != 0 &&
			      strcmp(plan->view->name, "full") != 0 && !a->json;

	if (is_about_waits && !a->weight)
		return true;
	if (!recording_with_on_cpu(p, path, a->weight, &a->filters.query, &text->weight, error))
		return false;
	if (!a->weight && !is_about_waits)
		profile_on_cpu_as_waits(p);
	return true;
}

static int report(const char *path, const struct report_args *a, const struct report_plan *plan)
{
	struct text_options options = plan->text;
	g_autoptr(GError) error = NULL;
	struct profile *p = fleet_is_asked(&a->fleet) ? fleet_read_profile(&a->fleet, &a->range, &error)
						      : range_read_profile(path, &a->range, &error);

	if (p && !has_what_is_wanted(p, a->json && plan->view && !plan->view->json ? NULL : plan->view, path)) {
		profile_free(p);
		return EXIT_FAILED;
	}
	bool knows = p && with_on_cpu(p, path, a, &options, plan, &error) &&
		     recording_knows(p, path, options.weight, &a->filters.query, &error) &&
		     knows_grouping(p, path, plan, &error);
	struct selection *selection = knows ? selection_new(p, &a->filters.query, &error) : NULL;
	int status = knows && !selection ? EXIT_USAGE : EXIT_FAILED;

	struct view_input input = plan->input;

	input.profile = p;
	/* the agent counts requests, if it is configured to */
	if (p && !a->rate && history_is_asked() && plan->view && strcmp(plan->view->name, "accounts") == 0)
		input.first.rate = history_request_rate(&a->range, NULL);
	input.text = &options;
	input.selection = selection;
	if (selection && plan->view == view_of_grouping && !a->json && plan->input.first.idle == IDLE_DROP)
		idle_part_drop(p, selection);
	if (selection && print_out(a, plan, &input, &error))
		status = EXIT_OK;
	if (error)
		cmd_error("report", "%s", error->message);
	selection_free(selection);
	profile_free(p);
	return status;
}

static int explain_rule(const char *name)
{
	g_autoptr(GString) out = g_string_new(NULL);
	g_autoptr(GError) error = NULL;

	if (!cmd_rules_explain(out, name))
		return cmd_wrong("report", "--explain \"%s\": no rule and no reason has that name; reasons are %s",
			name, reason_names());
	if (cmd_write_output(NULL, out->str, out->len, &error))
		return EXIT_OK;
	return cmd_failed("report", "%s", error->message);
}

/* --follow, the only mode that takes several recordings. */
static int follow_waits(struct report_args *a, char **paths, const char *usual)
{
	const char *const one[] = { usual, NULL };
	struct report_plan plan = { 0 };
	g_autoptr(GError) error = NULL;
	const struct follow_args args = { .filters = &a->filters,
					  .range = &a->range,
					  .fleet = &a->fleet,
					  .json = a->json,
					  .paths = *paths ? (const char *const *)paths : one };

	if (!plan_form(a, &plan))
		return EXIT_USAGE;
	if (plan.view || a->csv || a->markdown || answer_is_asked(&a->answer))
		return cmd_wrong("report", "--follow: is text, or --json, and not together with other views");
	if (filters_understand(&a->filters, &error))
		return follow_report(&args);
	return cmd_wrong("report", "%s", error->message);
}

/* The usual options and one for each view; the caller frees. */
static GOptionEntry *with_views(const GOptionEntry *usual, size_t cnt, struct view_arg *args)
{
	GOptionEntry *all = g_new0(GOptionEntry, cnt + views_cnt + 1);

	memcpy(all, usual, cnt * sizeof(*all));
	for (size_t i = 0; i < views_cnt && !view_by(&views[i]); i++)	/* views without an option come last */
		all[cnt + i] = (GOptionEntry){
			.long_name = views[i].name, .description = views[i].help,
			.arg_description = views[i].value_name,
			.arg = views[i].value_name ? G_OPTION_ARG_STRING : G_OPTION_ARG_NONE,
			.arg_data = views[i].value_name ? (gpointer)&args[i].value : (gpointer)&args[i].is_asked,
		};
	return all;
}

int cmd_report(int argc, char **argv)
{
	struct report_args a = { .top = -1, .views = g_new0(struct view_arg, views_cnt) };
	struct report_plan plan = { 0 };
	g_autoptr(GError) error = NULL;
	int status;
	const GOptionEntry usual[] = {
		{ "top", 0, 0, G_OPTION_ARG_INT, &a.top, "Rows per section, 0 for all (10; edges of a picture: 30)",
		  "N" },
		{ "by", 0, 0, G_OPTION_ARG_STRING, &a.by,
		  "A line for each in place of the findings; of --full its last section (stack); or who waits (role)",
		  "WHAT" },
		{ "weight", 0, 0, G_OPTION_ARG_STRING, &a.weight, "What counts (off_cpu)", "WHAT" },
		FILTERS_OPTIONS(a.filters),
		RANGE_ENTRIES(a.range),
		FLEET_ENTRIES(a.fleet),
		{ "follow", 0, 0, G_OPTION_ARG_NONE, &a.follow,
		  "Of whom they wait for on other hosts, what these wait for: of several FILEs, or of --clickhouse", NULL },
		{ "incidents", 0, 0, G_OPTION_ARG_NONE, &a.incidents, "List what was put aside of the history", NULL },
		{ "kernel-frames", 0, 0, G_OPTION_ARG_NONE, &a.kernel_frames,
		  "Stacks with the kernel's own way in and to sleep, too", NULL },
		{ "idle", 0, 0, G_OPTION_ARG_STRING, &a.idle,
		  "Idle time: one line, a line by kind, or not a word (fold); of --stacks and --by: left out by drop", "fold|keep|drop" },
		{ "rate", 0, 0, G_OPTION_ARG_STRING, &a.rate,
		  "Requests per second: what each takes, and whether the time adds up", "R" },
		{ "requests", 0, 0, G_OPTION_ARG_NONE, &a.requests,
		  "With --history: latency over time of what [request NAME] of the agent's configuration names", NULL },
		{ "rules", 0, 0, G_OPTION_ARG_FILENAME, &a.rules,
		  "Rules of your own for reasons, tried before the built-in ones", "FILE" },
		{ "explain", 0, 0, G_OPTION_ARG_STRING, &a.explain, "Show a rule, or all that give a reason", "RULE" },
		{ "json", 0, 0, G_OPTION_ARG_NONE, &a.json, "Everything, as JSON in integer nanoseconds", NULL },
		ANSWER_ENTRIES(a.answer),
		{ "markdown", 0, 0, G_OPTION_ARG_NONE, &a.markdown, "Findings, times and stacks as Markdown, for an issue",
		  NULL },
		{ "csv", 0, 0, G_OPTION_ARG_NONE, &a.csv, "One row per wait", NULL },
		INPUT_OPTION,
	};
	g_autofree GOptionEntry *entries = with_views(usual, G_N_ELEMENTS(usual), a.views);
	const char *path;

	answer_args_note(&a.answer, argc, argv);
	if (cmd_parse("report", "[FILE]", description, entries, &argc, &argv, &status)) {
		status = EXIT_USAGE;
		if (argc > 2 && !a.follow)
			cmd_error("report", "\"%s\": only one FILE is read, but with --follow", argv[2]);
		else if (!answer_args_understand(&a.answer, a.json, &error) ||
			 !fleet_args_check(&a.fleet, &a.range, argc > 1, &error) || !cmd_rules_load(a.rules, &error))
			cmd_error("report", "%s", error->message);
		else if (a.incidents)
			status = incidents_show(history_store(), a.json, &a.answer);
		else if (a.explain)
			status = explain_rule(a.explain);
		else if (!range_source(argc > 1 ? argv[1] : NULL, &path, &error))
			cmd_error("report", "%s", error->message);
		else if (a.follow)
			status = follow_waits(&a, argv + 1, path);
		else if (a.requests && !history_is_asked())
			cmd_error("report", "--requests is of a history, so with --history; of a recording: --by request");
		else if (a.requests && !range_args_check(&a.range, &error))
			cmd_error("report", "%s", error->message);
		else if (a.requests)
			status = history_requests(&a.range, a.json);
		else if (plan_make(&a, &plan))
			status = report(fleet_is_asked(&a.fleet) ? a.fleet.clickhouse : path, &a, &plan);
	}
	args_clear(&a);
	return status;
}
