/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <string.h>
#include <unistd.h>

#include "analyse/idle_part.h"
#include "analyse/locks.h"
#include "cmd/cmd.h"
#include "cmd/filters.h"
#include "cmd/input.h"
#include "cmd/range.h"
#include "exchange/format.h"
#include "profile/profile.h"
#include "render/text/text.h"
#include "explain/text.h"

#define COMMAND "export"

static const char description[] =
	"Writes a recording in a format other programs read.\n"
	"\n"
	"Examples:\n"
	"  offcpu export -f folded -o out.folded              for flamegraph.pl, inferno, speedscope\n"
	"  offcpu export db.offcpu -f folded --by thread      one tower per thread\n"
	"  offcpu export -f folded --weight count             waits instead of time\n"
	"  offcpu export -f folded --lines --annotate         a tower per line of source, inlined functions marked\n"
	"  offcpu export -f json | jq '.waits | length'       schema 1, integer nanoseconds\n"
	"  offcpu export -f pprof -o off.pb.gz                go tool pprof -http=: off.pb.gz\n"
	"  offcpu export -f speedscope --comm 'mariadb*'      threads by name, for speedscope.app\n"
	"  offcpu export --history -f sqlite -o hour.offcpu   the last hour as a recording, for SQL\n"
	"  perf script | offcpu export - -f pprof -o off.pb.gz";

struct export_args {
	char *format, *out, *by, *unit, *weight, *idle;
	enum idle_choice idle_choice;
	int columns;
	struct range_args range;
	gboolean no_delimiter, annotate, lines, wakers, wakeup, tasks;
	struct filters filters;
};

static void args_clear(struct export_args *a)
{
	g_free(a->format);
	g_free(a->out);
	g_free(a->by);
	g_free(a->unit);
	g_free(a->weight);
	g_free(a->idle);
	filters_clear(&a->filters);
	range_args_clear(&a->range);
}

static const struct format *format_parse(const char *name)
{
	const struct format *format = format_by_name(name);
	g_autofree char *known = format_names();

	if (!format && name)
		cmd_error(COMMAND, "-f \"%s\": no such format; known are %s", name, known);
	else if (!format)
		cmd_error(COMMAND, "no format: -f FORMAT is wanted; known are %s", known);
	return format;
}

/* False, after printing, for the first option that the format does not support. */
static bool fits_format(const struct export_args *a, const struct format *format)
{
	const struct {
		const char *name;
		bool is_given;
		enum format_takes takes;
	} options[] = {
		{ "--by", a->by, TAKES_BY },
		{ "--unit", a->unit, TAKES_UNIT },
		{ "--weight", a->weight, TAKES_WEIGHT },
		{ "--wakers", a->wakers, TAKES_WAKERS },
		{ "--wakeup", a->wakeup, TAKES_WAKERS },
		{ "--no-delimiter", a->no_delimiter, TAKES_DELIMITER },
		{ "--annotate", a->annotate, TAKES_NAMES },
		{ "--lines", a->lines, TAKES_NAMES },
		{ "--columns", a->columns != 0, TAKES_COLUMNS },
	};

	for (guint i = 0; i < G_N_ELEMENTS(options); i++) {
		if (!options[i].is_given || format->takes & options[i].takes)
			continue;
		return cmd_refuse(COMMAND, "%s: not of %s", options[i].name, format->name);
	}
	return true;
}

/* False, after printing, for two options that exclude each other. */
static bool fit_together(const struct export_args *a)
{
	if (a->wakers && a->wakeup)
		return cmd_refuse(COMMAND, "--wakers and --wakeup: only one view at a time");
	if ((a->wakers || a->wakeup) && (a->no_delimiter || a->columns == 2))
		return cmd_refuse(COMMAND, "%s: not together with %s",
			a->no_delimiter ? "--no-delimiter" : "--columns 2", a->wakers ? "--wakers" : "--wakeup");
	if (a->columns == 2 && a->weight && strcmp(a->weight, "count") == 0)
		return cmd_refuse(COMMAND, "--columns 2: the first one is the count already");
	return true;
}

