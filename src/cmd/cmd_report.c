/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <string.h>
#include <unistd.h>

#include "base/parse.h"
#include "cmd/cmd.h"
#include "profile/profile_file.h"
#include "render/json/json.h"
#include "render/text/blame.h"
#include "render/text/chains.h"
#include "render/text/critical.h"
#include "render/text/csv.h"
#include "render/text/locks.h"
#include "render/text/storms.h"
#include "render/text/text.h"
#include "render/text/waitgraph_dot.h"
#include "render/text/wakers.h"

#define DEFAULT_FILE "trace.offcpu"
#define IDS_MAX 4096
#define TOP_DEFAULT 10
#define TOP_GRAPH 30	/* edges that a picture can hold */

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
	"  offcpu report --wakers                     who woke whom, and who waits in a circle\n"
	"  offcpu report --graph dot | dot -Tsvg      the same as a picture\n"
	"  offcpu report --critical sysbench          for whom these threads waited\n"
	"\n"
	"--by: leaf, stack, thread, process, comm, state, syscall;\n"
	"      with --wakers, --graph and --critical: role, thread, comm, process.\n"
	"--weight: off_cpu, blocked, runnable, preempted, count.";

/* As the options come; and what they mean. */
struct report_args {
	int top;
	char *by, *weight, *state, *comm, *grep, *pids, *tids, *graph, *critical;
	gboolean json, csv, user, kernel, wakers, locks, blame, storms;
};

enum report_form {
	FORM_TEXT, FORM_JSON, FORM_CSV, FORM_LOCKS, FORM_BLAME, FORM_STORMS,
	FORM_WAKERS, FORM_GRAPH_DOT, FORM_GRAPH_JSON, FORM_CRITICAL,	/* from here on about wakers */
};

struct report_plan {
	enum report_form form;
	enum actor_by actors;	/* of the forms about wakers */
	unsigned graph_top;
	char *states;
	struct query query;
	struct text_options text;
	GArray *pids, *tids;
};

static void args_clear(struct report_args *a)
{
	g_free(a->by);
	g_free(a->weight);
	g_free(a->state);
	g_free(a->comm);
	g_free(a->grep);
	g_free(a->pids);
	g_free(a->tids);
	g_free(a->graph);
	g_free(a->critical);
}

/* "12,34" into uint32_t; false after a sentence. */
static bool parse_ids(const char *option, const char *text, GArray *ids)
{
	g_auto(GStrv) parts = text ? g_strsplit(text, ",", IDS_MAX + 1) : NULL;

	for (unsigned i = 0; parts && parts[i]; i++) {
		guint64 id;

		if (i >= IDS_MAX || !g_ascii_string_to_unsigned(parts[i], 10, 1, G_MAXINT32, &id, NULL)) {
			cmd_error("report", "%s \"%s\": a list of positive numbers is wanted, like 12,34", option, text);
			return false;
		}
		uint32_t id32 = (uint32_t)id;
		g_array_append_val(ids, id32);
	}
	if (text && !ids->len) {
		cmd_error("report", "%s \"\": a list of positive numbers is wanted, like 12,34", option);
		return false;
	}
	return true;
}

/* The view that is asked for in place of the usual one, *ret_option NULL: none is; false after a sentence. */
static bool plan_view(const struct report_args *a, struct report_plan *plan, const char **ret_option)
{
	const struct { const char *option; enum report_form form; bool is_asked; } views[] = {
		{ "--wakers", FORM_WAKERS, a->wakers },
		{ "--graph", g_strcmp0(a->graph, "json") == 0 ? FORM_GRAPH_JSON : FORM_GRAPH_DOT, a->graph != NULL },
		{ "--critical", FORM_CRITICAL, a->critical != NULL },
		{ "--locks", FORM_LOCKS, a->locks },
		{ "--runq-blame", FORM_BLAME, a->blame },
		{ "--storms", FORM_STORMS, a->storms },
	};

	*ret_option = NULL;
	plan->form = FORM_TEXT;
	for (size_t i = 0; i < G_N_ELEMENTS(views); i++) {
		if (!views[i].is_asked)
			continue;
		if (*ret_option) {
			cmd_error("report", "%s and %s: only one of them at a time", *ret_option, views[i].option);
			return false;
		}
		*ret_option = views[i].option;
		plan->form = views[i].form;
	}
	return true;
}

