/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/range.h"
#include "render/json/json.h"
#include "render/text/csv.h"
#include "render/text/folded.h"
#include "render/text/folded_wakers.h"
#include "render/text/util.h"

#define DEFAULT_FILE "trace.offcpu"

static const char description[] =
	"Writes a recording in a format other programs read.\n"
	"\n"
	"Examples:\n"
	"  offcpu export -f folded -o out.folded              for flamegraph.pl, inferno, speedscope\n"
	"  offcpu export db.offcpu -f folded --by thread      one tower per thread\n"
	"  offcpu export -f folded --weight count             waits instead of time\n"
	"  offcpu export -f folded --lines --annotate         a tower per line of source, inlined functions marked\n"
	"  offcpu export -f json | jq '.waits | length'       schema 1, integer nanoseconds\n"
	"\n"
	"Formats: folded, json, csv.";

struct export_args {
	char *format, *out, *by, *unit, *weight;
	struct range_args range;
	gboolean no_delimiter, annotate, lines, wakers, wakeup;
};

enum export_format { EXPORT_FOLDED, EXPORT_JSON, EXPORT_CSV, EXPORT_FORMATS };
static const char *const format_names[EXPORT_FORMATS] = { "folded", "json", "csv" };

static void args_clear(struct export_args *a)
{
	g_free(a->format);
	g_free(a->out);
	g_free(a->by);
	g_free(a->unit);
	g_free(a->weight);
	range_args_clear(&a->range);
}

static bool format_parse(const char *name, enum export_format *ret_format)
{
	for (unsigned i = 0; i < EXPORT_FORMATS; i++) {
		if (g_strcmp0(name, format_names[i]) == 0) {
			*ret_format = (enum export_format)i;
			return true;
		}
	}
	if (name)
		cmd_error("export", "-f \"%s\": no such format; known are folded, json, csv", name);
	else
		cmd_error("export", "no format: -f folded, -f json or -f csv is wanted");
	return false;
}

/* False after a sentence about the first option that the format has no place for. */
static bool fits_format(const struct export_args *a, enum export_format format)
{
	const struct { const char *name; bool is_given, fits_csv; } options[] = {
		{ "--by", a->by, false }, { "--unit", a->unit, false }, { "--weight", a->weight, false },
		{ "--wakers", a->wakers, false }, { "--wakeup", a->wakeup, false }, { "--no-delimiter", a->no_delimiter, false },
		{ "--annotate", a->annotate, true }, { "--lines", a->lines, true },
	};

	for (guint i = 0; i < G_N_ELEMENTS(options); i++) {
		if (!options[i].is_given || format == EXPORT_FOLDED || (format == EXPORT_CSV && options[i].fits_csv))
			continue;
		cmd_error("export", "%s: not of %s", options[i].name, a->format);
		return false;
	}
	return true;
}

/* False after a sentence about the first value that is no good. */
static bool folded_plan(const struct export_args *a, struct folded_options *options)
{
	options->delimiter = !a->no_delimiter;
	options->annotate = a->annotate;
	options->lines = a->lines;
	if (a->wakers && a->wakeup) {
		cmd_error("export", "--wakers and --wakeup: only one view at a time");
		return false;
	}
	if ((a->wakers || a->wakeup) && a->no_delimiter) {
		cmd_error("export", "--no-delimiter: not together with %s", a->wakers ? "--wakers" : "--wakeup");
		return false;
	}
	if (a->by && strcmp(a->by, "thread") != 0 && strcmp(a->by, "comm") != 0) {
		cmd_error("export", "--by \"%s\": no such grouping; known are comm, thread", a->by);
		return false;
	}
	options->by_thread = a->by && strcmp(a->by, "thread") == 0;
	if (a->unit && !folded_unit_parse(a->unit, &options->unit)) {
		cmd_error("export", "--unit \"%s\": no such unit; known are ns, us, ms, s", a->unit);
		return false;
	}
	if (a->weight && !weight_parse(a->weight, &options->weight)) {
		cmd_error("export", "--weight \"%s\": no such weight; known are %s", a->weight, weight_names());
		return false;
	}
	return true;
}

/* Folded text has no place for these, so they are said beside it. */
static void folded_notes(const struct profile *p, const struct folded_options *options,
			 const struct folded_result *result)
{
	g_autoptr(GString) s = g_string_new(NULL);
	uint64_t unlisted_ns = 0;

	for (unsigned i = 0; i < p->threads->len; i++)
		unlisted_ns += profile_thread(p, i)->filtered_ns + profile_thread(p, i)->lost_ns;
	if (result->dropped) {
		text_duration(s, result->dropped);
		cmd_error("export", "note: %" G_GUINT64_FORMAT " stacks of less than half a unit, %s in all, are left out",
			  (guint64)result->dropped_lines_cnt, s->str);
	}
	if (unlisted_ns && options->weight != WEIGHT_COUNT) {
		g_string_truncate(s, 0);
		text_duration(s, unlisted_ns);
		cmd_error("export", "note: %s of off-CPU time has no stack (filtered or lost) and is left out", s->str);
	}
}

