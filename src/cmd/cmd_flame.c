/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyse/locks.h"
#include "analyse/tree.h"
#include "cmd/cmd.h"
#include "cmd/filters.h"
#include "cmd/input.h"
#include "cmd/range.h"
#include "cmd/serving.h"
#include "render/html/html.h"
#include "render/svg/svg.h"
#include "render/text/text.h"

#define COMMAND "flame"

static const char description[] =
	"Shows a recording as an interactive page (HTML) or as a flame graph (SVG), in one file.\n"
	"\n"
	"  offcpu flame db.offcpu -o db.html           a page to look around in: ? lists its keys\n"
	"  offcpu flame                                trace.offcpu to trace.svg, a picture for documents\n"
	"  offcpu flame --open                         the page in the browser, without a file\n"
	"  offcpu flame --palette state --inverted     coloured by what was waited for, root on top\n"
	"  offcpu flame --weight runnable --by thread  who waited for a CPU, each thread apart\n"
	"  offcpu flame --reverse --grep fsync         from the leaves, only stacks that name fsync\n"
	"\n"
	"In a browser: click or Enter zooms, Esc goes back out, / searches, n and N move\n"
	"between matches.  The address holds zoom and search, to keep or to send.";

/* The command line. */
struct flame_args {
	char *output, *title, *subtitle, *width, *min_width, *palette, *by, *weight, *idle;
	struct range_args range;
	struct filters filters;
	gboolean inverted, reverse, delimiters, wakers, wakeup, open, html, tasks;
};

/* The parsed command line. */
struct flame_job {
	const char *input;
	char *output;
	bool html;
	const struct range_args *range;
	const struct query *query;
	struct tree_options tree;
	struct svg_options svg;
	bool by_process, has_weight, open, tasks;
	enum idle_choice idle;
};

static void args_clear(struct flame_args *a)
{
	char **strings[] = { &a->output, &a->title, &a->subtitle, &a->width, &a->min_width, &a->palette,
			     &a->by, &a->weight, &a->idle };

	for (unsigned i = 0; i < G_N_ELEMENTS(strings); i++)
		g_free(*strings[i]);
	filters_clear(&a->filters);
	range_args_clear(&a->range);
}

static bool parse_width(const char *s, unsigned *ret_px, GError **error)
{
	guint64 px;

	if (!g_ascii_string_to_unsigned(s, 10, SVG_WIDTH_MIN_PX, SVG_WIDTH_MAX_PX, &px, NULL))
		return cmd_bad(error, "width \"%s\" is no whole number of pixels from %d to %d", s, SVG_WIDTH_MIN_PX,
			   SVG_WIDTH_MAX_PX);
	*ret_px = (unsigned)px;
	return true;
}

/* Parses "0.1%" of the graph, or "2" or "2px" at the given width; returns a share. */
static bool parse_min_width(const char *s, unsigned width_px, double *ret_share, GError **error)
{
	char *end;
	double v = g_ascii_strtod(s, &end);

	if (end != s && strcmp(end, "%") == 0)
		v /= 100;
	else if (end != s && (*end == '\0' || strcmp(end, "px") == 0))
		v /= width_px;
	else
		v = -1;
	if (!(v >= 0 && v < 1))
		return cmd_bad(error,
			   "minimum width \"%s\" is neither a percentage (0.1%%) nor pixels (2px) within the graph", s);
	*ret_share = v;
	return true;
}

static char *default_output(const char *input, bool is_html)
{
	const char *name = strcmp(input, "-") == 0 ? "offcpu" : history_is_asked() ? "history" : input;
	size_t len = strlen(name);

	if (g_str_has_suffix(name, ".offcpu"))
		len -= strlen(".offcpu");
	return g_strdup_printf("%.*s.%s", (int)len, name, is_html ? "html" : "svg");
}

static bool understand_words(const struct flame_args *a, struct flame_job *job, GError **error)
{
	if (a->weight && !weight_parse(a->weight, &job->tree.weight))
		return cmd_bad(error, "weight \"%s\" is none of %s", a->weight, weight_names());
	if (a->palette && !palette_parse(a->palette, &job->svg.palette))
		return cmd_bad(error, "palette \"%s\" is none of %s", a->palette, palette_names());
	if (a->by && strcmp(a->by, "thread") != 0 && strcmp(a->by, "process") != 0)
		return cmd_bad(error, "--by \"%s\" is neither process nor thread", a->by);
	if (a->idle && !idle_choice_parse(a->idle, &job->idle))
		return cmd_bad(error, "--idle \"%s\": fold, keep or drop is wanted", a->idle);
	job->has_weight = a->weight != NULL;
	job->tree.by_thread = a->by && strcmp(a->by, "thread") == 0;
	job->by_process = a->by && !job->tree.by_thread;
	job->tree.reverse = a->reverse;
	if (a->wakers && a->wakeup)
		return cmd_bad(error, "--wakers and --wakeup: only one of them at a time");
	job->tree.view = a->wakers ? TREE_OFFWAKE : a->wakeup ? TREE_WAKERS : TREE_SLEEPERS;
	if (job->tree.view != TREE_SLEEPERS && !a->palette)
		job->svg.palette = a->wakers ? PALETTE_CHAIN : PALETTE_WAKEUP;
	job->tree.delimiters = a->delimiters || job->tree.view != TREE_SLEEPERS || job->svg.palette == PALETTE_CHAIN;
	return true;
}

