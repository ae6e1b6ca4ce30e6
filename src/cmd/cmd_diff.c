/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyse/diff/condition.h"
#include "analyse/diff/diff.h"
#include "analyse/query.h"
#include "cmd/answering.h"
#include "cmd/cmd.h"
#include "cmd/filters.h"
#include "cmd/range.h"
#include "profile/profile.h"
#include "render/answer/report.h"
#include "render/html/html.h"
#include "render/json/json.h"
#include "render/svg/svg.h"
#include "render/text/diff.h"

#define COMMAND "diff"
#define TOP_DEFAULT 6
#define NOISE_MAX_PERCENT 50

static const char description[] =
	"Shows what changed from one recording to another, or between two parts of one.\n"
	"A change is only called one where it is more than the noise of the waits.\n"
	"\n"
	"Examples:\n"
	"  offcpu diff before.offcpu after.offcpu            per thread and minute of the window; whole runs of a\n"
	"                                                    command (record -- COMMAND) as they are\n"
	"  offcpu diff a.offcpu b.offcpu --requests 9120,9544  per request; of `request -o` without the numbers\n"
	"  offcpu diff db.offcpu --before-comm 'io*' --after-comm 'sql*'  two groups of threads\n"
	"  offcpu diff a.offcpu b.offcpu --by function,comm  by what else they have in common\n"
	"  offcpu diff a.offcpu b.offcpu -o change.html      a page to look around in, too: orange more, blue less\n"
	"  offcpu diff a.offcpu b.offcpu -o change.svg       the same as a picture\n"
	"  offcpu diff a.offcpu b.offcpu --fail-if 'total > +5%' --fail-if 'stack~commit p99 > +50%'\n"
	"                                                    for CI: exit status 10 when one is true\n"
	"  offcpu diff --history --from 14:00 --to 15:00 --before-from 'yesterday 14:00'\n"
	"                                                    what offcpu agent kept, and the same hour of another day\n"
	"\n"
	"--by: reason, stack, function, leaf, state, comm, process, syscall, lock; several with commas.\n"
	"--fail-if: total, GROUP=NAME or GROUP~REGEX; then total, count, mean, p50, p90, p99 or max\n"
	"(total); then > or < and a percentage, a duration, or for count a number.";

/* The command line: filters for both sides, for BEFORE, for AFTER. */
enum { OF_BOTH, OF_BEFORE, OF_AFTER, OF_CNT };

struct diff_args {
	struct filters filters[OF_CNT];
	struct range_args range[OF_CNT];
	char *by, *requests, *normalize, *noise, *output, *title;
	char **fail_if;
	struct answer_args answer;
	int top;
	gboolean json, all, inverted, negated;
};

/* The parsed command line. */
struct diff_plan {
	const char *path[DIFF_SIDES];
	struct filters filters[DIFF_SIDES];
	struct range_args range[DIFF_SIDES];	/* borrowed */
	char *as_long[DIFF_SIDES];	/* for a history: the end, if not given */
	uint64_t requests[DIFF_SIDES];
	struct diff_options options;
	GArray *tables;		/* enum diff_by */
	GPtrArray *conditions;	/* struct condition */
	GArray *results;	/* struct condition_result */
	struct text_options text;
};

/* Whether standard output is for programs. */
static bool is_json(const struct diff_args *a)
{
	return a->json || answer_is_asked(&a->answer);
}

static void args_clear(struct diff_args *a)
{
	char **strings[] = { &a->by, &a->requests, &a->normalize, &a->noise, &a->output, &a->title };

	for (unsigned i = 0; i < G_N_ELEMENTS(strings); i++)
		g_free(*strings[i]);
	for (unsigned of = 0; of < OF_CNT; of++) {
		filters_clear(&a->filters[of]);
		range_args_clear(&a->range[of]);
	}
	g_strfreev(a->fail_if);
	answer_args_clear(&a->answer);
}

static void plan_init(struct diff_plan *plan)
{
	plan->tables = g_array_new(FALSE, FALSE, sizeof(enum diff_by));
	plan->conditions = g_ptr_array_new_with_free_func((GDestroyNotify)condition_free);
	plan->results = g_array_new(FALSE, TRUE, sizeof(struct condition_result));
	plan->options.noise = DIFF_NOISE_DEFAULT;
}

