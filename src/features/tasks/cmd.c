/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* offcpu tasks: goroutines and other tasks without a thread, observed from outside. */
#include <stdio.h>

#include "base/opener/opener.h"
#include "base/parse.h"
#include "cmd/answering.h"
#include "cmd/cmd.h"
#include "cmd/run.h"
#include "features/tasks/look_list.h"
#include "render/answer/report.h"
#include "render/json/json.h"
#include "render/text/text.h"

#define COMMAND "tasks"
#define DEFAULT_HZ "5"
#define HZ_MIN 0.01
#define HZ_MAX 1000
#define BUDGET_PPM 10000	/* of one CPU */
#define TOP_DEFAULT 10

static const char description[] =
	"Examples:\n"
	"  offcpu tasks -p 1234              what the tasks of this process wait for now\n"
	"  offcpu tasks -p shop -d 10        the same over 10 s, in task-seconds\n"
	"  offcpu tasks --cgroup container:shop/web\n"
	"\n"
	"Tasks are goroutines (Go), tasks of asyncio (CPython 3.8 to 3.15) and of Tokio (Rust), greenlets (CPython 3.11 to 3.15), and virtual threads (Java 21 and later). The process is read from outside: it is never stopped.";

struct tasks_options {
	char **pids, **groups, *hz, *duration;
	gboolean json;
	struct answer_args answer;
	gint top;
};

/* At least one process, owned by the caller. NULL with an error. */
static GArray *processes_of(const struct tasks_options *o, GError **error)
{
	g_autoptr(GArray) pids = NULL;

	if (!target_processes(o->pids, &pids, error) || !target_group_processes(o->groups, &pids, error))
		return NULL;
	if (!pids->len)
		return refuse_null(error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "--cgroup: no process is in %s",
			o->groups[0]);
	return g_steal_pointer(&pids);
}

static int parse_own(struct tasks_options *o, struct run *run, int argc, char **argv, struct census_options *ret)
{
	g_autoptr(GError) error = NULL;

	if (argc > 1)
		return cmd_wrong(COMMAND, "unexpected argument '%s'", argv[1]);
	if (!o->pids && !o->groups)
		return cmd_wrong(COMMAND, "-p PID or --cgroup NAME is needed: tasks are looked at in one process");
	if (!answer_args_understand(&o->answer, o->json, &error))
		return cmd_wrong(COMMAND, "%s", error->message);
	if (o->top < 0)
		return cmd_wrong(COMMAND, "--top takes 0 or more");
	if (!parse_rate(o->hz ? o->hz : DEFAULT_HZ, HZ_MIN, HZ_MAX, &ret->hz, &error))
		return cmd_wrong(COMMAND, "-F: %s", error->message);
	if (!run_parse_duration(run, o->duration))
		return EXIT_USAGE;
	ret->duration_ns = run->duration_ns;
	ret->budget_ppm = BUDGET_PPM;
	return EXIT_OK;
}

/* Sentences first, then rows. */
static void append_answer(GString *out, const struct tasks *t, const struct tasks_options *o)
{
	const struct text_options plain = { .top = (unsigned)o->top };
	g_autoptr(GString) sentences = g_string_new(NULL), whole = g_string_new(NULL);

	text_tasks(sentences, t, &plain);
	tasks_json(whole, t);
	answer_object(out, COMMAND, whole, sentences->str, o->answer.options.max_bytes);
}

static int take_census(struct census_options *options, const struct tasks_options *o)
{
	const struct text_options text_options = {
		.top = (unsigned)o->top, .colour = cmd_stdout_has_colour(), .width = cmd_stdout_width(),
	};
	g_autoptr(GString) text = g_string_new(NULL);
	g_autoptr(GArray) pids = NULL;
	g_autoptr(GError) error = NULL;
	struct tasks *t;

	opener_begin();
	options->pids = pids = processes_of(o, &error);
	options->stop = stop_catch();
	t = pids ? census_take(options, &error) : NULL;
	stop_release();
	run_end_opener(COMMAND);
	if (!t) {
		cmd_error(COMMAND, "%s", error->message);
		return g_error_matches(error, CENSUS_ERROR, CENSUS_NOT_PERMITTED) ? EXIT_NOT_PERMITTED : EXIT_FAILED;
	}
	if (o->json)
		tasks_json(text, t);
	else if (answer_is_asked(&o->answer))
		append_answer(text, t, o);
	else
		text_tasks(text, t, &text_options);
	tasks_free(t);
	fputs(text->str, stdout);
	return EXIT_OK;
}

int cmd_tasks(int argc, char **argv)
{
	struct target target = { 0 };
	struct tasks_options own = { .top = TOP_DEFAULT };
	struct run run = { .name = COMMAND, .target = &target };
	struct census_options options = { 0 };
	GOptionEntry entries[] = {
		{ "pid", 'p', 0, G_OPTION_ARG_STRING_ARRAY, &own.pids, "The process, by its number or its name", "PID" },
		{ "cgroup", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &own.groups,
		  "The one with tasks in this cgroup (version 2), unit or container", "PATH|NAME" },
		{ "duration", 'd', 0, G_OPTION_ARG_STRING, &own.duration,
		  "Look again and again, for this time (a bare number is s)", "TIME" },
		{ "frequency", 'F', 0, G_OPTION_ARG_STRING, &own.hz, "With -d: looks a second (" DEFAULT_HZ ")", "HZ" },
		{ "json", 0, 0, G_OPTION_ARG_NONE, &own.json, "JSON in integer nanoseconds", NULL },
		ANSWER_SIZE_ENTRIES(own.answer),
		{ "top", 0, 0, G_OPTION_ARG_INT, &own.top, "Rows of a table (10; 0: all)", "N" },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};
	int status = EXIT_OK;

	answer_args_note(&own.answer, argc, argv);
	if (cmd_parse(COMMAND, "", description, entries, &argc, &argv, &status) &&
	    (status = parse_own(&own, &run, argc, argv, &options)) == EXIT_OK)
		status = take_census(&options, &own);
	g_strfreev(own.pids);
	g_strfreev(own.groups);
	g_free(own.hz);
	g_free(own.duration);
	answer_args_clear(&own.answer);
	return status;
}