static bool parse_args(struct flame_args *a, int argc, char **argv, struct flame_job *job, GError **error)
{
	if (argc > 2)
		return cmd_bad(error, "one recording at a time, and \"%s\" is a second one", argv[2]);
	if (!range_source(argc == 2 ? argv[1] : NULL, &job->input, error))
		return false;
	if (a->open && a->output)
		return cmd_bad(error, "--open serves the page and writes no file: leave out -o");
	job->open = a->open;
	job->tasks = a->tasks;
	job->output = a->output ? g_strdup(a->output) : default_output(job->input, a->html);
	job->html = a->html || cmd_is_html(job->output);
	if (!cmd_may_draw(job->output, error))
		return false;
	job->svg = (struct svg_options){ .title = a->title, .subtitle = a->subtitle, .width_px = 1200,
					 .min_width = 0.001, .inverted = a->inverted,
					 .max_frames = a->min_width ? 0 : SVG_MAX_FRAMES, .max_rows = SVG_MAX_ROWS };
	if (strcmp(job->input, "-") != 0 && cmd_is_same_file(job->output, job->input))
		return cmd_bad(error, "%s: the output would replace the recording", job->output);
	if (a->width && !parse_width(a->width, &job->svg.width_px, error))
		return false;
	if (a->min_width && !parse_min_width(a->min_width, job->svg.width_px, &job->svg.min_width, error))
		return false;
	job->query = &a->filters.query;
	job->range = &a->range;
	return understand_words(a, job, error) && range_args_check(&a->range, error) &&
	       filters_understand(&a->filters, error);
}

static struct html_options page_options(const struct flame_job *job, const struct selection *selection,
					const char *text)
{
	return (struct html_options){
		.title = job->svg.title, .subtitle = job->svg.subtitle, .selection_text = text, .selection = selection,
		.view = job->tree, .by_process = job->by_process, .inverted = job->svg.inverted,
		.colours = job->svg.palette == PALETTE_STATE ? "state" : NULL, .with_idle = job->idle == IDLE_KEEP,
	};
}

/* Whether any selected wait has weight: an empty picture is useless. */
static bool has_weight(const struct profile *p, const struct flame_job *job, const struct selection *selection)
{
	for (uint32_t i = 0; i < p->waits->len; i++)
		if (selection->waits[i] && weight_of_wait(profile_wait(p, i), job->tree.weight))
			return true;
	return false;
}

/* Idle time is kept if nothing else would be left. */
static struct idle_part *idle_left_out(const struct profile *p, const struct flame_job *job)
{
	struct idle_part *idle = job->idle == IDLE_KEEP ? NULL : idle_part_new(p, job->svg.selection, job->tree.weight);

	if (idle && idle->amount && (idle->rest || job->idle == IDLE_DROP))
		return idle;
	idle_part_free(idle);
	return NULL;
}

static void draw_picture(const struct profile *p, struct flame_job *job, GString *out)
{
	struct idle_part *idle = idle_left_out(p, job);

	job->tree.idle = idle ? idle->waits : NULL;
	job->svg.idle = job->idle == IDLE_FOLD ? idle : NULL;
	struct tree *t = tree_from_profile(p, &job->tree);

	if (t->view == TREE_OFFWAKE)
		job->svg.max_rows *= 2;	/* the waker's stack is on top of the sleeper's */
	svg_flame(p, t, &job->svg, out, NULL);
	tree_free(t);
	idle_part_free(idle);
}

/* Serves the page without writing a file. */
static int serve_page(const struct profile *p, const struct flame_job *job, const struct selection *selection,
		      const char *text)
{
	const struct html_options page = page_options(job, selection, text);
	const struct serving v = { .command = COMMAND, .name = job->input, .idle_s = SERVING_IDLE_S, .open = true };

	return serving_run(&v, p, &page);
}

static int draw(const struct profile *p, struct flame_job *job, const struct selection *selection)
{
	g_autofree char *text = query_text(job->query);
	g_autoptr(GString) out = g_string_sized_new(1 << 20);
	g_autoptr(GError) error = NULL;

	job->tree.keep = selection->waits;
	job->svg.selection = selection;
	job->svg.selection_text = text;
	if (!has_weight(p, job, selection))
		return cmd_failed(COMMAND, "%s: nothing to draw, no wait%s%s has any %s weight", job->input,
			*text ? " with " : "", text, weight_name(job->tree.weight));
	if (job->open)
		return serve_page(p, job, selection, text);
	if (job->html) {
		const struct html_options options = page_options(job, selection, text);

		html_page(p, &options, out);
	} else
		draw_picture(p, job, out);
	if (!cmd_write_output(job->output, out->str, out->len, &error))
		return cmd_failed(COMMAND, "%s", error->message);
	if (strcmp(job->output, "-") != 0 && isatty(STDERR_FILENO))
		fprintf(stderr, "wrote %s\n", job->output);
	return EXIT_OK;
}