static void plan_clear(struct diff_plan *plan)
{
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		filters_clear(&plan->filters[side]);
		g_free(plan->as_long[side]);
	}
	g_array_unref(plan->tables);
	g_ptr_array_unref(plan->conditions);
	g_array_unref(plan->results);
}

/* The option of one side, else that of both. */
static char *own_or_both(const char *own, const char *both)
{
	return g_strdup(own ? own : both);
}

static bool plan_query(const struct diff_args *a, struct diff_plan *plan, enum diff_side side, GError **error)
{
	unsigned of = side == DIFF_BEFORE ? OF_BEFORE : OF_AFTER;
	const struct filters *both = &a->filters[OF_BOTH], *own = &a->filters[of];
	const struct range_args *range = &a->range[of], *range_both = &a->range[OF_BOTH];

	plan->range[side] = range_is_asked(range) ? *range : *range_both;
	if (history_is_asked() && range->from && !range->to)
		plan->range[side].to = plan->as_long[side] =
			history_as_long(range->from, range_both->from, range_both->to);
	plan->filters[side] = (struct filters){
		.state = own_or_both(own->state, both->state), .comm = own_or_both(own->comm, both->comm),
		.grep = own_or_both(own->grep, both->grep), .pids = own_or_both(own->pids, both->pids),
		.tids = own_or_both(own->tids, both->tids), .attribute = g_strdup(both->attribute),
		.trace = g_strdup(both->trace), .user = both->user, .kernel = both->kernel,
	};
	return range_args_check(&plan->range[side], error) && filters_understand(&plan->filters[side], error);
}

static bool plan_norm(const struct diff_args *a, struct diff_plan *plan, GError **error)
{
	const char *how = a->normalize ? a->normalize : a->requests ? "requests" : "threads";
	g_auto(GStrv) counts = a->requests ? g_strsplit(a->requests, ",", 3) : NULL;

	if (strcmp(how, "threads") == 0)
		plan->options.norm = DIFF_PER_THREAD_TIME;
	else if (strcmp(how, "none") == 0)
		plan->options.norm = DIFF_NOT_NORMALISED;
	else if (strcmp(how, "requests") == 0)
		plan->options.norm = DIFF_PER_REQUEST;
	else
		return cmd_bad(error, "--normalize \"%s\" is none of threads, requests, none", how);
	if (a->requests && plan->options.norm != DIFF_PER_REQUEST)
		return cmd_bad(error, "--requests and --normalize %s: only one of them at a time", how);
	for (unsigned side = 0; counts && side < DIFF_SIDES; side++) {
		guint64 n;

		if (g_strv_length(counts) != DIFF_SIDES ||
		    !g_ascii_string_to_unsigned(counts[side], 10, 1, G_MAXINT64, &n, NULL))
			return cmd_bad(error,
				   "--requests \"%s\": two numbers above 0 are wanted, before and after, as 9120,9544",
				   a->requests);
		plan->requests[side] = n;
	}
	return true;
}

static bool plan_noise(const char *text, struct diff_plan *plan, GError **error)
{
	char *end;
	double percent = text ? g_ascii_strtod(text, &end) : 0;

	if (!text)
		return true;
	if (end == text || !g_ascii_isdigit(*text) || (*end && strcmp(end, "%") != 0) ||
	    !(percent <= NOISE_MAX_PERCENT))
		return cmd_bad(error, "--noise \"%s\" is no percentage from 0 to %d", text, NOISE_MAX_PERCENT);
	plan->options.noise = percent / 100;
	return true;
}