/* What is to be printed; false after a sentence. */
static bool plan_form(const struct report_args *a, struct report_plan *plan)
{
	const char *view;

	if (a->json && a->csv) {
		cmd_error("report", "--json and --csv: only one output at a time");
		return false;
	}
	if (!plan_view(a, plan, &view))
		return false;
	if ((a->csv && view) || (a->json && a->graph)) {
		cmd_error("report", "%s: not together with %s", a->json ? "--json" : "--csv",
			  a->graph ? "--graph, which is dot or json" : view);
		return false;
	}
	if (a->graph && strcmp(a->graph, "dot") != 0 && strcmp(a->graph, "json") != 0) {
		cmd_error("report", "--graph \"%s\": no such format; known are dot, json", a->graph);
		return false;
	}
	if (a->csv)
		plan->form = FORM_CSV;
	else if (a->json && plan->form != FORM_CRITICAL)	/* which has JSON of its own; the usual one holds all else */
		plan->form = FORM_JSON;
	return true;
}

static bool plan_by(const struct report_args *a, struct report_plan *plan)
{
	bool actors = plan->form >= FORM_WAKERS;

	plan->text.by = TOP_BY_STACK;
	if (!a->by || (actors ? actor_by_parse(a->by, &plan->actors) : top_by_parse(a->by, &plan->text.by)))
		return true;
	cmd_error("report", "--by \"%s\": no such grouping; known are %s", a->by, actors ? actor_by_names() : top_by_names());
	return false;
}

/* False after a sentence about the first value that is no good. */
static bool plan_make(const struct report_args *a, struct report_plan *plan)
{
	g_autoptr(GError) error = NULL;

	if (!plan_form(a, plan) || !plan_by(a, plan))
		return false;
	if (a->weight && !weight_parse(a->weight, &plan->text.weight)) {
		cmd_error("report", "--weight \"%s\": no such weight; known are %s", a->weight, weight_names());
		return false;
	}
	if (a->top < -1) {
		cmd_error("report", "--top %d: a number of rows is wanted, 0 for all", a->top);
		return false;
	}
	if (a->user && a->kernel) {
		cmd_error("report", "-u and -k: only one of them leaves any thread");
		return false;
	}
	if (a->state && !parse_state_letters(a->state, &plan->states, &error)) {
		cmd_error("report", "--state: %s", error->message);
		return false;
	}
	if (!parse_ids("--pid", a->pids, plan->pids) || !parse_ids("--tid", a->tids, plan->tids))
		return false;
	plan->text.top = a->top < 0 ? TOP_DEFAULT : (unsigned)a->top;
	plan->graph_top = a->top < 0 ? TOP_GRAPH : (unsigned)a->top;
	plan->text.colour = cmd_stdout_has_colour();
	plan->text.width = isatty(STDOUT_FILENO) ? cmd_stdout_width() : 0;
	plan->query = (struct query){
		.states = plan->states, .comm = a->comm, .grep = a->grep,
		.pids = (const uint32_t *)(void *)plan->pids->data, .pids_cnt = plan->pids->len,
		.user_only = a->user, .kernel_only = a->kernel,
		.tids = (const uint32_t *)(void *)plan->tids->data, .tids_cnt = plan->tids->len,
	};
	g_autofree char *asked = query_text(&plan->query);
	if (a->critical && *asked) {
		cmd_error("report", "--critical %s: is about all of the time of these threads, not of %s", a->critical, asked);
		return false;
	}
	if (!query_check(&plan->query, &error)) {
		cmd_error("report", "%s", error->message);
		return false;
	}
	return true;
}