static int run(struct flame_job *job)
{
	g_autoptr(GError) error = NULL;
	struct profile *p = range_read_profile(job->input, job->range, &error);

	if (p && job->tasks)
		p = recording_only_tasks(p, job->input, &error);
	bool knows = p &&
		     (job->tree.view == TREE_SLEEPERS
			      ? recording_with_on_cpu(p, job->input, job->has_weight, job->query, &job->tree.weight,
						      &error)
			      : recording_has_wakers(p, job->input, &error));
	if (p)
		objects_as_frames(p);
	knows = knows && recording_knows(p, job->input, job->tree.weight, job->query, &error);
	if (knows && job->svg.palette == PALETTE_STATE)
		knows = recording_knows(p, job->input, WEIGHT_OFF_CPU, &(struct query){ .states = "S" }, &error);
	struct selection *selection = knows ? selection_new(p, job->query, &error) : NULL;
	int status = EXIT_FAILED;

	if (selection)
		status = draw(p, job, selection);
	else
		cmd_error(COMMAND, "%s", error->message);
	selection_free(selection);
	profile_free(p);
	return status;
}

int cmd_flame(int argc, char **argv)
{
	struct flame_args a = { 0 };
	struct flame_job job = { 0 };
	g_autoptr(GError) error = NULL;
	int status = EXIT_USAGE;
	GOptionEntry entries[] = {
		{ "output", 'o', 0, G_OPTION_ARG_FILENAME, &a.output,
		  "Where to; .html gives a web page, - is stdout (default: FILE with .svg)", "OUT" },
		{ "html", 0, 0, G_OPTION_ARG_NONE, &a.html, "A web page, whatever OUT is called", NULL },
		{ "open", 0, 0, G_OPTION_ARG_NONE, &a.open,
		  "Serve the page on this machine and open it in the browser, as offcpu view does", NULL },
		{ "title", 0, 0, G_OPTION_ARG_STRING, &a.title, "Title in place of the kind of time shown", "TEXT" },
		{ "subtitle", 0, 0, G_OPTION_ARG_STRING, &a.subtitle, "Second line in place of host, window and totals",
		  "TEXT" },
		{ "width", 0, 0, G_OPTION_ARG_STRING, &a.width,
		  "Width as written (1200); a browser fits it to its window", "PX" },
		{ "min-width", 0, 0, G_OPTION_ARG_STRING, &a.min_width, "Leave out narrower frames, 0.1% or 2px (0.1%)",
		  "SHARE" },
		{ "palette", 0, 0, G_OPTION_ARG_STRING, &a.palette, "Colours: io, wakeup, chain, or state (io)", "NAME" },
		{ "inverted", 0, 0, G_OPTION_ARG_NONE, &a.inverted, "Root at the top", NULL },
		{ "reverse", 0, 0, G_OPTION_ARG_NONE, &a.reverse, "Merge from the leaves", NULL },
		{ "by", 0, 0, G_OPTION_ARG_STRING, &a.by,
		  "First frame: process (threads' names, a pool's as worker-*) or thread (name-pid/tid)", "WHAT" },
		{ "weight", 0, 0, G_OPTION_ARG_STRING, &a.weight,
		  "off_cpu, blocked, runnable, preempted, count, on_cpu, or time (off_cpu; time where a recording has samples)",
		  "WHAT" },
		{ "wakers", 0, 0, G_OPTION_ARG_NONE, &a.wakers,
		  "Who ended the sleep above the sleeper's stack (palette chain)", NULL },
		{ "wakeup", 0, 0, G_OPTION_ARG_NONE, &a.wakeup,
		  "Wakers' stacks by how long the woken were off CPU (palette wakeup)", NULL },
		{ "delimiter", 0, 0, G_OPTION_ARG_NONE, &a.delimiters,
		  "A frame \"-\" between user and kernel (always with chain)", NULL },
		{ "idle", 0, 0, G_OPTION_ARG_STRING, &a.idle,
		  "Idle time: a column beside the graph, as any other time, or not at all (fold)", "fold|keep|drop" },
		FILTERS_OPTIONS(a.filters),
		ONLY_TASKS_OPTION(a.tasks),
		INPUT_OPTION,
		RANGE_ENTRIES(a.range),
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};

	if (cmd_parse(COMMAND, "[FILE]", description, entries, &argc, &argv, &status)) {
		status = parse_args(&a, argc, argv, &job, &error) ? run(&job)
			: cmd_wrong(COMMAND, "%s", error->message);
	}
	g_free(job.output);
	args_clear(&a);
	return status;
}