static bool plan_tables(const struct diff_args *a, struct diff_plan *plan, GError **error)
{
	static const enum diff_by usual[] = { DIFF_BY_REASON, DIFF_BY_STACK };
	static const enum diff_by usual_json[] = { DIFF_BY_REASON, DIFF_BY_STATE,    DIFF_BY_COMM,
						   DIFF_BY_LEAF,   DIFF_BY_FUNCTION, DIFF_BY_STACK };
	g_auto(GStrv) names = a->by ? g_strsplit(a->by, ",", DIFF_BY_COUNT + 1) : NULL;

	for (unsigned i = 0; names && names[i]; i++) {
		enum diff_by by;

		if (!diff_by_parse(names[i], &by))
			return cmd_bad(error, "--by \"%s\": no such grouping; known are %s", names[i], diff_by_names());
		for (unsigned n = 0; n < plan->tables->len; n++)
			if (g_array_index(plan->tables, enum diff_by, n) == by)
				return cmd_bad(error, "--by \"%s\": %s twice", a->by, names[i]);
		g_array_append_val(plan->tables, by);
	}
	if (names && !plan->tables->len)
		return cmd_bad(error, "--by \"\": no grouping; known are %s", diff_by_names());
	if (!names && a->json)
		g_array_append_vals(plan->tables, usual_json, G_N_ELEMENTS(usual_json));
	else if (!names)
		g_array_append_vals(plan->tables, usual, G_N_ELEMENTS(usual));
	return true;
}

static bool plan_conditions(const struct diff_args *a, struct diff_plan *plan, GError **error)
{
	for (char **text = a->fail_if; text && *text; text++) {
		struct condition *c = condition_parse(*text, error);

		if (!c) {
			g_prefix_error(error, "--fail-if ");
			return false;
		}
		g_ptr_array_add(plan->conditions, c);
	}
	g_array_set_size(plan->results, plan->conditions->len);
	return true;
}

/* Whether sides have different filters, so that both may be the same recording. */
static bool has_two_parts(const struct diff_args *a)
{
	const struct filters *x = &a->filters[OF_BEFORE], *y = &a->filters[OF_AFTER];
	const struct range_args *from = &a->range[OF_BEFORE], *to = &a->range[OF_AFTER];

	return g_strcmp0(x->comm, y->comm) || g_strcmp0(x->grep, y->grep) || g_strcmp0(x->state, y->state) ||
	       g_strcmp0(x->pids, y->pids) || g_strcmp0(x->tids, y->tids) || g_strcmp0(from->from, to->from) ||
	       g_strcmp0(from->to, to->to);
}

static bool plan_recordings(const struct diff_args *a, int argc, char **argv, struct diff_plan *plan, GError **error)
{
	if (argc < 2)
		return cmd_bad(error, "which recordings? BEFORE and AFTER are wanted (see `offcpu diff --help`)");
	if (argc > 3)
		return cmd_bad(error, "two recordings are compared, and \"%s\" is a third one", argv[3]);
	if (argc == 3 && strcmp(argv[1], "-") == 0 && strcmp(argv[2], "-") == 0)
		return cmd_bad(error, "standard input can only be one of the two");
	if (argc == 2 && !has_two_parts(a))
		return cmd_bad(error, "one recording, \"%s\": a second one is wanted, or two parts of it by --before-comm and "
			   "--after-comm or others of that kind", argv[1]);
	plan->path[DIFF_BEFORE] = argv[1];
	plan->path[DIFF_AFTER] = argv[argc - 1];
	for (unsigned side = 0; a->output && side < DIFF_SIDES; side++)
		if (cmd_is_same_file(a->output, plan->path[side]))
			return cmd_bad(error, "%s: the output would replace a recording", a->output);
	return true;
}

/* Compares two ranges of a history. */
static bool plan_history(const struct diff_args *a, int argc, char **argv, struct diff_plan *plan, GError **error)
{
	if (argc > 1)
		return cmd_bad(error, "--history and \"%s\": only one of them is read", argv[1]);
	if (!has_two_parts(a))
		return cmd_bad(error, "--history: two parts of it are wanted, as --from and --to, and --before-from");
	plan->path[DIFF_BEFORE] = plan->path[DIFF_AFTER] = history_dir();
	return true;
}