/* Of kernel threads only those that somebody waited for are of interest, unless they were asked for. */
static struct selection *whose_waits(const struct profile *p, const struct query *query)
{
	struct query users = *query;
	struct selection *s;
	bool any = false;

	if (users.user_only || users.kernel_only || users.comm || users.pids_cnt || users.tids_cnt)
		return NULL;
	users.user_only = true;
	s = selection_new(p, &users, NULL);
	for (unsigned i = 0; s && i < p->waits->len && !any; i++)
		any = s->waits[i];
	if (any)
		return s;
	selection_free(s);
	return NULL;
}

static bool print_actors(GString *out, const struct profile *p, const struct report_args *a,
			 const struct report_plan *plan, const struct selection *selection, GError **error)
{
	if (plan->form == FORM_CRITICAL) {
		struct critical *c = critical_new(p, a->critical, plan->actors, error);

		if (c && a->json) {
			critical_json(out, c);
		} else if (c) {
			text_header(out, p, NULL, &plan->text);
			text_coverage(out, p, c->selection, &plan->text);
			critical_text(out, c, &plan->text);
		}
		critical_free(c);
		return c != NULL;
	}
	struct selection *users = whose_waits(p, &plan->query);
	struct waitgraph *g = waitgraph_new(p, users ? users : selection, plan->actors, users != NULL);

	if (plan->form == FORM_GRAPH_DOT) {
		waitgraph_dot(out, g, plan->graph_top);
	} else if (plan->form == FORM_GRAPH_JSON) {
		waitgraph_json(out, g);
	} else {
		text_header(out, p, &plan->query, &plan->text);
		text_coverage(out, p, selection, &plan->text);
		if (users)
			g_string_append(out, "\nBelow: user threads, and the kernel threads they waited for. Others: see -k.\n");
		wakers_text(out, g, &plan->text);
		chains_text(out, p, g->actors, users ? users : selection, plan->text.top);
	}
	waitgraph_free(g);
	selection_free(users);
	return true;
}

static bool print(GString *out, const struct profile *p, const struct report_args *a, const struct report_plan *plan,
		  const struct selection *selection, GError **error)
{
	switch (plan->form) {
	case FORM_JSON: json_report(out, p, selection); return true;
	case FORM_CSV: csv_waits(out, p, selection, NULL); return true;
	case FORM_LOCKS: locks_text(out, p, selection, &plan->text); return true;
	case FORM_BLAME: blame_text(out, p, selection, &plan->text); return true;
	case FORM_STORMS: storms_text(out, p, selection, &plan->text); return true;
	case FORM_TEXT: text_report(out, p, &plan->query, selection, &plan->text); return true;
	default: return print_actors(out, p, a, plan, selection, error);
	}
}

/* What the form shows and the recording lacks, with the option that records it; false: said so. */
static bool has_what_is_wanted(const struct profile *p, enum report_form form, const char *path)
{
	const struct { bool is_wanted, is_there; const char *what, *option; } views[] = {
		{ form >= FORM_WAKERS, p->info.has_wakers, "wakers", "--wakers" },
		{ form == FORM_LOCKS, p->info.has_locks, "locks", "--locks" },
		{ form == FORM_BLAME, p->info.has_blame, "blame for run-queue delays", "--runq-blame" },
		{ form == FORM_STORMS, p->info.has_storms, "wakeup storms", "--storms" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(views); i++) {
		if (!views[i].is_wanted || views[i].is_there)
			continue;
		cmd_error("report", "%s: has no %s: record it with %s", path, views[i].what, views[i].option);
		return false;
	}
	return true;
}

static int report(const char *path, const struct report_args *a, const struct report_plan *plan)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GString) out = g_string_new(NULL);
	struct profile *p = profile_file_read(path, &error);
	if (p && !has_what_is_wanted(p, plan->form, path)) {
		profile_free(p);
		return EXIT_FAILED;
	}
	struct selection *selection = p ? selection_new(p, &plan->query, &error) : NULL;
	int status = p && !selection ? EXIT_USAGE : EXIT_FAILED;

	if (selection && print(out, p, a, plan, selection, &error) && cmd_write_output(NULL, out->str, out->len, &error))
		status = EXIT_OK;
	if (error)
		cmd_error("report", "%s", error->message);
	selection_free(selection);
	profile_free(p);
	return status;
}