/* False, after printing, for the first invalid value. */
static bool make_plan(struct export_args *a, const struct format *format, struct export_plan *plan)
{
	g_autoptr(GError) error = NULL;
	struct folded_options *options = &plan->folded;

	if (!fits_format(a, format) || !fit_together(a))
		return false;
	options->delimiter = !a->no_delimiter && format->takes & TAKES_DELIMITER;
	options->annotate = a->annotate;
	options->lines = a->lines;
	plan->wakers = a->wakers;
	plan->wakeup = a->wakeup;
	plan->columns = a->columns ? (unsigned)a->columns : 1;
	options->two_columns = plan->columns == 2;
	plan->has_weight = a->weight != NULL;
	if (a->by && strcmp(a->by, "thread") != 0 && strcmp(a->by, "comm") != 0)
		return cmd_refuse(COMMAND, "--by \"%s\": no such grouping; known are comm, thread", a->by);
	options->by_thread = a->by && strcmp(a->by, "thread") == 0;
	plan->by_comm = a->by && !options->by_thread;
	if (a->unit && !folded_unit_parse(a->unit, &options->unit))
		return cmd_refuse(COMMAND, "--unit \"%s\": no such unit; known are ns, us, ms, s", a->unit);
	if (a->weight && !weight_parse(a->weight, &options->weight))
		return cmd_refuse(COMMAND, "--weight \"%s\": no such weight; known are %s", a->weight, weight_names());
	if (a->idle && !idle_choice_parse(a->idle, &a->idle_choice))
		return cmd_refuse(COMMAND, "--idle \"%s\": fold, keep or drop is wanted", a->idle);
	if (format->has_accounts && a->idle_choice == IDLE_FOLD)
		return cmd_refuse(COMMAND, "--idle fold: %s is a row a wait, keep or drop is wanted", format->name);
	if (plan->columns > 2 || a->columns < 0)
		return cmd_refuse(COMMAND, "--columns %d: one or two are wanted", a->columns);
	if (!filters_understand(&a->filters, &error))
		return cmd_refuse(COMMAND, "%s", error->message);
	return true;
}

/* Prints notes that a list of stacks cannot contain. */
static void warn_of_omitted(const struct profile *p, const struct export_plan *plan, const struct folded_result *result)
{
	g_autoptr(GString) s = g_string_new(NULL);
	uint64_t unlisted_ns = 0;

	for (unsigned i = 0; i < p->threads->len; i++)
		if (plan->selection->threads[i])
			unlisted_ns += profile_thread(p, i)->filtered_ns + profile_thread(p, i)->lost_ns;
	if (result->dropped) {
		text_duration(s, result->dropped);
		cmd_error(COMMAND,
			  "note: %" G_GUINT64_FORMAT " stacks of less than half a unit, %s in all, are left out",
			  (guint64)result->dropped_lines_cnt, s->str);
	}
	if (unlisted_ns && plan->folded.weight != WEIGHT_COUNT) {
		g_string_truncate(s, 0);
		text_duration(s, unlisted_ns);
		cmd_error(COMMAND, "note: %s of off-CPU time has no stack (filtered or lost) and is left out", s->str);
	}
}

static bool put_output(void *ctx, const void *bytes, gsize len_bytes, GError **error)
{
	return output_put(ctx, bytes, len_bytes, error);
}

static bool write_out(const struct profile *p, const struct export_args *a, const struct format *format,
		      const struct export_plan *plan, GError **error)
{
	struct output *out = output_begin(a->out, error);
	const struct sink sink = { put_output, out };

	if (out && format_write(format, p, plan, &sink, error))
		return output_end(out, error);
	output_drop(out);
	return false;
}

static bool knows_what_is_wanted(const struct profile *p, const char *path, const struct export_args *a,
				 const struct export_plan *plan, GError **error)
{
	return (!(plan->wakers || plan->wakeup) || recording_has_wakers(p, path, error)) &&
	       recording_knows(p, path, plan->folded.weight, &a->filters.query, error) &&
	       (plan->columns == 1 || recording_knows(p, path, WEIGHT_COUNT, NULL, error));
}

/* Adds on-CPU samples if the format is complete or the weight needs them. */
static bool with_on_cpu(struct profile *p, const char *path, const struct export_args *a, struct export_plan *plan,
			GError **error)
{
	if (plan->wakers || plan->wakeup)
		return true;
	if (!recording_with_on_cpu(p, path, plan->has_weight, &a->filters.query, &plan->folded.weight, error))
		return false;
	if (!plan->has_weight)
		profile_on_cpu_as_waits(p);
	return true;
}

/* Removes idle time as requested, and says so on stderr. */
static void part_idle(struct profile *p, const struct export_args *a, struct selection *selection)
{
	g_autoptr(GString) s = g_string_new(NULL);
	uint64_t idle_ns;

	if (a->idle_choice == IDLE_FOLD)
		idle_part_fold(p, selection);
	if (a->idle_choice != IDLE_DROP)
		return;
	idle_ns = idle_part_drop(p, selection);
	text_duration(s, idle_ns);
	if (idle_ns)
		cmd_error(COMMAND, "note: %s of idle time is left out", s->str);
}

/* The selection as text. */
static char *asked_text(const struct export_args *a)
{
	g_autofree char *query = query_text(&a->filters.query);
	const char *idle = a->idle_choice == IDLE_DROP ? "no idle time" : "";

	return g_strconcat(query, *query && *idle ? ", " : "", idle, NULL);
}