static bool plan_make(struct diff_args *a, int argc, char **argv, struct diff_plan *plan, GError **error)
{
	if (history_is_asked() ? !plan_history(a, argc, argv, plan, error)
			       : !plan_recordings(a, argc, argv, plan, error))
		return false;
	if (!answer_args_understand(&a->answer, a->json, error))
		return false;
	if (a->top < -1)
		return cmd_bad(error, "--top %d: a number of rows is wanted, 0 for all", a->top);
	if (is_json(a) && a->output && strcmp(a->output, "-") == 0)
		return cmd_bad(error, "--json and -o -: only one of them can go to standard output");
	if (a->output && !cmd_may_draw(a->output, error))
		return false;
	plan->text.top = a->top >= 0 ? (unsigned)a->top : is_json(a) ? 0 : TOP_DEFAULT;
	plan->text.colour = cmd_stdout_has_colour();
	plan->text.width = isatty(STDOUT_FILENO) ? cmd_stdout_width() : 0;
	return plan_query(a, plan, DIFF_BEFORE, error) && plan_query(a, plan, DIFF_AFTER, error) &&
	       plan_norm(a, plan, error) && plan_noise(a->noise, plan, error) && plan_tables(a, plan, error) &&
	       plan_conditions(a, plan, error);
}

static bool check_conditions(struct diff *d, struct diff_plan *plan, bool *ret_failed, GError **error)
{
	for (unsigned i = 0; i < plan->conditions->len; i++) {
		struct condition_result *r = &g_array_index(plan->results, struct condition_result, i);

		if (!condition_check(d, g_ptr_array_index(plan->conditions, i), plan->conditions->len, r, error))
			return false;
		*ret_failed = *ret_failed || r->is_true;
	}
	return true;
}

static void append_text(GString *out, struct diff *d, const struct diff_args *a, const struct diff_plan *plan)
{
	const struct diff_text_options options = {
		.text = &plan->text, .tables = (const enum diff_by *)(void *)plan->tables->data,
		.tables_cnt = plan->tables->len, .all = a->all,
	};

	diff_text(out, d, &options);
	g_string_append(out, plan->conditions->len ? "\n" : "");
	for (unsigned i = 0; i < plan->conditions->len; i++) {
		diff_text_condition(out, d, g_ptr_array_index(plan->conditions, i),
				    &g_array_index(plan->results, struct condition_result, i));
		g_string_append_c(out, '\n');
	}
}

/* Goes to stderr: standard output is for programs. */
static void report_conditions(const struct diff *d, const struct diff_plan *plan)
{
	for (unsigned i = 0; i < plan->conditions->len; i++) {
		const struct condition_result *r = &g_array_index(plan->results, struct condition_result, i);
		g_autoptr(GString) s = g_string_new(NULL);

		if (!r->is_true && r->has_waits)
			continue;
		diff_text_condition(s, d, g_ptr_array_index(plan->conditions, i), r);
		cmd_error(COMMAND, "%s", s->str);
	}
}

static bool append_json(GString *out, struct diff *d, const struct diff_args *a, const struct diff_plan *plan,
			const char *finding, GError **error)
{
	const struct diff_json_options options = {
		.tables = (const enum diff_by *)(void *)plan->tables->data, .tables_cnt = plan->tables->len,
		.top = plan->text.top, .finding = finding,
		.conditions = (const struct condition *const *)plan->conditions->pdata,
		.results = (const struct condition_result *)(void *)plan->results->data,
		.conditions_cnt = plan->conditions->len,
	};

	if (a->json) {
		diff_json(out, d, &options);
		return true;
	}
	g_autofree char *all = g_strconcat(a->answer.plain, " --all", NULL);
	g_autofree char *functions = g_strconcat(a->answer.plain, " --by function", NULL);
	const char *const more[] = { all, "also rows that differ within the noise", functions,
				     "functions anywhere in the stack", NULL };
	struct answer_options answer = a->answer.options;

	answer.more = a->by || a->all ? NULL : more;
	return answer_diff(out, d, &options, a->all, &answer, error);
}

static bool draw(struct diff *d, const struct diff_args *a, const char *finding, GError **error)
{
	g_autoptr(GString) out = g_string_new(NULL);
	const struct svg_diff_options options = {
		.title = a->title, .finding = finding, .width_px = 1200, .min_width = 0.001, .inverted = a->inverted,
		.negated = a->negated,
	};
	const struct html_diff_options page = { .title = a->title, .inverted = a->inverted, .negated = a->negated };

	if (!(cmd_is_html(a->output) ? html_diff_page(out, d, &page) : svg_diff(out, d, &options)))
		return cmd_bad(error, "%s: nothing to draw, there is no wait before or after", a->output);
	return cmd_write_output(a->output, out->str, out->len, error);
}