int cmd_report(int argc, char **argv)
{
	struct report_args a = { .top = -1 };
	struct report_plan plan = { 0 };
	int status;
	GOptionEntry entries[] = {
		{ "top", 0, 0, G_OPTION_ARG_INT, &a.top, "Rows per section, 0 for all (10; edges of a picture: 30)", "N" },
		{ "by", 0, 0, G_OPTION_ARG_STRING, &a.by, "Group the last section's waits (stack), or who waits (role)", "WHAT" },
		{ "weight", 0, 0, G_OPTION_ARG_STRING, &a.weight, "What counts (off_cpu)", "WHAT" },
		{ "state", 0, 0, G_OPTION_ARG_STRING, &a.state, "Only waits in these states: letters, or bcc's number", "LIST" },
		{ "comm", 0, 0, G_OPTION_ARG_STRING, &a.comm, "Only threads with such a name", "GLOB" },
		{ "grep", 0, 0, G_OPTION_ARG_STRING, &a.grep, "Only waits with such a frame", "REGEX" },
		{ "pid", 'p', 0, G_OPTION_ARG_STRING, &a.pids, "Only these processes", "PID[,PID]" },
		{ "tid", 't', 0, G_OPTION_ARG_STRING, &a.tids, "Only these threads", "TID[,TID]" },
		{ "user-threads", 'u', 0, G_OPTION_ARG_NONE, &a.user, "Only user threads", NULL },
		{ "kernel-threads", 'k', 0, G_OPTION_ARG_NONE, &a.kernel, "Only kernel threads", NULL },
		{ "wakers", 0, 0, G_OPTION_ARG_NONE, &a.wakers, "Who woke whom, of a recording made with --wakers", NULL },
		{ "graph", 0, 0, G_OPTION_ARG_STRING, &a.graph, "Who waited for whom as a graph: dot (graphviz), json", "FORMAT" },
		{ "critical", 0, 0, G_OPTION_ARG_STRING, &a.critical, "Where the time of this thread or these threads went", "THREAD|COMM" },
		{ "locks", 0, 0, G_OPTION_ARG_NONE, &a.locks, "Which locks were waited for and who held them, of a recording made with --locks", NULL },
		{ "runq-blame", 0, 0, G_OPTION_ARG_NONE, &a.blame, "Who held the CPU while threads waited for it, of a recording made with --runq-blame", NULL },
		{ "storms", 0, 0, G_OPTION_ARG_NONE, &a.storms, "Events that woke many threads at once, of a recording made with --storms", NULL },
		{ "json", 0, 0, G_OPTION_ARG_NONE, &a.json, "Everything, as JSON in integer nanoseconds", NULL },
		{ "csv", 0, 0, G_OPTION_ARG_NONE, &a.csv, "One row per wait", NULL },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};

	plan.pids = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	plan.tids = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	if (cmd_parse("report", "[FILE]", description, entries, &argc, &argv, &status)) {
		status = EXIT_USAGE;
		if (argc > 2)
			cmd_error("report", "\"%s\": only one FILE is read", argv[2]);
		else if (plan_make(&a, &plan))
			status = report(argc > 1 ? argv[1] : DEFAULT_FILE, &a, &plan);
	}
	g_array_unref(plan.pids);
	g_array_unref(plan.tids);
	g_free(plan.states);
	args_clear(&a);
	return status;
}