static int export(const char *path, struct export_args *a, const struct format *format, struct export_plan *plan)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *asked = asked_text(a);
	struct profile *read = range_read_profile(path, &a->range, &error),
		       *p = read && a->tasks ? recording_only_tasks(read, path, &error) : read;
	bool has_all = p && with_on_cpu(p, path, a, plan, &error);
	struct selection *selection = has_all && knows_what_is_wanted(p, path, a, plan, &error)
					      ? selection_new(p, &a->filters.query, &error)
					      : NULL;
	int status = EXIT_FAILED;

	if (selection)
		part_idle(p, a, selection);
	if (selection && !format->has_accounts)
		objects_as_frames(p);
	plan->selection = selection;
	plan->selection_text = asked;
	if (selection && write_out(p, a, format, plan, &error)) {
		status = EXIT_OK;
		if (!format->has_accounts)
			warn_of_omitted(p, plan, plan->ret_folded);
	}
	if (error)
		cmd_error(COMMAND, "%s", error->message);
	plan->selection = NULL;
	plan->selection_text = NULL;
	selection_free(selection);
	profile_free(p);
	return status;
}

/* Compressed and binary formats are not written to a terminal. */
static bool may_print(const struct export_args *a, const struct format *format)
{
	bool is_text = g_str_has_prefix(format->media_type, "text/") ||
		       g_str_has_prefix(format->media_type, "application/json");

	if ((is_text && !format->gzip) || (a->out && strcmp(a->out, "-") != 0) || !isatty(STDOUT_FILENO))
		return true;
	return cmd_refuse(COMMAND, "%s is no text: -o FILE.%s is wanted, or a pipe", format->name, format->extension);
}

/* The help lists the table's formats. */
static char *help_description(void)
{
	GString *s = g_string_new(description);

	g_string_append(s, "\n\nFormats:");
	for (size_t i = 0; i < formats_cnt; i++)
		if (formats[i].write)
			g_string_append_printf(s, "\n  %-12s %s", formats[i].name, formats[i].help);
	return g_string_free(s, FALSE);
}

int cmd_export(int argc, char **argv)
{
	struct export_args a = { .idle_choice = IDLE_KEEP };
	struct folded_result folded = { 0 };
	struct export_plan plan = { .ret_folded = &folded };
	const struct format *format;
	g_autofree char *text = help_description();
	int status;
	GOptionEntry entries[] = {
		{ "format", 'f', 0, G_OPTION_ARG_STRING, &a.format, "One of those above", "FORMAT" },
		{ "output", 'o', 0, G_OPTION_ARG_FILENAME, &a.out, "Write to this file (standard output)", "OUT" },
		{ "by", 0, 0, G_OPTION_ARG_STRING, &a.by,
		  "folded: first frame is comm, or comm-pid/tid for thread; speedscope: a profile each", "WHAT" },
		{ "unit", 0, 0, G_OPTION_ARG_STRING, &a.unit, "folded: ns, us, ms or s (us)", "UNIT" },
		{ "weight", 0, 0, G_OPTION_ARG_STRING, &a.weight,
		  "What counts: off_cpu, blocked, runnable, preempted or count (off_cpu)", "WHAT" },
		{ "columns", 0, 0, G_OPTION_ARG_INT, &a.columns,
		  "folded: 2 puts the number of waits before the time (1)", "N" },
		{ "wakers", 0, 0, G_OPTION_ARG_NONE, &a.wakers,
		  "folded: the sleeper's stacks, then -- and those of its waker, innermost first", NULL },
		{ "wakeup", 0, 0, G_OPTION_ARG_NONE, &a.wakeup, "folded: the wakers' stacks, then whom they woke", NULL },
		{ "no-delimiter", 0, 0, G_OPTION_ARG_NONE, &a.no_delimiter,
		  "folded: no frame \"-\" between user and kernel", NULL },
		{ "annotate", 0, 0, G_OPTION_ARG_NONE, &a.annotate,
		  "folded, csv: _[i] behind inlined functions, _[j] compiled at run time, _[k] of the kernel", NULL },
		{ "lines", 0, 0, G_OPTION_ARG_NONE, &a.lines,
		  "folded, csv: name:file:line, where record --inline found them", NULL },
		{ "idle", 0, 0, G_OPTION_ARG_STRING, &a.idle,
		  "Idle time: as any other, one frame [idle] in place of its stacks, or not at all (keep)",
		  "keep|fold|drop" },
		ONLY_TASKS_OPTION(a.tasks),
		FILTERS_OPTIONS(a.filters),
		RANGE_ENTRIES(a.range),
		INPUT_OPTION,
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};
	g_autoptr(GError) error = NULL;

	if (cmd_parse(COMMAND, "[FILE] -f FORMAT", text, entries, &argc, &argv, &status)) {
		const char *path;

		status = EXIT_USAGE;
		if (argc > 2)
			cmd_error(COMMAND, "\"%s\": only one FILE is read", argv[2]);
		else if (!range_source(argc > 1 ? argv[1] : NULL, &path, &error))
			cmd_error(COMMAND, "%s", error->message);
		else if (a.out && cmd_is_same_file(a.out, path) && strcmp(path, "-") != 0)
			cmd_error(COMMAND, "%s: the output would replace the recording", a.out);
		else if (!range_args_check(&a.range, &error))
			cmd_error(COMMAND, "%s", error->message);
		else if ((format = format_parse(a.format)) && make_plan(&a, format, &plan) && may_print(&a, format))
			status = export(path, &a, format, &plan);
	}
	args_clear(&a);
	return status;
}