static void folded(GString *out, const struct profile *p, const struct export_args *a,
		   const struct folded_options *options, struct folded_result *ret_result)
{
	if (a->wakers || a->wakeup)
		folded_wakers_render(out, p, NULL, options, a->wakeup ? FOLDED_WAKEUP : FOLDED_OFFWAKE, ret_result);
	else
		folded_render(out, p, NULL, options, ret_result);
}

static int export(const char *path, const struct export_args *a, enum export_format format,
		  const struct folded_options *options)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GString) out = g_string_new(NULL);
	struct folded_result result = { 0 };
	struct profile *p = range_read_profile(path, &a->range, &error);
	int status = EXIT_FAILED;

	if (p && format == EXPORT_FOLDED && (a->wakers || a->wakeup) && !p->info.has_wakers) {
		cmd_error("export", "%s: has no wakers: record it with --wakers", path);
		profile_free(p);
		return EXIT_FAILED;
	}
	if (p) {
		if (format == EXPORT_JSON)
			json_report(out, p, NULL);
		else if (format == EXPORT_CSV)
			csv_waits(out, p, NULL, options);
		else
			folded(out, p, a, options, &result);
		if (cmd_write_output(a->out, out->str, out->len, &error))
			status = EXIT_OK;
	}
	if (error)
		cmd_error("export", "%s", error->message);
	else if (format == EXPORT_FOLDED)
		folded_notes(p, options, &result);
	profile_free(p);
	return status;
}

int cmd_export(int argc, char **argv)
{
	struct export_args a = { 0 };
	struct folded_options options = { 0 };
	enum export_format format;
	int status;
	GOptionEntry entries[] = {
		{ "format", 'f', 0, G_OPTION_ARG_STRING, &a.format, "folded, json or csv", "FORMAT" },
		{ "output", 'o', 0, G_OPTION_ARG_FILENAME, &a.out, "Write to this file (standard output)", "OUT" },
		{ "by", 0, 0, G_OPTION_ARG_STRING, &a.by, "folded: first frame is comm, or comm-pid/tid for thread", "WHAT" },
		{ "unit", 0, 0, G_OPTION_ARG_STRING, &a.unit, "folded: ns, us, ms or s (us)", "UNIT" },
		{ "weight", 0, 0, G_OPTION_ARG_STRING, &a.weight,
		  "folded: off_cpu, blocked, runnable, preempted or count (off_cpu)", "WHAT" },
		{ "wakers", 0, 0, G_OPTION_ARG_NONE, &a.wakers,
		  "folded: the sleeper's stacks, then -- and those of its waker, innermost first", NULL },
		{ "wakeup", 0, 0, G_OPTION_ARG_NONE, &a.wakeup, "folded: the wakers' stacks, then whom they woke", NULL },
		{ "no-delimiter", 0, 0, G_OPTION_ARG_NONE, &a.no_delimiter,
		  "folded: no frame \"-\" between user and kernel", NULL },
		{ "annotate", 0, 0, G_OPTION_ARG_NONE, &a.annotate,
		  "folded, csv: _[i] behind inlined functions, _[j] compiled at run time, _[k] of the kernel", NULL },
		{ "lines", 0, 0, G_OPTION_ARG_NONE, &a.lines,
		  "folded, csv: name:file:line, where record --inline found them", NULL },
		RANGE_ENTRIES(a.range),
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};
	g_autoptr(GError) error = NULL;

	if (cmd_parse("export", "[FILE] -f FORMAT", description, entries, &argc, &argv, &status)) {
		const char *path = argc > 1 ? argv[1] : DEFAULT_FILE;

		status = EXIT_USAGE;
		if (argc > 2)
			cmd_error("export", "\"%s\": only one FILE is read", argv[2]);
		else if (a.out && cmd_is_same_file(a.out, path))
			cmd_error("export", "%s: the output would replace the recording", a.out);
		else if (!range_args_check(&a.range, &error))
			cmd_error("export", "%s", error->message);
		else if (format_parse(a.format, &format) && fits_format(&a, format) && folded_plan(&a, &options))
			status = export(path, &a, format, &options);
	}
	args_clear(&a);
	return status;
}
