/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <string.h>
#include <unistd.h>

#include "base/parse.h"
#include "cmd/cmd.h"
#include "profile/profile_file.h"
#include "render/csv.h"
#include "render/json.h"
#include "render/text.h"
#include "render/chains_text.h"
#include "render/wakers_text.h"

#define DEFAULT_FILE "trace.offcpu"
#define IDS_MAX 4096

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
	"\n"
	"--by: leaf, stack, thread, process, comm, state, syscall.\n"
	"--weight: off_cpu, blocked, runnable, preempted, count.";

/* As the options come; and what they mean. */
struct report_args {
	int top;
	char *by, *weight, *state, *comm, *grep, *pids, *tids;
	gboolean json, csv, user, kernel, wakers;
};

struct report_plan {
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

/* False after a sentence about the first value that is no good. */
static bool plan_make(const struct report_args *a, struct report_plan *plan)
{
	g_autoptr(GError) error = NULL;

	plan->text.by = TOP_BY_STACK;
	if (a->by && !top_by_parse(a->by, &plan->text.by)) {
		cmd_error("report", "--by \"%s\": no such grouping; known are %s", a->by, top_by_names());
		return false;
	}
	if (a->weight && !weight_parse(a->weight, &plan->text.weight)) {
		cmd_error("report", "--weight \"%s\": no such weight; known are %s", a->weight, weight_names());
		return false;
	}
	if (a->top < 0) {
		cmd_error("report", "--top %d: a number of rows is wanted, 0 for all", a->top);
		return false;
	}
	if (a->json && a->csv) {
		cmd_error("report", "--json and --csv: only one output at a time");
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
	plan->text.top = (unsigned)a->top;
	plan->text.colour = cmd_stdout_has_colour();
	plan->text.width = isatty(STDOUT_FILENO) ? cmd_stdout_width() : 0;
	plan->query = (struct query){
		.states = plan->states, .comm = a->comm, .grep = a->grep,
		.pids = (const uint32_t *)(void *)plan->pids->data, .pids_cnt = plan->pids->len,
		.user_only = a->user, .kernel_only = a->kernel,
		.tids = (const uint32_t *)(void *)plan->tids->data, .tids_cnt = plan->tids->len,
	};
	if (!query_check(&plan->query, &error)) {
		cmd_error("report", "%s", error->message);
		return false;
	}
	return true;
}

static int report(const char *path, const struct report_args *a, const struct report_plan *plan)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GString) out = g_string_new(NULL);
	struct profile *p = profile_file_read(path, &error);
	if (p && a->wakers && !p->info.has_wakers) {
		cmd_error("report", "%s: has no wakers: record it with --wakers", path);
		profile_free(p);
		return EXIT_FAILED;
	}
	struct selection *selection = p ? selection_new(p, &plan->query, &error) : NULL;
	int status = p && !selection ? EXIT_USAGE : EXIT_FAILED;

	if (selection) {
		if (a->json)
			json_report(out, p, selection);
		else if (a->csv)
			csv_waits(out, p, selection, NULL);
		else if (a->wakers) {
			wakers_text(out, p, selection, &plan->text);
			chains_text(out, p, selection, plan->text.top);
		} else
			text_report(out, p, &plan->query, selection, &plan->text);
		if (cmd_write_output(NULL, out->str, out->len, &error))
			status = EXIT_OK;
	}
	if (error)
		cmd_error("report", "%s", error->message);
	selection_free(selection);
	profile_free(p);
	return status;
}

int cmd_report(int argc, char **argv)
{
	struct report_args a = { .top = 10 };
	struct report_plan plan = { 0 };
	int status;
	GOptionEntry entries[] = {
		{ "top", 0, 0, G_OPTION_ARG_INT, &a.top, "Rows per section, 0 for all (10)", "N" },
		{ "by", 0, 0, G_OPTION_ARG_STRING, &a.by, "Group the last section's waits (stack)", "WHAT" },
		{ "weight", 0, 0, G_OPTION_ARG_STRING, &a.weight, "What counts (off_cpu)", "WHAT" },
		{ "state", 0, 0, G_OPTION_ARG_STRING, &a.state, "Only waits in these states: letters, or bcc's number", "LIST" },
		{ "comm", 0, 0, G_OPTION_ARG_STRING, &a.comm, "Only threads with such a name", "GLOB" },
		{ "grep", 0, 0, G_OPTION_ARG_STRING, &a.grep, "Only waits with such a frame", "REGEX" },
		{ "pid", 'p', 0, G_OPTION_ARG_STRING, &a.pids, "Only these processes", "PID[,PID]" },
		{ "tid", 't', 0, G_OPTION_ARG_STRING, &a.tids, "Only these threads", "TID[,TID]" },
		{ "user-threads", 'u', 0, G_OPTION_ARG_NONE, &a.user, "Only user threads", NULL },
		{ "kernel-threads", 'k', 0, G_OPTION_ARG_NONE, &a.kernel, "Only kernel threads", NULL },
		{ "wakers", 0, 0, G_OPTION_ARG_NONE, &a.wakers, "Who woke whom, of a recording made with --wakers", NULL },
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