static int show_diff(struct diff *d, const struct diff_args *a, struct diff_plan *plan, GError **error)
{
	g_autoptr(GString) out = g_string_new(NULL), finding = g_string_new(NULL);
	bool failed = false, has_stdout = !a->output || strcmp(a->output, "-") != 0;

	if (!check_conditions(d, plan, &failed, error))
		return EXIT_USAGE;
	diff_text_finding(finding, d);
	if (is_json(a)) {
		if (!append_json(out, d, a, plan, finding->str, error))
			return EXIT_FAILED;
	} else if (has_stdout) {
		append_text(out, d, a, plan);
	}
	if (a->output && !draw(d, a, finding->str, error))
		return EXIT_FAILED;
	if (has_stdout && !cmd_write_output(NULL, out->str, out->len, error))
		return EXIT_FAILED;
	if (is_json(a) || !has_stdout)
		report_conditions(d, plan);
	return failed ? EXIT_DIFFERENT : EXIT_OK;
}

/* The selected part of a recording, as text; free with g_free(). */
static char *part_text(const struct diff_plan *plan, enum diff_side side)
{
	const struct range_args *range = &plan->range[side];
	const char *from = range->from, *to = range->to;
	g_autofree char *query = query_text(&plan->filters[side].query);

	if (plan->as_long[side])
		return g_strdup_printf("%s%sfrom %s, for as long as AFTER", query, *query ? " " : "", from);
	return g_strdup_printf("%s%s%s%s%s%s", query, *query && range_is_asked(range) ? " " : "", from ? "from " : "",
			       from ? from : "", to ? from ? " to " : "to " : "", to ? to : "");
}

/*
 * Takes numbers of requests from the recordings, unless they were given.  If both recordings have requests, times are
 * per request.
 */
static bool count_requests(const struct diff_args *a, struct diff_plan *plan,
			   const struct profile *const profiles[DIFF_SIDES], GError **error)
{
	uint64_t counts[DIFF_SIDES] = { diff_request_cnt(profiles[DIFF_BEFORE]),
					diff_request_cnt(profiles[DIFF_AFTER]) };

	if (a->requests || (a->normalize && plan->options.norm != DIFF_PER_REQUEST))
		return true;
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		if (!counts[side] && plan->options.norm == DIFF_PER_REQUEST)
			return cmd_bad(
				error,
				"%s has no requests: record it with `offcpu request`, or say how many there were, as --requests 9120,9544",
				plan->path[side]);
		plan->requests[side] = counts[side];
	}
	if (counts[DIFF_BEFORE] && counts[DIFF_AFTER] && profiles[DIFF_BEFORE] != profiles[DIFF_AFTER])
		plan->options.norm = DIFF_PER_REQUEST;
	return true;
}

/*
 * If both commands ran to their end, windows are compared as a whole: a share of the window would hide that a command
 * became slower.
 */
static void note_whole_runs(const struct diff_args *a, struct diff_plan *plan,
			    const struct profile *const profiles[DIFF_SIDES])
{
	if (!a->normalize && plan->options.norm == DIFF_PER_THREAD_TIME &&
	    profiles[DIFF_BEFORE] != profiles[DIFF_AFTER] && diff_is_whole_run(profiles[DIFF_BEFORE]) &&
	    diff_is_whole_run(profiles[DIFF_AFTER]))
		plan->options.norm = DIFF_WHOLE_RUNS;
}

/* Another tool's profile may not say how long it observed: then times are not normalised. */
static bool norm_is_known(const struct diff_args *a, struct diff_plan *plan,
			  const struct profile *const profiles[DIFF_SIDES], GError **error)
{
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		if (plan->options.norm != DIFF_PER_THREAD_TIME ||
		    !(profiles[side]->info.unknown & (UNKNOWN_WINDOW | UNKNOWN_ACCOUNTS)))
			continue;
		if (a->normalize)
			return cmd_bad(
				error,
				"%s does not tell how long its threads were observed: --normalize none or --requests is wanted",
				plan->path[side]);
		plan->options.norm = DIFF_NOT_NORMALISED;
	}
	return true;
}

/* Only rows of the same kind compare.  Rows that are not waits have no reasons. */
static bool is_of_one_kind(const struct diff_args *a, struct diff_plan *plan,
			   const struct profile *const profiles[DIFF_SIDES], GError **error)
{
	const struct rows_kind *before = profile_rows_kind(profiles[DIFF_BEFORE]->info.rows_are),
			       *after = profile_rows_kind(profiles[DIFF_AFTER]->info.rows_are);

	if (before != after)
		return cmd_bad(error, "BEFORE holds %s and AFTER %s: they do not compare", before ? before->many : "waits",
			   after ? after->many : "waits");
	if (before && profile_rows_are_counted(before->many))
		return cmd_bad(error, "BEFORE and AFTER hold %s, which have no times to compare", before->many);
	if (before && before->what && !a->by)
		g_array_remove_index(plan->tables, 0);
	return true;
}

/* Both profiles may be the same recording. */
static int compare(const struct diff_args *a, struct diff_plan *plan, const struct profile *const profiles[DIFF_SIDES],
		   GError **error)
{
	struct selection *selections[DIFF_SIDES] = { NULL };
	struct diff_input in[DIFF_SIDES];
	g_autofree char *before_text = part_text(plan, DIFF_BEFORE), *after_text = part_text(plan, DIFF_AFTER);
	const char *const texts[DIFF_SIDES] = { before_text, after_text };
	int status = EXIT_USAGE;

	if (!is_of_one_kind(a, plan, profiles, error) || !count_requests(a, plan, profiles, error) ||
	    !norm_is_known(a, plan, profiles, error))
		return status;
	note_whole_runs(a, plan, profiles);
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		selections[side] = selection_new(profiles[side], &plan->filters[side].query, error);
		if (!selections[side])
			break;
		in[side] = (struct diff_input){
			.profile = profiles[side], .selection = selections[side], .requests = plan->requests[side],
			.name = plan->path[side], .filters = texts[side],
		};
	}
	if (selections[DIFF_AFTER]) {
		struct diff *d = diff_new(&in[DIFF_BEFORE], &in[DIFF_AFTER], &plan->options);

		status = show_diff(d, a, plan, error);
		diff_free(d);
	}
	selection_free(selections[DIFF_BEFORE]);
	selection_free(selections[DIFF_AFTER]);
	return status;
}

static int run(const struct diff_args *a, struct diff_plan *plan)
{
	g_autoptr(GError) error = NULL;
	const struct range_args *x = &plan->range[DIFF_BEFORE], *y = &plan->range[DIFF_AFTER];
	bool is_one = plan->path[DIFF_BEFORE] == plan->path[DIFF_AFTER] && !g_strcmp0(x->from, y->from) &&
		      !g_strcmp0(x->to, y->to);
	struct profile *profiles[DIFF_SIDES];
	bool is_read = range_read_two(plan->path, plan->range, is_one, profiles, &error);
	struct profile *before = profiles[DIFF_BEFORE], *after = profiles[DIFF_AFTER];
	int status = EXIT_FAILED;

	/* with samples of one side only, they would show as a difference */
	if (is_read && profile_has_on_cpu(before) && profile_has_on_cpu(after)) {
		profile_on_cpu_as_waits(before);
		profile_on_cpu_as_waits(after);
	}
	if (is_read)
		status = compare(a, plan, (const struct profile *[]){ before, after }, &error);
	if (error)
		cmd_error(COMMAND, "%s", error->message);
	if (!is_one)
		profile_free(after);
	profile_free(before);
	return status;
}

/* "--requests" without numbers takes them from the recordings. */
static void understand_requests(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		bool has_numbers = i + 1 < argc && strspn(argv[i + 1], "0123456789,") == strlen(argv[i + 1]);

		if (strcmp(argv[i], "--requests") == 0 && !has_numbers)
			argv[i] = (char *)"--normalize=requests";
	}
}

int cmd_diff(int argc, char **argv)
{
	struct diff_args a = { .top = -1 };
	struct diff_plan plan = { 0 };
	struct filters *x = &a.filters[OF_BEFORE], *y = &a.filters[OF_AFTER];
	g_autoptr(GError) error = NULL;
	int status = EXIT_USAGE;
	GOptionEntry entries[] = {
		{ "by", 0, 0, G_OPTION_ARG_STRING, &a.by, "What rows have in common (reason,stack)", "WHAT[,WHAT]" },
		{ "fail-if", 0, 0, G_OPTION_ARG_STRING_ARRAY, &a.fail_if,
		  "Exit status 10 when true and no noise; several may be given", "COND" },
		{ "requests", 0, 0, G_OPTION_ARG_STRING, &a.requests,
		  "Times per request: as many as the recordings have, or as is said", "[BEFORE,AFTER]" },
		{ "normalize", 0, 0, G_OPTION_ARG_STRING, &a.normalize,
		  "threads: per thread-minute; requests; none (threads)", "HOW" },
		{ "noise", 0, 0, G_OPTION_ARG_STRING, &a.noise, "What two runs differ by anyway (1%)", "PERCENT" },
		{ "top", 0, 0, G_OPTION_ARG_INT, &a.top, "Rows per table, 0 for all (6; with --json all)", "N" },
		{ "all", 0, 0, G_OPTION_ARG_NONE, &a.all, "Also rows that differ within the noise", NULL },
		{ "json", 0, 0, G_OPTION_ARG_NONE, &a.json, "Everything, as JSON in integer nanoseconds", NULL },
		ANSWER_ENTRIES(a.answer),
		{ "output", 'o', 0, G_OPTION_ARG_FILENAME, &a.output,
		  "Draw it, too: SVG, or a page where it ends in .html; - is stdout", "OUT" },
		{ "title", 0, 0, G_OPTION_ARG_STRING, &a.title, "Title of the picture", "TEXT" },
		{ "negated", 0, 0, G_OPTION_ARG_NONE, &a.negated, "Draw it as wide as before", NULL },
		{ "inverted", 0, 0, G_OPTION_ARG_NONE, &a.inverted, "Draw it with the root at the top", NULL },
		FILTERS_OPTIONS(a.filters[OF_BOTH]),
		RANGE_ENTRIES(a.range[OF_BOTH]),
		{ "before-from", 0, 0, G_OPTION_ARG_STRING, &a.range[OF_BEFORE].from,
		  "--from of BEFORE alone; so with the following", "TIME" },
		{ "before-to", 0, 0, G_OPTION_ARG_STRING, &a.range[OF_BEFORE].to, "", "TIME" },
		{ "before-comm", 0, 0, G_OPTION_ARG_STRING, &x->comm, "", "GLOB" },
		{ "before-grep", 0, 0, G_OPTION_ARG_STRING, &x->grep, "", "REGEX" },
		{ "before-state", 0, 0, G_OPTION_ARG_STRING, &x->state, "", "LIST" },
		{ "before-pid", 0, 0, G_OPTION_ARG_STRING, &x->pids, "", "PID|NAME" },
		{ "before-tid", 0, 0, G_OPTION_ARG_STRING, &x->tids, "", "TID[,TID]" },
		{ "after-from", 0, 0, G_OPTION_ARG_STRING, &a.range[OF_AFTER].from,
		  "--from of AFTER alone; so with the following", "TIME" },
		{ "after-to", 0, 0, G_OPTION_ARG_STRING, &a.range[OF_AFTER].to, "", "TIME" },
		{ "after-comm", 0, 0, G_OPTION_ARG_STRING, &y->comm, "", "GLOB" },
		{ "after-grep", 0, 0, G_OPTION_ARG_STRING, &y->grep, "", "REGEX" },
		{ "after-state", 0, 0, G_OPTION_ARG_STRING, &y->state, "", "LIST" },
		{ "after-pid", 0, 0, G_OPTION_ARG_STRING, &y->pids, "", "PID|NAME" },
		{ "after-tid", 0, 0, G_OPTION_ARG_STRING, &y->tids, "", "TID[,TID]" },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};

	plan_init(&plan);
	answer_args_note(&a.answer, argc, argv);
	understand_requests(argc, argv);
	if (cmd_parse(COMMAND, "BEFORE [AFTER]", description, entries, &argc, &argv, &status)) {
		status = plan_make(&a, argc, argv, &plan, &error) ? run(&a, &plan)
			: cmd_wrong(COMMAND, "%s", error->message);
	}
	plan_clear(&plan);
	args_clear(&a);
	return status;
}
